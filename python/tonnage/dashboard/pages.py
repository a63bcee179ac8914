"""The pages: the list, one run, reports made when they are asked for, tables of others. Nothing is written anywhere."""

from __future__ import annotations

import hashlib
import pkgutil
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tonnage.analysis import analyse
from tonnage.analysis.compare.runs import THRESHOLD, Side, compare_sides
from tonnage.dashboard.run_entry import Watched
from tonnage.dashboard.run_files import Signature, check_plain, signature
from tonnage.errors import RecordError, RequestError
from tonnage.records import Run
from tonnage.records.file_names import MANIFEST, ODD_BYTES, TRIALS
from tonnage.records.verify_bytes import altered
from tonnage.report.answers.compare import answer
from tonnage.report.page import render, render_answer
from tonnage.report.page_data import Source
from tonnage.report.page_kit import plotly_script, templates

RowKind = Literal["", "good", "warn", "bad", "dim"]
"""How a row is coloured. Its cells say the same in words."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a board, already in words."""

    cells: tuple[str, ...]
    share: float | None = None
    """Of a bar at its end, 0 to 1."""
    kind: RowKind = ""
    details: tuple[str, ...] = ()
    """Sentences below it."""


@dataclass(frozen=True, slots=True)
class Table:
    """What a board shows now."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """A section of the page."""

    name: str
    """Of its topic: letters only."""
    title: str
    columns: tuple[str, ...]
    empty: str
    """The text shown where there is no row."""
    ask: Callable[[], Table]
    """May take seconds. A TonnageError is shown in its place."""
    every_s: float


_KEPT = 4
"""Pages of up to some megabytes that are remembered."""
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_OWN = Path(__file__).parent / "static"


@cache
def asset(name: str) -> tuple[bytes, str, str] | None:
    """Returns bytes, type and entity tag of a file that the pages load; None where they load nothing of that name."""
    data = _data(name)
    if data is None:
        return None
    return data, _TYPES[name.rpartition(".")[2]], f'"{hashlib.sha256(data).hexdigest()[:16]}"'


def _data(name: str) -> bytes | None:
    if name in ("live.css", "live.js"):
        return (_OWN / name).read_bytes()
    if name in ("report.css", "figures.js"):
        return pkgutil.get_data("tonnage.report", f"static/{name}")
    if name == "plotly.min.js":
        return plotly_script()
    return None


def check_kit() -> None:
    """RequestError where what draws is not installed."""
    if plotly_script() is None:
        raise RequestError("the page needs plotly for its figures; hint: pip install 'tonnage[serve]'")


def filled(template: str, **given: Any) -> bytes:
    """Returns a page."""
    text: str = templates(_OWN).get_template(template).render(**given)
    return text.encode(errors=ODD_BYTES)


def list_page(boards: tuple[Board, ...], roots: list[str]) -> bytes:
    """The list of runs, and the boards."""
    return filled("list.html", boards=boards, roots=roots)


def run_page(run: Watched) -> bytes:
    """One run as it goes on."""
    return filled("run.html", run=run)


def problem_page(title: str, problem: str) -> bytes:
    """Why there is no page."""
    return filled("problem.html", title=title, problem=problem)


class Reports:
    """Reports and comparisons, remembered until their runs change. For one thread at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()

    def report(self, run: Watched) -> bytes:
        """The report as ``tonnage report`` would write it now. RecordError where the run cannot be read."""
        return self._remembered((run.path, *_signatures(run.path)), lambda: _report(run.path))

    def comparison(self, base: Watched, other: Watched) -> bytes:
        """Returns the page of ``tonnage compare``; errors as of ``report``."""
        key = (base.path, *_signatures(base.path), other.path, *_signatures(other.path))
        return self._remembered(key, lambda: _comparison(base.path, other.path))

    def _remembered(self, key: tuple[Any, ...], make: Any) -> bytes:
        if key not in self._kept:
            self._kept[key] = make()
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _signatures(path: Path) -> tuple[Signature | None, Signature | None]:
    return signature(path / MANIFEST), signature(path / TRIALS)


def _report(path: Path) -> bytes:
    check_plain(path)
    run = Run.open(path)
    return render(analyse(run), Source.of(run)).encode(errors=ODD_BYTES)


def _comparison(base: Path, other: Path) -> bytes:
    for path in (base, other):
        check_plain(path)
        if wrong := altered(Run.open(path)):
            raise RecordError(f"{path}: {wrong}")
    found = compare_sides(Side.of(Run.open(base)), Side.of(Run.open(other)), THRESHOLD)
    return render_answer(answer([found], THRESHOLD)).encode(errors=ODD_BYTES)
