"""``tonnage stage start``: a mover in the background, or attached."""

from __future__ import annotations

import sys
from argparse import Namespace

from tonnage.cli.entry import complain
from tonnage.cli.stage.attended import announce, carry_out
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import plan_of
from tonnage.staging.background import LOG, launch
from tonnage.staging.host import Host
from tonnage.staging.plan import StagePlan
from tonnage.staging.session import attend


def run(arguments: Namespace) -> int:
    """Exit code."""
    plan = plan_of(arguments)
    if not arguments.foreground:
        return in_background(plan)
    host = Host(plan, on_start=announce)
    return carry_out(view(), lambda tell: attend(host, tell, drain=False), plan)


def in_background(plan: StagePlan) -> int:
    """Returns when the mover answers, or with its own words and exit code when it gave up."""
    launched = launch("tonnage.cli.stage.detached", plan)
    sys.stdout.write(launched.said)
    sys.stderr.write(launched.complaint)
    if launched.code is None:
        return 0
    if not launched.complaint:
        return complain(f"the mover ended at once; hint: see {plan.state / LOG}", 1)
    return launched.code or 1
