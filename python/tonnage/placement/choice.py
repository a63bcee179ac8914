"""Which hosts a job goes to, as a requirement or a preference, and how many copies run at once: pure functions, used by
submissions and by simulations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Literal

from tonnage.errors import TonnageError
from tonnage.placement.site import Policy
from tonnage.placement.task_caps import Capacity, Demand, choose_cap, cpu_bound
from tonnage.placement.where import Located

UNKNOWN_LINE_TASKS = 16.0
"""Where no load line is known, so many tasks double the access: enough to distinguish a busy server from an idle one,
and too little to send a job away from its data."""
ALIKE = 1.05
"""Hosts away from the data whose scores are this close are left to the scheduler to choose from."""
MOST_PREFERRED = 64
"""The largest number of hosts that a preference names."""
_Placement = tuple[tuple[str, ...], Literal["pin", "prefer", "free"], str | None, tuple[str, ...]]


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A host on which the job could run, with the server it would read from there.

    Mutable: a simulation keeps one a host and brings it up to date.
    """

    host: str
    server: str | None
    """None where the servers of the data are unknown."""
    near: bool
    """Beside the data."""
    bandwidth_bytes_per_s: float
    """Of one job alone from this host to the server's data."""
    latency_s: float
    slots: int | None
    """Jobs that the host takes at once; None: not known, taken as unbounded."""
    busy: int = 0
    """Slots in use."""
    waiting: int = 0
    """Jobs that wait for this host."""
    slot_s: float | None = None
    """Mean time a job there keeps its slot; None: not known."""
    line: float | None = None
    """The server's load line in tasks; None: not known."""
    on_server: float = 0.0
    """Tasks that use the server now, by the scheduler's count."""
    placed: float = 0.0
    """Tasks that were placed on it since those were counted, decayed."""
    pressure: float | None = None
    """Share of the server's capacity in use by its indices, 0…1; None where they are stale or unknown."""
    used_at_s: float = 0.0
    """When Tonnage last placed a job there; between equals the one longest unused wins."""
    problem: str | None = None
    """Why it cannot run the job: down, or unknown to the scheduler. The decision leaves it out and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate's score: the seconds until the job would have its data. ``score_s`` is the sum of the three."""

    host: str
    server: str | None
    near: bool
    access_s: float
    """Moving its bytes and operations, alone."""
    load_s: float
    """What the load on the server adds to that."""
    wait_s: float
    """Expected wait for a slot."""
    passed_over: str | None = None
    """Why it was not considered further, though its score may be the best; None if it was."""
    score_s: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score_s", self.access_s + self.load_s + self.wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Says where the job goes, and why."""

    hosts: tuple[str, ...]
    """Best first; empty: the scheduler decides."""
    bind: Literal["pin", "prefer", "free"]
    server: str | None
    cap: int | None
    """Copies at once; None: no limit."""
    why: tuple[str, ...]
    """Sentences for ``--dry-run`` and the record of the submission."""
    considered: tuple[Scored, ...]
    """Every candidate, best first."""
    room: int | None = None
    """Copies that the hosts beside the data take at once; None where that is no bound, or it is no array."""
    cap_why: str | None = None
    """How many run at once, and why, in one sentence, which ``why`` has too; None for a single job without a measured
    demand."""


def access_s(demand: Demand, candidate: Candidate) -> float:
    """Computes the time of its bytes and operations, alone: bytes ÷ bandwidth + operations × latency."""
    return demand.bytes / candidate.bandwidth_bytes_per_s + demand.operations * candidate.latency_s


def tasks_there(candidate: Candidate) -> float:
    """Tasks that use the server: those the scheduler counts, or as many as its indices say where that is more (others
    use it too), and those placed since."""
    counted = candidate.on_server
    if candidate.line is not None and candidate.pressure is not None:
        counted = max(counted, candidate.pressure * candidate.line)
    return counted + candidate.placed


def fill(demand: Demand, candidate: Candidate) -> float:
    """How full the server would be with this job, 1 at its load line. Between equal scores the emptier one wins."""
    if candidate.line is not None:
        return (tasks_there(candidate) + demand.tasks) / candidate.line
    return tasks_there(candidate) / UNKNOWN_LINE_TASKS + (candidate.pressure or 0.0)


def load_share(demand: Demand, candidate: Candidate) -> float:
    """What the load adds to the access, as a share of it.

    Up to its load line a server gives each task its full rate, so nothing; beyond it all share what the line carries,
    so each takes ``tasks ÷ line`` times as long. Without a line, gently more with each task.
    """
    full = fill(demand, candidate)
    return max(0.0, full - 1.0) if candidate.line is not None else full


def wait_s(candidate: Candidate, *, slots: int, unknown_slot_s: float) -> float:
    """Expected wait for a slot: none where one is free, else the turns before it.

    With k jobs side by side a turn ends every ``slot_s ÷ k`` seconds. ``slots``: those that the job takes.
    ``unknown_slot_s``: how long a job keeps its slot where that is unknown.
    """
    if candidate.slots is None or candidate.busy + slots <= candidate.slots:
        return 0.0
    turn_s = unknown_slot_s if candidate.slot_s is None else candidate.slot_s
    return (candidate.waiting + 1) * turn_s / max(1, candidate.slots // slots)


def weight(age_s: float, decay_s: float) -> float:
    """What a task placed ``age_s`` ago still counts for, 1…0: ``exp(-age ÷ decay)``.

    A job needs a moment from its submission to its first byte, and an index a moment to show it; without this every job
    of a burst would find the same server idle. It decays because a job that never shows must not count for ever.
    """
    return exp(-max(0.0, age_s) / decay_s) if decay_s > 0 else 0.0


class NoFileServer(TonnageError):
    """The servers of the data are unknown."""


class NothingNear(TonnageError):
    """The server is known, and no host beside it takes the job."""


class _Ranked:
    """A candidate with its terms, in the order of preference."""

    __slots__ = ("access", "candidate", "demand", "key", "load", "passed_over", "wait")

    def __init__(self, demand: Demand, candidate: Candidate, slots: int, local_wait_s: float) -> None:
        self.candidate, self.demand = candidate, demand
        self.access = access_s(demand, candidate)
        self.load = self.access * load_share(demand, candidate)
        self.wait = wait_s(candidate, slots=slots, unknown_slot_s=local_wait_s)
        self.passed_over = candidate.problem
        if self.passed_over is None and candidate.slots is not None and candidate.slots < slots:
            self.passed_over = f"it has {candidate.slots} slots, the job takes {slots}"
        self.key = (
            self.passed_over is not None,
            self.access + self.load + self.wait,
            not candidate.near,
            fill(demand, candidate),
            candidate.used_at_s,
            candidate.host,
        )

    def scored(self) -> Scored:
        candidate = self.candidate
        return Scored(
            host=candidate.host,
            server=candidate.server,
            near=candidate.near,
            access_s=self.access,
            load_s=self.load,
            wait_s=self.wait,
            passed_over=self.passed_over,
        )


def decide(
    demand: Demand,
    candidates: Iterable[Candidate],
    *,
    located: Located,
    policy: Policy,
    copies: int | None = None,
    cap: int | Literal["auto"] = "auto",
    anywhere: bool = False,
    slots: int = 1,
    carried: Mapping[str, Capacity] | None = None,
) -> Decision:
    """Where a job goes. Pure: what it knows of time is in the candidates.

    ``slots``: those that each copy takes. ``carried``: by the server's name; a cap goes by the one that is chosen, and
    a demand is compared with the line of each. NoFileServer or NothingNear where there is no place beside the data and
    ``anywhere`` was not asked for.
    """
    local_wait_s = policy.local_wait / 1e9
    lines = carried or {}
    asked = {name: demand.against(line.plateau) for name, line in lines.items()}
    every = (_Ranked(asked.get(one.server or "", demand), one, slots, local_wait_s) for one in candidates)
    ranked = sorted(every, key=lambda one: one.key)
    near = [one for one in ranked if one.candidate.near and one.passed_over is None]
    first = next((one.demand for one in (*near, *ranked)), demand)
    hosts, bind, server, why = _placement(first, ranked, near, located, policy, anywhere)
    limit: int | None = None
    room: int | None = None
    sentence: str | None = None
    if copies is not None:
        room = _slots_beside(near, hosts, slots) if bind == "pin" else None
        limit, sentence = choose_cap(
            asked.get(server or "", demand),
            lines.get(server or ""),
            asked=cap,
            copies=copies,
            slots=room,
            cpu_bound_below=policy.cpu_bound_below,
        )
        why = (*why, sentence)
    considered = tuple(one.scored() for one in ranked)
    return Decision(
        hosts=hosts,
        bind=bind,
        server=server,
        cap=limit,
        why=why,
        considered=considered,
        room=room,
        cap_why=sentence,
    )


def _placement(
    demand: Demand,
    ranked: Sequence[_Ranked],
    near: Sequence[_Ranked],
    located: Located,
    policy: Policy,
    anywhere: bool,
) -> _Placement:
    server = next((one.candidate.server for one in (*near, *ranked)), None)
    if located.striped and located.servers:
        hosts = tuple(one.candidate.host for one in near[:MOST_PREFERRED])
        told = "its data is spread over several servers: they count as one for load and licences, and bind it nowhere"
        return hosts, "prefer" if hosts else "free", server, (told,)
    if not located.servers:
        return _away_from_data(ranked, located, anywhere, None)
    if cpu_bound(demand, policy.cpu_bound_below) and not located.local:
        told = f"it waits for storage {demand.io_share:.0%} of its time ({demand.source}): any host will do"
        return (), "free", server, (told,)
    if not near:
        return _away_from_data(ranked, located, anywhere, server)
    local_wait_s = policy.local_wait / 1e9
    soon = next((one for one in near if one.wait <= local_wait_s), None)
    if soon is not None:
        return _beside(near, soon, f"{soon.candidate.host} is beside the data; {_wait_text(soon, local_wait_s)}")
    return _late(ranked, near, local_wait_s)


def _wait_text(one: _Ranked, local_wait_s: float) -> str:
    if one.candidate.slots is None:
        return "nobody says how many slots it has"
    if one.wait == 0:
        return "it has a free slot"
    return f"it has one in about {one.wait:.0f} s, within the {local_wait_s:g} s that a job may wait for it"


def _beside(near: Sequence[_Ranked], chosen: _Ranked, sentence: str) -> _Placement:
    """Pinned to the chosen server's hosts: whichever of them has a slot first."""
    server = chosen.candidate.server
    others = (one.candidate.host for one in near if one is not chosen and one.candidate.server == server)
    return (chosen.candidate.host, *others), "pin", server, (sentence,)


def _late(ranked: Sequence[_Ranked], near: Sequence[_Ranked], local_wait_s: float) -> _Placement:
    """The job would wait longer beside the data than the policy allows: the best score wins, where that is faster."""
    for one in ranked:
        candidate = one.candidate
        if not candidate.near and candidate.line is not None and fill(one.demand, candidate) > 1:
            # The server is the bottleneck: one more reader from another host only slows the others down.
            one.passed_over = one.passed_over or f"its server carries no more than its load line of {candidate.line:g}"
    best = next(one for one in ranked if one.passed_over is None)
    first = near[0]
    waits = f"beside the data it would wait about {first.wait:.0f} s for a slot, more than {local_wait_s:g} s"
    if best.candidate.near:
        return _beside(near, best, f"{waits}; yet nothing else has its data sooner than {best.candidate.host}")
    hosts, bind = _alike(ranked, best)
    return hosts, bind, best.candidate.server, (f"{waits}; {best.candidate.host} has its data sooner",)


def _away_from_data(ranked: Sequence[_Ranked], located: Located, anywhere: bool, server: str | None) -> _Placement:
    if server is None and not located.servers:
        why = located.problem or f"nothing says who serves {located.path}"
        error: TonnageError = NoFileServer(why)
    else:
        named = ", ".join(located.servers[:3])
        reasons = "; ".join(
            dict.fromkeys(f"{one.candidate.host}: {one.passed_over}" for one in ranked if one.candidate.near)
        )
        why = f"no host beside {server or named} takes the job" + (f" ({reasons})" if reasons else "")
        error = NothingNear(f"{why}; hint: see `tonnage doctor`, or go on with --anywhere")
    if not anywhere:
        raise error
    best = next((one for one in ranked if one.passed_over is None), None)
    hosts, bind = ((), "free") if best is None else _alike(ranked, best)
    return hosts, bind, server, (f"{why}; it goes anywhere, as asked",)


def _alike(ranked: Sequence[_Ranked], best: _Ranked) -> tuple[tuple[str, ...], Literal["prefer", "free"]]:
    """Those as good as the best; empty where all are."""
    far = [one for one in ranked if not one.candidate.near and one.passed_over is None]
    limit = ALIKE * (best.access + best.load + best.wait)
    alike = [one for one in far if one.access + one.load + one.wait <= limit]
    if len(alike) == len(far):
        return (), "free"
    return tuple(one.candidate.host for one in alike[:MOST_PREFERRED]), "prefer"


def _slots_beside(near: Sequence[_Ranked], hosts: tuple[str, ...], slots: int) -> int | None:
    """Jobs that the hosts take side by side; None where one of them does not say."""
    counts = [one.candidate.slots for one in near if one.candidate.host in hosts]
    known = [count // slots for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
