"""Whoever follows a job sees all that it recorded, also where the file system shows it late."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tonnage.campaign.jobs import job_reader
from tonnage.campaign.jobs.job_reader import JobReader
from tonnage.campaign.observer import Observer, Snapshots
from tonnage.campaign.stop_signals import Interrupts
from tonnage.cluster.scheduler import Job, Scheduler
from tonnage.errors import MeasurementError

LONG_S = 20.0
LINES = "".join(json.dumps({"trial": number}) + "\n" for number in range(3))


class Ended:
    """A scheduler whose only job is over."""

    def __init__(self, name: str = "slurm") -> None:
        self.name = name

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
        follower = JobReader(tmp_path, cast("Scheduler", Ended()), heard, interrupts)
        shown = threading.Timer(1.0, file.write_text, [LINES])
        shown.start()
        ending = follower.wait_for_end(0, "7", "mm")
        shown.join()
    assert (ending.code, heard.trials) == (0, [0, 1, 2])


def test_records_that_never_show_are_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_reader, "RECORDS_LAG_S", 0.5)
    job_that_recorded(tmp_path)
    (tmp_path / "trials.jsonl").write_text("")
    with Interrupts() as interrupts:
        ending = JobReader(tmp_path, cast("Scheduler", Ended()), Heard(), interrupts).wait_for_end(0, "7", "mm")
    assert ending.code == 0


class Another:
    """A scheduler whose job of that number is another one by now."""

    name = "slurm"

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:  # noqa: ARG002
        return [Job(job="7", key="another", state="running")]

    def cancel(self, job: str) -> None:
        self.cancelled.append(job)


def test_another_job_that_has_the_number_is_not_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_reader, "CANCEL_S", 0.5)
    site = Another()
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(MeasurementError, match="job 7 was cancelled and did not end"):
            JobReader(tmp_path, cast("Scheduler", site), Heard(), interrupts).wait_for_end(0, "7", "mm", key="mine")
    assert site.cancelled == []


def test_a_job_of_this_host_that_ended_without_a_word_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_reader, "LAG_S", LONG_S)
    Snapshots(tmp_path, 0)
    began_s = time.monotonic()
    with Interrupts() as interrupts:
        ending = JobReader(tmp_path, cast("Scheduler", Ended("local")), Heard(), interrupts).wait_for_end(0, "7", "mm")
    assert ending.progress is not None and ending.code is None
    assert time.monotonic() - began_s < LONG_S
