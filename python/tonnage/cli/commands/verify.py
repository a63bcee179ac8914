"""``tonnage verify``: whether a run's figures still follow from its raw records."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.outcome import print_json
from tonnage.cli.rundir import open_run
from tonnage.errors import MeasurementError


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.analysis.verify import verify

    found = open_run(arguments.run_directory)
    trials = len(found.trials())
    contradictions = verify(found)
    if arguments.json:
        print_json({"run": str(found.path), "trials": trials, "contradictions": contradictions})
    else:
        print("\n".join(contradictions or [f"{trials} records agree with their raw files"]))
    if contradictions:
        count = len(contradictions)
        raise MeasurementError(
            f"{count} figure{'s do' if count != 1 else ' does'} not follow from the records of {found.path}"
        )
    return 0
