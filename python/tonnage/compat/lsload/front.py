"""``lsload``, from ``tonnage.placement``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tonnage.compat.front import HelpAsked, help_text, parse_arguments, split_program
from tonnage.compat.lsload.options import LSLOAD
from tonnage.compat.shared import Voice
from tonnage.placement.load import Row
from tonnage.placement.look import Look, asked_for
from tonnage.placement.site import load_site

_NAME = 20
"""Characters of a name, unless ``-w``."""
_SHORT = ("r15s", "r1m", "r15m", "ut", "pg", "ls", "it", "tmp", "swp", "mem")
_LONG = ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem", "bio", "rpc")
_WIDTHS = {"bio": 9, "rpc": 9, "io": 8}
_UNKNOWN = "-"


def run(words: Sequence[str], voice: Voice) -> int:
    """Exit code: 1 where no index of any server could be read."""
    try:
        options, names = split_program(LSLOAD, words)
        given = parse_arguments(LSLOAD, options)
    except HelpAsked:
        voice.say(help_text(LSLOAD))
        return 0
    site = load_site(Path.cwd())
    look = Look(site, asked_for(site, names))
    found = look()
    voice.say(table(found, long=bool(given["-l"]), wide=bool(given["-w"])))
    for row in found:
        if row.problem:
            voice.tell(f"lsload: {row.server}: {row.problem}")
    for note in look.notes:
        voice.tell(f"lsload: {note}")
    return int(all(row.age_s is None for row in found))


def table(rows: Sequence[Row], *, long: bool, wide: bool) -> str:
    """The rows under LSF's headings."""
    indices = _LONG if long else _SHORT
    width = max([_NAME, *(len(row.server) for row in rows)]) if wide else _NAME
    lines = [f"{'HOST_NAME':<{width}} {'status':>9}" + "".join(f" {name:>{_WIDTHS.get(name, 5)}}" for name in indices)]
    for row in rows:
        cells = (f" {_index(row, name):>{_WIDTHS.get(name, 5)}}" for name in indices)
        lines.append(f"{row.server[:width]:<{width}} {status(row):>9}{''.join(cells)}")
    return "\n".join(lines)


def status(row: Row) -> str:
    """In LSF's words."""
    if row.age_s is None:
        return "unavail"
    if row.stale:
        return "-ok"
    return "busy" if row.head_room is not None and row.head_room <= 0 else "ok"


def _index(row: Row, name: str) -> str:
    reading = row.reading
    if reading is None or name not in _KNOWN:
        return _UNKNOWN
    value, form = _KNOWN[name]
    found = value(row)
    return _UNKNOWN if found is None else form.format(found)


def _kib_per_s(row: Row) -> float | None:
    found = row.reading.bio_bytes_per_s if row.reading else None
    return None if found is None else found / 1024


def _percent(row: Row) -> float | None:
    found = row.reading.ut_permille if row.reading else None
    return None if found is None else found / 10


_KNOWN: dict[str, tuple[Callable[[Row], float | None], str]] = {
    "ut": (_percent, "{:.0f}%"),
    "io": (_kib_per_s, "{:.0f}"),
    "bio": (lambda row: row.reading.bio_per_s if row.reading else None, "{:.1f}"),
    "rpc": (lambda row: row.reading.rpc_per_s if row.reading else None, "{:.1f}"),
}
