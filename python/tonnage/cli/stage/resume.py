"""``tonnage stage resume``: goes on where a mover ended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.stage.shared_options import DROP_ATTRIBUTES, TREES_CHANGED, WHICH
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.staging.mover_plan import StagePlan

COMMAND = Command(
    "resume",
    "go on where a mover ended",
    "Starts the mover again in the background with the policies it had; files that had failed are tried "
    "again. Works after SIGKILL and a reboot, and on another node that sees both trees and the journal.",
    (
        *WHICH,
        Option(("--wait",), "in the foreground: copy what is there, and end when everything is safe"),
        TREES_CHANGED,
        DROP_ATTRIBUTES,
    ),
    (
        ("tonnage stage resume --wait --from /local/me --to /gpfs/me/run7", "copy what a killed job left"),
        ("tonnage stage resume --name run7", "continue in the background"),
    ),
    loads=("tonnage.staging.run_mover", "tonnage.cli.stage.find_mover"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.cli.stage.find_mover import find
    from tonnage.cli.stage.start import attached, in_background
    from tonnage.staging.control_socket import answers
    from tonnage.staging.mover_host import JOURNAL
    from tonnage.staging.mover_plan import StagePlan

    state = find(arguments)
    if answers(state):
        raise RequestError(f"the mover of {state} runs; hint: `tonnage stage wait` waits for it")
    if not os.path.lexists(state / JOURNAL):
        if StagePlan.load(state) is None:
            raise RequestError(f"nothing was begun in {state}; hint: begin with `tonnage stage start`")
        raise RequestError(
            f"a mover was begun in {state}, and its journal is not there: it was removed, or the mover was killed "
            "before it had one; hint: begin with `tonnage stage start`, which copies nothing that is at the destination"
        )
    plan = saved_plan(arguments, state)
    dropping = arguments.drop_attributes or plan.drop_attributes
    plan = plan.model_copy(update={"trees_changed": arguments.trees_changed, "drop_attributes": dropping})
    return attached(plan, drain=True) if arguments.wait else in_background(plan)


def saved_plan(arguments: Arguments, state: Path) -> StagePlan:
    """The plan it had; where that is lost, the defaults for the trees that are named."""
    from tonnage.cli.stage.find_mover import LOCAL, REMOTE
    from tonnage.staging.mover_plan import StagePlan, make_plan
    from tonnage.staging.registered_movers import name_of

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
