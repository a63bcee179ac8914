"""Options that several actions of ``tonnage stage`` take."""

from __future__ import annotations

from tonnage.cli.stage.status_text import parse_limit
from tonnage.command_option import Option, parse_port
from tonnage.units import parse_count, parse_share, parse_time


def _permille(text: str) -> int:
    return round(1000 * parse_share(text))


def _workers(text: str) -> int:
    return 0 if text == "auto" else parse_count(text)


FROM = Option(("--from",), "source tree", "DIR", "$PERSIST_DIR", completes="directory")
TO = Option(("--to",), "destination tree; created if its parent exists", "DIR", "$PFS_DIR", completes="directory")
NAME = Option(("--name",), "name of the mover on this host", "NAME", "the source's last component")
STATE = Option(
    ("--state",),
    "directory of the journal, on node-local storage",
    "DIR",
    ".tonnage-stage in the local tree",
    completes="directory",
)
TREES = (FROM, TO, NAME, STATE)
WHICH = (
    Option(("--from",), "the mover that reads DIR", "DIR", "$PERSIST_DIR, or the only mover", completes="directory"),
    Option(("--to",), "the mover that writes DIR", "DIR", completes="directory"),
    Option(("--name",), "the mover of this name", "NAME"),
    Option(("--state",), "the mover whose journal is in DIR", "DIR", completes="directory"),
)
"""Which mover is meant."""

FILES = (
    Option(("--include",), "stage only what matches, relative to the source", "GLOB", "everything", repeats=True),
    Option(("--exclude",), "do not stage what matches", "GLOB", "nothing", repeats=True),
    Option(("--first",), "copy matching files before all others, in the order of these options", "GLOB", repeats=True),
    Option(
        ("--order",),
        "which waiting file is copied next",
        None,
        "oldest",
        ("oldest", "newest", "smallest", "largest"),
    ),
    Option(
        ("--check",),
        "how a copy is verified: not at all, by a checksum of the written data, or of the data read back "
        "from the destination (the default with --delete)",
        None,
        "written",
        ("none", "written", "read-back"),
    ),
    Option(
        ("--overwrite",),
        "files at the destination that may be replaced, besides this mover's own",
        None,
        "never",
        ("never", "older", "always"),
    ),
)
TREES_CHANGED = Option(
    ("--trees-changed",),
    "continue although a tree is not the same directory as before; files that are missing at the destination "
    "are copied again",
)
DROP_ATTRIBUTES = Option(
    ("--drop-attributes",),
    "also delete files with attributes (xattrs, access lists, owner) that the destination does not accept",
)
OUT = (
    Option(
        ("--marker",),
        "a file that matches appears only after everything else below its directory is safe",
        "GLOB",
        repeats=True,
    ),
    Option(
        ("--delete",),
        "when a verified file is deleted from the source: never, once it is safe, or, above --high, the oldest first",
        None,
        "never",
        ("never", "done", "high-water"),
    ),
    DROP_ATTRIBUTES,
    Option(
        ("--high",), "usage of the source's file system above which it counts as full", "SHARE", "90%", parse=_permille
    ),
    Option(("--low",), "usage down to which --delete high-water deletes", "SHARE", "75%", parse=_permille),
)
PACE = (
    Option(
        ("--limit",),
        "upper bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)",
        "RATE",
        "none",
        parse=parse_limit,
    ),
    Option(("--workers",), "threads that copy", "N", "auto", parse=_workers),
    Option(
        ("--gentle",),
        "copy more slowly while the application's own I/O or processor time suffers",
        None,
        "auto, for `stage in` off",
        ("auto", "off"),
    ),
)
WATCHED = (
    Option(
        ("--deadline",),
        "time to continue, by priority, after SIGTERM, `stage stop` or the end of the application",
        "TIME",
        "20s; no bound after the application's end",
        parse=parse_time,
    ),
    Option(
        ("--log",),
        "file for log lines in Spectral's format",
        "FILE",
        "$PFS_DIR/spectral.log where PFS_DIR named the destination",
        completes="file",
    ),
    Option(("--metrics",), "serve Prometheus on 127.0.0.1:PORT", "PORT", "off", parse=parse_port),
)
