"""Staying until a job has ended, whatever the scheduler tells of it in the meantime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tonnage.cluster import wait_for_job as waiting
from tonnage.cluster.scheduler import Job, SchedulerError, State
from tonnage.cluster.wait_for_job import wait_for


class ScriptedScheduler:
    """A scheduler that tells one thing after the other, the last for ever."""

    def __init__(self, *answers: list[Job] | SchedulerError) -> None:
        self._answers: Iterator[list[Job] | SchedulerError] = iter(answers)
        self._last: list[Job] | SchedulerError = []

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:  # noqa: ARG002
        assert ended
        self._last = next(self._answers, self._last)
        if isinstance(self._last, SchedulerError):
            raise self._last
        return self._last


def job(state: State, status: int | None = None, *, copy: int | None = None, count: int = 1, number: str = "7") -> Job:
    return Job(job=number, state=state, exit_status=status, copy=copy, count=count)


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_FIRST_S", 0.001)
    monkeypatch.setattr(waiting, "_LAST_S", 0.002)
    monkeypatch.setattr(waiting, "FORGOTTEN_S", 0.05)


def wait(*answers: list[Job] | SchedulerError, copies: int | None = None) -> int:
    return wait_for(ScriptedScheduler(*answers), "7", copies=copies)[0]  # type: ignore[arg-type]


def test_a_job_is_waited_for_from_its_queue_to_its_end() -> None:
    other = job("running", number="8")
    assert wait([job("pending"), other], [job("running"), other], [job("done", 0), other]) == 0


def test_the_status_is_that_of_the_worst_copy() -> None:
    waiting_copies = [job("done", 0, copy=1), job("pending", count=2)]
    assert (
        wait(waiting_copies, [job("done", 0, copy=1), job("failed", 3, copy=2), job("failed", 2, copy=3)], copies=3)
        == 3
    )


def test_copies_that_are_not_told_of_yet_are_waited_for() -> None:
    assert wait([job("done", 0, copy=1)], [job("done", 0, copy=1), job("failed", 5, copy=2)], copies=2) == 5


def test_a_job_that_was_cancelled_did_not_succeed() -> None:
    assert wait([job("running")], [job("cancelled")]) == 1


def test_a_job_whose_end_nobody_saw_has_ended_and_one_that_is_out_of_sight_has_not() -> None:
    assert wait([job("unknown")], [job("running")], [job("done", 0)]) == 0
    assert wait([job("running")], [replace(job("unknown"), ended_at_s=1.0)]) == 1


def test_another_job_that_has_its_number_is_not_waited_for() -> None:
    another = replace(job("done", 0), key="another")
    with pytest.raises(SchedulerError, match="nothing of job 7 any more"):
        wait_for(ScriptedScheduler([another]), "7", key="mine")  # type: ignore[arg-type]
    mine = replace(job("failed", 3), key="mine")
    assert wait_for(ScriptedScheduler([another], [mine]), "7", key="mine")[0] == 3  # type: ignore[arg-type]


def test_a_scheduler_that_is_silent_for_a_moment_is_asked_again() -> None:
    assert wait([job("running")], SchedulerError("squeue did not answer"), [job("done", 0)]) == 0


def test_one_that_stays_silent_is_told_in_its_words() -> None:
    with pytest.raises(SchedulerError, match="squeue did not answer"):
        wait([job("running")], SchedulerError("squeue did not answer"))


def test_a_job_that_is_forgotten_is_not_waited_for_for_ever() -> None:
    with pytest.raises(SchedulerError, match="nothing of job 7 any more"):
        wait([job("running")], [])
