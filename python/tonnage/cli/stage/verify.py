"""``tonnage stage verify``: a tree against the manifests in it."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

from tonnage.cli.entry import complain
from tonnage.cli.stage.where import REMOTE
from tonnage.cli.stage.words import files_text, volume
from tonnage.cli.stream import is_plain
from tonnage.errors import RequestError
from tonnage.staging.verify import WRONG, Verified, verify


def run(arguments: Namespace) -> int:
    """Exit code: 1 where a file is not what its manifest says."""
    to = arguments.to or os.environ.get(REMOTE)
    if not to:
        raise RequestError(f"--to is missing and {REMOTE} is not set; hint: add --to DIR")
    live = not is_plain(sys.stderr)
    found = verify(Path(to), arguments.threads, _show if live else lambda *_: True)
    if live:
        sys.stderr.write("\r\x1b[K")
    if arguments.json:
        print(json.dumps(found.report, ensure_ascii=False))
    else:
        say(found)
    if found.wrong:
        return complain(
            f"{files_text(found.wrong)} not as the manifests say; hint: stage them again from the source", 1
        )
    return 0


def say(found: Verified) -> None:
    """A line for each file that is wrong, then the count."""
    for key, told in WRONG.items():
        for path in found.report[key]:
            print(f"{path} {told}".rstrip())
    report = found.report
    print(f"{files_text(report['checked'])} checked, {volume(report['bytes'])}; {found.wrong} wrong")
    if report["without_checksum"]:
        print(f"{files_text(report['without_checksum'])} staged without a checksum: only their sizes are right")
    if report["unknown"]:
        print(f"{files_text(len(report['unknown']))} that no mover placed")


def _show(files: int, of_files: int, size_bytes: int, of_bytes: int) -> bool:
    sys.stderr.write(f"\r{files:,} of {files_text(of_files)}, {volume(size_bytes)} of {volume(of_bytes)} checked\x1b[K")
    sys.stderr.flush()
    return True
