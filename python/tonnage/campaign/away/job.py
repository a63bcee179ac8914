"""What a submitted job does: its part of the run, and a last word on how that went."""

from __future__ import annotations

from pathlib import Path

from tonnage.campaign.away.ledger import latest
from tonnage.campaign.away.part import Part
from tonnage.campaign.away.progress import Snapshots
from tonnage.campaign.session import resume_run
from tonnage.errors import RequestError, TonnageError


def carry_out(run: str, text: str) -> int:
    """Measures the part ``text`` of the run; the exit code. Trials that failed are in the records: the part is done."""
    part = Part.parse(text)
    path = Path(run).absolute()
    entry = latest(path)
    if entry is None or entry.part != part or entry.ended is not None:
        raise RequestError(
            f"{run} does not wait for this job any more; hint: only `tonnage run --on` submits its parts"
        )
    snapshots = Snapshots(path, part.job)
    try:
        outcome = resume_run(str(path), observer=snapshots, part=part)
    except (TonnageError, OSError) as error:
        code = error.exit_code if isinstance(error, TonnageError) else 1
        snapshots.close(code, str(error))
        raise
    code = 130 if outcome.state == "interrupted" else 0
    snapshots.close(code, None)
    return code
