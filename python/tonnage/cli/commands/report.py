"""``tonnage report``: the page and the summary of a run, from its records."""

from __future__ import annotations

import sys
from pathlib import Path

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, PAGE, RUN, VERBOSE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.printable_text import typed

COMMAND = Command(
    "report",
    "write the report of a run",
    "Analyses the records of RUN again and writes one self-contained HTML file that opens without a network. "
    "With --storage it reports everything measured on one storage in all RUNs, which may be directories of "
    "runs: load lines by transfer size, plateaus over time, findings, and the jobs that this user submitted "
    "for data on it.",
    (
        RUN,
        Option(
            ("more",),
            "with --storage: further runs, or directories of them",
            "MORE",
            optional=True,
            repeats=True,
            completes="directory",
        ),
        Option(
            ("--storage",),
            "report on one storage: its name as `tonnage history` prints it, a directory on it, or auto if "
            "all runs measured the same one",
            "NAME",
        ),
        PAGE,
        JSON,
        VERBOSE,
    ),
    (
        ("tonnage report tonnage-runs/20261121T101500Z-probe-1f2e3d4c", "writes report.html into the run directory"),
        ("tonnage report --storage /scratch --out scratch.html tonnage-runs", "all that was measured on /scratch"),
    ),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    if arguments.storage is not None:
        return _of_storage(arguments)
    if arguments.more or arguments.out is not None:
        raise RequestError("several runs and --out are for the page of a storage; hint: add --storage NAME")
    from tonnage.cli.runs import open_run, present
    from tonnage.records.verify_bytes import altered
    from tonnage.report.phrases import as_they_are

    found = open_run(arguments.run_directory)
    wrong = altered(found)
    if not found.has_trials():
        if wrong is not None:
            raise RequestError(
                f"{arguments.run_directory} has no trials any more: {wrong}; "
                f"hint: `tonnage verify {typed(arguments.run_directory)}` tells all that differs"
            )
        raise RequestError(
            f"{arguments.run_directory} has no trials yet; "
            f"hint: go on with `tonnage run --resume {typed(arguments.run_directory)}`"
        )
    if wrong is not None:
        print(f"tonnage: {as_they_are(wrong)}", file=sys.stderr)
    shown = present(
        Path(arguments.run_directory),
        as_json=arguments.json,
        with_report=True,
        is_verbose=arguments.verbose,
        altered=wrong,
    )
    return 0 if shown.report else 1


def _of_storage(arguments: Arguments) -> int:
    from tonnage.cli.runs import show_answer
    from tonnage.cli.storage_report import of_storage
    from tonnage.report.answers.storage import answer, as_object

    name = None if arguments.storage == "auto" else arguments.storage
    found = of_storage([arguments.run_directory, *arguments.more], name)
    show_answer(answer(found), lambda: as_object(found), arguments)
    return 0
