"""What a program asks of each file system, over one run of it or several: figures with intervals where runs differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.analysis.statistics.intervals import median_interval
from tonnage.demand.job_use import Bounds, FileSystemUse, JobUse, Transfers
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class Over:
    """A figure over the runs: their median and its interval, which is the median itself where there is one run."""

    median: float
    low: float
    high: float
    confidence: float
    """0: one run, no interval."""

    @staticmethod
    def of(values: Sequence[float]) -> Over:
        """Of one value each run."""
        return Over(*median_interval(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """All reads, or all writes, of the program on one file system. Bounds hold for every run."""

    operation: str
    bytes: Over
    operations: Over
    transfer_size: Over
    ranks: Bounds
    at_once: Bounds
    """Calls in progress at the same moment, at most."""
    mean_at_once: Bounds
    """On average, while there is one."""
    rate_bytes_per_s: Bounds
    """While calls are in progress."""
    active_s: Bounds
    sequential: Bounds
    job_bytes_per_s: Over
    """Over the whole time of the job."""
    waiting: Over
    """Tasks inside such calls, on average over the whole time of the job."""
    peak_bytes_per_s: Over | None
    """In the fullest bin of time; None where a log has no bins."""
    bursts: Over | None
    imbalance: Over | None
    traced: bool
    """Each call of every run was traced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file system."""

    mount: str
    type: str
    flows: tuple[Flow, ...]
    opens: Over
    stats: Over
    names_waiting: Over
    """Tasks inside opens, closes, stats and seeks, on average over the whole time of the job."""
    files: Over
    shared: Over
    mapped: bool
    """Some file was mapped into memory, and what went that way is in no counter."""

    @property
    def bytes(self) -> float:
        return sum(flow.bytes.median for flow in self.flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One program with one number of processes."""

    program: str
    source: str
    processes: int
    runs: int
    run_s: Over
    places: tuple[Place, ...]
    """The one with most bytes first."""
    problems: tuple[str, ...]


def profile_of(uses: Sequence[JobUse]) -> Profile:
    """RequestError where they are not runs of one program with one number of processes, or did nothing."""
    first = uses[0]
    for other in uses[1:]:
        if other.program != first.program:
            names = f"{first.program or 'an unknown program'} and {other.program or 'an unknown program'}"
            raise RequestError(f"these are runs of {names}; hint: ask for one program at a time")
        if other.processes != first.processes:
            raise RequestError(
                f"{first.program} ran with {first.processes} and with {other.processes} processes, which are two "
                "demands; hint: ask for one number of processes at a time"
            )
    if not any(use.file_systems for use in uses):
        raise RequestError(
            "no file was opened, so nothing was asked of any storage; hint: give a log of a job that was"
        )
    mounts = dict.fromkeys((place.mount, place.type) for use in uses for place in use.file_systems)
    places = [_place(uses, mount, kind) for mount, kind in mounts]
    return Profile(
        program=first.program,
        source=first.source,
        processes=first.processes,
        runs=len(uses),
        run_s=Over.of([use.lasted_s for use in uses]),
        places=tuple(sorted(places, key=lambda place: -place.bytes)),
        problems=tuple(dict.fromkeys(problem for use in uses for problem in use.problems)),
    )


def _place(uses: Sequence[JobUse], mount: str, kind: str) -> Place:
    found = [(use, next((one for one in use.file_systems if one.mount == mount), None)) for use in uses]

    def over(value: Callable[[JobUse, FileSystemUse], float]) -> Over:
        return Over.of([0.0 if place is None else value(use, place) for use, place in found])

    flows = [_flow(uses, mount, operation) for operation in ("write", "read")]
    return Place(
        mount=mount,
        type=kind,
        flows=tuple(flow for flow in flows if flow is not None),
        opens=over(lambda _, place: place.metadata.opens),
        stats=over(lambda _, place: place.metadata.stats),
        names_waiting=over(lambda use, place: place.metadata.busy_s / use.lasted_s),
        files=over(lambda _, place: place.files),
        shared=over(lambda _, place: place.shared),
        mapped=any(place is not None and place.mapped > 0 for _, place in found),
    )


def _flow(uses: Sequence[JobUse], mount: str, operation: str) -> Flow | None:
    """None where no run did such a call there."""
    places = [next((one for one in use.file_systems if one.mount == mount), None) for use in uses]
    every = [None if place is None else (place.reads if operation == "read" else place.writes) for place in places]
    moved = [one for one in every if one is not None]
    if not moved:
        return None

    def over(value: Callable[[Transfers], float]) -> Over:
        return Over.of([0.0 if one is None else value(one) for one in every])

    def optional(value: Callable[[Transfers], float | None]) -> Over | None:
        values = [value(one) for one in moved]
        known = [one for one in values if one is not None]
        return Over.of(known) if len(known) == len(values) else None

    def bounds(value: Callable[[Transfers], Bounds]) -> Bounds:
        values = [value(one) for one in moved]
        return Bounds(min(one.low for one in values), max(one.high for one in values))

    pairs = list(zip(uses, every, strict=True))
    return Flow(
        operation=operation,
        bytes=over(lambda one: one.bytes),
        operations=over(lambda one: one.operations),
        transfer_size=Over.of([one.transfer_size for one in moved]),
        ranks=bounds(lambda one: one.ranks),
        at_once=bounds(lambda one: one.at_once),
        mean_at_once=bounds(lambda one: one.mean_at_once),
        rate_bytes_per_s=bounds(lambda one: one.rate_bytes_per_s),
        active_s=bounds(lambda one: one.active_s),
        sequential=bounds(lambda one: one.sequential),
        job_bytes_per_s=Over.of([0.0 if one is None else one.bytes / use.lasted_s for use, one in pairs]),
        waiting=Over.of([0.0 if one is None else one.busy_s / use.lasted_s for use, one in pairs]),
        peak_bytes_per_s=optional(lambda one: one.peak_bytes_per_s),
        bursts=optional(lambda one: one.bursts),
        imbalance=optional(lambda one: one.imbalance),
        traced=all(one.counted_by == "DXT" for one in moved),
    )


def main_place(use: JobUse, mount: str | None = None) -> FileSystemUse:
    """The file system of that mount point; None: the one with most bytes. RequestError where there is none."""
    places = use.file_systems
    if mount is not None:
        named = next((one for one in places if one.mount == mount), None)
        if named is None:
            known = ", ".join(one.mount for one in places) or "none"
            raise RequestError(f"the job used no file system {mount}; hint: it used {known}")
        return named
    if not places:
        raise RequestError("the job opened no file; hint: give a log of a job that did")
    return max(places, key=lambda one: sum(moved.bytes for moved in one.transfers))
