"""A request that is wrong gets one line that says what to do, exit code 2, and nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .shell import Shell

CASES = [
    (("probe",), "the following arguments are required: DIR"),
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
    (("probe", "data", "--space", "900TB"), "the files need 818.55 TiB and {home}/data has "),
    (
        ("probe", "data", "--queue-depth", "4"),
        'storage posix and mmap do one operation at a time; hint: set storage = "uring" or queue_depth = 1',
    ),
    (
        ("probe", "data", "--out", "full"),
        "full exists and is not an empty directory; hint: give another one with --out",
    ),
    (("probe", "data", "--out", "/proc/x"), "cannot make the run directory /proc/x"),
    (("probe", "/proc"), "cannot make a scratch directory in /proc"),
    (("probe", "sim:kne=3"), "sim: has no 'kne'; hint: did you mean 'knee'?"),
    (("probe", "sim:noise=9"), "sim:noise=9 refuses this: sim: noise is 9"),
    (("probe", "data", "--frobnicate"), "unrecognized arguments: --frobnicate"),
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


def everything(home: Path) -> list[Path]:
    return sorted(home.rglob("*"))


@pytest.mark.parametrize(("arguments", "expected"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_a_wrong_request_is_one_line_and_writes_nothing(
    shell: Shell, arguments: tuple[str, ...], expected: str
) -> None:
    shell.write("file", "x")
    shell.write("typo.toml", 'target = "null:"\n\n[workload]\ntransfer_sise = 4\n')
    shell.write("odd.toml", 'target = "null:"\n[workload]\ntransfer_size = "3MiB"\nblock_size = "10MiB"\n')
    (shell.home / "full").mkdir()
    shell.write("full/file", "x")
    before = everything(shell.home)
    said = shell(*arguments, check=2)
    assert said.out == ""
    assert said.err.startswith("tonnage: error: " + expected.format(home=shell.home))
    assert "; hint: " in said.err
    assert said.err.count("\n") == 1
    assert everything(shell.home) == before


def test_o_direct_on_a_file_system_in_memory_is_refused_or_replaced_and_told(shell: Shell) -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip("/dev/shm is not writable")
    before = sorted(memory.iterdir())
    said = shell("probe", memory, "--direct", "yes", check=2)
    assert "hint: " in said.err
    assert said.err.count("\n") == 1
    said = shell("probe", memory, "--budget", "1s", "--max-tasks", "2", "--op", "write", "--json", "--no-report")
    assert "no-direct" in {finding["code"] for finding in said.json["findings"]}
    assert "note: " in said.err
    assert sorted(memory.iterdir()) == before


def test_a_directory_without_write_permission_is_refused(shell: Shell) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    shell.data.chmod(0o500)
    assert "is not writable; hint: " in shell("probe", shell.data, check=2).err
