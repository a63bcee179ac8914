"""A program that was measured, on the local scheduler: as many at once as the line carries beside what others use."""

from __future__ import annotations

import itertools
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import exporter as ways
import proc_files
import pytest
from measured_program import campaign, meets, most_at_once
from waiting import wait_until

from tests.importers.darshan_logs import log, needs_darshan

from .placement_user import PlacementUser

LINE = 8
SITE = """
scheduler = "local"
[[server]]
name = "rcss1"
aliases = ["{host}"]
hosts = ["{host}"]
indices = "{indices}"
line = {{ tasks = {line}, plateau = "{plateau}B/s" }}
[policy]
index_timeout = "20s"
index_age = "1h"
list_age = "0s"
"""


class Others:
    """A node_exporter whose devices move so many bytes a second, whoever asks for them."""

    def __init__(self) -> None:
        self.bytes_per_s = 0.0
        self._moved, self._at_s = 0.0, time.time()
        self._server = proc_files.Server(disks=("sda",))

    def __call__(self) -> str:
        now_s = time.time()
        self._moved += self.bytes_per_s * (now_s - self._at_s)
        self._at_s = now_s
        moved = self._server.bytes + 2 * int(self._moved / 2)
        return proc_files.scrape(replace(self._server, bytes=moved, idle_s=self._server.idle_s + now_s % 1e6), now_s)


def state_site(user: PlacementUser, indices: str, plateau: int) -> None:
    user.site(SITE.format(host=os.uname().nodename, indices=indices, line=LINE, plateau=plateau))


def profile(user: PlacementUser) -> tuple[Path, int]:
    """A run that measured the program, and its rate."""
    run = user.shell.home / "PROFILE"
    user.run("run", "--no-report", "--out", run, campaign(user.shell.home, user.data))
    state_site(user, "proc:", 10**9)
    rate = user.json("submit", "--dry-run", "--profile", run, "--copies", "4", "true")["demand"]["bytes_per_s"]
    if not rate:
        pytest.skip("the test's files are in memory: nothing of them reaches a storage")
    return run, rate


def test_a_program_that_asks_half_of_the_line_runs_two_at_a_time_and_alone_beside_others_use(
    user: PlacementUser,
) -> None:
    run, rate = profile(user)
    others = Others()
    with ways.exporter(ways.tells(others)) as server:
        state_site(user, server.address, 2 * rate)
        (idle,) = user.json("load")["servers"]
        assert (idle["line"], idle["promised"], idle["others"], idle["left"]) == (LINE, 0, 0, LINE)
        done = user.run("submit", "--copies", "6", "--profile", run, "-o", "two.%I", *meets(2))
        (told,) = [line for line in done.err.splitlines() if "at once" in line]
        assert told.startswith(f"tonnage: 2 at once: rcss1's load line: {LINE} tasks at ")
        assert "each copy asks 4: its " in told and f"is 50% of the plateau (measured in {run}, 2 copies alone)" in told
        assert told.endswith("; by its indices nothing else uses it"), "more is not said: no slots bound it"
        spans = user.spans("two", 6)
        assert most_at_once(spans) == 2, spans
        (ledger,) = user.shell.home.glob("XDG_STATE_HOME/tonnage/placement/submissions.jsonl")
        intent = json.loads(ledger.read_text().splitlines()[0])
        assert intent["asks"] == 4 and told.removeprefix("tonnage: ") == intent["decision"]["cap_why"]

        wait_until(lambda: not user.json("jobs")["jobs"], "the end of the first array")
        others.bytes_per_s = rate
        (busy,) = user.json("load")["servers"]
        assert (busy["promised"], busy["others"], busy["left"]) == (0, 4, 4)
        made = user.json("submit", "--copies", "3", "--profile", run, "-o", "one.%I", *meets(1))
        assert made["decision"]["cap"] == 1
        assert made["decision"]["cap_why"].endswith("; by its indices others use 4 of it")
        alone = user.spans("one", 3)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(alone)), alone
        wait_until(lambda: not user.json("jobs")["jobs"], "the end of the second array")
        unmeasured = user.json("submit", "--dry-run", "--copies", "8", "true")["decision"]
        assert "; by its indices others use 4 of it" in unmeasured["cap_why"]


def test_measured_jobs_that_are_submitted_one_by_one_share_the_licences_as_they_share_the_line(
    user: PlacementUser,
) -> None:
    run, rate = profile(user)
    state_site(user, "proc:", rate)
    site = user.data / "tonnage.toml"
    without = user.run("submit", "--dry-run", "--profile", run, "true").out
    assert "nothing holds jobs alone to that" in without and "so that it carries 1 such at once" in without
    site.write_text(site.read_text().replace("line =", 'licence = "io"\nline ='))
    for number in (1, 2, 3):
        made = user.json("submit", "--profile", run, "-o", f"alone.{number}", *meets(1))
        assert made["request"]["licences"] == [["io", LINE]]
        assert made["decision"]["cap_why"].endswith(
            f"; each holds {LINE} of {LINE} io, so that no more than 1 run at once"
        )
    spans = user.spans("alone", 3)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans)), spans


@needs_darshan
def test_jobs_of_a_log_that_asks_half_of_the_line_run_two_at_a_time_and_a_third_waits(
    user: PlacementUser,
) -> None:
    """An array, and jobs that are submitted one by one: Darshan's log in place of a run that measured the program."""
    known = log("slow-dxt")
    others = Others()
    with ways.exporter(ways.tells(others)) as server:
        state_site(user, server.address, 10**9)
        rate = user.json("submit", "--dry-run", "--profile", known, "--copies", "3", "true")["demand"]["bytes_per_s"]
        state_site(user, server.address, 2 * rate)
        made = user.json("submit", "--copies", "3", "--profile", known, "-o", "array.%I", *meets(2))
        assert made["decision"]["cap"] == 2
        assert f"is 50% of the plateau (counted by Darshan in {known} on /)" in made["decision"]["cap_why"]
        assert most_at_once(user.spans("array", 3)) == 2
        wait_until(lambda: not user.json("jobs")["jobs"], "the end of the array")
        for began in user.data.glob("began.*"):
            began.unlink()
        site = user.data / "tonnage.toml"
        site.write_text(site.read_text().replace("line =", 'licence = "io"\nline ='))
        for number in (1, 2, 3):
            alone = user.json("submit", "--profile", known, "-o", f"alone.{number}", *meets(2))
            assert alone["request"]["licences"] == [["io", LINE // 2]]
        assert most_at_once(user.spans("alone", 3)) == 2
