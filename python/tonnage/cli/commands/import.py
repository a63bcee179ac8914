"""``tonnage import``: files of other tools as a run of ours."""

from __future__ import annotations

import sys
import uuid
from argparse import Namespace
from pathlib import Path

from tonnage import __version__
from tonnage.cli.outcome import present


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.campaign.run import run_directory
    from tonnage.importers.door import import_files

    run_id = uuid.uuid4().hex[:8]
    imported = import_files(
        arguments.kind,
        arguments.files,
        run_directory(arguments.out, f"import-{arguments.kind}", run_id),
        run_id,
        directory=str(Path.cwd()),
        command_line=arguments.command_line,
        version=__version__,
    )
    for problem in imported.problems:
        print(f"tonnage: note: {problem}", file=sys.stderr)
    present(imported.path, as_json=arguments.json, with_report=not arguments.no_report, keep=True)
    return 0
