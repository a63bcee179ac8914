"""``tonnage stage run``: a mover beside a user's program."""

from __future__ import annotations

import os
from argparse import Namespace

from tonnage.cli.stage.attended import carry_out
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import LOCAL, REMOTE, plan_of
from tonnage.errors import RequestError
from tonnage.staging.application import Application
from tonnage.staging.host import Host
from tonnage.staging.session import accompany


def run(arguments: Namespace) -> int:
    """The program's exit status, or 1 where a file is not safe."""
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
