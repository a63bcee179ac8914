"""What ``rados bench --format json`` (or ``json-pretty``) printed: an object of texts, among lines of its text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tonnage.importers import broken_json
from tonnage.importers.figures import whole
from tonnage.importers.rados_bench import Bench
from tonnage.records.shapes import Json

_OBJECT = re.compile(r'"(?:concurrent_ios|datas)"')
_BEGIN = re.compile(r'\{\s*(?="(?:concurrent_ios|datas)")')
_ASIDE = re.compile(
    r"hints = [0-9]+|Cleaning up \(deleting benchmark objects\)|Removed [0-9]+ objects?|"
    r"Clean up completed and total clean up time ?:[0-9.e+-]+"
)
"""Printed on the same stream, also in the middle of the object."""
_FACTS = {
    "total_time_run": "Total time run", "total_writes_made": "Total writes made",
    "total_reads_made": "Total reads made", "write_size": "Write size", "read_size": "Read size",
    "bandwidth": "Bandwidth", "average_latency": "Average Latency", "max_latency": "Max latency",
    "max_latency:": "Max latency", "min_latency": "Min latency",
}  # fmt: skip
"""As the text calls them; up to version 14 one key of a write ends in a colon."""


def is_one(lines: Sequence[str]) -> bool:
    """Whether these lines hold such an object."""
    return any(_OBJECT.search(line) for line in lines)


def benches(lines: Sequence[str]) -> tuple[list[Bench], list[str]]:
    """A benchmark for each object, and a sentence with its line for each that is damaged."""
    text = _ASIDE.sub(lambda found: " " * len(found[0]), "\n".join(lines))
    starts = [found.start() for found in _BEGIN.finditer(text)]
    found, problems = [], []
    for at, end in pairwise([*starts, len(text)]):
        document = broken_json.read(text[at:end])
        first = text.count("\n", 0, at) + 1
        if document.line is not None:
            place = first + document.line - 1
            problems.append(f"line {place}: the JSON breaks off or is damaged here; what stands before it is kept")
        if isinstance(document.value, dict):
            found.append(_bench(document.value, first, text[at:end]))
    if not starts:
        problems.append("line 1: the JSON is damaged where it begins; nothing of it can be read")
    return found, problems


def _bench(said: Json, first: int, text: str) -> Bench:
    facts = {}
    for key, name in _FACTS.items():
        if key in said:
            facts[name] = (str(said[key]), first + text.count("\n", 0, max(0, text.find(f'"{key}"'))))
    rows = [row for row in _rows(said.get("datas")) if row is not None]
    flights = [flight for _, _, flight in rows]
    last = text.rfind('"finished"')
    return Bench(
        line=first,
        depth=whole(said.get("concurrent_ios", "")) or max(flights, default=None),
        op="write" if "concurrent_ios" in said or "total_writes_made" in said else "read",
        size=whole(said.get("op_size", "")),
        last=first + text.count("\n", 0, max(0, last)),
        rows=[(second, finished) for second, finished, _ in rows],
        facts=facts,
        ended=True,
    )


def _rows(datas: Any) -> list[tuple[int, int, int] | None]:
    """Second, operations finished until then, operations in the air."""
    found: list[tuple[int, int, int] | None] = []
    for row in datas if isinstance(datas, list) else []:
        numbers = [whole(row.get(key, "")) for key in ("sec", "finished", "cur_ops")] if isinstance(row, dict) else []
        second, finished, flight = numbers or (None, None, None)
        found.append(None if second is None or finished is None else (second, finished, flight or 0))
    return found
