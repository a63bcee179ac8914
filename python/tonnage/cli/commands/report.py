"""``tonnage report``: the page and the summary of a run, from its records."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.outcome import present
from tonnage.cli.rundir import open_run
from tonnage.errors import RequestError
from tonnage.records.seal import altered


def run(arguments: Namespace) -> int:
    """Exit code."""
    found = open_run(arguments.run_directory)
    if not found.has_trials():
        raise RequestError(
            f"{arguments.run_directory} has no trials yet; "
            f"hint: go on with `tonnage run --resume {arguments.run_directory}`"
        )
    wrong = altered(found)
    if wrong is not None:
        print(f"tonnage: {wrong}: what follows is of the files as they are now; see tonnage verify", file=sys.stderr)
    _, report = present(Path(arguments.run_directory), as_json=arguments.json, with_report=True)
    return 0 if report else 1
