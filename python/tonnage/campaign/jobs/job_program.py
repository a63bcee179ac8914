"""The program of a submitted job: it measures its part of the run and writes the outcome."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NoReturn

from tonnage.campaign.jobs.trial_batch import Batch, Entry, latest
from tonnage.campaign.observer import Snapshots
from tonnage.campaign.run_lifecycle import resume_run
from tonnage.errors import RequestError, TonnageError
from tonnage.records.file_names import TRIALS

LAG_S = 60.0
"""A shared file system shows what another host wrote within so much time, or it is none to keep a run on."""
_LOOK_S = 0.25


def carry_out(run: str, text: str) -> int:
    """Measures the part ``text`` of the run; the exit code. Trials that failed are in the records: the part is done."""
    batch = Batch.parse(text)
    path = Path(run).absolute()
    entry = _seen(path, batch)
    if entry is None or entry.batch != batch or entry.ended is not None:
        raise RequestError(
            f"{run} does not wait for this job any more; hint: only `tonnage run --on` submits its parts"
        )
    snapshots = Snapshots(path, batch.job)
    try:
        outcome = resume_run(str(path), observer=snapshots, batch=batch)
    except (TonnageError, OSError) as error:
        code = error.exit_code if isinstance(error, TonnageError) else 1
        snapshots.close(code, str(error))
        raise
    code = 130 if outcome.state == "interrupted" else 0
    snapshots.close(code, None)
    return code


def _seen(run: Path, batch: Batch) -> Entry | None:
    """The job wanted last, once this host sees the run as its submitter saw it: another host wrote it a moment ago."""
    until = time.monotonic() + LAG_S
    while True:
        entry = latest(run)
        if entry is not None and entry.batch.job >= batch.job and _recorded_bytes(run) >= entry.recorded_bytes:
            return entry
        if time.monotonic() > until:
            return entry if entry is None or entry.batch != batch else _late(run)
        time.sleep(_LOOK_S)


def _late(run: Path) -> NoReturn:
    raise RequestError(
        f"after {LAG_S:g} s this host does not see all records of {run}; hint: use a file system that shows what "
        "another host wrote"
    )


def _recorded_bytes(run: Path) -> int:
    try:
        return (run / TRIALS).stat().st_size
    except OSError:
        return 0
