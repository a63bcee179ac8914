"""An array that began beside another's promise runs wider when the other has ended, on the local scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from measured_program import meets, most_at_once
from waiting import wait_until

from .placement_user import PlacementUser
from .shell import LAUNCHER, Shell

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="the local scheduler runs one job at a time here"
)
SITE = """
scheduler = "local"
[[server]]
name = "rcss1"
aliases = ["{host}"]
hosts = ["{host}"]
line = {{ tasks = 2 }}
[policy]
list_age = "0s"
"""
ROSE = "ran 1 at once beside others; now 2 at once: rcss1's load line: 2 tasks, stated in the site file"


class User(PlacementUser):
    """With an array at cap 1 beside another job, which goes on until it is told to end."""

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self.site(SITE.format(host=os.uname().nodename))
        waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
        self.other = self.json("submit", "--copies", "1", "--cap", "1", sys.executable, "-c", waits)["job"]
        made = self.json("submit", "--copies", "3", "-o", "one.%I", *meets(2, "enough"))
        assert made["decision"]["cap"] == 1 and "other jobs may use 1 of it" in made["decision"]["cap_why"]
        self.array = made["job"]
        wait_until(lambda: len(self.rows(self.array, "running")) == 1, "its first copy")

    def rows(self, job: str, state: str) -> list[dict[str, Any]]:
        return [row for row in self.json("jobs")["jobs"] if row["job"] == job and row["state"] == state]

    def ends_the_other(self) -> None:
        (self.data / "go").touch()
        wait_until(lambda: not self.rows(self.other, "running"), "the other's end")

    def ends_the_array(self) -> list[tuple[float, ...]]:
        """Its spans: its first copy ends only if a second one runs beside it."""
        (self.data / "enough").touch()
        return self.spans("one", 3)


@pytest.fixture
def user(user: PlacementUser) -> User:
    return User(user.shell)


def test_the_next_submission_raises_an_array_when_another_s_promise_has_ended(user: User) -> None:
    made = user.json("submit", "true")
    assert made["followed"] == [], "the other is there still"
    user.ends_the_other()
    assert [row["cap"] for row in user.rows(user.array, "pending")] == [1]
    made = user.json("submit", "--copies", "2", "--dry-run", "true")
    assert [row["cap"] for row in user.rows(user.array, "pending")] == [1], "a preview changes nothing"
    made = user.json("submit", "--copies", "2", "true")
    (told,) = made["followed"]
    assert told == f"job {user.array} {ROSE}"
    assert made["decision"]["cap"] == 1 and "other jobs may use 2 of it" in made["decision"]["cap_why"]
    assert most_at_once(user.ends_the_array()) == 2
    (ledger,) = user.shell.home.glob("XDG_STATE_HOME/tonnage/placement/submissions.jsonl")
    recaps = [line for line in map(json.loads, ledger.read_text().splitlines()) if line["kind"] == "recap"]
    assert [(line["cap"], line["line"]) for line in recaps] == [(2, 2)]


def test_a_watch_raises_it_without_a_submission(user: User) -> None:
    watch = subprocess.Popen(
        [LAUNCHER, "watch", "--every", "200ms"],
        cwd=user.data,
        env=user.shell.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        user.ends_the_other()
        assert most_at_once(user.ends_the_array()) == 2
    finally:
        watch.terminate()
        _, said = watch.communicate(timeout=60)
    assert watch.returncode == 0 and said.count(f"tonnage: job {user.array} {ROSE}") == 1
