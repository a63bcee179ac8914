"""The options of mdtest 4.1, in the order of its ``-h``, and ours."""

from __future__ import annotations

import shlex
import shutil

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number, size
from tonnage.errors import RequestError

_OTHER_MODULE = "this build has only POSIX, MPIIO and DUMMY"
_NO_HINTS = "the files of mdtest are opened without hints and views here"
_NO_DELAY = "this build's DUMMY takes no time"


def _number(*names: str, help: str, value: str = "N", default: int = 0, least: int = 0, refused: str = "") -> Option:
    return Option(names, help, value, default, parse=number(least), refused=refused)


def _api(text: str) -> str:
    if text not in ("POSIX", "MPIIO", "DUMMY"):
        hint = "hint: mount it, and use POSIX"
        raise RequestError(f"{text} is not in this build, which has POSIX, MPIIO and DUMMY; {hint}")
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
any other, below `./tonnage-runs` (or where the environment's `TONNAGE_OUT` says: `DIR`, then `DIR-2` …); stderr names
its directory. Tables, headings and lines with figures are mdtest's; warnings and errors are in Tonnage's words.

Everything is made below `test-dir.0-0` in the directory of `-d`, which is made if it is missing, and is then removed
at the end if it is empty. `test-dir.0-0` carries Tonnage's mark: a directory of that name without the mark is refused
and left as it is. `tonnage clean DIR` removes the tree of a killed mdtest. `-C` without `-r` leaves the files, and
later runs with `-T`, `-E` or `-r` work on them. With several directories (`-d a@b -u`) the tree of task 0 is in the
first, the tree of task 1 in the second, and so on, as in mdtest. Iterations that create and remove all use
`test-dir.0-0`. Else each has a tree of its own, as in mdtest: `-i 3 -C` leaves `test-dir.0-0`, `test-dir.1-0` and
`test-dir.2-0`, and a later `-i 3 -T` or `-i 3 -r` works on these three; the records of each iteration are then a run of
their own (`DIR/iteration-0` … below `TONNAGE_OUT`).

`-n` with `-I` makes directories beside each other, each with `-I` of the `-n` items; mdtest counts one of them in the
tree creation, and a finding gives the true rate. With neither, only the tree of `-z` and `-b` is made and removed.

A rate is operations ÷ (first start … last end) over all tasks. A phase that fails prints 0.000, a line on stderr says
why, and the exit status is 1; a file that is missing is never counted as done. With `-W`, creation stops when the time
is up, and later phases work on what was created; where `-n` and `-w` ask for more than is free, it fails before the
file system is full, with a twentieth of it left, at most 4 GiB. The times of `-P` and `-Z` are the seconds of a whole
phase, as in mdtest, whose heading calls them ms/op; a finding says so.

`-Y`: at the end of each phase but those of the tree, each task syncs the file system of the directory (syncfs), inside
the measured time; mdtest runs the command `sync` in each task, which flushes all file systems of the node. `-S`: all
tasks open, write, stat and read the same files, and the first task removes them; mdtest counts the removal once for
each task, and a finding gives the true rate. `-c`: the first task creates all items, empty, and removes them; each task
opens and writes its own files after the creation, and both parts are in the time of the creation. `-c -u` works, where
mdtest 4.1 ends with an error.

The command of `--run-cmd-before-phase` or `--run-cmd-after-phase` is split into words as a shell would do, but no shell
runs it. It runs once for all tasks; mdtest runs it in each task. Its output is not shown. Before a phase it is outside
the measured time, and if it fails, the phase fails; after a phase its time counts in the time and the rate of the
phase, as in mdtest. It does not run around the phases of the tree. `--savePerOpDataCSV` writes one file for each task
and each phase on files, such as `PREFIX-File stat-00000.csv`, with the start, the seconds and the bytes per second of
each operation: of the first 2^20 of a task, in the last iteration.

A file that `-x`, `--saveRankPerformanceDetails` or `--savePerOpDataCSV` names is made new. An empty one, and one that
has the form of such an output, is replaced whole; other files, links and files with a second name are refused before
anything is measured.
"""

MDTEST = FrontEnd(
    "mdtest",
    "mdtest's command lines, measured here",
    TEXT,
    (
        Option(("-C",), "create files and directories; they stay unless -r is given"),
        Option(("-T",), "stat the files and directories"),
        Option(("-E",), "read the files"),
        Option(("-r",), "remove the files and directories"),
        Option(("-U",), "rename the directories; only with -r, which removes them under their new names"),
        Option(("-D",), "directories only"),
        Option(("-F",), "files only"),
        Option(("-k",), "make empty files with mknod, without opening them"),
        Option(("-L",), "items only in the leaf directories of the tree"),
        Option(("-P",), "print tables of rates and of times"),
        Option(("--print-all-procs",), "print the rate, or time, of each task"),
        Option(("-R",), "stat and read the items in random order; with -W also remove them in it"),
        Option(("-S",), "all tasks work on the same files; without directories"),
        Option(("-c",), "task 0 creates and removes the items of all tasks"),
        Option(("-t",), "no effect: going to a task's directory is always in the measured time"),
        Option(("-u",), "each task has its own tree; without -u, all share one"),
        Option(("-v",), "print more; -v adds the time and rate of each phase"),
        Option(("-X", "--verify-read"), "check every byte that is read; with the -G of the write"),
        Option(("--verify-write",), "read each file back after its write, in the measured time, and check every byte"),
        Option(("-y",), "fsync each file after its write; with -w"),
        Option(("-Y",), "each task syncs the file system after each phase, in the measured time"),
        Option(("-Z",), "print a table of times, not of rates"),
        Option(("--warningAsErrors",), "no effect: a phase that fails is an error anyway"),
        Option(("--showRankStatistics",), "also print columns over the tasks, not only over the iterations"),
        Option(("-g",), "Lustre: default directory layout", refused="set it first, with lfs setdirstripe"),
        Option(("-a",), "how files are reached: POSIX, MPIIO; DUMMY touches none", "API", "POSIX", parse=_api),
        _number("-b", help="subdirectories of each directory of the tree, down to level -z", default=1),
        Option(("-d",), "directory to work in; with -u also several, DIR@DIR", "DIR", "./out"),
        _number("-B", help="1: tasks do not wait", refused="mdtest 4.1 itself ends with an error for it"),
        Option(("-e",), "bytes that a task reads of each file; 4k is 4096", "SIZE", 0, parse=size()),
        _number("-f", help="smallest number of tasks, where -l is given", default=1),
        _number("-G", help="seed of the data, also below 0; -1: a random one", default=-1, least=-(2**31)),
        _number("-i", help="how many times all phases are done", default=1, least=1),
        _number("-I", help="items in each directory of the tree; with -n: in each of several directories"),
        _number("-l", help="largest number of tasks: -f 2 -l 6 -s 2 measures with 2, 4 and 6; 0: only with all"),
        _number("-n", help="items of each task: N files, N directories, or N of each"),
        _number("-N", help="a task works on what the task N further on made; N nodes, where each has a block of tasks"),
        _number(
            "-p", help="seconds to wait before the phases on directories, and before those on files; with -R also "
            "before each removal"
        ),
        _number("--random-seed", help="random order as with -R, with this seed; 0: no"),
        _number("-s", help="step between the numbers of tasks, where -l is given", default=1, least=1),
        _number("-V", help="as N times -v"),
        Option(("-w",), "bytes that a task writes to each new file; 4k is 4096", "SIZE", 0, parse=size()),
        _number("-W", help="seconds after which creation stops; slower tasks then catch up. 0: no limit"),
        Option(("-x",), "file that keeps how many files a task created; later runs use as many", "FILE"),
        _number("-z", help="levels of directories below the top one"),
        Option(("--dataPacketType",), "kind of data: t, o, i or r; here none compresses", "TYPE", "t", parse=_packet),
        Option(
            ("--run-cmd-before-phase",), "command before each phase, outside the measured time", "CMD", "", parse=_argv
        ),
        Option(
            ("--run-cmd-after-phase",), "command after each phase, inside the measured time", "CMD", "", parse=_argv
        ),
        Option(("--saveRankPerformanceDetails",), "CSV file with rate and time of each task and phase", "FILE"),
        Option(("--savePerOpDataCSV",), "CSV files with start, seconds and rate of each file operation", "PREFIX"),
        Option(("--posix.odirect",), "files bypass the page cache (O_DIRECT); -w and -e in whole blocks of its device"),
        Option(("--posix.rangelocks",), "lock the bytes of each transfer", refused="this build takes no locks"),
        Option(("--dummy.delay-only-rank0",), "only task 0 waits, not every task", refused=_NO_DELAY),
        _number("--dummy.delay-create", help="microseconds to wait in each create", refused=_NO_DELAY),
        _number("--dummy.delay-close", help="microseconds to wait in each close", refused=_NO_DELAY),
        _number("--dummy.delay-sync", help="microseconds to wait in each sync", refused=_NO_DELAY),
        _number("--dummy.delay-xfer", help="microseconds to wait in each transfer", refused=_NO_DELAY),
        Option(("--mpiio.showHints",), "print the MPI-IO hints in effect", refused=_NO_HINTS),
        Option(("--mpiio.preallocate",), "reserve the space of a file before it is written", refused=_NO_HINTS),
        Option(("--mpiio.useStridedDatatype",), "describe strided offsets by an MPI data type", refused=_NO_HINTS),
        Option(("--mpiio.useFileView",), "give each task a file view", refused=_NO_HINTS),
        Option(("--mpiio.hintsFileName",), "file with MPI-IO hints", "FILE", refused=_NO_HINTS),
        Option(("--mmap.madv_dont_need",), "madvise DONTNEED for each mapping", refused=_OTHER_MODULE),
        Option(("--mmap.madv_pattern",), "madvise RANDOM or SEQUENTIAL for each mapping", refused=_OTHER_MODULE),
        _number("--tasks", help="number of tasks; under MPI, all its processes", default=1, least=1),
    ),
    (
        ("tonnage mdtest --tasks 4 -n 1000 -F -d /scratch/me", "create, stat, read and remove 1000 files a task"),
        ("tonnage mdtest -n 1000 -F -C -d /scratch/me", "create them and leave them"),
        ("tonnage mdtest -n 1000 -F -T -r -d /scratch/me", "stat them and remove them, in a later run"),
        (
            "tonnage mdtest --tasks 2 -z 2 -b 3 -I 10 -N 1 -i 3 -d /scratch/me",
            "a tree, three times; each task works on what the next one made",
        ),
    ),
    ends_at_dashes=False,
)  # fmt: skip
