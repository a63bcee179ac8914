"""Caps follow the load line: arrays that run under an older one are brought to the one in use by whoever submits next.

Nothing of ours stays behind to watch them: the limit is the scheduler's own, and each submission finds what the line
was when the others were made.
"""

from __future__ import annotations

import getpass
import time
from contextlib import suppress

from tonnage.cluster.scheduler import Scheduler
from tonnage.errors import TonnageError
from tonnage.placement.entries import Entry
from tonnage.placement.known import capped_by
from tonnage.placement.ledger import Ledger, LedgerError
from tonnage.placement.plan import Plan
from tonnage.placement.rise import LOOKED_BACK_S


def follow_line(ledger: Ledger, scheduler: Scheduler, plan: Plan) -> tuple[str, ...]:
    """What was changed, a sentence each. Only arrays that the load line capped, of the same storage and access pattern.

    A scheduler that does not answer now, or knows no caps, leaves them as they are: so does this.
    """
    line = plan.line
    if line is None:
        return ()
    same = {**capped_by(plan.line_servers, plan.located.target, plan.pattern), "by_line": True}
    capped = ledger.since(time.time() - LOOKED_BACK_S, same)
    others = [entry for entry in capped if entry.job is not None and entry.intent.get("line") not in (None, line)]
    if not others:
        return ()
    with suppress(TonnageError):
        alive = {job.job for job in scheduler.jobs(user=getpass.getuser()) if job.state in ("pending", "running")}
        return tuple(_bring(ledger, scheduler, entry, line) for entry in others if entry.job in alive)
    return ()


def _bring(ledger: Ledger, scheduler: Scheduler, entry: Entry, line: int) -> str:
    """The copies at once are to the line as they were."""
    assert entry.job is not None
    before = int(entry.intent["cap"])
    cap = max(1, round(before * line / int(entry.intent["line"])))
    told = f"job {entry.job} ran {before} at once by a load line of {entry.intent['line']}; the line is {line} now"
    try:
        scheduler.set_cap(entry.job, cap)
    except TonnageError as error:
        return f"{told}, and its limit could not be changed: {error}"
    with suppress(LedgerError):
        ledger.recap(entry.key, time.time(), cap, line)
    return f"{told}: {cap} at once from here on"
