"""``tonnage crossover``: from how many nodes on which tier wins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.analysis.tiers.two_tiers import Crossing, Tier
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, PAGE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.units import parse_count


def _rate(text: str) -> int:
    from tonnage.units import parse_rate

    if (found := parse_rate(text)) == 0:
        raise RequestError(f"{text!r} is no rate above 0; hint: write it like 2.1GB/s")
    return found


def _operations(text: str) -> tuple[str, ...]:
    from tonnage.analysis.tiers.crossover import METRICS

    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for part in found:
        if part not in METRICS:
            raise RequestError(f"{part!r} is not an operation of tiers; hint: write one of {', '.join(METRICS)}")
    return found


COMMAND = Command(
    "crossover",
    "tell from how many nodes on which of two tiers wins",
    "Compares a tier that each node has for itself with one that all nodes share. The rate of one node and "
    "the ceiling of the shared tier give the number of nodes at which they cross, with an interval. Which "
    "tier is shared follows from the file systems, or from the rates of the most nodes. For two published "
    "tiers it also explains why their authors named another number.",
    (
        Option(("first",), "a run, published:summit-gpfs or published:summit-nvme", "A", completes="directory"),
        Option(("second",), "the other tier, in the same form", "B", completes="directory"),
        Option(
            ("--op",),
            "only these operations: write, read, open-write-close",
            "OP[,OP]",
            "all that both tiers have",
            parse=_operations,
        ),
        Option(("--nodes",), "also print which tier is faster on this many nodes", "N", parse=parse_count),
        Option(("--shared",), "the one of A and B that all nodes share, if the records do not show it", "RUN"),
        Option(("--per-node",), "use this rate of one node on its own tier", "RATE", "measured", parse=_rate),
        Option(("--ceiling",), "use this upper bound of the shared tier", "RATE", "measured", parse=_rate),
        Option(
            ("--per",),
            "also divide the rates by the size of each tier, one for A and one for B (disk=2,600; "
            "link=25Gbit/s,400Gbit/s): of one node on its own tier, of all on the shared one. THING alone "
            "takes them from [normalise] of the campaigns",
            "THING",
        ),
        PAGE,
        JSON,
    ),
    (
        ("tonnage crossover published:summit-gpfs published:summit-nvme", "what the published ceilings say"),
        (
            "tonnage crossover --nodes 64 nvme-run lustre-run --out crossover.html",
            "from two runs, and which is faster on 64 nodes",
        ),
        (
            "tonnage crossover --ceiling 400GB/s nvme-run lustre-run",
            "from one node, with a known ceiling of the shared tier",
        ),
    ),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Arguments) -> int:
    """Exit code 0 where a crossover, or that there is none, can be said."""
    from tonnage.analysis.tiers.two_tiers import crossings
    from tonnage.cli.runs import show_answer
    from tonnage.report.answers.crossover import answer

    if arguments.first == arguments.second:
        raise RequestError("a tier does not cross itself; hint: give two runs, or a run and a published tier")
    found = crossings(
        _tier(arguments.first),
        _tier(arguments.second),
        arguments.op or (),
        shared=arguments.shared,
        per_node=arguments.per_node,
        ceiling=arguments.ceiling,
        nodes=arguments.nodes,
    )
    if arguments.per is not None:
        found = _divided(found, arguments.per, (arguments.first, arguments.second))
    names = _targets(arguments.first, arguments.second)
    shown = [replace(one, fast=names[one.fast], slow=names[one.slow]) for one in found]
    show_answer(answer(shown), lambda: {"crossings": [_answered(one) for one in found]}, arguments)
    return 0


def _answered(found: Crossing) -> dict[str, object]:
    """As its schema has it, which scripts read."""
    from tonnage.analysis.summary import plain

    fields = plain(found)
    fields["unsure_at_first"] = fields.pop("no_winner_at_first")
    return fields


def _targets(*tiers: str) -> dict[str, str]:
    """What to call each tier: the target of its run, where the two have different ones; else as it was typed."""
    from tonnage.cli.runs import sealed_run
    from tonnage.report.published import summit_tiers

    runs = {tier: sealed_run(tier) for tier in tiers if not tier.startswith(summit_tiers.PREFIX)}
    names = {tier: str((run.manifest.get("target") or {}).get("name") or tier) for tier, run in runs.items()}
    names = {tier: names.get(tier, tier) for tier in tiers}
    return names if len(set(names.values())) == len(tiers) else {tier: tier for tier in tiers}


def _tier(name: str) -> Tier:
    from tonnage.analysis.tiers.two_tiers import tier_of_run
    from tonnage.cli.runs import sealed_run
    from tonnage.report.published import summit_tiers

    if name.startswith(summit_tiers.PREFIX):
        return summit_tiers.tier(name)
    return tier_of_run(sealed_run(name), name)


def _divided(found: list[Crossing], asked: str, names: tuple[str, str]) -> list[Crossing]:
    from tonnage.analysis.compare.divisors import Owner, given_to, owner_of
    from tonnage.analysis.tiers.two_tiers import parts_of
    from tonnage.cli.runs import sealed_run
    from tonnage.report.published import summit_tiers

    # A published tier does not say what carried it.
    owners = [
        Owner(name, (), name) if name.startswith(summit_tiers.PREFIX) else owner_of(sealed_run(name)) for name in names
    ]
    bases = dict(zip(names, given_to(asked, [[owner] for owner in owners], "tier"), strict=True))
    return [replace(one, per=parts_of(one, asked, bases)) for one in found]
