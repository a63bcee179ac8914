"""The options of ``tonnage stage`` and of each of its actions."""

from __future__ import annotations

from typing import Any

from tonnage.cli.option import Command, Option, count, port, time


def _limit(text: str) -> Any:
    from tonnage.cli.stage.words import parse_limit

    return parse_limit(text)


def _permille(text: str) -> int:
    from tonnage.units import parse_share

    return round(1000 * parse_share(text))


def _workers(text: str) -> int:
    return 0 if text == "auto" else count(text)


FROM = Option(("--from",), "tree that is read", "DIR", "$PERSIST_DIR", completes="directory")
TO = Option(
    ("--to",), "tree that is written; made if only its parent is there", "DIR", "$PFS_DIR", completes="directory"
)
WHICH_FROM = Option(
    ("--from",), "the mover that reads DIR", "DIR", "$PERSIST_DIR, or the only mover", completes="directory"
)
WHICH_TO = Option(("--to",), "the mover that writes DIR", "DIR", completes="directory")
WHICH_NAME = Option(("--name",), "the mover of this name", "NAME")
WHICH_STATE = Option(("--state",), "the mover whose journal is in DIR", "DIR", completes="directory")
NAME = Option(("--name",), "what the mover is called on this host", "NAME", "the source's last component")
STATE = Option(
    ("--state",),
    "directory of the journal, on node-local storage",
    "DIR",
    ".tonnage-stage in the local tree",
    completes="directory",
)
JSON = Option(("--json",), "print one JSON object on stdout and nothing else there", is_flag=True)
WHICH = (WHICH_FROM, WHICH_TO, WHICH_NAME, WHICH_STATE)
TREES = (FROM, TO, NAME, STATE)

_FILES = (
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
    is_flag=True,
)
DROP_ATTRIBUTES = Option(
    ("--drop-attributes",),
    "delete also what has attributes (xattrs, access lists, owner) that the destination does not take",
    is_flag=True,
)
_OUT = (
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
_PACE = (
    Option(
        ("--limit",), "bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)", "RATE", "none", parse=_limit
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
_WATCHED = (
    Option(
        ("--deadline",),
        "time to go on for, by priority, after SIGTERM or `stage stop`, and after the end of the application",
        "TIME",
        "20s, and no bound after the application's end",
        parse=time,
    ),
    Option(
        ("--log",),
        "file that gets Spectral's lines",
        "FILE",
        "$PFS_DIR/spectral.log where PFS_DIR named the destination",
        completes="file",
    ),
    Option(("--metrics",), "serve Prometheus on 127.0.0.1:PORT", "PORT", "off", parse=port),
)

RUN = Command(
    "run",
    "run a program, stage what it writes, end when all of it is safe",
    "Starts a mover, runs PROGRAM with PERSIST_DIR and PFS_DIR in its environment, and goes on until everything that "
    "it left in --from is safe in --to. Exits with the program's status, or with 1 where a file is not safe.",
    (*TREES, TREES_CHANGED, *_FILES, *_OUT, *_PACE, *_WATCHED),
    (
        ("tonnage stage run --from /local/me --to /gpfs/me/run7 -- ./simulation input.nml", "stage out while it runs"),
        (
            "tonnage stage run --first '*.chk' --order newest --deadline 10m -- ./simulation",
            "trees from PERSIST_DIR and PFS_DIR; the newest checkpoint first, ten minutes at the end",
        ),
    ),
    program="-- PROGRAM [WORD]...",
)
START = Command(
    "start",
    "start a mover in the background",
    "Starts a mover that stages whatever turns up, until `stage stop`. Returns once it answers; its first line says "
    "its name and its trees. What it says later is in mover.log in its state directory.",
    (
        *TREES,
        TREES_CHANGED,
        Option(("--foreground",), "stay attached, with a panel", is_flag=True),
        *_FILES,
        *_OUT,
        *_PACE,
        *_WATCHED,
    ),
    (
        ("tonnage stage start --from /local/me --to /gpfs/me/run7", "in a job script, before the application"),
        (
            "tonnage stage start --from /local/me --to /gpfs/me/run7 --delete high-water --high 80% --low 60%",
            "and keep the local file system below 80 %",
        ),
    ),
)
STATUS = Command(
    "status",
    "say where a mover stands",
    "Prints what is safe, what waits and why, and what failed. Of a mover that does not run, what its journal says. "
    "Exit code 1 where files failed, or where a mover that does not run left some.",
    (*WHICH, JSON, Option(("--watch",), "go on until the mover ends, with a panel", is_flag=True)),
    (
        ("tonnage stage status", "of the only mover, or that of PERSIST_DIR"),
        ("tonnage stage status --name run7 --json", "for a script"),
    ),
)
WAIT = Command(
    "wait",
    "wait until everything written so far is safe",
    "Asks for a fresh scan and returns when all it found is safe at the destination; the mover goes on. Exit code 1 "
    "where a file was given up, or the time was over.",
    (*WHICH, Option(("--timeout",), "give up after TIME", "TIME", "never", parse=time)),
    (
        ("tonnage stage wait", "between two steps of a job"),
        ("tonnage stage wait --name run7 --timeout 10m || exit 1", "at most ten minutes"),
    ),
)
STOP = Command(
    "stop",
    "end a mover",
    "Lets the mover go on by priority until the deadline, then ends it. What is left stays in its journal for "
    "`stage resume`; exit code 1 says so.",
    (
        *WHICH,
        Option(
            ("--deadline",), "time it may go on for; 0 ends it now", "TIME", "that of its start, or 20s", parse=time
        ),
    ),
    (
        ("tonnage stage stop", "at the end of a job, after `stage wait`"),
        ("tonnage stage stop --deadline 5m", "five minutes for what matters most"),
    ),
)
LIMIT = Command(
    "limit",
    "change a mover's bounds while it runs",
    "Sets the bounds to exactly what is given: 200MB/s, 100files/s, both with a comma between, 0 (pause), none.",
    (Option(("limit",), "the bounds", "RATE", parse=_limit), *WHICH),
    (
        ("tonnage stage limit 200MB/s", "no more than that from now on"),
        ("tonnage stage limit 0", "pause"),
        ("tonnage stage limit none --name run7", "full speed"),
    ),
)
VERIFY = Command(
    "verify",
    "compare a destination with its manifests",
    "Reads every file that movers placed in --to, also years later, and compares it with the size and the checksum "
    "that the manifest beside the data has. Exit code 1 where one is missing or differs.",
    (
        Option(("--to",), "tree that was staged into", "DIR", "$PFS_DIR", completes="directory"),
        Option(("--threads",), "files that are read at once", "N", "the processors there are, at most 8", parse=count),
        JSON,
    ),
    (("tonnage stage verify --to /gpfs/me/run7", "every byte of it"),),
)
RESUME = Command(
    "resume",
    "go on where a mover ended",
    "Starts the mover again with the policies it had, in the background; files that had failed go again. Works after "
    "SIGKILL and a reboot, and on another node that sees both trees and the journal.",
    (
        *WHICH,
        Option(("--wait",), "stay, and end when everything is safe", is_flag=True),
        TREES_CHANGED,
        DROP_ATTRIBUTES,
    ),
    (
        ("tonnage stage resume --wait --from /local/me --to /gpfs/me/run7", "finish what a killed job left"),
        ("tonnage stage resume --name run7", "go on in the background"),
    ),
)
IN = Command(
    "in",
    "copy inputs to node-local storage before a run",
    "Copies what is not yet in --to, or not as it is in --from, with the same checks as a stage-out, and ends. The "
    "journal is in --to.",
    (
        Option(("--from",), "tree that is read", "DIR", "$PFS_DIR", completes="directory"),
        Option(
            ("--to",),
            "tree that is written; made if only its parent is there",
            "DIR",
            "$PERSIST_DIR",
            completes="directory",
        ),
        NAME,
        STATE,
        TREES_CHANGED,
        *_FILES,
        *_PACE,
    ),
    (("tonnage stage in --from /gpfs/me/inputs --to /local/me/inputs", "programs and inputs, before the run"),),
)
LIST = Command(
    "list",
    "list the movers of this host",
    "Prints the name, state and trees of each of your movers, also of those that ended with files left.",
    (JSON,),
    (("tonnage stage list", "which movers there are"),),
)

STAGE = Command(
    "stage",
    "move files off node-local storage in the background, and lose none",
    "Moves files from node-local storage to a parallel file system while an application runs. A file is called safe "
    "only when its copy is whole, synced and checked, under its name. docs/stage.md has the guarantees.",
    (),
    (
        ("tonnage stage run --from /local/me --to /gpfs/me/run7 -- ./simulation", "the whole life of a run"),
        ("tonnage stage start --from /local/me --to /gpfs/me/run7", "or in steps: start, wait, stop"),
    ),
    actions=(RUN, START, STATUS, WAIT, STOP, LIMIT, VERIFY, RESUME, IN, LIST),
)
