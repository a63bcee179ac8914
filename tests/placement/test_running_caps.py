"""Caps rise to what others left, and never beyond the line together with what others were promised."""

from __future__ import annotations

import getpass
import random
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from file_scheduler import Desk
from tonnage.cluster.scheduler import Job
from tonnage.placement.indices.reading import Reading
from tonnage.placement.running_caps import RunningCaps, _bring
from tonnage.placement.site import Line, Server, Site
from tonnage.placement.submission_ledger import Ledger

LINE = 6
SITE = Site(
    server=(Server(name="rcss1", line=Line(tasks=LINE, plateau=600)), Server(name="rcss2", line=Line(tasks=LINE)))
)
ME = getpass.getuser()


def array(job: str, *, running: int = 0, waiting: int = 50, user: str = ME, **given: Any) -> list[Job]:
    """As a scheduler lists one; ``cap`` None: it does not tell limits."""
    plain = {"job": job, "key": f"k{job}" if user == ME else f"of-{user}-{job}", "server": "rcss1", "user": user}
    cap = given.pop("cap", None)
    rows = [Job(**{**plain, **given}, state="running", copy=copy + 1) for copy in range(running)]
    return [*rows, Job(**{**plain, **given}, state="pending", count=waiting, cap=cap)] if waiting else rows


@dataclass
class Arrays(Desk):
    """Lists what a test says, with the limits as they are now."""

    lists: list[list[Job]] = field(default_factory=list)
    """What each question is answered with; the last one again and again."""

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        super().jobs(user=user, ended=ended)
        found = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        return [replace(job, cap=self.caps.get(job.job, job.cap) if job.cap is not None else None) for job in found]


@dataclass
class Mine:
    """A user with arrays at rcss1."""

    ledger: Ledger
    scheduler: Arrays
    readings: dict[str, Reading] = field(default_factory=dict)

    def has(self, job: str, cap: int = 1, *, at_s: float | None = None, **given: Any) -> None:
        """What the ledger has of one."""
        now_s = time.time() - 3600 if at_s is None else at_s
        plain = {"scheduler": "desk", "target": "nfs:rcss1:/x", "pattern": "read sequential", "server": "rcss1"}
        line = {"line": LINE, "line_servers": [given.get("server", "rcss1")], "by_line": True, "cap": cap, "tasks": cap}
        self.ledger.intend(f"k{job}", now_s, {**plain, **line, "io_share": 1.0, "asks": 1.0, **given})
        self.ledger.receive(f"k{job}", now_s, job, "")

    def rise(self, *lists: list[Job], **given: Any) -> tuple[str, ...]:
        self.scheduler.lists = [*lists]
        return RunningCaps(SITE, self.ledger, self.scheduler, ["rcss1"], self.readings).rise(**given)

    @property
    def caps(self) -> dict[str, int]:
        """Those that rose, as ledger and scheduler have them."""
        kept = {entry.job: entry.intent["cap"] for entry in self.ledger.since(0.0)}
        assert all(kept[job] == cap for job, cap in self.scheduler.caps.items())
        return self.scheduler.caps


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    return Mine(Ledger(tmp_path), Arrays(tmp_path))


def test_an_array_that_began_beside_others_gets_what_they_left_and_it_is_said_and_kept(mine: Mine) -> None:
    mine.has("1")
    (told,) = mine.rise(array("1", running=1, cap=1) + array("2", running=2, waiting=0, user="bob"))
    assert mine.caps == {"1": 4}
    assert told == (
        "job 1 ran 1 at once beside others; now 4 at once: rcss1's load line: 6 tasks at 600 B/s, stated in the site "
        "file; other jobs may use 2 of it"
    )


def test_an_array_that_its_line_held_back_and_nobody_else_is_said_to_follow_the_line(mine: Mine) -> None:
    mine.has("1", line=1)
    (told,) = mine.rise(array("1", running=1, cap=1))
    assert mine.caps == {"1": 6}
    assert told == "job 1 ran 1 at once by a load line of 1; the line is 6 now: 6 at once from here on"


def test_the_oldest_rises_first_and_the_next_finds_that_taken(mine: Mine) -> None:
    for number in "123":
        mine.has(number)
    listed = [row for number in "123" for row in array(number, running=1, cap=1)]
    assert len(mine.rise(listed)) == 1 and mine.caps == {"1": 4}
    assert mine.rise(listed) == (), "nothing is left"


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (array("9", user="bob", cap=4), {"1": 2}),  # none of it runs yet, and four may
        (array("9", running=3, user="bob", cap=3), {"1": 3}),
        (array("9", waiting=2, user="bob", cap=4), {"1": 4}),
        (array("9", waiting=50, user="bob", cap=None), {}),  # nobody says how many may run at once
        (array("9", running=2, user="bob", cap=0), {"1": 4}),  # one without a limit was promised nothing
        (array("9", running=8, user="bob", cap=8), {}),
        (array("9", running=4, waiting=0, user="bob", server="rcss2"), {"1": 6}),
    ],
)
def test_no_rise_passes_the_line_with_what_others_were_promised(
    mine: Mine, theirs: list[Job], expected: dict[str, int]
) -> None:
    mine.has("1")
    mine.rise(array("1", running=1, cap=1) + theirs)
    assert mine.caps == expected


def test_what_others_were_promised_while_it_rose_is_given_back(mine: Mine) -> None:
    mine.has("1")
    mine.has("2")
    listed = array("1", running=1, waiting=2, cap=1) + array("2", running=1, cap=1)
    (told,) = mine.rise(listed, listed + array("9", user="bob", cap=2))
    assert mine.caps == {"1": 3, "2": 1}, "the newest gives it back"
    assert told.startswith("job 1 ran 1 at once beside others; now 3 at once")


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"by_line": False}, 1),
        ({}, 3),  # its user changed it
        ({}, 0),  # its user took the limit away
        ({"scheduler": "other"}, 1),
        ({"server": "rcss2"}, 1),
    ],
)
def test_what_no_line_of_this_server_capped_or_its_user_changed_is_left_alone(
    mine: Mine, kept: dict[str, Any], told: int
) -> None:
    mine.has("1", **kept)
    assert mine.rise(array("1", running=1, cap=told)) == () and mine.caps == {}


def test_nothing_is_lowered_and_what_has_all_its_copies_started_stays(mine: Mine) -> None:
    mine.has("1", cap=4)
    mine.has("2", cap=1)
    jobs = array("1", running=4, cap=4) + array("2", running=1, waiting=0)
    assert mine.rise(jobs + array("9", running=6, waiting=0, user="bob")) == () and mine.caps == {}


def test_a_scheduler_that_does_not_answer_or_refuses_leaves_caps_and_ledger_as_they_are(mine: Mine) -> None:
    mine.has("1")
    jobs = array("1", running=1, cap=1)
    mine.scheduler.silent = True
    assert mine.rise(jobs) == ()
    mine.scheduler.silent, mine.scheduler.caps_are_fixed = False, True
    assert mine.rise(jobs) == () and mine.ledger.since(0.0)[0].intent["cap"] == 1
    mine.scheduler.caps_are_fixed = False
    assert mine.rise(jobs) and mine.caps == {"1": 6}


def test_others_by_the_indices_are_taken_off_itself_left_out_and_indices_of_then_leave_it_as_it_is(mine: Mine) -> None:
    mine.has("1", bytes_per_s=100, measured=True)
    jobs = array("1", running=1, cap=1, started_at_s=time.time() - 60)
    busy = Reading(server="rcss1", source="proc", at_s=time.time() - 600, ut_permille=0, bio_bytes_per_s=300)
    mine.readings = {"rcss1": busy}
    assert mine.rise(jobs) == (), "ten minutes old"
    mine.readings = {"rcss1": replace(busy, at_s=time.time())}
    (told,) = mine.rise(jobs)
    assert mine.caps == {"1": 4} and "by its indices others use 2 of it" in told


@pytest.mark.parametrize(
    ("kept", "cap"), [({"asks": 3.0}, 2), ({"bytes_per_s": 300, "measured": True}, 2), ({"room": 5}, 5)]
)
def test_it_goes_by_what_a_copy_asks_and_by_the_slots_beside_the_data(
    mine: Mine, kept: dict[str, Any], cap: int
) -> None:
    mine.has("1", **kept)
    mine.rise(array("1", running=1, cap=1))
    assert mine.caps == {"1": cap}


def test_the_scheduler_is_asked_anew_only_where_a_cap_would_rise_by_a_list_that_is_known(mine: Mine) -> None:
    mine.has("1")
    jobs = array("1", running=1, cap=1)
    full = jobs + array("9", running=6, waiting=0, user="bob")
    assert mine.rise(jobs, jobs=full) == () and mine.scheduler.asked == []
    assert mine.rise(full, jobs=jobs) == () and mine.scheduler.asked == ["jobs"], "the new list counts"


def test_whatever_others_do_no_rise_passes_the_line(tmp_path: Path) -> None:
    chance = random.Random(5)
    rose = 0
    for number in range(60):
        mine = Mine(Ledger(tmp_path / str(number)), Arrays(tmp_path))
        (tmp_path / str(number)).mkdir()
        own = {str(job): chance.randint(1, 2) for job in range(1, chance.randint(2, 4))}
        lists: list[list[Job]] = []
        for job, cap in own.items():
            mine.has(job, cap)
        theirs = [_theirs(chance, job) for job in range(100, 102)]
        for known in range(len(theirs) - 1, len(theirs) + 1):
            rows = [row for job, cap in own.items() for row in array(job, running=1, cap=cap)]
            lists.append(rows + [row for others in theirs[:known] for row in others[0]])
        mine.rise(*lists)
        caps = {**own, **mine.caps}
        promised = sum(most for _, most in theirs)
        rose += caps != own
        assert sum(caps.values()) + promised <= max(LINE, sum(own.values()) + promised), (own, caps, theirs)
        assert all(caps[job] >= cap for job, cap in own.items())
    assert rose > 10


def _theirs(chance: random.Random, job: int) -> tuple[list[Job], int]:
    """Another user's, and how many of its copies may run at once."""
    running, waiting, cap = chance.randint(0, 1), chance.choice((0, 2, 4)), chance.choice((None, 2, 3))
    rows = array(str(job), running=min(running, cap or 9), waiting=waiting, user="bob", cap=cap)
    alive = sum(row.count for row in rows)
    return rows, min(alive, cap or alive) if waiting else alive


@pytest.mark.parametrize(
    ("cap", "room", "line", "brought"),
    [(2, 2, 4, None), (2, 2, 16, None), (2, 2, 1, 1), (6, 20, 3, 3), (6, 8, 12, 8), (6, None, 12, 12)],
)
def test_copies_follow_the_line_and_slots_bound_them(
    mine: Mine, cap: int, room: int | None, line: int, brought: int | None
) -> None:
    """Two on two slots by a line of six: a line of four has room for both, and one of sixteen makes no slots."""
    mine.has("1", cap, room=room)
    entry = mine.ledger.entry("k1")
    assert entry is not None
    said = _bring(mine.ledger, mine.scheduler, entry, line)
    assert mine.caps.get("1") == brought and (said is None) == (brought is None)
    kept = mine.ledger.entry("k1")
    assert kept is not None and (kept.intent["cap"], kept.intent["line"]) == (brought or cap, line)
