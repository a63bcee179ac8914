"""``tonnage report``: the page and the summary of a run, from its records."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.command import Command
from tonnage.cli.shared_options import JSON, RUN, VERBOSE
from tonnage.errors import RequestError

COMMAND = Command(
    "report",
    "write the report of a run",
    "Analyses the records of RUN again and writes one self-contained HTML file that opens without a network.",
    (RUN, JSON, VERBOSE),
    (("tonnage report tonnage-runs/20261121T101500Z-probe-1f2e3d4c", "writes report.html into the run directory"),),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.cli.runs import open_run, present
    from tonnage.records.seal import altered

    found = open_run(arguments.run_directory)
    if not found.has_trials():
        raise RequestError(
            f"{arguments.run_directory} has no trials yet; "
            f"hint: go on with `tonnage run --resume {arguments.run_directory}`"
        )
    wrong = altered(found)
    if wrong is not None:
        print(f"tonnage: {wrong}: what follows is of the files as they are now; see tonnage verify", file=sys.stderr)
    _, report = present(
        Path(arguments.run_directory), as_json=arguments.json, with_report=True, is_verbose=arguments.verbose
    )
    return 0 if report else 1
