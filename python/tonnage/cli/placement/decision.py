"""A decision, in words and as a table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tonnage.placement.choice import Scored
from tonnage.placement.plan import Plan, first_names
from tonnage.plain import one_line

_MOST_ROWS = 16
_COLUMNS = ("HOST", "SERVER", "BESIDE", "ACCESS", "LOAD", "WAIT", "SCORE", "")


def report(plan: Plan, command: Sequence[str]) -> str:
    """The whole decision for a person. The command is quoted for reading only: no shell runs it."""
    located, decision = plan.located, plan.decision
    mount = located.mount
    on = f", {mount.file_system} on {mount.mount_point}" if mount is not None else ""
    lines = [f"{'data':<10} {located.path}{on}"]
    lines += [f"{'known by' if not number else '':<10} {sentence}" for number, sentence in enumerate(located.how)]
    lines.append(f"{'server':<10} {first_names([server.name for server in plan.servers]) or 'nobody knows'}")
    lines += ["", *_table(decision.considered), ""]
    lines.append(f"{'goes to':<10} {_goes_to(plan)}")
    lines += [f"{'because' if not number else '':<10} {sentence}" for number, sentence in enumerate(decision.why)]
    lines.append(f"{'command':<10} {shlex.join(command)}")
    return "\n".join(map(one_line, lines))


def _goes_to(plan: Plan) -> str:
    decision, request = plan.decision, plan.request
    how = {"pin": "", "prefer": ", if free", "free": ""}[decision.bind]
    parts = [f"{first_names(decision.hosts)}{how}" if decision.hosts else "any host"]
    if request.queue:
        parts.append(f"queue {request.queue}")
    if request.copies is not None:
        at_once = f"{request.cap} at once" if request.cap is not None else "no limit on how many at once"
        parts.append(f"{request.copies} copies, {at_once}")
    return "; ".join(parts)


def _table(considered: Sequence[Scored]) -> list[str]:
    """The candidates in columns; seconds."""
    if not considered:
        return ["no host was considered"]
    rows = [_COLUMNS, *(_row(one) for one in considered[:_MOST_ROWS])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.rjust(width) if 3 <= column <= 6 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    if len(considered) > _MOST_ROWS:
        lines.append(f"and {len(considered) - _MOST_ROWS} more; --json has them all")
    return lines


def _row(one: Scored) -> tuple[str, ...]:
    seconds = (one.access_s, one.load_s, one.wait_s, one.score_s)
    return (
        one.host,
        one.server or "-",
        "yes" if one.near else "no",
        *(f"{value:.2f} s" for value in seconds),
        f"passed over: {one.passed_over}" if one.passed_over else "",
    )
