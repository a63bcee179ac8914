"""What a look says of a server's load: the scheduler's tasks and what the indices show beyond, and who is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tonnage.cluster.scheduler import Job
from tonnage.placement.cluster_snapshot import ClusterSnapshot
from tonnage.placement.indices.reading import Reading
from tonnage.placement.server_load import LoadReader, load_rows
from tonnage.placement.site import Server, Site
from tonnage.placement.submission_ledger import Entry
from tonnage.placement.task_caps import Plateau
from tonnage.placement.watch.observation import ServerObservation, observations

from .observations import NOON_S

SITE = Site(server=(Server(name="rcss1", hosts=("fs1",), indices="proc:"), Server(name="rcss2", hosts=("fs2",))))
READING = Reading(
    server="rcss1", source="proc", at_s=NOON_S - 2, ut_permille=250, bio_per_s=10.0, bio_bytes_per_s=50_000_000,
    pressure_permille=1000, cpus=8,
)  # fmt: skip
PLATEAU = 100_000_000


def job(number: int, user: str, server: str = "rcss1", *, count: int = 1, name: str = "align", **more: object) -> Job:
    found = Job(job=str(number), user=user, name=name, server=server, state="running", count=count)
    return replace(found, **more)  # type: ignore[arg-type]


def seen(
    jobs: Sequence[Job] | None = (),
    reading: Reading = READING,
    *,
    lines: dict[str, int] | None = None,
    silent: tuple[str, ...] = (),
    placements: Sequence[Entry] = (),
    plateau: int | None = PLATEAU,
) -> list[ServerObservation]:
    lines = {"rcss1": 8, "rcss2": 4} if lines is None else lines
    reader = LoadReader(SITE, SITE.server)
    readings = {"rcss1": reading}
    reader.snapshot = ClusterSnapshot(
        now_s=NOON_S, jobs=jobs, jobs_at_s=NOON_S, readings=readings, placements=placements,
        lines={name: float(tasks) for name, tasks in lines.items()},
        plateaus={} if plateau is None else {"rcss1": Plateau(tasks=lines.get("rcss1", 1), bytes_per_s=plateau)},
    )  # fmt: skip
    reader.silent_lines = silent
    reader.jobs_problem = "jobs are not known: it hangs" if jobs is None else None
    return observations(reader, load_rows(SITE, readings, jobs, lines, now_s=NOON_S))


def test_the_load_is_the_tasks_of_the_schedulers_jobs_and_what_the_indices_show_beyond_them() -> None:
    first, second = seen([job(1, "ann", count=3)])
    # Half of the plateau is half of the line: four tasks, of which three are explained.
    assert (first.load, first.others, first.above) == (4.0, 1.0, False)
    assert (second.load, second.others, second.above) == (0.0, None, False)
    first, _ = seen([job(1, "ann", count=9)])
    assert (first.load, first.others, first.above) == (9.0, 0.0, True)


def test_clients_that_no_scheduler_knows_put_a_server_above_its_line() -> None:
    busy = replace(READING, bio_bytes_per_s=150_000_000)
    first, _ = seen(reading=busy)
    assert (first.load, first.others, first.above) == (12.0, 12.0, True)
    first, _ = seen([job(1, "ann", count=3)], busy)
    assert (first.load, first.others, first.above) == (12.0, 9.0, True), "a job is not counted twice"


def test_a_job_beside_the_server_is_counted_once_whoever_submitted_it() -> None:
    beside = Job(job="6", user="dan", name="beside", state="running", hosts=("fs1",), count=4)
    first, _ = seen([beside])
    assert (first.load, first.others) == (4.0, 0.0)


def test_a_suspended_job_is_there_and_is_no_load() -> None:
    first, second = seen([job(1, "ann", "rcss2", count=3, state="suspended")])
    assert second.load == 0.0 and second.there is not None and second.there.users[0].tasks == 3
    assert first.load == 4.0


def test_the_plateau_and_all_of_the_time_in_waiting_are_the_line_and_not_above_it_and_cpus_are_no_load() -> None:
    first, _ = seen(reading=replace(READING, bio_bytes_per_s=PLATEAU))
    assert (first.load, first.above) == (8.0, False)
    first, _ = seen(plateau=None)
    assert (first.load, first.above) == (8.0, False)
    first, _ = seen(reading=replace(READING, ut_permille=1000))
    assert first.load == 4.0


def test_indices_that_cannot_tell_of_others_leave_the_load_to_the_jobs() -> None:
    # A kernel without PSI, and no plateau.
    first, _ = seen([job(1, "ann", count=3)], replace(READING, pressure_permille=None), plateau=None)
    assert (first.load, first.others, first.above) == (3.0, None, False)


@pytest.mark.parametrize(
    "failed",
    [
        replace(READING, at_s=NOON_S - 31),
        replace(READING, problem="it did not answer"),
        Reading(server="rcss1", source="proc", at_s=NOON_S, problem="refused"),
    ],
)
def test_an_index_that_failed_or_is_stale_makes_a_look_unknown_unless_the_jobs_alone_are_above(failed: Reading) -> None:
    first, second = seen([job(1, "ann", count=3)], failed)
    assert first.above is None and first.load == 3.0 and len(first.missing) == 1
    # No indices are stated for the other: nothing is missing.
    assert second.above is False
    first, _ = seen([job(1, "ann", count=9)], failed)
    assert first.above is True


def test_a_scheduler_that_does_not_tell_makes_every_look_unknown_unless_the_indices_alone_are_above() -> None:
    first, second = seen(None)
    assert (first.above, second.above, first.there) == (None, None, None)
    assert first.missing == ("jobs are not known: it hangs",)
    first, _ = seen(None, replace(READING, bio_bytes_per_s=150_000_000))
    assert first.above is True


def test_a_directory_of_lines_that_does_not_answer_makes_a_look_unknown_and_no_line_is_another_thing() -> None:
    first, _ = seen([job(1, "ann", count=9)], silent=("/lines",))
    assert first.above is None and first.missing == ("/lines with the load lines does not answer",)
    first, _ = seen([job(1, "ann", count=9)], lines={})
    assert first.line is None and first.missing == ()


def test_users_are_those_whose_jobs_run_there_with_the_most_tasks_first() -> None:
    jobs = [
        job(1, "ann", count=4),
        job(1, "ann", count=1, copy=7),
        job(2, "ann", name="sort"),
        job(3, "bob", count=9, name="bwa"),
        job(4, "eve", state="pending"),
        job(5, "eve", server="rcss2"),
        Job(job="6", user="dan", name="beside", state="suspended", hosts=("fs1",)),
        job(7, "eve", state="done"),
    ]
    first, second = seen(jobs)
    assert first.there is not None and second.there is not None
    assert [(one.user, one.jobs, one.tasks, one.names) for one in first.there.users] == [
        ("bob", 1, 9, ("bwa",)),
        ("ann", 2, 6, ("align", "sort")),
        ("dan", 1, 1, ("beside",)),
    ]
    assert first.there.jobs == 4 and [one.user for one in second.there.users] == ["eve"]
