"""What a program asks over several runs, and what of it a load line is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tonnage.demand.job_use import Bounds, FileSystemUse, JobUse, Metadata, TimeBin, Transfers
from tonnage.demand.profile import main_file_system, profile_of
from tonnage.errors import RequestError
from tonnage.placement.io_demand import demand_of_uses
from tonnage.placement.task_caps import Capacity, Plateau, choose_cap
from tonnage.report.answers.demand import answer

MIB = 1 << 20
NAMES = Metadata(opens=4, stats=0, seeks=0, syncs=0, busy_s=0.0, first_s=0.0, last_s=10.0)
WRITES = Transfers(
    operation="write",
    bytes=1000 * MIB,
    operations=1000,
    bins=(0, 0, 0, 0, 1000, 0, 0, 0, 0, 0),
    common=(),
    sequential=Bounds(0.9, 1.0),
    consecutive=Bounds(0.9, 1.0),
    order="sequential",
    files=4,
    ranks=Bounds(4, 4),
    at_once=Bounds(2, 4),
    mean_at_once=Bounds(1.5, 3.0),
    busy_s=20.0,
    active_s=Bounds(5.0, 8.0),
    first_s=1.0,
    last_s=9.0,
)
PLACE = FileSystemUse(
    mount="/scratch", type="lustre", reads=None, writes=WRITES, metadata=NAMES, files=4, only_read=0, only_written=4,
    shared=0,
)  # fmt: skip
JOB = JobUse(
    program="app", command="app", source="Darshan", processes=4, started_ns=0, run_s=10.0, file_systems=(PLACE,)
)


def lasting(run_s: float) -> JobUse:
    return replace(JOB, run_s=run_s)


def test_one_run_has_figures_without_an_interval() -> None:
    profile = profile_of([JOB])
    (flow,) = profile.places[0].flows
    assert flow.waiting.median == pytest.approx(2.0), "20 s inside calls in 10 s are two tasks"
    assert flow.waiting.confidence == 0
    assert flow.job_bytes_per_s.median == pytest.approx(100 * MIB)
    assert flow.transfer_size.median == MIB
    assert flow.rate_bytes_per_s == Bounds(125 * MIB, 200 * MIB)


def test_several_runs_have_intervals_and_bounds_that_hold_for_each() -> None:
    wide = replace(PLACE, writes=replace(WRITES, at_once=Bounds(1, 3)))
    profile = profile_of([lasting(10), lasting(12), lasting(11), replace(JOB, file_systems=(wide,))])
    (flow,) = profile.places[0].flows
    assert profile.runs == 4
    assert flow.at_once == Bounds(2, 4), "in the fullest moment of all of them"
    assert flow.waiting.low < flow.waiting.median < flow.waiting.high and flow.waiting.confidence == 0.95


def test_calls_of_each_size_are_of_one_run_and_not_of_all_of_them_together() -> None:
    bins = [(0, 0, 0, 0, count, 0, 0, 0, 0, 0) for count in (1000, 1000, 1200)]
    uses = [replace(JOB, file_systems=(replace(PLACE, writes=replace(WRITES, bins=one)),)) for one in bins]
    (flow,) = profile_of(uses).places[0].flows
    assert flow.sizes[4].low < flow.sizes[4].median == 1000 < flow.sizes[4].high
    shown = dict(answer(["a", "b", "c"], profile_of(uses), (), uses).tables)
    assert "1,000 [818, 1,380]" in str(shown["Sizes of calls on /scratch"])


def test_what_could_not_be_read_is_no_job_without_files() -> None:
    with pytest.raises(RequestError, match="no record of a file can be read: module POSIX cannot be read; hint"):
        profile_of([replace(JOB, file_systems=(), problems=("module POSIX cannot be read",))])


def test_a_run_without_such_calls_counts_as_none_of_them() -> None:
    profile = profile_of([JOB, replace(JOB, file_systems=(replace(PLACE, writes=None),))])
    (flow,) = profile.places[0].flows
    assert flow.bytes.low == 0 and flow.bytes.high == 1000 * MIB


@pytest.mark.parametrize(
    ("other", "word"),
    [(replace(JOB, program="other"), "one program"), (replace(JOB, processes=8), "number of processes")],
)
def test_unequal_jobs_are_no_repetitions(other: JobUse, word: str) -> None:
    with pytest.raises(RequestError, match=word):
        profile_of([JOB, other])


def test_a_job_without_files_asks_nothing() -> None:
    with pytest.raises(RequestError, match="no file"):
        profile_of([replace(JOB, file_systems=())])


def test_a_mount_point_that_the_job_did_not_use_is_refused_with_those_it_did() -> None:
    assert main_file_system(JOB).mount == "/scratch"
    with pytest.raises(RequestError, match="it used /scratch"):
        main_file_system(JOB, "/home")


def test_bursts_are_groups_of_bins_with_bytes() -> None:
    bins = [TimeBin(at, at + 1, moved) for at, moved in enumerate((5, 5, 0, 7, 0, 0, 9))]
    moved = replace(WRITES, heat=tuple(bins))
    assert moved.bursts == 3 and moved.peak == TimeBin(6, 7, 9)


def test_a_job_that_asks_half_a_line_is_packed_two_at_a_time() -> None:
    """The whole of it: two tasks that wait on average, of a line of four."""
    demand = demand_of_uses([JOB], "LOG")
    assert demand.tasks == pytest.approx(2.0) and demand.measured
    plateau = Plateau(tasks=4, bytes_per_s=1000 * MIB)
    line = Capacity(tasks=4, low=4, high=4, source="4 tasks", plateau=plateau)
    cap, why = choose_cap(demand.against(plateau), line, asked="auto", copies=9, slots=None, cpu_bound_below=0.1)
    assert cap == 2, why
    assert "counted by Darshan in LOG on /scratch" in why


def test_the_rate_counts_where_it_is_more_of_the_line_than_the_waiting() -> None:
    fast = replace(PLACE, writes=replace(WRITES, busy_s=0.1))
    demand = demand_of_uses([replace(JOB, file_systems=(fast,))], "LOG")
    plateau = Plateau(tasks=8, bytes_per_s=200 * MIB)
    assert demand.against(plateau).tasks == pytest.approx(4.0), "half of the plateau is half of the line"


def test_a_job_of_whole_seconds_has_bounds_in_each_figure_over_its_time() -> None:
    whole = replace(JOB, run_s=10.0, clock_s=1.0)
    profile = profile_of([whole])
    (flow,) = profile.places[0].flows
    assert (profile.run_s.low, profile.run_s.high, profile.run_s.bounded) == (10.0, 11.0, True), "NAMES end at 10 s"
    assert (flow.waiting.low, flow.waiting.high) == (pytest.approx(20 / 11), pytest.approx(2.0))
    assert flow.job_bytes_per_s.low == pytest.approx(1000 * MIB / 11) and flow.job_bytes_per_s.bounded
    several = profile_of([whole, replace(whole, run_s=12.0), replace(whole, run_s=11.0)])
    exact = profile_of([JOB, lasting(12.0), lasting(11.0)])
    assert several.run_s.low <= exact.run_s.low < exact.run_s.high < several.run_s.high


def test_a_peak_is_told_with_its_time_and_not_where_that_is_longer_than_any_call() -> None:
    short = replace(WRITES, heat=(TimeBin(0.0, 0.1, 1000 * MIB),))
    (flow,) = profile_of([replace(JOB, file_systems=(replace(PLACE, writes=short),))]).places[0].flows
    assert flow.peak_bytes_per_s is not None and flow.peak_over_s == Bounds(0.1, 0.1)
    long = replace(WRITES, heat=(TimeBin(0.0, 100.0, 1000 * MIB),))
    (flow,) = profile_of([replace(JOB, file_systems=(replace(PLACE, writes=long),))]).places[0].flows
    assert flow.peak_bytes_per_s is None and flow.peak_over_s is None
