"""``tonnage stage in``: inputs to node-local storage, once."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.stage.attended import announce, carry_out
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import plan_of
from tonnage.staging.host import Host
from tonnage.staging.session import attend


def run(arguments: Namespace) -> int:
    """Exit code."""
    plan = plan_of(arguments, direction="in")
    host = Host(plan, on_start=announce)
    return carry_out(view(), lambda tell: attend(host, tell, drain=True), plan)
