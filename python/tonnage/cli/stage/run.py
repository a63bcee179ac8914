"""``tonnage stage run``: a mover beside a user's program."""

from __future__ import annotations

import os

from tonnage.cli.command import Arguments
from tonnage.cli.stage.shared_options import FILES, OUT, PACE, TREES, TREES_CHANGED, WATCHED
from tonnage.command_line import Command
from tonnage.errors import RequestError

COMMAND = Command(
    "run",
    "run a program, stage what it writes, end when all of it is safe",
    "Starts a mover, runs PROGRAM with PERSIST_DIR and PFS_DIR in its environment, and ends when everything "
    "that PROGRAM left in --from is safe in --to. Exits with the status of PROGRAM, or with 1 if a file is "
    "not safe.",
    (*TREES, TREES_CHANGED, *FILES, *OUT, *PACE, *WATCHED),
    (
        ("tonnage stage run --from /local/me --to /gpfs/me/run7 -- ./simulation input.nml", "stage out while it runs"),
        (
            "tonnage stage run --first '*.chk' --order newest --deadline 10m -- ./simulation",
            "trees from PERSIST_DIR and PFS_DIR; the newest checkpoint first, ten minutes at the end",
        ),
    ),
    program="-- PROGRAM [WORD]...",
    loads=("tonnage.staging.run_mover", "tonnage.cli.stage.find_mover"),
)


def run(arguments: Arguments) -> int:
    """The program's exit status, or 1 where a file is not safe."""
    from tonnage.cli.stage.find_mover import LOCAL, REMOTE, plan_of
    from tonnage.cli.stage.mover_view import carry_out, view
    from tonnage.staging.mover_host import Host
    from tonnage.staging.run_mover import Application, accompany

    if not arguments.program:
        raise RequestError("there is no program to run; hint: write it after --, like `tonnage stage run -- ./app`")
    plan = plan_of(arguments)
    # Made before the mover, while this process has one thread; it must not run where the mover refuses.
    environment = {**os.environ, LOCAL: str(plan.source), REMOTE: str(plan.to)}
    application = Application(arguments.program, environment)
    try:
        host = Host(plan)
    except BaseException:
        application.give_up()
        raise
    # While the program runs, the terminal is its own.
    return carry_out(view(), lambda tell: accompany(host, application, tell), plan)
