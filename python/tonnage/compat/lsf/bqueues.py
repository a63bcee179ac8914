"""``bqueues``."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.scheduler import Queue
from tonnage.compat.front_end import Voice, parse_arguments
from tonnage.compat.lsf.job_texts import UNKNOWN
from tonnage.compat.lsf.options import BQUEUES
from tonnage.compat.lsf.select_jobs import FAILED
from tonnage.placement.jobs import asked_scheduler
from tonnage.printable_text import shown

_HEADINGS = ("QUEUE_NAME", "PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H", "NJOBS", "PEND", "RUN", "SUSP")
_WIDTHS = (-15, 4, -14, 4, 4, 4, 4, 5, 5, 5, 5)
"""Below 0: to the left."""


def run(typed: Sequence[str], voice: Voice) -> int:
    """Exit code: 255 where one of the queues is not there."""
    given = parse_arguments(BQUEUES, typed)
    names = given.texts("names")
    queues = asked_scheduler(None, None).queues()
    found = [queue for queue in queues if not names or queue.name in names]
    missing = [name for name in names if name not in {queue.name for queue in queues}]
    if found:
        voice.say(table([_HEADINGS, *map(_cells, found)], _WIDTHS, wide=bool(given["-w"])))
    for name in missing:
        voice.tell(f"{name}: No such queue")
    return FAILED if missing or not found else 0


def table(rows: Sequence[Sequence[str]], widths: Sequence[int], *, wide: bool) -> str:
    """Formats cells in columns of these widths; the name in the first one is whole where ``wide``."""
    name = max(len(shown(row[0])) for row in rows) if wide else 0
    every = (-max(name, -widths[0]), *widths[1:])
    lines = []
    for row in rows:
        cells = [shown(cell) for cell in row]
        cells[0] = cells[0][: -every[0]]
        lines.append(
            " ".join(
                f"{cell:<{-width}}" if width < 0 else f"{cell:>{width}}"
                for cell, width in zip(cells, every, strict=True)
            )
        )
    return "\n".join(line.rstrip() for line in lines)


def _cells(queue: Queue) -> tuple[str, ...]:
    return (
        queue.name,
        UNKNOWN,
        "Open:Active" if queue.open else "Closed:Inact",
        UNKNOWN if queue.slots is None else str(queue.slots),
        *[UNKNOWN] * 3,
        str(queue.pending + queue.running),
        str(queue.pending),
        str(queue.running),
        UNKNOWN,
    )
