"""Whoever follows a job sees all that it recorded, also where the file system shows it late."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tonnage.campaign.away import follow
from tonnage.campaign.away.follow import Follower
from tonnage.campaign.away.progress import Snapshots
from tonnage.campaign.interrupts import Interrupts
from tonnage.campaign.observer import Observer
from tonnage.cluster.scheduler import Job, Scheduler

LINES = "".join(json.dumps({"trial": number}) + "\n" for number in range(3))


class Ended:
    """A scheduler whose only job is over."""

    def jobs(self, *, user: str, ended: bool) -> list[Job]:  # noqa: ARG002
        return [Job(job="7", state="done")]


class Heard(Observer):
    def __init__(self) -> None:
        self.trials: list[int] = []

    def recorded(self, line: Mapping[str, Any]) -> None:
        self.trials.append(line["trial"])


def job_that_recorded(run: Path) -> None:
    """What its part left, as it saw it itself."""
    run.joinpath("trials.jsonl").write_text(LINES)
    Snapshots(run, 0).close(0, None)


def test_records_that_show_late_are_waited_for(tmp_path: Path) -> None:
    job_that_recorded(tmp_path)
    file = tmp_path / "trials.jsonl"
    file.write_text("")
    heard = Heard()
    with Interrupts() as interrupts:
        follower = Follower(tmp_path, cast("Scheduler", Ended()), heard, interrupts)
        shown = threading.Timer(1.0, file.write_text, [LINES])
        shown.start()
        ending = follower.follow(0, "7", "mm")
        shown.join()
    assert (ending.code, heard.trials) == (0, [0, 1, 2])


def test_records_that_never_show_are_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "RECORDS_LAG_S", 0.5)
    job_that_recorded(tmp_path)
    (tmp_path / "trials.jsonl").write_text("")
    with Interrupts() as interrupts:
        ending = Follower(tmp_path, cast("Scheduler", Ended()), Heard(), interrupts).follow(0, "7", "mm")
    assert ending.code == 0
