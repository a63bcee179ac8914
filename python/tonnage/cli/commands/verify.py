"""``tonnage verify``: whether a run is what was recorded, and its figures still follow from its raw records."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.errors import MeasurementError, RequestError
from tonnage.printable_text import typed
from tonnage.units import plural

if TYPE_CHECKING:
    from tonnage.analysis.verify import Verdict
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, RUN
from tonnage.command_line import Command

COMMAND = Command(
    "verify",
    "recompute every figure of a run from its raw records",
    "Recomputes the figures of every record from the per-task lines, series and histograms, and prints those "
    "that disagree. The exit code is 1 if one disagrees or the manifest is damaged, 2 if RUN is not a run "
    "directory.",
    (RUN, JSON),
    (("tonnage verify tonnage-runs/20261121T101500Z-probe-1f2e3d4c", "exit 0 if all agree, 1 if not"),),
    loads=("tonnage.cli.runs", "tonnage.analysis.verify"),
)

_WITHOUT = "only figures that follow from others were compared"


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.analysis.verify import verify
    from tonnage.cli.runs import print_json
    from tonnage.records import Run
    from tonnage.records.file_names import CHAIN, MANIFEST, TRIALS

    path = Path(arguments.run_directory)
    if not any((path / name).exists() for name in (MANIFEST, TRIALS, CHAIN)):
        raise RequestError(f"{path} is not a run directory: it has no {MANIFEST}; hint: give a run directory")
    found = verify(Run.open(path))
    if arguments.json:
        print_json(asdict(found.answer(str(path))))
    else:
        print("\n".join(found.contradictions or _agreement(found, path)))
    count, altered = len(found.contradictions), len(found.seal.wrong)
    if altered:
        raise MeasurementError(f"{plural(altered, 'file')} of {path} not as recorded")
    if count:
        raise MeasurementError(
            f"{count} figure{'s do' if count != 1 else ' does'} not follow from the records of {path}"
        )
    return 0


def _agreement(found: Verdict, path: Path) -> list[str]:
    from tonnage.records.file_names import MANIFEST

    count = found.trials
    lines = [f"{count} records agree with their raw files" if count != 1 else "1 record agrees with its raw files"]
    if found.seal.kind == "none":
        return [*lines, f"no seal: made by an older version, or the seal was removed; {_WITHOUT}"]
    if found.seal.kind == "open":
        torn = f"; the torn tail of {', '.join(found.seal.torn)} does not count" if found.seal.torn else ""
        again = f"hint: if it was killed, go on with `tonnage run --resume {typed(path)}`"
        return [*lines, f"not sealed yet: the run goes on, or was killed{torn}; {again}"]
    return [*lines, f"sealed: the SHA-256 of {MANIFEST} is {found.seal.sha256}"]
