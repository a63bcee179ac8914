"""The lines of ``tonnage watch``: what a look changed, in words, with names that cannot move a cursor."""

from __future__ import annotations

import json

import pytest
from tonnage.cli.placement.since import parse_since
from tonnage.cli.placement.watch_lines import as_json, as_text, of_event, span_text
from tonnage.errors import RequestError
from tonnage.placement.watch.episodes import Event
from tonnage.placement.watch.observation import RunningJobs, ServerObservation, UserJobs

AT_S = 1_795_521_600.0
ANN = UserJobs(user="ann", jobs=2, tasks=6, names=("align", "sort"))


def line(kind: str, *users: UserJobs, **more: object) -> str:
    seen = {"server": "rcss1", "line": 8, "load": 9.0, "others": 0.0, "there": RunningJobs(users=users), **more}
    event = Event(at_s=AT_S, kind=kind, seen=ServerObservation(**seen), since_s=AT_S - 30)  # type: ignore[arg-type]
    return as_text(of_event(event))


def test_a_line_has_the_server_its_load_its_line_and_whose_jobs_are_there() -> None:
    said = line("began", ANN, UserJobs(user="bob", jobs=1, tasks=1, names=("bwa",)))
    assert " rcss1 above its line: load 9, line 8, since 2026-" in said
    assert said.endswith("; 3 jobs: ann 6 tasks (align, sort), bob 1 task (bwa)")


def test_at_most_three_users_and_three_jobs_of_each_are_named_and_the_rest_is_counted() -> None:
    users = [UserJobs(user=f"u{one}", jobs=5, tasks=5, names=tuple("abcde")) for one in range(6)]
    said = line("began", *users)
    assert said.endswith("; 30 jobs: u0 5 tasks (a, b, c and 2 more), " + "u1 5 tasks (a, b, c and 2 more), "
                         "u2 5 tasks (a, b, c and 2 more) and 3 more")  # fmt: skip


def test_names_of_users_and_jobs_stay_on_one_line_and_move_no_cursor() -> None:
    said = line("began", UserJobs(user="a\x1b[2Jnn\n", jobs=1, tasks=1, names=("x\ny\x07\u202e",)))
    assert said.isprintable()
    seen = ServerObservation(
        server="s", line=1, load=2.0, there=RunningJobs(users=(UserJobs(user="a\nb", jobs=1, tasks=1, names=()),))
    )
    told = as_json(of_event(Event(at_s=AT_S, kind="began", seen=seen)))
    assert "\n" not in told and json.loads(told)["users"][0]["user"] == "a\nb"


def test_what_is_not_known_is_said() -> None:
    assert "; only" not in line("began", ANN)
    own = line("began", there=RunningJobs(users=(ANN,), only_own=True))
    assert own.endswith("; the scheduler tells of yours alone")
    failed = line("unknown", load=3.0, there=None, missing=("it hangs",))
    assert "load at least 3" in failed and failed.endswith("; it hangs; its jobs are not known")
    assert "no load line is known, so nothing can be told of it; hint: measure it with `tonnage probe`" in line(
        "no-line", line=None, load=None
    )
    assert "its load line is known no more" in line("unknown", line=None, load=None)


def test_what_of_a_load_the_jobs_do_not_explain_is_said() -> None:
    assert "load 9.5 (others 4), line 8" in line("began", load=9.5, others=4.0)
    assert "load 9, line 8" in line("began")


def test_a_span_of_time_is_told_in_two_units_at_most() -> None:
    found = [span_text(seconds) for seconds in (0.4, 59.4, 60, 3599, 3600, 3905, 172_000, 172_800, 9e6)]
    assert found == [
        "0 s",
        "59 s",
        "1 min",
        "59 min",
        "1 h 00 min",
        "1 h 05 min",
        "47 h 46 min",
        "2 d 0 h",
        "104 d 4 h",
    ]


@pytest.mark.parametrize("text", ["2026-11-01", "2026-11-01T09:00", "2026-11-01 09:00:30", "7d", "12h", "30m", "90s"])
def test_since_takes_dates_and_ages(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tonnage.cli.placement.since.time.time", lambda: AT_S)
    assert 0 < parse_since(text) < AT_S


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-13-01", "2999-01-01", "7", "-3d", "1e9h", "0001-01-01", "7 d x"]
)
def test_since_refuses_what_is_no_time_or_not_yet(text: str) -> None:
    with pytest.raises(RequestError, match="hint:"):
        parse_since(text)
