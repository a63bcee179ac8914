"""What a program asks of each file system, over one run of it or several: figures with intervals where runs differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.analysis.statistics.intervals import median_interval
from tonnage.demand.job_use import BIN_NAMES, Bounds, FileSystemUse, JobUse, Order, Transfers
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class Over:
    """A figure over the runs: their median and its interval."""

    median: float
    low: float | None
    high: float | None
    """None: nothing bounds it, of one run there is no interval."""
    confidence: float
    """0: one run, no interval."""
    bounded: bool = False
    """The figure of some run is only bounded: ``low`` and ``high`` have these bounds in them."""

    @staticmethod
    def of(values: Sequence[float]) -> Over:
        """Makes the figure of one value for each run."""
        median, low, high, confidence = median_interval(values)
        return Over(median, low, high, confidence) if confidence else Over(median, None, None, 0.0)

    @staticmethod
    def within(values: Sequence[float], bounds: Sequence[Bounds]) -> Over:
        """Of one value each run, which is known as well as the bounds beside it say."""
        if all(one.is_exact for one in bounds):
            return Over.of(values)
        median, own_low, own_high, confidence = median_interval(values)
        low, high = median_interval([one.low for one in bounds])[1], median_interval([one.high for one in bounds])[2]
        return Over(median, min(low, own_low), max(high, own_high), confidence, bounded=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """All reads, or all writes, of the program on one file system. Bounds hold for every run."""

    operation: str
    bytes: Over
    operations: Over
    transfer_size: Over | None
    """None where it is not known."""
    sizes: tuple[Over, ...]
    """Calls of each range of sizes (``job_use.BIN_NAMES``) in a run; stdio's have none, and are in no range."""
    ranks: Bounds
    at_once: Bounds
    """Calls in progress at the same moment, at most, in the fullest moment of all runs."""
    mean_at_once: Bounds
    """On average, while there is one."""
    rate_bytes_per_s: Bounds | None
    """While calls are in progress; None where nothing bounds it."""
    active_s: Bounds
    sequential: Bounds
    order: Order
    """Of every run, or not known."""
    job_bytes_per_s: Over
    """Over the whole time of the job."""
    waiting: Over
    """Tasks inside such calls, on average over the whole time of the job."""
    peak_bytes_per_s: Over | None
    """In the fullest bin of time; None where a log has no bins, or too long ones."""
    peak_over_s: Bounds | None
    """How long these bins are."""
    bursts: Over | None
    imbalance: Over | None
    traced: bool
    """Each call of every run was traced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemProfile:
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
    places: tuple[FileSystemProfile, ...]
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
    problems = tuple(dict.fromkeys(problem for use in uses for problem in use.problems))
    if not any(use.file_systems for use in uses):
        if problems:
            raise RequestError(f"no record of a file can be read: {'; '.join(problems)}; hint: give a whole log")
        raise RequestError(
            "no file was opened, so nothing was asked of any storage; hint: give a log of a job that was"
        )
    mounts = dict.fromkeys((place.mount, place.type) for use in uses for place in use.file_systems)
    places = [_file_system_profile(uses, mount, kind) for mount, kind in mounts]
    return Profile(
        program=first.program,
        source=first.source,
        processes=first.processes,
        runs=len(uses),
        run_s=Over.within([use.lasted_s for use in uses], [use.lasted for use in uses]),
        places=tuple(sorted(places, key=lambda place: -place.bytes)),
        problems=problems,
    )


def _file_system_profile(uses: Sequence[JobUse], mount: str, kind: str) -> FileSystemProfile:
    found = [(use, next((one for one in use.file_systems if one.mount == mount), None)) for use in uses]

    def over(value: Callable[[FileSystemUse], float]) -> Over:
        return Over.of([0.0 if place is None else value(place) for _, place in found])

    inside = [Bounds(0, 0) if place is None else _exactly(place.metadata.busy_s) for _, place in found]
    flows = [_flow(uses, mount, operation) for operation in ("write", "read")]
    return FileSystemProfile(
        mount=mount,
        type=kind,
        flows=tuple(flow for flow in flows if flow is not None),
        opens=over(lambda place: place.metadata.opens),
        stats=over(lambda place: place.metadata.stats),
        names_waiting=_over_the_job(uses, inside),
        files=over(lambda place: place.files),
        shared=over(lambda place: place.shared),
        mapped=any(place is not None and place.mapped > 0 for _, place in found),
    )


def _flow(uses: Sequence[JobUse], mount: str, operation: str) -> Flow | None:
    """None where no run did such a call there."""
    places = [next((one for one in use.file_systems if one.mount == mount), None) for use in uses]
    every = [None if place is None else (place.reads if operation == "read" else place.writes) for place in places]
    moved = [one for one in every if one is not None]
    if not moved:
        return None

    def each(value: Callable[[Transfers], Bounds]) -> list[Bounds]:
        return [Bounds(0, 0) if one is None else value(one) for one in every]

    def over(value: Callable[[Transfers], Bounds]) -> Over:
        bounds = each(value)
        return Over.within([one.high for one in bounds], bounds)

    def optional(value: Callable[[Transfers], float | None]) -> Over | None:
        values = [value(one) for one in moved]
        known = [one for one in values if one is not None]
        return Over.of(known) if len(known) == len(values) else None

    def bounds(value: Callable[[Transfers], Bounds]) -> Bounds:
        values = [value(one) for one in moved]
        return Bounds(min(one.low for one in values), max(one.high for one in values))

    at_once = [one.at_once for one in moved]
    orders = {one.order for one in moved}
    peak, peak_over_s = _peak(moved)
    return Flow(
        operation=operation,
        bytes=over(lambda one: one.moved),
        operations=over(lambda one: one.calls),
        transfer_size=optional(lambda one: one.transfer_size),
        sizes=tuple(Over.of([0 if one is None else one.bins[at] for one in every]) for at in range(len(BIN_NAMES))),
        ranks=bounds(lambda one: one.ranks),
        at_once=Bounds(max(one.low for one in at_once), max(one.high for one in at_once)),
        mean_at_once=bounds(lambda one: one.mean_at_once),
        rate_bytes_per_s=_rate(moved),
        active_s=bounds(lambda one: one.active_s),
        sequential=bounds(lambda one: one.sequential),
        order=orders.pop() if len(orders) == 1 else "not known",
        job_bytes_per_s=_over_the_job(uses, each(lambda one: one.moved)),
        waiting=_over_the_job(uses, each(lambda one: one.inside_s)),
        peak_bytes_per_s=peak,
        peak_over_s=peak_over_s,
        bursts=optional(lambda one: one.bursts),
        imbalance=optional(lambda one: one.imbalance),
        traced=all(one.counted_by == "DXT" for one in moved),
    )


def _rate(moved: Sequence[Transfers]) -> Bounds | None:
    rates = [one.rate_bytes_per_s for one in moved]
    known = [one for one in rates if one is not None]
    return Bounds(min(one.low for one in known), max(one.high for one in known)) if len(known) == len(moved) else None


def _peak(moved: Sequence[Transfers]) -> tuple[Over | None, Bounds | None]:
    """The rate in the fullest bin, and how long these bins are."""
    peaks = [one.peak for one in moved]
    known = [one for one in peaks if one is not None]
    if len(known) < len(moved):
        return None, None
    lengths = [one.length_s for one in known]
    return Over.of([one.bytes_per_s for one in known]), Bounds(min(lengths), max(lengths))


def _over_the_job(uses: Sequence[JobUse], amounts: Sequence[Bounds]) -> Over:
    """So much of each run, per second of it."""
    pairs = list(zip(uses, amounts, strict=True))
    return Over.within(
        [amount.high / use.lasted_s for use, amount in pairs], [use.over_the_job(amount) for use, amount in pairs]
    )


def _exactly(value: float) -> Bounds:
    return Bounds(value, value)


def main_file_system(use: JobUse, mount: str | None = None) -> FileSystemUse:
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
