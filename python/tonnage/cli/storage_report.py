"""``tonnage report --storage``: what there is of a storage, from all runs that were measured on it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from tonnage.analysis import analyse
from tonnage.analysis.compare.comparable import Storages
from tonnage.analysis.compare.history import history_of, in_time
from tonnage.cli.runs import once, runs_in
from tonnage.errors import RecordError, RequestError, TonnageError
from tonnage.placement.submission_ledger import Entry, Ledger
from tonnage.records import Run
from tonnage.report.answers.storage import OfStorage, Placed, StorageRun


def of_storage(paths: Sequence[str], name: str | None) -> OfStorage:
    """All of one storage. RequestError where the runs are of several and ``name`` is none of them."""
    (runs,) = once([runs_in(list(paths))])
    storages = Storages(runs)
    chosen = _chosen(runs, storages, name)
    measured = []
    for run, when in in_time(chosen):
        try:
            measured.append(StorageRun(str(run.path), when, analyse(run)))
        except RecordError as error:
            print(f"tonnage: {run.path} is left out: {error}", file=sys.stderr)
    if not measured:
        raise RequestError("none of the runs can be read; hint: see `tonnage verify RUN`")
    history = history_of(chosen) if len(measured) == len(chosen) > 1 else None
    placed = _placed(_names_of(chosen))
    return OfStorage(storages.name_of(chosen[0]), tuple(measured), history, tuple(placed))


def _chosen(runs: Sequence[Run], storages: Storages, name: str | None) -> list[Run]:
    wanted = storages.names[0] if name is None and len(storages.names) == 1 else name
    found = [run for run in runs if wanted is not None and wanted in (storages.name_of(run), *_names_of([run]))]
    if not found:
        known = ", ".join(storages.names)
        several = "the runs are of several storages" if name is None else f"no run is of {name!r}"
        raise RequestError(f"{several}; hint: say --storage NAME, one of {known}")
    return found


def _names_of(runs: Sequence[Run]) -> set[str]:
    """Everything that the storage of these runs may be called: its name, its directories, its identity."""
    found: set[str] = set()
    for run in runs:
        target = run.manifest.get("target") or {}
        names = [target.get("name"), target.get("uri"), target.get("path")]
        for directory in target.get("directories") or ():
            names += [directory.get("identity"), directory.get("path")]
        found |= {str(one) for one in names if one}
    return found


def _placed(names: Collection[str]) -> list[Placed]:
    """What this user's ledger has of jobs that went by this storage."""
    try:
        entries = Ledger().since(0.0)
    except (TonnageError, OSError) as error:
        print(f"tonnage: the jobs that were placed are not known: {error}", file=sys.stderr)
        return []
    return [_job(entry) for entry in entries if _is_beside(entry, names)]


def _is_beside(entry: Entry, names: Collection[str]) -> bool:
    target = str(entry.intent.get("target") or "")
    return target in names or any(
        Path(target).is_relative_to(name) for name in names if name.startswith("/") and target
    )


def _job(entry: Entry) -> Placed:
    intent = entry.intent
    at_once = intent.get("tasks"), intent.get("cap")
    return Placed(entry.at_s, intent.get("server"), intent.get("copies"), *at_once, entry.job, entry.refused)
