"""What a command line of mdtest asks for: contradictions refused, defaults filled in, and the campaign of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from tonnage.compat.front_end import Given
from tonnage.compat.measure import ALONE, Ranks
from tonnage.errors import RequestError


def tree_name(iteration: int) -> str:
    """The directory in that of ``-d`` in which everything of an iteration is."""
    return f"test-dir.{iteration}-0"


@dataclass(frozen=True, slots=True)
class Request:
    """One command line, understood. Sizes in bytes."""

    words: tuple[str, ...]
    places: tuple[str, ...]
    """The directories of ``-d``."""
    dummy: bool
    mpiio: bool
    """Files are made, opened, closed and removed by MPI-IO."""
    tasks: int
    sweep: tuple[int, ...]
    """Numbers of tasks with which everything is done, one after the other."""
    iterations: int
    create: bool
    stat: bool
    read: bool
    rename: bool
    remove: bool
    directories: bool
    files: bool
    depth: int
    branch: int
    items: int
    """Items of each task in its tree; the number that one directory of the tree holds is ``items_per_directory``. 0:
    the tree alone is made and removed."""
    items_per_directory: int
    leaves_only: bool
    trees: int
    """Directories of ``-n`` items, ``-I`` in each: the leaves of a tree of one level. 1: as ``-z`` and ``-b`` say."""
    unique: bool
    shared: bool
    """All tasks work on the same files."""
    collective: bool
    """Task 0 makes and removes for all."""
    mknod: bool
    shift: int
    random: bool
    seed: int | None
    write_bytes: int
    read_bytes: int
    fsync: bool
    syncfs: bool
    verify: bool
    verify_write: bool
    direct: bool
    """Files bypass the page cache."""
    before: tuple[str, ...]
    after: tuple[str, ...]
    """Commands before and after each phase; empty: none."""
    pause_s: int
    limit_s: int
    status_file: str | None
    rates: bool
    times: bool
    per_task: bool
    task_columns: bool
    task_file: str | None
    operations_files: str | None
    """What the names of the files with single operations begin with."""
    verbosity: int
    nodes: int = 1
    nodemap: str = "1"
    """Of each task, whether it is on the first one's host."""

    @property
    def keeps_trees(self) -> bool:
        """Whether each iteration has a tree of its own, which is there before it or after it."""
        return self.iterations > 1 and not self.dummy and not (self.create and self.remove)


def understand(asked: Given, words: tuple[str, ...], ranks: Ranks = ALONE) -> Request:
    """RequestError where mdtest itself would refuse, and where it would measure something else than what was asked."""
    phases = {name: bool(asked[flag]) for name, flag in _PHASES.items()}
    if not any(phases.values()):
        phases = dict.fromkeys(phases, True)
    directories, files = _made(asked)
    _check_sharing(asked, files)
    _check_phases(asked, phases, directories, files)
    random, seed = _order(asked)
    tree = _tree(asked)
    if not tree.items and not (phases["create"] or phases["remove"]):
        _refuse("was not told how many items", "add -n 1000, or -I 10")
    tasks = asked.number("--tasks")
    return Request(
        words=words,
        places=tuple(filter(None, asked.text("-d").split("@"))),
        dummy=asked["-a"] == "DUMMY",
        mpiio=asked["-a"] == "MPIIO",
        tasks=tasks,
        sweep=_sweep(asked),
        iterations=asked.number("-i"),
        **phases,
        directories=directories,
        files=files,
        depth=tree.depth,
        branch=tree.branch,
        items=tree.items,
        items_per_directory=tree.items_per_directory,
        leaves_only=tree.leaves_only,
        trees=tree.trees,
        unique=bool(asked["-u"]),
        shared=bool(asked["-S"]),
        collective=bool(asked["-c"]),
        mknod=bool(asked["-k"]),
        shift=_shift(asked.number("-N"), tasks, ranks),
        random=random,
        seed=seed,
        write_bytes=asked.number("-w"),
        read_bytes=asked.number("-e"),
        fsync=bool(asked["-y"]),
        syncfs=bool(asked["-Y"]),
        verify=bool(asked["-X"]),
        verify_write=bool(asked["--verify-write"]),
        direct=bool(asked["--posix.odirect"]),
        before=asked.texts("--run-cmd-before-phase"),
        after=asked.texts("--run-cmd-after-phase"),
        pause_s=asked.number("-p"),
        limit_s=asked.number("-W"),
        status_file=asked.text_if("-x"),
        rates=bool(asked["-P"]) or not asked["-Z"],
        times=bool(asked["-P"] or asked["-Z"]),
        per_task=bool(asked["--print-all-procs"]),
        task_columns=bool(asked["--showRankStatistics"]),
        task_file=asked.text_if("--saveRankPerformanceDetails"),
        operations_files=asked.text_if("--savePerOpDataCSV"),
        verbosity=asked.number("-V") or asked.number("-v"),
        nodes=ranks.nodes(tasks),
        nodemap=ranks.nodemap(tasks),
    )


_PHASES = {"create": "-C", "stat": "-T", "read": "-E", "rename": "-U", "remove": "-r"}


def _seed(given: int) -> int | None:
    """Of ``-G``; None: a random one. One below 0 is the 32 bits of an unsigned one, as IO500 prints them."""
    return None if given == -1 else given % (1 << 32) if given < 0 else given


def _made(asked: Given) -> tuple[bool, bool]:
    """Whether directories, and whether files, are measured: both where neither was asked for; of shared ones files."""
    directories, files = bool(asked["-D"]), bool(asked["-F"])
    if not directories and not files:
        directories = files = True
    return directories and not asked["-S"], files


def _order(asked: Given) -> tuple[bool, int | None]:
    """Whether the order is a random one, and the seed of all that is drawn; None: any."""
    random = bool(asked["-R"] or asked.number("--random-seed"))
    seed = asked.number("--random-seed") or _seed(asked.number("-G"))
    return random, 1 + secrets.randbelow(2**31 - 1) if random and seed is None else seed


def _shift(tasks: int, of: int, ranks: Ranks) -> int:
    """Tasks between a task and the one whose items it works on. Where each node has a block of tasks, ``-N`` counts
    nodes: a node that has the items in its cache does not look at them."""
    return tasks * ranks.on_first(of) if ranks.nodes(of) > 1 and ranks.in_blocks else tasks


def _check_phases(asked: Given, phases: Mapping[str, bool], directories: bool, files: bool) -> None:
    if asked["--verify-write"] and not (phases["create"] and files and asked.number("-w")):
        _refuse("--verify-write checks what is written, and nothing is", "add -w SIZE, and files")
    if asked["-X"] and not (phases["read"] and asked.number("-e")):
        _refuse("-X checks what is read", "add -E and -e SIZE")
    if phases["create"] and phases["read"] and asked.number("-e") > asked.number("-w"):
        _refuse(
            f"-e {asked.number('-e')} reads more than -w {asked.number('-w')} writes", f"use -w {asked.number('-e')}"
        )
    if phases["rename"] and not phases["remove"]:
        _refuse("-U would leave directories under other names, which no later run finds", "add -r")
    if asked["-a"] == "MPIIO":
        _check_mpiio(asked)
    if asked["-U"] and not directories:
        _refuse("-U renames directories, and -F is about files only", "leave one of them out")
    if not files and not (phases["create"] or phases["stat"] or phases["rename"] or phases["remove"]):
        _refuse("-E reads files, and -D is about directories only", "leave one of them out")
    if asked.number("-W") and asked.number("-b") > 1:
        _refuse("-W needs a tree without branches", "use -b 1")
    if asked.number("-W") and (not phases["create"] or not files):
        _refuse("-W stops the creation of files, and none are created", "leave it out")
    if asked["-x"] and asked.number("-z"):
        _refuse("-x keeps the number of files in one directory", "use -z 0")
    if asked.number("-b") < 1 and asked.number("-z"):
        _refuse("-b 0 makes no tree of -z levels", "use -b 1 or more")


def _check_mpiio(asked: Given) -> None:
    if asked["-k"]:
        _refuse("-k makes files without opening them, and MPI-IO has no such call", "leave -k out")
    if asked["--posix.odirect"]:
        _refuse("--posix.odirect is POSIX's, and the files are MPIIO's", "leave one of them out")


def _check_sharing(asked: Given, files: bool) -> None:
    """What may be said about where things are, and who makes them."""
    several = [place for place in asked.text("-d").split("@") if place]
    if not several:
        _refuse("-d names no directory", "give one in which to work")
    if len(several) > 1 and (asked.number("-N") or not asked["-u"]):
        _refuse(
            "-d with several directories needs a tree for each task",
            "add -u, without -N",
        )
    if len(several) > asked.number("--tasks"):
        _refuse(
            f"-d names {len(several)} directories for {_tasks(asked.number('--tasks'))}", f"add --tasks {len(several)}"
        )
    if len(set(map(os.path.realpath, several))) < len(several):
        _refuse("-d names a directory twice", "name each once")
    if asked["-S"] and (not files or asked["-U"]):
        _refuse("-S is about files only", "leave -D and -U out")
    for other in ("-u", "-c"):
        if asked["-S"] and asked[other]:
            _refuse(f"-S and {other} contradict each other: all tasks make the same files", "leave one of them out")
    for flag, why in (("-w", "-k makes empty files, and -w writes"), ("-c", "-k and -c make files in two ways")):
        if asked["-k"] and asked[flag]:
            _refuse(why, "leave one of them out")
    if asked["-c"] and asked.number("-W"):
        _refuse("-W ends the creation of each task, and with -c one task creates", "leave one of them out")


@dataclass(frozen=True, slots=True)
class _Tree:
    """The directories in which a task has its items; as in :class:`Request`."""

    depth: int
    branch: int
    leaves_only: bool
    items_per_directory: int
    items: int
    trees: int = 1


def _tree(asked: Given) -> _Tree:
    """As in mdtest, items that do not fill the directories evenly are left out."""
    depth, branch, leaves_only = asked.number("-z"), max(asked.number("-b"), 1), bool(asked["-L"])
    if depth > 100 or sum(branch**level for level in range(depth + 1)) > 1 << 32:
        _refuse("-z and -b make more than 2^32 directories, or 100 levels", "use smaller ones")
    holders = branch**depth if leaves_only else sum(branch**level for level in range(depth + 1))
    items, per_directory = asked.number("-n"), asked.number("-I")
    if items and per_directory:
        return _several_trees(asked, items, per_directory)
    per_directory = per_directory or items // holders
    if items and not per_directory:
        _refuse(f"-n {items} is less than one item in each of {holders} directories", f"use -n {holders}")
    return _Tree(depth, branch, leaves_only, per_directory, per_directory * holders)


def _several_trees(asked: Given, items: int, per_directory: int) -> _Tree:
    """So many directories beside each other that each has ``-I`` of the ``-n`` items."""
    both = f"-n {items} with -I {per_directory}"
    if asked["-u"]:
        _refuse(f"{both} makes directories that all tasks share, and -u is a tree for each", "give one of the three")
    if items % per_directory:
        _refuse(
            f"-n {items} is not a multiple of -I {per_directory}",
            f"use -n {-(-items // per_directory) * per_directory}",
        )
    if asked.number("-z"):
        _refuse(
            f"{both} is for directories without a tree below; mdtest looks at those of its top only",
            "leave -n, or -z, out",
        )
    trees = items // per_directory
    if trees == 1:
        return _Tree(0, 1, False, items, items)
    for option in ("-W", "-x"):
        if asked[option]:
            _refuse(f"{both} makes {trees} directories, and {option} is for the files of one", "leave -I out")
    return _Tree(1, trees, True, per_directory, items, trees)


def _sweep(asked: Given) -> tuple[int, ...]:
    tasks, first, last = asked.number("--tasks"), asked.number("-f"), asked.number("-l")
    if not last:
        return (tasks,)
    if first > last or first < 1:
        _refuse(f"-f {first} is above -l {last}", "make -l larger")
    if last > tasks:
        _refuse(f"-l {last} is more than {_tasks(tasks)}", f"add --tasks {last}")
    return tuple(range(first, last + 1, asked.number("-s")))


def _refuse(problem: str, hint: str) -> None:
    raise RequestError(f"mdtest {problem}; hint: {hint}")


def campaign_of(request: Request, made: int | None) -> dict[str, object]:
    """The campaign. ``made``: files of each task that an earlier run created, where a status file says so."""
    common = {
        "kind": "files",
        "depth": request.depth,
        "branch": request.branch or 1,
        "items_per_directory": request.items_per_directory or 1,
        "leaves_only": request.leaves_only,
        "directories": "unique" if request.unique else "shared",
        "shift": request.shift,
        # Of an empty file mdtest syncs nothing.
        "sync": "fsync-each" if request.fsync and request.write_bytes else "none",
        "syncfs": request.syncfs,
        "collective": request.collective,
        "before_phase": request.before or None,
        "after_phase": request.after or None,
        "keep": True,
    }
    workloads = []
    for tasks in request.sweep:
        for what, phases, order in _tests(request):
            files = {
                "file_size": request.write_bytes if request.create else max(request.write_bytes, request.read_bytes),
                "read_size": request.read_bytes,
                "verify": request.verify,
                "check_written": request.verify_write,
                "direct": "yes" if request.direct else "no",
                "mknod": request.mknod,
                "shared_files": request.shared,
                **({"storage": "mpiio"} if request.mpiio else {}),
                "time_limit_ns": request.limit_s * 10**9 or None,
                "wear_out": bool(request.limit_s),
                **({} if made is None else {"made": made, "items_per_directory": max(request.items, made)}),
            }
            half = "-removal" if request.random and order == "creation" else ""
            workload = {"name": f"{what}-{tasks}{half}", "tasks": tasks, "what": what, "phases": phases, "order": order}
            workload |= common
            workloads.append(workload | (files if what == "files" else {}))
    return {
        "target": "null:" if request.dummy else list(request.places),
        "on_error": "stop",
        "pause_ns": request.pause_s * 10**9 or None,
        **({"seed": request.seed} if request.seed is not None else {}),
        **({"keep_operations": kept} if request.operations_files and (kept := operations_kept(request, made)) else {}),
        "repeat": {"count": 1 if request.keeps_trees else request.iterations},
        "workloads": workloads,
    }


def _tests(request: Request) -> list[tuple[str, list[str], str]]:
    """The tests of one iteration with what each does, and in which order of the items; the first makes the tree, the
    last removes it."""
    looks = [("stat", request.stat), ("read", request.read)]
    takes = [("rename", request.rename and request.items > 1), ("remove", request.remove)]
    tests: list[tuple[str, list[str], str]] = []
    for what, wanted in (("directories", request.directories), ("files", request.files)):
        if not wanted or not request.items:
            continue
        is_files = what == "files"
        first = ["create"] if request.create else []
        first += ["write"] if request.collective and request.create and is_files else []
        first += [phase for phase, is_wanted in looks if is_wanted and (is_files or phase != "read")]
        then = [phase for phase, is_wanted in takes if is_wanted and (not is_files or phase != "rename")]
        # mdtest renames and removes in the order of the names also with -R. How many there are after -W only one test
        # knows.
        halves = [(first, "random"), (then, "creation")] if request.random and not request.limit_s else []
        halves = halves or [(first + then, "random" if request.random else "creation")]
        tests += [(what, phases, order) for phases, order in halves if phases]
    tests = tests or [("files" if request.files else "directories", [], "creation")]
    if request.create:
        tests[0][1].insert(0, "make-tree")
    if request.remove:
        tests[-1][1].append("remove-tree")
    return tests


OPERATIONS_MOST = 1 << 20
"""Operations of a task that are kept one by one, at most: 16 MiB of memory a task."""


def operations_kept(request: Request, made: int | None) -> int:
    """Returns how many operations of each task are kept."""
    items = request.items if made is None else made
    return min(items * (max(request.sweep) if request.collective else 1), OPERATIONS_MOST)


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"
