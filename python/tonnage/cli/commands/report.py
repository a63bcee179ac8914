"""``tonnage report``: the page and the summary of a run, from its records."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tonnage.cli.outcome import present
from tonnage.cli.rundir import open_run
from tonnage.errors import RequestError


def run(arguments: Namespace) -> int:
    """Exit code."""
    if not open_run(arguments.run_directory).has_trials():
        raise RequestError(
            f"{arguments.run_directory} has no trials yet; "
            f"hint: go on with `tonnage run --resume {arguments.run_directory}`"
        )
    _, report = present(Path(arguments.run_directory), as_json=arguments.json, with_report=True)
    return 0 if report else 1
