"""``tonnage stage``: one module of ``tonnage.cli.stage`` an action."""

from __future__ import annotations

from tonnage.cli.command import Arguments, CommandModule
from tonnage.cli.stage import copy_in, limit, list_movers, resume, start, status, stop, verify, wait
from tonnage.cli.stage import run as run_program
from tonnage.command_line import Command

_ACTIONS: tuple[CommandModule, ...] = (
    run_program, start, status, wait, stop, limit, verify, resume, copy_in, list_movers
)  # fmt: skip

COMMAND = Command(
    "stage",
    "move files off node-local storage in the background, and lose none",
    "Moves files from node-local storage to a parallel file system while an application runs. A file is called safe "
    "only when its copy is whole, synced and checked, under its name. `tonnage explain stage` has the guarantees.",
    (),
    (
        ("tonnage stage run --from /local/me --to /gpfs/me/run7 -- ./simulation", "the whole life of a run"),
        ("tonnage stage start --from /local/me --to /gpfs/me/run7", "or in steps: start, wait, stop"),
    ),
    actions=tuple(module.COMMAND for module in _ACTIONS),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    return next(module for module in _ACTIONS if module.COMMAND.name == arguments.action).run(arguments)
