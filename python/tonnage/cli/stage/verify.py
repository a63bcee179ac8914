"""``tonnage stage verify``: a tree against the manifests in it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.entry import complain
from tonnage.cli.output_stream import is_plain, terminal
from tonnage.cli.shared_options import JSON
from tonnage.cli.stage.status_text import files_text, volume
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_count, plural

if TYPE_CHECKING:
    from tonnage.staging.verify_tree import Verified

COMMAND = Command(
    "verify",
    "compare a destination with its manifests",
    "Reads every file that movers placed in --to, also years later, and compares it with the size and "
    "checksum in the manifest beside the data. The exit code is 1 if one is missing or differs.",
    (
        Option(("--to",), "destination tree", "DIR", "$PFS_DIR", completes="directory"),
        Option(
            ("--threads",),
            "files that are read at the same time",
            "N",
            "the number of processors, at most 8",
            parse=parse_count,
        ),
        JSON,
    ),
    (("tonnage stage verify --to /gpfs/me/run7", "every byte"),),
    loads=("tonnage.cli.stage.find_mover", "tonnage.staging.verify_tree"),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where a file is not what its manifest says, or a manifest cannot be read."""
    from tonnage.cli.stage.find_mover import REMOTE
    from tonnage.staging.verify_tree import verify

    to = arguments.to or os.environ.get(REMOTE)
    if not to:
        raise RequestError(f"--to is missing and {REMOTE} is not set; hint: add --to DIR")
    live = not is_plain(sys.stderr)
    found = verify(Path(to), arguments.threads, _show if live else lambda *_: True)
    if live:
        terminal(sys.stderr).write("\r\x1b[K")
    if arguments.json:
        print(json.dumps(found.report, ensure_ascii=False))
    else:
        say(found)
    code = 0
    closed = len(found.report["unreadable"])
    if found.wrong > closed:
        wrong = f"{files_text(found.wrong - closed)} not as the manifests say"
        code = complain(f"{wrong}; hint: stage them again from the source", 1)
    if closed:
        hint = "verify as a user who may read them, or change their modes there"
        code = complain(f"{files_text(closed)} cannot be read, and may be right; hint: {hint}", 1)
    if found.damaged:
        # A path that is staged again has a line again; the damaged one says nothing of which it was.
        damaged = f"{plural(found.damaged, 'place')} in the manifests cannot be read"
        hint = "what they named is not checked: put back the manifest from a copy, or stage into a new tree"
        code = complain(f"{damaged}; hint: {hint}", 1)
    return code


def say(found: Verified) -> None:
    """A line for each file that is wrong, then the count."""
    from tonnage.staging.verify_tree import WRONG

    for key, told in WRONG.items():
        for path in found.report[key]:
            print(f"{path} {told}".rstrip())
    report = found.report
    for place in report["damaged"]:
        print(f"damaged: {place}")
    print(f"{files_text(report['checked'])} checked, {volume(report['bytes'])}; {found.wrong} wrong")
    if report["without_checksum"]:
        print(f"{files_text(report['without_checksum'])} staged without a checksum: only their sizes are right")
    if report["torn_lines"]:
        print("a manifest ends in a line that a crash left unfinished: its files were not yet safe")
    if report["unknown"]:
        print(f"{files_text(len(report['unknown']))} that no mover placed")


def _show(files: int, of_files: int, size_bytes: int, of_bytes: int) -> bool:
    terminal(sys.stderr).write(
        f"\r{files:,} of {files_text(of_files)}, {volume(size_bytes)} of {volume(of_bytes)} checked\x1b[K"
    )
    terminal(sys.stderr).flush()
    return True
