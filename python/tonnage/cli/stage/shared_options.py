"""Options that several actions of ``tonnage stage`` take."""

from __future__ import annotations

from tonnage.cli.stage.status_text import parse_limit
from tonnage.command_option import Option, parse_port
from tonnage.units import parse_count, parse_share, parse_time


def _permille(text: str) -> int:
    return round(1000 * parse_share(text))


def _workers(text: str) -> int:
    return 0 if text == "auto" else parse_count(text)


FROM = Option(("--from",), "tree that is read", "DIR", "$PERSIST_DIR", completes="directory")
TO = Option(
    ("--to",), "tree that is written; made if only its parent is there", "DIR", "$PFS_DIR", completes="directory"
)
NAME = Option(("--name",), "what the mover is called on this host", "NAME", "the source's last component")
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
    Option(("--first",), "what matches goes before the rest, the first --first first", "GLOB", repeats=True),
    Option(
        ("--order",),
        "which of the waiting files goes next",
        None,
        "oldest",
        ("oldest", "newest", "smallest", "largest"),
    ),
    Option(
        ("--check",),
        "how a copy is proved: checksum of what was written, of what is read back from the destination (what --delete "
        "takes unless this is given), or none",
        None,
        "written",
        ("none", "written", "read-back"),
    ),
    Option(
        ("--overwrite",),
        "what may be replaced at the destination besides this mover's own files",
        None,
        "never",
        ("never", "older", "always"),
    ),
)
TREES_CHANGED = Option(
    ("--trees-changed",),
    "go on though a tree is not the directory it was: what is missing at the destination goes again",
)
DROP_ATTRIBUTES = Option(
    ("--drop-attributes",),
    "delete also what has attributes (xattrs, access lists, owner) that the destination does not take",
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
        "when a verified file leaves the source: once it is safe, or the oldest first above --high",
        None,
        "never",
        ("never", "done", "high-water"),
    ),
    DROP_ATTRIBUTES,
    Option(
        ("--high",), "share of the source's file system above which it is called full", "SHARE", "90%", parse=_permille
    ),
    Option(("--low",), "share down to which --delete high-water clears", "SHARE", "75%", parse=_permille),
)
PACE = (
    Option(
        ("--limit",),
        "bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)",
        "RATE",
        "none",
        parse=parse_limit,
    ),
    Option(("--workers",), "threads that copy", "N", "auto", parse=_workers),
    Option(
        ("--gentle",),
        "slower while the application's own I/O or processor time suffers",
        None,
        "auto, for `stage in` off",
        ("auto", "off"),
    ),
)
WATCHED = (
    Option(
        ("--deadline",),
        "time to go on for, by priority, after SIGTERM or `stage stop`, and after the end of the application",
        "TIME",
        "20s, and no bound after the application's end",
        parse=parse_time,
    ),
    Option(
        ("--log",),
        "file that gets Spectral's lines",
        "FILE",
        "$PFS_DIR/spectral.log where PFS_DIR named the destination",
        completes="file",
    ),
    Option(("--metrics",), "serve Prometheus on 127.0.0.1:PORT", "PORT", "off", parse=parse_port),
)
