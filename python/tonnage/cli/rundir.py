"""Run directories named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tonnage.errors import RecordError, RequestError
from tonnage.records import Run
from tonnage.records.names import MANIFEST


def open_run(path: str) -> Run:
    """The run in ``path``; RequestError if it is none: the request was wrong, not a measurement."""
    try:
        return Run.open(path)
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None


def runs_in(paths: Sequence[str]) -> list[Run]:
    """Those named, and those in directories named, by name. What cannot be read of the latter is told on stderr and
    left out; RequestError where a directory has none."""
    found: list[Run] = []
    for path in map(Path, paths):
        if (path / MANIFEST).exists() or not path.is_dir():
            found.append(open_run(str(path)))
            continue
        inside = [child for child in sorted(path.iterdir()) if (child / MANIFEST).exists()]
        if not inside:
            raise RequestError(f"{path} is no run directory, and none is in it; hint: tonnage run and probe make them")
        for child in inside:
            try:
                run = Run.open(child)
                run.trials()
            except RecordError as error:
                print(f"tonnage: left out: {error}", file=sys.stderr)
            else:
                found.append(run)
    return found


def failing(asked: str | None) -> tuple[str, ...]:
    """The verdicts that ``--fail-if`` names."""
    return () if asked is None else ("faster", "slower") if asked == "changed" else (asked,)
