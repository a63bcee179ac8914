"""``tonnage stage in``: inputs to node-local storage, once."""

from __future__ import annotations

from tonnage.cli.command import Arguments
from tonnage.cli.stage.shared_options import FILES, NAME, PACE, STATE, TREES_CHANGED
from tonnage.command_line import Command
from tonnage.command_option import Option

COMMAND = Command(
    "in",
    "copy inputs to node-local storage before a run",
    "Copies the files that are missing in --to, and those that changed since an earlier stage in, with the same "
    "checks as a stage-out, and ends. Another file that has the name of one stays, and that one fails, unless "
    "--overwrite says otherwise. The journal is in --to.",
    (
        Option(("--from",), "source tree", "DIR", "$PFS_DIR", completes="directory"),
        Option(
            ("--to",),
            "destination tree; created if its parent exists",
            "DIR",
            "$PERSIST_DIR",
            completes="directory",
        ),
        NAME,
        STATE,
        TREES_CHANGED,
        *FILES,
        *PACE,
    ),
    (("tonnage stage in --from /gpfs/me/inputs --to /local/me/inputs", "programs and inputs, before the run"),),
    loads=("tonnage.staging.run_mover", "tonnage.cli.stage.find_mover"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.cli.stage.find_mover import plan_of
    from tonnage.cli.stage.start import attached

    return attached(plan_of(arguments, direction="in"), drain=True)
