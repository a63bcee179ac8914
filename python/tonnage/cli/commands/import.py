"""``tonnage import``: files of other tools as a run of ours."""

from __future__ import annotations

import sys
from pathlib import Path

from tonnage import __version__, plugins
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, NO_REPORT, OUT
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.importers.file_kinds import KINDS


def _kind(word: str) -> str:
    """The word itself, whatever kinds plug-ins add; RequestError for a file in its place."""
    if word not in KINDS and Path(word).is_file():
        raise RequestError(
            f"{word} is a file and no KIND; hint: of several files give it, `tonnage import KIND FILE...`"
        )
    return word


COMMAND = Command(
    "import",
    "take over what another tool measured",
    "Reads files that another tool wrote and makes one run directory from them: trials with intervals, "
    "findings, the report. Repetitions in a file, and equal trials of several files, become repetitions; a "
    "summary never becomes a trial. The files are kept in the run. A value that the files do not state is "
    "unknown in the run; damage is reported with its line number. `tonnage explain import` describes what "
    "each kind reads and what its figures mean.",
    (
        Option(
            ("kind",),
            "tool that wrote the files; for a single file it may be omitted and is recognised by the content",
            "KIND",
            choices=tuple(KINDS),
            plugins=plugins.IMPORTERS,
            parse=_kind,
            optional=True,
        ),
        Option(
            ("files",),
            "output of the tool, the oldest file first; for IO500 also a result directory",
            "FILE",
            repeats=True,
            completes="file",
        ),
        Option(
            ("--factor",),
            "value that the files do not state, such as snapshot=yes; a PATTERN selects files by name: "
            "snap-*:snapshot=yes. May be repeated; for one NAME the last match counts",
            "[PATTERN:]NAME=VALUE",
            repeats=True,
        ),
        Option(
            ("--link",),
            "rate of the link between the hosts and the storage, in bits or bytes; higher rates become findings",
            "RATE",
        ),
        OUT,
        JSON,
        NO_REPORT,
    ),
    (
        ("tonnage import ior ior.out --out run-ior", "IOR's text, JSON or CSV"),
        ("tonnage import ior.out.gz", "a file of any known tool, also compressed, or with labels of srun -l"),
        ("tonnage import ior monday.out tuesday.out --out run-ior", "equal trials of both become repetitions"),
        (
            "tonnage import ior plain.out snap.out --factor snapshot=no --factor 'snap*:snapshot=yes' --out run-ior",
            "with and without a snapshot: the seconds that one adds",
        ),
        ("tonnage import io500 results/*", "result directories of IO500, of any year"),
        ("tonnage import fio randread.json --out run-fio", "what fio --output-format=json wrote"),
        ("tonnage import fio-log randread_bw.1.log --out run-log", "and its log, with throughput over time"),
    ),
    loads=("tonnage.cli.runs", "tonnage.importers.import_run"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    import uuid

    from tonnage.analysis.compare.normalise import parse_link
    from tonnage.campaign.trial_loop import run_directory
    from tonnage.cli.runs import present
    from tonnage.importers.import_run import import_files, kind_of, parse_factor, result_files

    run_id = uuid.uuid4().hex[:8]
    files = result_files(arguments.files)
    kind = arguments.kind or kind_of(files)
    imported = import_files(
        kind,
        files,
        run_directory(arguments.out, f"import-{kind}", run_id),
        run_id,
        directory=str(Path.cwd()),
        command_line=arguments.command_line,
        version=__version__,
        factors=[parse_factor(text) for text in arguments.factor or ()],
        link_bytes_per_s=int(parse_link(arguments.link).bytes_per_s or 0) if arguments.link else None,
    )
    for problem in (*imported.problems, *imported.twice):
        print(f"tonnage: note: {problem}", file=sys.stderr)
    found = present(imported.path, as_json=arguments.json, with_report=not arguments.no_report, keep=True)
    return int(found.is_report_missing)
