"""What the indices show of a server's use beyond the jobs that were sent there."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.cluster.scheduler import Job
from tonnage.placement.capacity import jobs_sent_to, tasks_of_others
from tonnage.placement.cluster_snapshot import ClusterSnapshot
from tonnage.placement.indices.reading import Reading
from tonnage.placement.site import Policy
from tonnage.placement.submission_ledger import Entry
from tonnage.placement.task_caps import Plateau

NOW_S = 1_000_000.0
PLATEAU = Plateau(tasks=8, bytes_per_s=800)


def reading(age_s: float = 0.0, server: str = "rcss1", **given: Any) -> Reading:
    plain = {"server": server, "source": "proc", "at_s": NOW_S - age_s, "ut_permille": 0}
    return Reading(**{**plain, **given})


def job(key: str = "k1", *, began_s: float = NOW_S - 60, state: Any = "running", count: int = 1) -> Job:
    return Job(job=key, key=key, server="rcss1", state=state, started_at_s=began_s, count=count)


def entry(asks: float, key: str = "k1") -> Entry:
    return Entry(key=key, at_s=NOW_S - 90, intent={"server": "rcss1", "asks": asks, "tasks": 2, "cap": 2}, job=key)


def others(
    *readings: Reading,
    jobs: tuple[Job, ...] = (),
    entries: tuple[Entry, ...] = (),
    plateau: Plateau | None = PLATEAU,
    names: tuple[str, ...] = ("rcss1",),
) -> tuple[int | None, bool]:
    known = {one.server: one for one in readings}
    around = ClusterSnapshot(now_s=NOW_S, jobs=jobs, placements=entries, readings=known)
    found, silent = tasks_of_others(
        names, around, Policy(), line=8, plateau=plateau, counted=jobs_sent_to(names, around)
    )
    return None if found is None else round(found), silent


def test_the_devices_rate_is_as_many_tasks_as_at_the_plateau() -> None:
    assert others(reading(bio_bytes_per_s=400)) == (4, False)
    assert others(reading(bio_bytes_per_s=1200)) == (12, False), "beyond the plateau more than the line"


def test_a_job_of_ours_that_runs_is_not_counted_twice() -> None:
    busy = reading(bio_bytes_per_s=600)
    assert others(busy, jobs=(job(),), entries=(entry(4.0),)) == (2, False)
    assert others(busy, jobs=(job(count=2),), entries=(entry(4.0),)) == (0, False)
    assert others(busy, jobs=(job(state="pending"),), entries=(entry(4.0),)) == (6, False), "it does no I/O yet"


def test_a_job_that_began_after_the_index_was_read_explains_none_of_it() -> None:
    busy = reading(10.0, bio_bytes_per_s=400)
    assert others(busy, jobs=(job(began_s=NOW_S - 5),), entries=(entry(4.0),)) == (4, False)


def test_without_a_plateau_waiting_for_io_counts_as_far_as_no_job_of_ours_does_it() -> None:
    waits = reading(pressure_permille=500)
    assert others(waits, plateau=None) == (4, False)
    assert others(waits, plateau=None, jobs=(job(),), entries=(entry(1.0),)) == (0, False)


@pytest.mark.parametrize("given", [{"bio_bytes_per_s": 20}, {"ut_permille": 1000, "bio_bytes_per_s": 0}])
def test_a_log_that_is_written_and_processors_that_compute_are_no_tasks(given: dict[str, int]) -> None:
    assert others(reading(**given)) == (0, False)


def test_what_tells_nothing_of_now_is_not_counted_and_known_as_that() -> None:
    assert others(reading(31.0, bio_bytes_per_s=800)) == (None, True)
    assert others(reading(ut_permille=None)) == (None, True)
    assert others() == (None, False)


def test_servers_that_carry_the_data_together_are_counted_together_or_not_at_all() -> None:
    first = reading(bio_bytes_per_s=200)
    both = ("rcss1", "rcss2")
    assert others(first, reading(server="rcss2", bio_bytes_per_s=200), names=both) == (4, False)
    assert others(first, reading(31.0, server="rcss2", bio_bytes_per_s=200), names=both) == (None, True)
    assert others(first, names=both) == (None, True)
