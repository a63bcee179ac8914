"""The options of mdtest 4.1, in the order of its ``-h``, and ours."""

from __future__ import annotations

import shlex
import shutil

from tonnage.compat.front import FrontEnd, Option, number, size
from tonnage.errors import RequestError

_OTHER_MODULE = "this build has POSIX and DUMMY"
_NO_DELAY = "this build's DUMMY takes no time"


def _number(*names: str, help: str, value: str = "N", default: int = 0, least: int = 0, refused: str = "") -> Option:
    return Option(names, help, value, default, number(least), refused)


def _api(text: str) -> str:
    if text not in ("POSIX", "DUMMY"):
        raise RequestError(f"{text} is not in this build, which has POSIX and DUMMY; hint: mount it, and use POSIX")
    return text


def _packet(text: str) -> str:
    if text[:1] not in ("t", "o", "i", "r"):
        raise RequestError(f"{text!r} is not known; hint: write one of timestamp, offset, incompressible, random")
    return text


def _argv(text: str) -> tuple[str, ...]:
    """The words of a command line; none where it is empty. What only a shell would understand is an error."""
    try:
        words = tuple(shlex.split(text))
        bare = list(shlex.shlex(text, posix=False, punctuation_chars=True))
    except ValueError as error:
        raise RequestError(f"{text!r} cannot be read: {error}; hint: close its quotes") from None
    for word in bare:
        if word[0] not in "'\"" and (found := next((c for c in word if c in "|&;<>()$`*?"), None)):
            raise RequestError(
                f"no shell reads the command, and {found!r} means something to a shell only; "
                "hint: put it in a script, or quote it for one: sh -c '…'"
            )
    if words and shutil.which(words[0]) is None:
        raise RequestError(f"there is no program {words[0]!r}; hint: give its path, or put it in PATH")
    return words


TEXT = """
`tonnage mdtest` takes the command lines of mdtest 4.1 and prints what it prints. mdtest's tasks come from MPI; here
`--tasks N` starts them in one process. Started by an MPI launcher, each of its processes is a task. The run is kept as
any other, below `./tonnage-runs` (or where the environment's `TONNAGE_OUT` says); its place is told on stderr.

Names are made in the directory of `-d` (which is made where it is not there, and removed again if it is empty then),
below a directory `test-dir.0-0` that carries Tonnage's mark. `-C` without `-r` leaves it, and later runs with `-T`,
`-E` or `-r` work on what is in it; whoever made it otherwise keeps it: a directory of that name without the mark is
refused. With several directories (`-d a@b -u`) the tree of task 0 is in the first, that of task 1 in the second, and so
on, as in mdtest. Every iteration works in the same directory, so several iterations that create must remove as well.

A rate is operations ÷ (first start … last end) over all tasks. A phase that fails prints 0.000, a line on stderr says
why, and the exit status is 1: a file that is not there is never counted as one that was looked at. With `-W`, creation
stops when the time is up, and later phases work on what was created. The times of `-P` and `-Z` are the seconds that a
whole phase took, as in mdtest, whose heading calls them ms/op; a finding says what they are.

`-Y` syncs the file system of the directory (syncfs) by each task at the end of each phase but those of the tree, inside
the clock; mdtest runs the command `sync` in each task, which flushes all file systems of the node. `-S`: all tasks
open, write, stat and read the same files, and the first removes them; mdtest counts that once for each task, and a
finding says what was removed. `-c`: the first task makes everything, empty, and removes it; files are then opened and
written by their own tasks, and both parts are in the time of the creation. `-c -u`, with which mdtest 4.1 ends in an
error, works.

A command of `--run-cmd-before-phase` or `--run-cmd-after-phase` is split into words as a shell would, but no shell
reads it. It runs once for all tasks, where mdtest runs it in each; what it prints is not shown. Before a phase it is in
no clock, and the phase fails if it does; after a phase its time is in the time and the rate of the phase, as in mdtest.
It does not run around the tree's phases. `--savePerOpDataCSV` makes a file a task and file test, `PREFIX-File
stat-00000.csv`, with the start, the seconds and the bytes per second of each operation, of the first 2^20 of them; the
last iteration's stay.
"""

MDTEST = FrontEnd(
    "mdtest",
    "mdtest's command lines, measured here",
    TEXT,
    (
        Option(("-C",), "create files and directories, and leave them unless -r is given"),
        Option(("-T",), "look at their attributes (stat)"),
        Option(("-E",), "read the files"),
        Option(("-r",), "remove what is there"),
        Option(("-U",), "rename the directories; with -r, for they would stay under other names"),
        Option(("-D",), "directories only"),
        Option(("-F",), "files only"),
        Option(("-k",), "make empty files with mknod, without opening them"),
        Option(("-L",), "items in the leaves of the tree only"),
        Option(("-P",), "print rates and times"),
        Option(("--print-all-procs",), "print the rate or time of each task"),
        Option(("-R",), "look at, read and remove items in a random order"),
        Option(("-S",), "all tasks work on the same files; no directories"),
        Option(("-c",), "task 0 creates and removes for all"),
        Option(("-t",), "time what each task needs to go to its directory; here that is always in the time"),
        Option(("-u",), "a tree for each task"),
        Option(("-v",), "say more; once: the time and rate of each phase"),
        Option(("-X", "--verify-read"), "check every byte that is read; -G the same as when it was written"),
        Option(("--verify-write",), "read back after each write, inside the clock, and check every byte"),
        Option(("-y",), "fsync each file after it was written"),
        Option(("-Y",), "sync the file system after each phase, inside the clock"),
        Option(("-Z",), "print times instead of rates"),
        Option(("--warningAsErrors",), "any warning is an error; here they always are"),
        Option(("--showRankStatistics",), "columns over the tasks besides those over the iterations"),
        Option(("-g",), "Lustre: default directory layout", refused="set it first, with lfs setdirstripe"),
        Option(("-a",), "how files are reached: POSIX or DUMMY", "API", "POSIX", _api),
        _number("-b", help="directories in each directory that is no leaf", default=1),
        Option(("-d",), "where to work; with -u several, DIR@DIR@…", "DIR", "./out"),
        _number("-B", help="no barriers between phases", refused="mdtest 4.1 itself ends with an error for it"),
        Option(("-e",), "bytes to read from each file", "SIZE", 0, size()),
        _number("-f", help="first number of tasks; to -l, in steps of -s", default=1),
        _number("-G", help="seed of what is written", default=-1, least=-1),
        _number("-i", help="iterations", default=1, least=1),
        _number("-I", help="items in each directory of the tree"),
        _number("-l", help="last number of tasks; 0: all"),
        _number("-n", help="items of each task"),
        _number("-N", help="work on the items of the task so many further on: no task meets its own cache"),
        _number("-p", help="seconds to wait before the directories' test and the files'"),
        _number("--random-seed", help="seed of -R, and -R itself"),
        _number("-s", help="step from -f to -l", default=1, least=1),
        _number("-V", help="as so many -v"),
        Option(("-w",), "bytes to write to each file after it is created", "SIZE", 0, size()),
        _number("-W", help="stop creating files after so many seconds"),
        Option(("-x",), "file that keeps how many files each task created, for later runs", "FILE"),
        _number("-z", help="levels of directories below the first"),
        Option(("--dataPacketType",), "what is written; here data that nothing compresses", "TYPE", "t", _packet),
        Option(("--run-cmd-before-phase",), "command before each phase, outside the clock", "CMD", "", _argv),
        Option(("--run-cmd-after-phase",), "command after each phase, inside the clock", "CMD", "", _argv),
        Option(("--saveRankPerformanceDetails",), "CSV file with the rate and time of each task", "FILE"),
        Option(("--savePerOpDataCSV",), "CSV files with each operation on a file", "PREFIX"),
        Option(("--posix.odirect",), "past the page cache", refused="files of a tree go through the page cache here"),
        Option(("--posix.rangelocks",), "lock ranges", refused="this build takes no locks"),
        Option(("--dummy.delay-only-rank0",), "delay only task 0", refused=_NO_DELAY),
        _number("--dummy.delay-create", help="microseconds of a create", refused=_NO_DELAY),
        _number("--dummy.delay-close", help="microseconds of a close", refused=_NO_DELAY),
        _number("--dummy.delay-sync", help="microseconds of a sync", refused=_NO_DELAY),
        _number("--dummy.delay-xfer", help="microseconds of a transfer", refused=_NO_DELAY),
        Option(("--mpiio.showHints",), "show MPI hints", refused=_OTHER_MODULE),
        Option(("--mpiio.preallocate",), "preallocate", refused=_OTHER_MODULE),
        Option(("--mpiio.useStridedDatatype",), "strided data type", refused=_OTHER_MODULE),
        Option(("--mpiio.useFileView",), "file view", refused=_OTHER_MODULE),
        Option(("--mpiio.hintsFileName",), "file of hints", "FILE", refused=_OTHER_MODULE),
        Option(("--mmap.madv_dont_need",), "advise don't need", refused=_OTHER_MODULE),
        Option(("--mmap.madv_pattern",), "advise the pattern", refused=_OTHER_MODULE),
        _number("--tasks", help="tasks at once; all processes where MPI started several", default=1, least=1),
    ),
    (
        ("tonnage mdtest --tasks 4 -n 1000 -F -d /scratch/me", "create, stat, read and remove 1000 files a task"),
        ("tonnage mdtest -n 1000 -F -C -d /scratch/me", "create them and leave them"),
        ("tonnage mdtest -n 1000 -F -T -r -d /scratch/me", "look at them and remove them, in a later run"),
        ("tonnage mdtest --tasks 2 -z 2 -b 3 -I 10 -N 1 -i 3 -d /scratch/me", "in a tree, by other tasks, three times"),
    ),
)  # fmt: skip
