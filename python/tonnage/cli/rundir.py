"""Run directories named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tonnage.errors import RecordError, RequestError
from tonnage.records import Run
from tonnage.records.names import MANIFEST
from tonnage.records.seal import altered


def open_run(path: str) -> Run:
    """The run in ``path``; RequestError if it is none: the request was wrong, not a measurement."""
    try:
        return Run.open(path)
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a run directory") from None


def sealed_run(path: str) -> Run:
    """The same; RecordError where its figures are not those that were sealed when it ended."""
    run = open_run(path)
    wrong = altered(run)
    if wrong is not None:
        raise RecordError(f"{path}: {wrong}; hint: `tonnage verify {path}` tells all that differs")
    return run


def runs_in(paths: Sequence[str]) -> list[Run]:
    """Those named, and those in directories named, by name. What cannot be read of the latter, or was altered since it
    was sealed, is told on stderr and left out; RequestError where a directory has none, RecordError where one that was
    named was altered."""
    found: list[Run] = []
    for path in map(Path, paths):
        if (path / MANIFEST).exists() or not path.is_dir():
            found.append(sealed_run(str(path)))
            continue
        inside = [child for child in sorted(path.iterdir()) if (child / MANIFEST).exists()]
        if not inside:
            raise RequestError(f"{path} is no run directory, and none is in it; hint: tonnage run and probe make them")
        before = len(found)
        for child in inside:
            try:
                run = sealed_run(str(child))
                run.trials()
            except (RecordError, RequestError) as error:
                print(f"tonnage: left out: {error}", file=sys.stderr)
            else:
                found.append(run)
        if len(found) == before:
            raise RequestError(f"no run in {path} can be read; hint: tonnage verify tells what is wrong with each")
    return found


def once(groups: Sequence[Sequence[Run]]) -> list[list[Run]]:
    """Each run once, where it was first given: a directory and a run in it are not two measurements of that run, nor
    is a copy of a run, which is told on stderr."""
    seen: dict[object, Run] = {}
    found: list[list[Run]] = []
    for group in groups:
        new = []
        for run in group:
            first = seen.setdefault(_identity(run), run)
            if first is run:
                new.append(run)
            elif first.path.resolve() != run.path.resolve():
                print(f"tonnage: left out: {run.path} is a copy of {first.path}", file=sys.stderr)
        found.append(new)
    return found


def told_twice(sides: Sequence[Sequence[Run]]) -> list[Path]:
    """Runs of a later side that are, or are copies of, some of the first."""
    first = set(map(_identity, sides[0]))
    return [run.path for side in sides[1:] for run in side if _identity(run) in first]


def _identity(run: Run) -> object:
    told = run.manifest.get("run_id"), run.manifest.get("created")
    return told if all(told) else run.path.resolve()


def failing(asked: str | None) -> tuple[str, ...]:
    """The verdicts that ``--fail-if`` names."""
    return () if asked is None else ("faster", "slower") if asked == "changed" else (asked,)
