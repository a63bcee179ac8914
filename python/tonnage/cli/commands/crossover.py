"""``tonnage crossover``: from how many nodes on which tier wins."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from tonnage.cli.outcome import console, print_json
from tonnage.cli.rundir import sealed_run
from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.analysis.tiers.crossing import Crossing, Tier


def run(arguments: Namespace) -> int:
    """Exit code 0 where a crossover, or that there is none, can be said."""
    from tonnage.analysis.tiers.crossing import crossings
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
    if arguments.out is not None:
        from tonnage.report.page import write_answer

        write_answer(answer(found), arguments.out)
    if arguments.json:
        print_json({"crossings": [asdict(one) for one in found]})
    else:
        from tonnage.report.terminal import print_answer

        print_answer(answer(found), console())
    return 0


def _tier(name: str) -> Tier:
    from tonnage.analysis.tiers.crossing import tier_of_run
    from tonnage.report.published import summit_tiers

    if name.startswith(summit_tiers.PREFIX):
        return summit_tiers.tier(name)
    return tier_of_run(sealed_run(name), name)


def _divided(found: list[Crossing], asked: str, names: tuple[str, str]) -> list[Crossing]:
    from tonnage.analysis.compare.per import Owner, given_to, owner_of
    from tonnage.analysis.tiers.crossing import parts_of
    from tonnage.report.published import summit_tiers

    # A published tier does not say what carried it.
    owners = [
        Owner(name, (), name) if name.startswith(summit_tiers.PREFIX) else owner_of(sealed_run(name)) for name in names
    ]
    bases = dict(zip(names, given_to(asked, [[owner] for owner in owners], "tier"), strict=True))
    return [replace(one, per=parts_of(one, asked, bases)) for one in found]
