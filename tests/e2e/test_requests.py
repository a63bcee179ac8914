"""A request that is wrong gets one line that says what to do, exit code 2, and nothing is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .shell import LAUNCHER, Shell

CASES = [
    (("probe",), "tonnage probe needs DIR; hint: write `tonnage probe [OPTION]... DIR`"),
    (("prob", "x"), "there is no command 'prob'; hint: did you mean 'probe'?"),
    (
        ("probe", "nowhere"),
        "{home}/nowhere does not exist; hint: give a directory on the storage to measure, or make it first",
    ),
    (("probe", "file"), "{home}/file is not a directory; hint: give the directory that holds it"),
    (("probe", "data", "--transfer", "1MX"), "--transfer: '1MX' is not a size; hint: write it like 4k, 1MiB or 2GB"),
    (("probe", "data", "--budget", "soon"), "--budget: 'soon' is not a time; hint: write it like 500ms, 60s or 2m"),
    (("probe", "data", "--max-tasks", "0"), "--max-tasks: '0' is not a whole number above 0"),
    (
        ("probe", "data", "--op", "wrte"),
        "--op: 'wrte' is not an operation; hint: write --op write, --op read or --op write,read",
    ),
    (("probe", "data", "--space", "900TB"), "the files need 819 TiB and {home}/data has "),
    (
        ("probe", "data", "--queue-depth", "4"),
        "storage posix and mmap do one operation at a time; hint: set --storage=uring or --queue-depth=1",
    ),
    (
        ("probe", "data", "--out", "full"),
        "full exists and is not an empty directory; hint: give another run directory",
    ),
    (("probe", "data", "--out", "/proc/x"), "cannot make the run directory /proc/x"),
    (("probe", "/proc"), "cannot make a scratch directory in /proc"),
    (("where", "--transfer", "0", "data"), "--transfer=0 moves nothing; hint: write it like 1MiB"),
    (("probe", "--beside", "alone", "null:"), "--beside: alone names no workload; hint: leave --beside out"),
    (
        ("run", "--dry-run", "order.toml"),
        "order.toml:4: stat finds no items: none are there before it; hint: put create before it",
    ),
    (("where", ""), "PATH: an empty value is no value; hint: leave it out"),
    (("submit", "--path", "", "true"), "--path: an empty value is no value; hint: leave it out"),
    (("load", "--watch", "--every", "0"), "--every 0s is too often; hint: give at least 100ms"),
    (("jobs", "--scheduler", "local", "-u", "nobody-of-that-name"), "this host knows no user 'nobody-of-that-name'"),
    (("load", ""), "SERVER: an empty value is no value; hint: leave it out"),
    (("jobs", "-u", ""), "-u/--user: an empty value is no value; hint: leave it out"),
    (("probe", "data", "--out", ""), "--out: an empty value is no value; hint: leave it out"),
    (("probe", "sim:kne=3"), "sim: has no 'kne'; hint: did you mean 'knee'?"),
    (("probe", "sim:noise=9"), "sim:noise=9 refuses this: sim: noise is 9"),
    (
        ("run", "--dry-run", "--target", "sim:noise=1e9", "one.toml"),
        "sim:noise=1e9 refuses this: sim: noise is 1000000000",
    ),
    (
        ("probe", "null:", "--max-tasks", "1000000000"),
        "--max-tasks: 1000000000 is above 1048576; hint: give at most 1048576",
    ),
    (("probe", "null:", "--max-tasks", "1000000"), "1000000 tasks on this host are more than the "),
    (("probe", "sim:", "--max-tasks", "1000000"), "1000000 tasks need about 275 GiB of memory, and this host has "),
    (("probe", "null:", "--transfer", "1GiB", "--max-tasks", "30000"), "30000 tasks need about 29.3 TiB of memory"),
    (
        ("probe", "null:", "--budget", "2s"),
        "a budget of 2s is too short for any claim about write and read; hint: give at least 3s",
    ),
    (
        ("probe", "null:", "--budget", "1s", "--op", "read"),
        "a budget of 1s is too short for any claim about read; hint: give at least 1500ms",
    ),
    (
        ("probe", "null:", "--p99", "0s"),
        "a p99 of 0s cannot be met, for no operation takes no time; hint: give a time such as 20ms",
    ),
    (
        ("probe", "null:", "--p999", "0s"),
        "a p999 of 0s cannot be met, for no operation takes no time; hint: give a time such as 20ms",
    ),
    (
        ("probe", "null:", "--open-loop"),
        "open_loop looks for the rate that meets a latency objective; hint: give p99 or p999",
    ),
    (
        ("probe", "null:", "--max-tasks", "2", "--dry-run"),
        "within max_tasks 2 no plateau can show: that takes three numbers of tasks; hint: give at least 3",
    ),
    (
        ("run", "--dry-run", "nowhere.toml"),
        "nowhere.toml:2: assign: the list is empty and says no directory; hint: write ",
    ),
    (("probe", "null:", "--budget", "9000h"), "it would measure for up to 375 days; hint: use fewer trials"),
    (("run", "--dry-run", "files.toml"), "it would work for more than 814 days on the fastest storage; hint: "),
    (
        ("run", "--dry-run", "tasks.toml"),
        "tasks.toml:3: workload.tasks: 1000000000 is above 1048576; hint: give at most 1048576",
    ),
    (
        ("run", "--dry-run", "many.toml"),
        "many.toml:4: 2 settings would make 4000000000 trials, and a campaign has at most 1000000",
    ),
    (
        ("run", "--dry-run", "factors.toml"),
        "factors.toml:2: the factors have 1000000 combinations, and a campaign has at most 100000",
    ),
    (
        ("run", "--dry-run", "names.toml"),
        "the campaign makes 2000000001 files and directories at once, and {home}/data has ",
    ),
    (("run", "--dry-run", "kept.toml"), "8 tasks that keep 1000000000 operations each need about "),
    (("run", "--dry-run", "copies.toml"), "100000000 copies of a command need about "),
    (("run", "--dry-run", "hog.toml"), "the hog of 999 TiB is more than "),
    (("run", "--dry-run", "all.toml"), "all.toml:3: workload.hog: '100%' leaves no memory to anything else; hint: "),
    (("run", "--dry-run", "digits.toml"), "digits.toml: a number in it has too many digits; hint: see "),
    (("run", "--dry-run", "think.toml"), "it would measure for at least "),
    (("run", "--dry-run", "rate.toml"), "it would measure for at least "),
    (("run", "--dry-run", "least.toml"), "it would measure for at least "),
    (("run", "--dry-run", "pause.toml"), "it would measure for at least "),
    (("run", "--dry-run", "writer.toml"), "it would measure for at least "),
    (("run", "--dry-run", "rounds.toml"), "it would measure for at least "),
    (("run", "--dry-run", "delay.toml"), "it would measure for at least "),
    (("run", "--dry-run", "budget.toml"), "it would measure for at least "),
    (("probe", "null:transfer=9000000000s"), "it would measure for at least "),
    (("run", "--dry-run", "nan.toml"), "nan.toml:5: budget.time: nan is not a time; hint: write it like "),
    (("run", "--dry-run", "far.toml"), "far.toml:2: assign: there is no directory 99999999999; hint: "),
    (("run", "--dry-run", "restart.toml"), "restart.toml:4: workload.restart: -1 is not a round; hint: "),
    (("run", "--dry-run", "none.toml"), "none.toml:3: workload.tasks: the list is empty; hint: "),
    (("run", "--dry-run", "null.toml"), "null.toml:6: workload.environment: the value of 'A' holds a null character;"),
    (("run", "--dry-run", "large.toml"), "large.toml is larger than 1MiB; hint: a campaign file is"),
    (
        ("probe", "sim:queues=8,power=0.1"),
        "sim:queues=8,power=0.1 refuses this: sim: laws of throughput is 2; hint: give one of curve, queues",
    ),
    (("probe", "sim:queues=8,knee=4"), "sim:queues=8,knee=4 refuses this: sim: knee is 4; hint: give no knee"),
    (
        ("probe", "sim:curve=4:50%/2:100%"),
        "sim:curve=4:50%/2:100% refuses this: sim: curve is 2; hint: give numbers of tasks that rise",
    ),
    (("probe", "sim:dip=30%"), "sim:dip=30% refuses this: sim: dip_to is 0; hint: give no fewer tasks than dip_from"),
    (
        ("probe", "sim:correlation=1"),
        "sim:correlation=1 refuses this: sim: correlation is 1; hint: give a fraction above -1 and below 1",
    ),
    (("probe", "sim:tails=1"), "sim:tails=1 refuses this: sim: tails is 1; hint: give degrees of freedom from 2"),
    (("probe", "sim:straggler=1e300"), "sim:straggler=1e300 refuses this: sim: straggler is 1e300"),
    (
        ("probe", "data", "--space", "1k", "--transfer", "512"),
        "a search may use 1 KiB on {home}/data, and one task with transfers of 512B needs ",
    ),
    (
        ("probe", "data", "--frobnicate"),
        "tonnage probe has no option --frobnicate; hint: see `tonnage probe --help`",
    ),
    (("probe", "--buget=3s"), "tonnage probe has no option --buget; hint: did you mean --budget?"),
    (("probe", "--seed", "-5", "-z", "data"), "tonnage probe has no option -z; hint: see `tonnage probe --help`"),
    (("--frobnicate",), "tonnage has no option --frobnicate; hint: see `tonnage --help`"),
    (("--verison",), "tonnage has no option --verison; hint: did you mean --version?"),
    (("stage", "--timeout", "3"), "tonnage stage has no option --timeout; hint: see `tonnage stage --help`"),
    (("stage", "wait", "--timeot", "3"), "tonnage stage wait has no option --timeot; hint: did you mean --timeout?"),
    (("submit", "--quue", "short", "true"), "tonnage submit has no option --quue; hint: did you mean --queue?"),
    (
        ("submit", "-W", "5", "true"),
        "tonnage submit has no option -W; hint: the time after which the scheduler ends it is --t",
    ),
    (("submit", "-Z"), "tonnage submit has no option -Z; hint: see `tonnage submit --help`"),
    (("mdtest", "--verify-reed"), "mdtest has no option '--verify-reed'; hint: did you mean --verify-read?"),
    (("run",), "give either a campaign file or --resume RUN"),
    (("run", "nope.toml"), "cannot read nope.toml: No such file or directory"),
    (
        ("run", "typo.toml"),
        "typo.toml:4: unknown key 'transfer_sise' in [workload]; hint: did you mean 'transfer_size'?",
    ),
    (("run", "odd.toml"), "odd.toml:4: block_size 10MiB is not a multiple of transfer_size 3MiB; hint: use 9MiB"),
    (("run", "--resume", "data"), "data is not a run directory: it has no manifest.json"),
    (("report", "data"), "data is not a run directory: it has no manifest.json"),
    (("verify", "data"), "data is not a run directory: it has no manifest.json"),
    (("clean", "nowhere"), "nowhere is not a directory"),
]


STREAM = 'target = "null:"\n[workload]\n'
"""The beginning of campaigns that are wrong further on."""
WRONG = {
    "kept": 'target = "null:"\nkeep_operations = 1000000000\n[workload]\ntasks = 8\n',
    "copies": 'target = "data"\n[workload]\nkind = "command"\nargv = ["true"]\ncopies = 100000000\n',
    "hog": f'{STREAM}hog = "999TiB"\n',
    "all": f'{STREAM}hog = "100%"\n',
    "digits": f"{STREAM}tasks = {'9' * 5000}\n",
    "think": f'{STREAM}tasks = 1\nthink = "1h"\ntransfer_size = 4096\nblock_size = "1GiB"\n',
    "rate": f'{STREAM}tasks = 1\nrate = 1\nblock_size = "1GiB"\n',
    "least": f'{STREAM}tasks = 1\nmin_time = "9000h"\n',
    "pause": 'target = "null:"\npause = "9000h"\n[workload]\ntasks = 1\n',
    "writer": 'target = "data"\n[workload]\nkind = "tail"\nreaders = 0\nrate = 1\n',
    "rounds": 'target = "data"\n[workload]\nkind = "checkpoint"\ntasks = 1\nrounds = 10000\nthink = "5h"\n',
    "delay": 'target = "null:transfer=40h"\n[workload]\ntasks = 1\n',
    "budget": 'target = "null:"\n[workload]\ntasks = 1\nmin_time = "9000h"\n[budget]\ntime = "60s"\n',
    "nan": f"{STREAM}tasks = 1\n[budget]\ntime = nan\n",
    "far": 'target = ["data", "full"]\nassign = [99999999999]\n',
    "order": 'target = "data"\n[workload]\nkind = "files"\nphases = ["stat", "create"]\n',
    "nowhere": 'target = ["data", "full"]\nassign = []\n',
    "restart": 'target = "data"\n[workload]\nkind = "checkpoint"\nrestart = -1\n',
    "none": f"{STREAM}tasks = []\n",
    "null": 'target = "data"\n[workload]\nkind = "command"\nargv = ["true"]\ncopies = 1\n'
    'environment = {A = "a\\u0000b"}\n',
    "large": STREAM + "#" * (1 << 20),
}


def everything(home: Path) -> list[Path]:
    return sorted(home.rglob("*"))


@pytest.mark.parametrize(("arguments", "expected"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_a_wrong_request_is_one_line_and_writes_nothing(
    shell: Shell, arguments: tuple[str, ...], expected: str
) -> None:
    shell.write("file", "x")
    shell.write("typo.toml", 'target = "null:"\n\n[workload]\ntransfer_sise = 4\n')
    shell.write("odd.toml", 'target = "null:"\n[workload]\ntransfer_size = "3MiB"\nblock_size = "10MiB"\n')
    shell.write("tasks.toml", 'target = "null:"\n[workload]\ntasks = 1000000000\n')
    exbibytes = 'kind = "files"\ntasks = 8\nitems_per_directory = 1\nfile_size = "4000000TiB"\n'
    shell.write("files.toml", f'target = "null:"\nbudget.time = "10s"\n[workload]\n{exbibytes}')
    shell.write("many.toml", 'target = "sim:"\n[workload]\ntasks = 1\n[repeat]\ncount = 2000000000\n')
    hundred = list(range(1, 101))
    factors = f'tasks = {hundred}\nsegments = {hundred}\nqueue_depth = {hundred}\nstorage = "uring"\nop = "write"\n'
    shell.write("factors.toml", f'target = "sim:"\n[workload]\n{factors}')
    shell.write("names.toml", 'target = "data"\n[workload]\nkind = "files"\ntasks = 1\nitems = 2000000000\n')
    shell.write("one.toml", 'target = "sim:"\n[workload]\ntasks = 1\n')
    for name, text in WRONG.items():
        shell.write(f"{name}.toml", text)
    (shell.home / "full").mkdir()
    shell.write("full/file", "x")
    before = everything(shell.home)
    said = shell(*arguments, check=2)
    assert said.out == ""
    assert said.err.startswith("tonnage: error: " + expected.format(home=shell.home))
    assert "; hint: " in said.err
    assert said.err.count("\n") == 1
    assert everything(shell.home) == before


def test_the_hint_of_a_search_without_room_does_not_name_what_cannot_help(shell: Shell) -> None:
    said = shell("probe", shell.data, "--space", "1k", "--transfer", "512", check=2)
    assert "--transfer" not in said.err.partition("hint: ")[2] and "--space" in said.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ior", "-f", "/dev/zero"), "cannot read the script /dev/zero: it is not a regular file; hint: "),
        (("ior", "-f", "fifo"), "cannot read the script fifo: it is not a regular file; hint: "),
        (("ior", "-f", "large.toml"), "cannot read the script large.toml: it is larger than 1MiB; hint: "),
        (("ior", "-b", "9" * 20), f"-b: '{'9' * 20}' is above 2^63; hint: use a smaller one"),
        (
            ("ior", "-a", "DUMMY", "-O", "saveRankPerformanceDetailsCSV=no/f"),
            "CSV: no is not a directory; hint: ",
        ),
        (("ior", "-r", "-o", "gone"), "/gone is missing; hint: add -w to write it first, or give another -o"),
        (("ior", "-a", "DUMMY", "-O", "savePerOpDataCSV=no/f"), "savePerOpDataCSV: no is not a directory; hint: "),
        (("mdtest", "-a", "DUMMY", "-n", "8", "-C", "-W", "1", "-x", "no/f"), "-x: no is not a directory; hint: "),
        (("mdtest", "-a", "DUMMY", "-n", "8", "--savePerOpDataCSV=no/f"), "--savePerOpDataCSV: no is not a directory;"),
        (("mdtest", "-r", "-n", "8", "-x", "/dev/zero"), "mdtest -x: /dev/zero does not hold a number of files; hint:"),
    ],
)
def test_what_a_benchmark_cannot_read_or_write_is_told_before_it_measures(
    shell: Shell, words: tuple[str, ...], expected: str
) -> None:
    os.mkfifo(shell.home / "fifo")
    shell.write("large.toml", WRONG["large"])
    before = everything(shell.home)
    said = shell(*words, check=2)
    assert expected in said.err and said.err.count("\n") == 1 and said.out == ""
    assert everything(shell.home) == before


def test_what_nobody_wants_may_go_to_dev_null(shell: Shell) -> None:
    shell("ior", "-a", "DUMMY", "-b", "1m", "-O", "saveRankPerformanceDetailsCSV=/dev/null,summaryFile=/dev/null")
    assert not Path("/dev/null").is_file()


def test_the_same_numbers_on_a_model_are_virtual_time_and_no_mistake(shell: Shell) -> None:
    shell.write("think.toml", WRONG["think"].replace("null:", "sim:").replace("1GiB", "1MiB"))
    shell("run", "--dry-run", "think.toml")


def test_a_number_with_too_many_digits_in_a_site_file_is_one_line(shell: Shell) -> None:
    site = shell.write("site.toml", f"x = {'9' * 5000}\n")
    for words in (("where", "--site", site, "."), ("doctor", "--site", site)):
        said = shell(*words, check=2)
        assert "has too many digits; hint: " in said.err and said.err.count("\n") == 1


def test_a_number_with_too_many_digits_in_a_manifest_is_one_line(shell: Shell) -> None:
    run = shell.home / "run"
    shell("probe", "sim:", "--budget", "3s", "--out", run, "--no-report")
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed":', f'"digits": {"9" * 5000}, "seed":', 1))
    for words in (("report", run), ("verify", run), ("run", "--resume", run)):
        said = shell(*words, check=None)
        assert said.code in (1, 2) and said.err.count("\n") == 1


def test_o_direct_on_a_file_system_in_memory_is_refused_or_replaced_and_told(shell: Shell) -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip("/dev/shm is not writable")

    def ours() -> list[Path]:
        """Other tests work there meanwhile."""
        return sorted(path for path in memory.iterdir() if path.name.startswith(".tonnage-"))

    before = ours()
    said = shell("probe", memory, "--direct", "yes", check=2)
    assert "hint: " in said.err
    assert said.err.count("\n") == 1
    said = shell("probe", memory, "--budget", "2s", "--max-tasks", "3", "--op", "write", "--json", "--no-report")
    assert "no-direct" in {finding["code"] for finding in said.json["findings"]}
    assert "note: " in said.err
    assert ours() == before


def test_a_directory_without_write_permission_is_refused(shell: Shell) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    shell.data.chmod(0o500)
    assert "is not writable; hint: " in shell("probe", shell.data, check=2).err


def test_a_line_break_in_a_name_begins_no_line_of_its_own(shell: Shell) -> None:
    odd = shell.home / "data\nremoved everything"
    odd.mkdir()
    assert shell("clean", "--yes", odd).out.count("\n") == 1
    file = shell.write("c.toml", 'target = "null:"\n[workload]\ntasks = [1]\n[repeat]\ncount = 1\n')
    said = shell("run", "--dry-run", "--target", odd, file)
    assert "\nremoved everything" not in said.out and "data\\nremoved everything" in said.out
    assert "\nremoved everything" not in shell("mdtest", "-d", odd, "-n", "2").out


@pytest.mark.parametrize("words", [("run", "--target", "ODD", "c.toml"), ("mdtest", "-d", "ODD", "-n", "2")])
def test_a_name_that_is_no_utf8_is_refused_in_those_words_and_before_anything_is_printed(
    shell: Shell, words: tuple[str, ...]
) -> None:
    odd = Path(os.fsdecode(os.fsencode(shell.home) + b"/\xff"))
    odd.mkdir()
    shell.write("c.toml", 'target = "null:"\n[workload]\ntasks = [1]\n[repeat]\ncount = 1\n')
    said = shell(*(str(odd) if word == "ODD" else word for word in words), check=2)
    assert said.out == "" and said.err.count("\n") == 1 and "\\udcff is not UTF-8; hint: " in said.err


def test_a_version_that_nobody_can_read_is_an_error_of_one_line(shell: Shell) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [LAUNCHER, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=shell.home
        )
    told = "tonnage: error: standard output cannot be written: No space left on device; hint: "
    assert done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["probe", "."], ["probe", "sim:"], ["probe", "/"], ["ior", "-w"], ["mdtest", "-n", "3"], ["clean", "."]]
)
def test_a_working_directory_that_was_removed_is_one_line(shell: Shell, words: list[str]) -> None:
    gone = shell.home / "gone"
    gone.mkdir()
    # A python3 that is a shell script may refuse such a directory before the launcher runs.
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", gone, sys.executable, "-I", "-m", "tonnage.cli", *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tonnage: error: the working directory was removed; hint: cd to one that exists\n"
