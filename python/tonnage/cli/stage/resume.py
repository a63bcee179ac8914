"""``tonnage stage resume``: goes on where a mover ended."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from tonnage.cli.stage.attended import announce, carry_out
from tonnage.cli.stage.start import in_background
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import LOCAL, REMOTE, find
from tonnage.errors import RequestError
from tonnage.staging.control import answers
from tonnage.staging.host import JOURNAL, Host
from tonnage.staging.plan import StagePlan, make_plan
from tonnage.staging.registry import name_of
from tonnage.staging.session import attend


def run(arguments: Namespace) -> int:
    """Exit code."""
    state = find(arguments)
    if answers(state):
        raise RequestError(f"the mover of {state} runs; hint: `tonnage stage wait` waits for it")
    if not os.path.lexists(state / JOURNAL):
        raise RequestError(f"there is no journal in {state}: nothing was begun; hint: begin with `tonnage stage start`")
    plan = saved_plan(arguments, state)
    dropping = arguments.drop_attributes or plan.drop_attributes
    plan = plan.model_copy(update={"trees_changed": arguments.trees_changed, "drop_attributes": dropping})
    if not arguments.wait:
        return in_background(plan)
    host = Host(plan, on_start=announce)
    return carry_out(view(), lambda tell: attend(host, tell, drain=True), plan)


def saved_plan(arguments: Namespace, state: Path) -> StagePlan:
    """The plan it had; where that is lost, the defaults for the trees that are named."""
    saved = StagePlan.load(state)
    source, to = vars(arguments)["from"], arguments.to
    if saved is not None:
        # On another node the trees may have other paths.
        moved = {key: Path.cwd() / tree for key, tree in (("source", source), ("to", to)) if tree}
        return saved.model_copy(update={"state": state, "numbered": True, **moved})
    source, to = source or os.environ.get(LOCAL), to or os.environ.get(REMOTE)
    if not (source and to):
        raise RequestError(f"{state} has lost its plan; hint: add both --from and --to")
    local = Path.cwd() / source
    return make_plan(local, Path.cwd() / to, state=state, name=name_of(local), numbered=True)
