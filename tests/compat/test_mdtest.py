"""mdtest's command lines run, print what mdtest prints, and fail where what they ask for is not there."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tonnage.command_line import help_text
from tonnage.compat.mdtest.options import MDTEST

from .mdtest_calls import Mdtest, lines_of
from .peer_facts import Fact, facts

PEER = Path(__file__).parent / "peer"


def ours() -> list[Fact]:
    """The options there are, but for Tonnage's own ``--tasks``."""
    found = []
    for option in MDTEST.options:
        shorts, longs = ([name for name in option.names if name.startswith("--") == long] for long in (False, True))
        short, long = ("".join(names).lstrip("-") for names in (shorts, longs))
        module = long.partition(".")[0].upper() if "." in long else ""
        kind = "flag" if not option.metavar else "number" if option.metavar in ("N", "SIZE") else "text"
        default = "0" if kind == "flag" else str(option.default or ("" if kind == "text" else 0))
        found.append(Fact(module, short, long, (), kind, default))
    return sorted(fact for fact in found if fact.long != "tasks")


def test_the_options_are_those_of_mdtest_with_their_types_and_defaults() -> None:
    assert len(facts("mdtest")) > 60
    assert ours() == facts("mdtest")


def test_help_has_a_line_for_each_option_of_mdtest_with_words() -> None:
    told = re.findall(r"^  (-\S+(?:, --\S+)?)(?: [A-Z]+)?(?:  +|\n {30})\S", help_text(MDTEST), re.MULTILINE)
    spelled = [
        ", ".join(filter(None, (fact.short and f"-{fact.short}", fact.long and f"--{fact.long}")))
        for fact in facts("mdtest")
    ]
    assert sorted(told) == sorted([*spelled, "--tasks", "-h, --help"])


REWORDED = (
    ("WARNING: Read bytes is ", "WARNING: -e is "),
    ("V-0: Rank   0 Line  2594 Shifting ", "V-0: Rank   0 Line  2594 Each phase "),
)
"""How a sentence of mdtest's begins, and ours in its place."""


def shape(text: str) -> list[str]:
    """Lines with every number and path masked; the columns of a table keep their places. Of a sentence, its figures."""
    found = []
    for line in text.splitlines():
        if worded := [pair for pair in REWORDED if line.startswith(pair)]:
            found.append(f"{worded} {re.findall(r'[0-9]+', line)}")
            continue
        if line.startswith("Command line used: mdtest '"):
            line = "Command line used: mdtest"
        line = re.sub(r"^(Path +: ).*", r"\1", line)
        line = re.sub(r" *\d+\.\d{3}\b", lambda match: "#" * len(match[0]), line)
        found.append(re.sub(r"\d+(?:\.\d)?", "#", line).replace("TiB", "GiB"))
    return found


@pytest.mark.parametrize(
    ("golden", "words"),
    [
        ("ext4-2rank", "-n 100"),
        ("ext4-2rank-FCTr", "-n 100 -F -C -T -r"),
        ("ext4-2rank-i3-files-3901", "-n 50 -F -w 3901 -e 3901 -i 3 -u"),
        ("ext4-tree", "-z 2 -b 3 -I 10 -i 1 -N 1"),
        ("ext4-P", "-n 50 -F -P -i 2"),
        ("1task-S", "-n 5 -S --tasks 1"),
        ("1task-c", "-n 5 -c -w 10 --tasks 1"),
        ("1task-k", "-n 5 -F -k --tasks 1"),
        ("1task-Y", "-n 5 -F -Y -C -r --tasks 1"),
        ("1task-commands", "-n 5 -F -C -r --run-cmd-before-phase=true --run-cmd-after-phase=true --tasks 1"),
        ("1task-verify-write", "-n 5 -F -w 100 -e 100 --verify-write -X --tasks 1"),
    ],
)
def test_the_output_has_the_shape_of_the_original(mdtest: Mdtest, golden: str, words: str) -> None:
    text = (PEER / f"mdtest-{golden}.txt").read_text().partition("\n")[2].partition("[exit code")[0]
    assert shape(mdtest("--tasks", "2", *words.split()).out) == shape(text)


def test_a_tree_that_was_left_is_found_by_later_runs(mdtest: Mdtest, data: Path) -> None:
    words = ("--tasks", "2", "-F", "-n", "30", "-w", "1k", "-G", "7")
    created = mdtest("-C", *words)
    assert created.mean["File creation"] > 0 and created.mean["File stat"] == 0
    assert [path.name for path in data.iterdir()] == ["test-dir.0-0"]
    looked = mdtest("-T", *words)
    assert looked.mean["File stat"] > 0 and looked.mean["File creation"] == looked.mean["Tree creation"] == 0
    assert mdtest("-E", "-X", "-e", "1k", *words).mean["File read"] > 0
    assert mdtest("-r", *words).mean["File removal"] > 0
    assert not list(data.iterdir())


@pytest.mark.parametrize("phase", ["-T", "-E", "-r"])
def test_a_tree_that_is_not_there_fails_instead_of_counting(mdtest: Mdtest, data: Path, phase: str) -> None:
    said = mdtest("-F", "-n", "10", phase, code=1)
    assert said.err == (f"tonnage: error: there is no {data}/test-dir.0-0; hint: create what is to be measured first\n")
    assert not said.rows and not list(data.iterdir())


def test_files_that_are_not_there_fail_with_the_first_of_them(mdtest: Mdtest) -> None:
    mdtest("-C", "-F", "-n", "10")
    said = mdtest("-T", "-F", "-n", "20", code=1)
    assert said.mean["File stat"] == 0
    assert re.search(r"^mdtest: failed: 0000-stat: .*f\.0\.10 is not there", said.err, re.MULTILINE), said.err
    assert mdtest("-T", "-F", "-n", "10").mean["File stat"] > 0, "what an earlier run made is still there"


def test_what_a_user_has_there_stays(mdtest: Mdtest, data: Path) -> None:
    (data / "thesis.tex").write_text("years of work")
    mdtest("-n", "10", "--tasks", "2", "-i", "2")
    assert [path.name for path in data.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("words", [["-C"], ["-r"], []])
def test_a_directory_of_the_users_with_that_name_is_refused(mdtest: Mdtest, data: Path, words: list[str]) -> None:
    theirs = data / "test-dir.0-0"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")
    said = mdtest("-n", "10", *words, code=2)
    assert str(theirs) in said.err and said.err.count("\n") == 1
    assert [path.name for path in theirs.iterdir()] == ["thesis.tex"]


def test_a_second_creation_on_the_same_tree_is_refused(mdtest: Mdtest, data: Path) -> None:
    mdtest("-C", "-F", "-n", "5")
    said = mdtest("-C", "-F", "-n", "5", code=2)
    assert said.err == (
        f"tonnage: error: {data}/test-dir.0-0 is there already; "
        "hint: remove what an earlier run left there "
        f"(`tonnage clean {data}` does if that was killed), or move it away\n"
    )
    assert mdtest("-r", "-F", "-n", "5").mean["File removal"] > 0


def test_damaged_files_are_told_with_an_exit_status(mdtest: Mdtest) -> None:
    mdtest("-C", "-F", "-n", "5", "-w", "4k", "-G", "1")
    said = mdtest("-E", "-X", "-F", "-n", "5", "-e", "4k", "-G", "2", code=1)
    assert "\nERROR: verifying the data on read (5 errors)! The rates count reads of damaged data.\n" in said.out
    assert "5 operations read damaged data" in said.err


def test_a_directory_that_is_not_there_is_made_and_goes_with_what_was_in_it(mdtest: Mdtest, data: Path) -> None:
    data.rmdir()
    mdtest("-F", "-n", "5")
    assert not data.exists()
    mdtest("-F", "-n", "5", "-C")
    assert data.exists()


def test_the_time_limit_leaves_tasks_with_equal_numbers_and_the_status_file_tells_them(
    mdtest: Mdtest, tmp_path: Path
) -> None:
    words = ("--tasks", "2", "-F", "-n", "100000000", "-x", str(tmp_path / "status"))
    said = mdtest("-C", "-W", "1", *words)
    hit = re.search(r"Continue stonewall hit min: (\d+) max: (\d+) avg: \d+\.\d \n\n\nSUMMARY", said.out)
    assert hit and (tmp_path / "status").read_text() == f"{hit[2]}\n"
    later = mdtest("-T", "-r", *words)
    assert later.mean["File stat"] > 0 and later.mean["File removal"] > 0
    lines = [json.loads(line) for line in (tmp_path / "run-1/trials.jsonl").read_text().splitlines()]
    assert {line["operations"] for line in lines if line["phase"] != "remove-tree"} == {2 * int(hit[2])}


def test_a_number_of_tasks_is_swept_and_each_has_its_table(mdtest: Mdtest) -> None:
    out = mdtest("--tasks", "4", "-f", "1", "-l", "4", "-s", "3", "-F", "-n", "10").out
    assert re.findall(r"^(\d tasks, \d+ files)$", out, re.MULTILINE) == ["1 tasks, 10 files", "4 tasks, 40 files"]
    assert out.count("SUMMARY rate") == 2


def test_tasks_have_columns_lines_and_a_file_of_their_own(mdtest: Mdtest, tmp_path: Path) -> None:
    table = tmp_path / "tasks.csv"
    words = ("--showRankStatistics", "--print-all-procs", f"--saveRankPerformanceDetails={table}", "-Z")
    said = mdtest("--tasks", "2", "-n", "10", "-F", "-i", "2", *words)
    assert "per Rank: Max            Min           Mean      per Iteration: Max" in said.out
    assert re.search(r"^Test File stat \d\.\d{6}e[+-]\d\d,\d\.\d{6}e[+-]\d\d$", said.out, re.MULTILINE)
    assert "finding time-of-the-phase" in said.err
    lines = table.read_text().splitlines()
    assert lines[0].startswith("rank,items,rate-Directory creation,time-Directory creation,")
    assert [line.partition(",")[0] for line in lines] == ["rank", "all", "0", "1", "0", "1"]
    assert {line.count(",") for line in lines[:2]} == {23}


def test_trees_of_several_tasks_are_counted_as_mdtest_does_and_a_finding_says_so(mdtest: Mdtest) -> None:
    said = mdtest("--tasks", "2", "-u", "-F", "-n", "10")
    match = re.search(r"Tree creation counts the tree of one task; all 2 trees were made at (\d+\.\d{3})", said.err)
    assert match and float(match[1]) == pytest.approx(2 * said.mean["Tree creation"], rel=1e-3)


def test_a_random_order_has_a_seed_that_is_told_and_can_be_given(mdtest: Mdtest) -> None:
    words = ("-n", "50", "-F", "-R")
    assert re.search(r"^random seed: [1-9]\d*$", mdtest(*words).out, re.MULTILINE)
    assert "\nrandom seed: 42\n1 tasks, 50 files\n" in mdtest(*words, "--random-seed", "42").out


def test_shared_files_are_made_once_and_their_removal_is_told_as_it_is(mdtest: Mdtest, tmp_path: Path) -> None:
    said = mdtest("--tasks", "2", "-S", "-n", "50", "-w", "100", "-e", "100", "-X")
    assert "\n2 tasks, 1 file\n" in said.out and "Directory" not in said.out
    match = re.search(r"File removal counts 2 times what one task removed; the true rate is (\d+\.\d{3})", said.err)
    assert match and said.mean["File removal"] == pytest.approx(2 * float(match[1]), rel=1e-3)
    counted = {line["phase"]: line["operations"] for line in lines_of(tmp_path / "run-0")}
    assert (counted["create"], counted["stat"], counted["read"], counted["remove"]) == (100, 100, 100, 50)


@pytest.mark.parametrize("unique", [[], ["-u"]])
def test_the_first_task_makes_for_all_and_both_parts_of_a_creation_are_in_its_time(
    mdtest: Mdtest, data: Path, tmp_path: Path, unique: list[str]
) -> None:
    said = mdtest("--tasks", "2", "-c", "-n", "50", "-w", "100", "-e", "100", "-X", "-N", "1", *unique)
    lines = lines_of(tmp_path / "run-0")
    elapsed = {line["phase"]: line["elapsed_ns"] for line in lines}
    seconds = (elapsed["create"] + elapsed["write"]) / 1e9
    assert said.mean["File creation"] == pytest.approx(100 / seconds, abs=0.001)
    tasks = [json.loads(line) for line in (tmp_path / "run-0/tasks.jsonl").read_text().splitlines()]
    by_task = {(task["record"][5:], task["task"]): task["operations"] for task in tasks}
    for phase in ("make-directory", "create", "remove", "remove-directory"):
        assert (by_task[phase, 0], by_task[phase, 1]) == (100, 0), phase
    assert (by_task["write", 0], by_task["write", 1]) == (50, 50)
    assert not list(data.iterdir())


def test_a_sync_of_the_file_system_is_in_the_time_of_each_phase_but_the_trees(mdtest: Mdtest, tmp_path: Path) -> None:
    mdtest("-Y", "-F", "-n", "20", "-i", "5")
    # The shortest of some: a task may lose its core between two readings of the clock.
    shortest: dict[str, int] = {}
    for line in (tmp_path / "run-0/tasks.jsonl").read_text().splitlines():
        task = json.loads(line)
        phase = task["record"][5:]
        shortest[phase] = min(task["sync_ns"], shortest.get(phase, task["sync_ns"]))
    assert {phase: sync_ns > 1000 for phase, sync_ns in shortest.items()} == {
        "make-tree": False, "create": True, "stat": True, "read": True, "remove": True, "remove-tree": False
    }  # fmt: skip
    durable = {line["phase"]: line["durability"] for line in lines_of(tmp_path / "run-0")}
    assert durable == {
        "make-tree": "none", "create": "syncfs", "stat": "none", "read": "none", "remove": "syncfs",
        "remove-tree": "none",
    }  # fmt: skip


def test_commands_run_around_each_phase_and_only_the_one_after_is_in_its_time(mdtest: Mdtest, tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = f"--run-cmd-before-phase=sh -c 'sleep 0.2; echo before $TONNAGE_PHASE >> {log}'"
    after = f"--run-cmd-after-phase=sh -c 'sleep 0.1; echo after $TONNAGE_PHASE >> {log}'"
    said = mdtest("--tasks", "2", "-F", "-C", "-r", "-n", "10", before, after)
    assert log.read_text().split("\n")[:-1] == ["before create", "after create", "before remove", "after remove"]
    assert 20 / 0.1 > said.mean["File creation"] > 0
    events = [json.loads(line) for line in (tmp_path / "run-0/events.jsonl").read_text().splitlines()]
    took = [(event["record"], event["name"]) for event in events if event["kind"] == "hook"]
    assert took == [("0000-create", "after_phase"), ("0000-remove", "after_phase")]
    (create,) = [line for line in lines_of(tmp_path / "run-0") if line["phase"] == "create"]
    hook_ns = events[0]["duration_ns"]
    assert said.mean["File creation"] == pytest.approx(20e9 / (create["elapsed_ns"] + hook_ns), abs=0.001)


def test_a_command_that_fails_before_a_phase_fails_it_and_one_after_is_told(mdtest: Mdtest, data: Path) -> None:
    said = mdtest("-F", "-n", "5", "--run-cmd-before-phase=false", code=1)
    assert "mdtest: failed: 0000-create: before_phase ended with exit code 1" in said.err
    assert said.mean["File creation"] == 0 and not list(data.iterdir())
    said = mdtest("-F", "-n", "5", "--run-cmd-after-phase=false")
    assert "after_phase ended with exit code 1" in said.err and said.mean["File creation"] > 0


def test_each_operation_on_a_file_can_be_had_in_the_form_of_mdtest(mdtest: Mdtest, tmp_path: Path) -> None:
    mdtest("--tasks", "2", "-n", "7", "-w", "100", "-i", "2", f"--savePerOpDataCSV={tmp_path}/op")
    names = {f"op-File {test}-0000{task}.csv" for test in ("creation", "stat", "read", "removal") for task in (0, 1)}
    assert {path.name for path in tmp_path.glob("op-*")} == names
    masked = {}
    for file in (PEER / "mdtest-perop-create.csv", tmp_path / "op-File creation-00001.csv"):
        text = re.sub(r"\d\.\d{8}e[+-]\d\d,\d\.\d{8}e[+-]\d\d,\d\.\d{6}e[+-]\d\d", "row", file.read_text())
        masked[file.name] = text.splitlines()
    theirs, ours = masked.values()
    assert theirs[:2] == ours[:2] == ["time,runtime,tp", "row"] and len(ours) == 8
    for name, size in (("File creation", 100), ("File stat", 1)):
        rows = (tmp_path / f"op-{name}-00000.csv").read_text().splitlines()[1:]
        starts, seconds, rates = zip(*(map(float, row.split(",")) for row in rows), strict=True)
        assert starts[0] == 0 and list(starts) == sorted(starts)
        assert rates == pytest.approx([size / second for second in seconds], rel=1e-5)


def test_written_files_are_read_back_and_checked(mdtest: Mdtest, tmp_path: Path) -> None:
    mdtest("-F", "-n", "5", "-w", "3000", "--verify-write")
    (create,) = [line for line in lines_of(tmp_path / "run-0") if line["phase"] == "create"]
    assert create["verify"]["checked_bytes"] == 15000 and create["bytes"] == 15000


def test_several_directories_have_a_tree_each(mdtest: Mdtest, tmp_path: Path) -> None:
    words = ("--tasks", "3", "-u", "-F", "-n", "4", "-d", f"{tmp_path}/a@{tmp_path}/b")
    mdtest("-C", *words)
    found = {path.relative_to(tmp_path).parts[0]: path.name for path in tmp_path.glob("[ab]/test-dir.0-0/tree.*")}
    assert found.keys() == {"a", "b"} and found["b"] == "tree.00000001"
    assert len(list(tmp_path.glob("a/test-dir.0-0/tree.*/f.*"))) == 8
    mdtest("-T", "-r", *words)
    assert not list(tmp_path.glob("[ab]/*"))


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 names."""
    place = tmp_path / "narrow"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "nr_inodes=64,size=1m", "tmpfs", place]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_one_line_and_is_left_as_it_was(mdtest: Mdtest, narrow: Path) -> None:
    refused = mdtest("-C", "-F", "-n", "100", "-d", str(narrow), code=2)
    assert "the campaign makes 101 files and directories at once" in refused.err and not list(narrow.iterdir())
    # Somebody takes what is left after the look.
    others = [narrow / f"other-{number}" for number in range(30)]
    taking = " ".join(["touch", *map(str, others)])
    said = mdtest("-C", "-F", "-n", "60", "-d", str(narrow), "--run-cmd-before-phase", taking, code=1)
    (line,) = [line for line in said.err.splitlines() if line.startswith("mdtest: failed")]
    assert re.search(r"0000-create: .*cannot create .*: No space left on device", line)
    assert said.mean["File creation"] == 0 and sorted(narrow.iterdir()) == sorted(others)


def test_the_generator_alone_can_be_measured(mdtest: Mdtest) -> None:
    said = mdtest("-a", "DUMMY", "-n", "1000", "-F")
    assert said.mean["File creation"] > 1e5


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("-T", "was not told how many items", "add -n 1000, or -I 10"),
        ("-n 10 -I 4", "-n 10 is not a multiple of -I 4", "use -n 12"),
        (
            "-n 10 -I 5 -u",
            "-n 10 with -I 5 makes directories that all tasks share, and -u is a tree for each",
            "give one of the three",
        ),
        (
            "-n 10 -I 5 -z 1",
            "-n 10 with -I 5 is for directories without a tree below; mdtest looks at those of its top only",
            "leave -n, or -z, out",
        ),
        ("-n 10 -I 5 -W 1", "-n 10 with -I 5 makes 2 directories, and -W is for the files of one", "leave -I out"),
        ("-n 10 -I 5 -x s", "-n 10 with -I 5 makes 2 directories, and -x is for the files of one", "leave -I out"),
        ("-n 2 -z 2 -b 2", "-n 2 is less than one item in each of 7 directories", "use -n 7"),
        ("-n 10 -a MPIIO -k", "-k makes files without opening them, and MPI-IO has no such call", "leave -k out"),
        (
            "-n 10 -a MPIIO --posix.odirect",
            "--posix.odirect is POSIX's, and the files are MPIIO's",
            "leave one of them out",
        ),
        ("-n 10 -a MMAP", "-a: MMAP is not in this build, which has POSIX, MPIIO and DUMMY", "mount it, and use POSIX"),
        ("-n 10 -E -F -X", "-X checks what is read", "add -E and -e SIZE"),
        ("-n 10 -C -E -w 1 -e 2", "-e 2 reads more than -w 1 writes", "use -w 2"),
        ("-n 10 -C -U", "-U would leave directories under other names, which no later run finds", "add -r"),
        ("-n 10 -F -U -r", "-U renames directories, and -F is about files only", "leave one of them out"),
        ("-n 10 -D -E", "-E reads files, and -D is about directories only", "leave one of them out"),
        ("-n 10 -W 1 -b 2", "-W needs a tree without branches", "use -b 1"),
        ("-n 10 -W 1 -T", "-W stops the creation of files, and none are created", "leave it out"),
        ("-n 10 -x s -z 1", "-x keeps the number of files in one directory", "use -z 0"),
        ("-n 10 -z 101", "-z and -b make more than 2^32 directories, or 100 levels", "use smaller ones"),
        ("-n 10 -l 3", "-l 3 is more than 1 task", "add --tasks 3"),
        ("-n 10 --tasks 4 -f 3 -l 2", "-f 3 is above -l 2", "make -l larger"),
        ("-n 10 -d a@b", "-d with several directories needs a tree for each task", "add -u, without -N"),
        ("-n 10 -d a@b -u -N 1", "-d with several directories needs a tree for each task", "add -u, without -N"),
        ("-n 10 -d a@b -u", "-d names 2 directories for 1 task", "add --tasks 2"),
        ("-n 10 -d a@./a -u --tasks 2", "-d names a directory twice", "name each once"),
        ("-n 10 -d @", "-d names no directory", "give one in which to work"),
        ("-n 10 -k -w 1", "-k makes empty files, and -w writes", "leave one of them out"),
        ("-n 10 -k -c", "-k and -c make files in two ways", "leave one of them out"),
        ("-n 10 -S -D", "-S is about files only", "leave -D and -U out"),
        ("-n 10 -S -U -r", "-S is about files only", "leave -D and -U out"),
        ("-n 10 -S -u", "-S and -u contradict each other: all tasks make the same files", "leave one of them out"),
        ("-n 10 -S -c", "-S and -c contradict each other: all tasks make the same files", "leave one of them out"),
        ("-n 10 -c -W 1", "-W ends the creation of each task, and with -c one task creates", "leave one of them out"),
        (
            "-n 10 --verify-write",
            "--verify-write checks what is written, and nothing is",
            "add -w SIZE, and files",
        ),
        ("-n 10 -B 1", "-B: mdtest 4.1 itself ends with an error for it", "leave it out"),
        ("-n 10 -g", "-g: set it first, with lfs setdirstripe", "leave it out"),
        (
            "-n 10 --dataPacketType=z",
            "--dataPacketType: 'z' is not known",
            "write one of timestamp, offset, incompressible, random",
        ),
        (
            "-n 10 --run-cmd-before-phase=no-such-program",
            "--run-cmd-before-phase: there is no program 'no-such-program'",
            "give its path, or put it in PATH",
        ),
        (
            "-n 10 --run-cmd-after-phase=echo>x",
            "--run-cmd-after-phase: no shell reads the command, and '>' means something to a shell only",
            "put it in a script, or quote it for one: sh -c '…'",
        ),
        ("-n 10 -T -x none", "-x: none does not hold a number of files", "make it with -C -W SECONDS -x none"),
        ("-n 10 -q", "has no option -q (in '-q')", "see `tonnage mdtest --help`"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(
    mdtest: Mdtest, data: Path, tmp_path: Path, words: str, problem: str, hint: str
) -> None:
    said = mdtest(*words.split(), code=2)
    assert (said.out, said.err) == ("", f"tonnage: error: mdtest {problem}; hint: {hint}\n")
    assert not list(data.iterdir()) and [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_directory_that_is_missing_further_up_is_one_line(mdtest: Mdtest, data: Path) -> None:
    said = mdtest("-n", "10", "-d", f"{data}/a/b", code=2)
    assert said.err == (
        f"tonnage: error: mdtest -d: cannot make {data}/a/b: No such file or directory; hint: make {data}/a first\n"
    )


def test_a_directory_that_is_not_there_has_nothing_to_look_at(mdtest: Mdtest, data: Path) -> None:
    said = mdtest("-n", "10", "-T", "-d", f"{data}/a", code=2)
    hint = "create what is to be measured first"
    assert (said.out, said.err) == ("", f"tonnage: error: mdtest -d: there is no {data}/a; hint: {hint}\n")
    assert not list(data.iterdir())
