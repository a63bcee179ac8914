"""The decision: which hosts, how firmly, and how many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from tonnage.errors import TonnageError
from tonnage.placement.choice.candidate import Candidate, Decision, Demand, Scored
from tonnage.placement.choice.cap import Carried, choose_cap, cpu_bound
from tonnage.placement.choice.score import access_s, fill, load_share, wait_s
from tonnage.placement.site.model import Policy
from tonnage.placement.where.located import Located

ALIKE = 1.05
"""Hosts away from the data whose scores are this close are left to the scheduler to choose from."""
MOST_PREFERRED = 64
"""Hosts named in a wish: a request has an end."""


class NoFileServer(TonnageError):
    """Nobody knows who serves the data."""


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
    carried: Mapping[str, Carried] | None = None,
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
    hosts, bind, server, why = _place(first, ranked, near, located, policy, anywhere)
    limit: int | None = None
    room: int | None = None
    sentence: str | None = None
    if copies is not None:
        room = _room(near, hosts, slots) if bind == "pin" else None
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


Place = tuple[tuple[str, ...], Literal["pin", "prefer", "free"], str | None, tuple[str, ...]]


def _place(
    demand: Demand,
    ranked: Sequence[_Ranked],
    near: Sequence[_Ranked],
    located: Located,
    policy: Policy,
    anywhere: bool,
) -> Place:
    server = next((one.candidate.server for one in (*near, *ranked)), None)
    if located.striped and located.servers:
        hosts = tuple(one.candidate.host for one in near[:MOST_PREFERRED])
        told = "its data is spread over several servers: they count as one for load and licences, and bind it nowhere"
        return hosts, "prefer" if hosts else "free", server, (told,)
    if not located.servers:
        return _away(ranked, located, anywhere, None)
    if cpu_bound(demand, policy.cpu_bound_below) and not located.local:
        told = f"it waits for storage {demand.io_share:.0%} of its time ({demand.source}): any host will do"
        return (), "free", server, (told,)
    if not near:
        return _away(ranked, located, anywhere, server)
    local_wait_s = policy.local_wait / 1e9
    soon = next((one for one in near if one.wait <= local_wait_s), None)
    if soon is not None:
        return _beside(near, soon, f"{soon.candidate.host} is beside the data; {_free(soon, local_wait_s)}")
    return _late(ranked, near, local_wait_s)


def _free(one: _Ranked, local_wait_s: float) -> str:
    if one.candidate.slots is None:
        return "nobody says how many slots it has"
    if one.wait == 0:
        return "it has a free slot"
    return f"it has one in about {one.wait:.0f} s, within the {local_wait_s:g} s that a job may wait for it"


def _beside(near: Sequence[_Ranked], chosen: _Ranked, sentence: str) -> Place:
    """Pinned to the chosen server's hosts: whichever of them has a slot first."""
    server = chosen.candidate.server
    others = (one.candidate.host for one in near if one is not chosen and one.candidate.server == server)
    return (chosen.candidate.host, *others), "pin", server, (sentence,)


def _late(ranked: Sequence[_Ranked], near: Sequence[_Ranked], local_wait_s: float) -> Place:
    """Beside the data it would wait longer than it may: the best score wins, where that helps anybody."""
    for one in ranked:
        candidate = one.candidate
        if not candidate.near and candidate.line is not None and fill(one.demand, candidate) > 1:
            # The server is what holds all of them up: one more reader from elsewhere only slows the others down.
            one.passed_over = one.passed_over or f"its server carries no more than its load line of {candidate.line:g}"
    best = next(one for one in ranked if one.passed_over is None)
    first = near[0]
    waits = f"beside the data it would wait about {first.wait:.0f} s for a slot, more than {local_wait_s:g} s"
    if best.candidate.near:
        return _beside(near, best, f"{waits}; yet nothing else has its data sooner than {best.candidate.host}")
    hosts, bind = _wish(ranked, best)
    return hosts, bind, best.candidate.server, (f"{waits}; {best.candidate.host} has its data sooner",)


def _away(ranked: Sequence[_Ranked], located: Located, anywhere: bool, server: str | None) -> Place:
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
    hosts, bind = ((), "free") if best is None else _wish(ranked, best)
    return hosts, bind, server, (f"{why}; it goes anywhere, as asked",)


def _wish(ranked: Sequence[_Ranked], best: _Ranked) -> tuple[tuple[str, ...], Literal["prefer", "free"]]:
    """Those as good as the best; nothing to wish for where all are."""
    far = [one for one in ranked if not one.candidate.near and one.passed_over is None]
    limit = ALIKE * (best.access + best.load + best.wait)
    alike = [one for one in far if one.access + one.load + one.wait <= limit]
    if len(alike) == len(far):
        return (), "free"
    return tuple(one.candidate.host for one in alike[:MOST_PREFERRED]), "prefer"


def _room(near: Sequence[_Ranked], hosts: tuple[str, ...], slots: int) -> int | None:
    """Jobs that the hosts take side by side; None where one of them does not say."""
    counts = [one.candidate.slots for one in near if one.candidate.host in hosts]
    known = [count // slots for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
