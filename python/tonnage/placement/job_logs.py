"""What a file or a run says of a job's use of storage: a Darshan log, a run that imported some, a run of ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tonnage.demand.job_use import JobUse
from tonnage.errors import RecordError, RequestError
from tonnage.importers.darshan_log import UnreadableLog, is_log, read_log
from tonnage.importers.darshan_use import use_of
from tonnage.importers.trace import MOST_BYTES
from tonnage.records import Run

_ORIGINALS = "originals"


def is_darshan(path: str | Path) -> bool:
    """Whether it is a file with the mark of a Darshan log. OSError where it cannot be read."""
    with Path(path).open("rb") as file:
        return is_log(file.read(16))


def uses_in(name: str | Path) -> list[JobUse]:
    """Every run of a job that it tells of. RequestError with one line where there is none."""
    path = Path(name)
    if not path.is_dir():
        return [_of_log(path)]
    try:
        run = Run.open(path)
        imported = run.manifest.get("imported") or {}
        if imported.get("kind") == "darshan":
            return [_of_log(path / _ORIGINALS / str(kept["kept"])) for kept in imported.get("files") or ()]
        from tonnage.demand.run_use import job_uses_of_copies, use_of_run

        return job_uses_of_copies(run) or [use_of_run(run)]
    except RecordError as error:
        raise RequestError(f"{error}; hint: give a Darshan log or a run directory") from None


def each_once(names: Sequence[str]) -> tuple[list[JobUse], list[str]]:
    """Every run of a job that these tell of, and a sentence for each that was given before: it says nothing new."""
    uses: list[JobUse] = []
    notes = []
    for name in names:
        for use in uses_in(name):
            if use in uses:
                notes.append(f"{name} tells of a run that was given before, which counts once")
            else:
                uses.append(use)
    return uses, notes


def _of_log(path: Path) -> JobUse:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise RequestError(f"{path} has more than {MOST_BYTES >> 20} MiB; hint: give another log of the program")
        return use_of(read_log(data))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}; hint: give a log that is there") from None
    except UnreadableLog as error:
        raise RequestError(f"{path}: {error}; hint: give a whole log of Darshan 3") from None
