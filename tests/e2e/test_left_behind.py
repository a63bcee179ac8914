"""What a killed command leaves behind, and what is removed of it: never what another may have written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import wait_until

from .shell import LAUNCHER, Shell

PRECIOUS = b"the user's own results"


def kill_once(shell: Shell, done: Callable[[], object], *words: str | Path) -> None:
    """Starts a command and kills it, with all of its processes, once ``done``."""
    process = shell.start(*words)
    try:
        wait_until(lambda: done() or process.poll() is not None, "the command is under way")
        assert process.poll() is None, process.communicate()[1]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def test_the_tree_of_a_killed_mdtest_is_found_and_removed_by_clean(shell: Shell) -> None:
    words = ("mdtest", "-d", shell.data, "-F", "-z", "1", "-b", "3")
    kill_once(shell, lambda: any(shell.data.glob("test-dir.0-0/tree.*/f.0.99")), *words, "-n", "1000000")
    (tree,) = shell.left_behind
    said = shell(*words, "-n", "10", check=2)
    assert f"`tonnage clean {shell.data}`" in said.err
    said = shell("clean", shell.data, "--yes")
    assert f"{tree}  run " in said.out and f"removed {tree}\n" in said.out
    assert shell.left_behind == []
    shell(*words, "-n", "10")


def test_a_tree_that_was_left_on_purpose_stays_until_its_removal_was_begun(shell: Shell) -> None:
    words = ("mdtest", "-d", shell.data, "-F", "-n", "50000")
    shell(*words, "-C")
    tree = shell.data / "test-dir.0-0"
    assert "kept for later runs" in shell("clean", shell.data, "--yes", "--force").out
    assert len(list(tree.glob("tree.*/f.*"))) == 50000

    def worked_in() -> bool:
        return '"kept":true' not in (tree / "TONNAGE-SCRATCH").read_text()

    kill_once(shell, worked_in, *words, "-T", "-E", "-p", "60")
    said = shell("clean", shell.data, "--yes")
    assert "an earlier run left it on purpose" in said.out and "nothing to remove" in said.out
    assert len(list(tree.glob("tree.*/f.*"))) == 50000
    kill_once(shell, lambda: len(os.listdir(next(tree.glob("tree.*")))) < 50000, *words, "-r")  # noqa: PTH208 - quick
    assert f"removed {tree}\n" in shell("clean", shell.data, "--yes").out
    assert shell.left_behind == []


def test_what_a_killed_sob_left_goes_by_clean(shell: Shell) -> None:
    home = shell.home
    kill_once(shell, lambda: any(home.glob(".tonnage-*/data.*")), "sob", "-w", "-b", "64k", "-s", "4g")
    assert "removed" in shell("clean", home, "--yes").out
    assert not list(home.glob(".tonnage-*"))


@pytest.mark.parametrize("alone", [True, False])
def test_the_files_of_a_killed_ior_are_listed_and_go_by_force_alone(shell: Shell, alone: bool) -> None:
    name = shell.data / "results"
    (shell.data / "mine").write_bytes(PRECIOUS)
    words = ("ior", "-w", "-o", name, "-b", "4g", "-t", "4k", "-Y", *(() if alone else ("-F", "-N", "2")))
    made = [name] if alone else [name.with_name(f"results.{task:08}") for task in range(2)]

    def all_there() -> bool:
        return all(path.exists() and path.stat().st_size > 1 << 16 for path in made)

    kill_once(shell, all_there, *words)
    subprocess.run(["cp", "-a", made[0], shell.data / "copy"], check=True)
    said = shell("clean", shell.data, "--yes")
    assert "nothing to remove" in said.out and all(path.exists() for path in made)
    for path in made:
        assert f"{path}  run " in said.out and "may hold other data since" in said.out
    assert "copy" not in said.out and "mine" not in said.out
    said = shell("clean", shell.data, "--yes", "--force")
    assert [path.name for path in shell.left_behind] == ["copy", "mine"], said.out
    assert (shell.data / "mine").read_bytes() == PRECIOUS


def test_the_file_of_a_running_ior_stays_whatever_is_forced(shell: Shell) -> None:
    name = shell.data / "results"
    process = shell.start("ior", "-w", "-o", name, "-b", "4g", "-t", "4k", "-Y")
    try:
        wait_until(lambda: name.exists() and name.stat().st_size > 1 << 16, "the file is written")
        said = shell("clean", shell.data, "--yes", "--force")
        assert f"{name}  run " in said.out and "still running" in said.out and "nothing to remove" in said.out
        assert name.exists() and process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


@pytest.mark.parametrize("how", ["in place", "one byte", "same bytes"])
def test_a_kept_file_that_was_written_with_its_time_set_back_is_not_replaced(shell: Shell, how: str) -> None:
    name = shell.data / "results"
    words = ("ior", "-w", "-k", "-o", name, "-b", "1m", "-t", "64k")
    shell(*words)
    before = name.stat()
    with name.open("r+b") as file:
        held = file.read() if how == "same bytes" else PRECIOUS if how == "in place" else b"!"
        file.seek(0)
        file.write(held)
    os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (name.stat().st_size, name.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    said = shell(*words, check=2)
    assert "somebody changed it after Tonnage made it" in said.err and said.err.count("\n") <= 2, said.err
    assert name.read_bytes().startswith(held)
    # Reading it, and ending without -k, removes nothing of the user's either.
    shell("ior", "-r", "-o", name, "-b", "1m", "-t", "64k")
    assert name.read_bytes().startswith(held)


def test_a_kept_file_that_nobody_changed_is_replaced(shell: Shell) -> None:
    name = shell.data / "results"
    words = ("ior", "-w", "-o", name, "-b", "1m", "-t", "64k")
    for _ in range(3):
        shell(*words, "-k")
        name.read_bytes()
    shell(*words)
    assert shell.left_behind == []


def test_a_script_that_the_user_edited_is_not_replaced(shell: Shell) -> None:
    place = shell.home / "bin"
    shell("compat", "install", place)
    for edit in (
        lambda text: text + "echo done\n",
        lambda text: text.replace("exec ", "exec nice "),
        lambda text: text.replace("exec ", "export TONNAGE_OUT=/scratch/runs\nexec "),
    ):
        shell("compat", "install", place)
        script = place / "mdtest"
        ours = script.read_text()
        script.write_text(edit(ours))
        said = shell("compat", "install", place, check=2)
        assert said.err.count("\n") == 1 and str(script) in said.err, said.err
        assert script.read_text() == edit(ours)
        script.write_text(ours)


PLACED = """\
target = "{target}"
place = {{name = "bench", fresh = {fresh}, keep = true}}
{workload}
[repeat]
count = 1
"""
FILES = """\
[workload]
kind = "files"
tasks = 1
phases = [{phases}]
items_per_directory = 4
file_size = "4k"
keep = true
"""


@pytest.mark.parametrize("phase", ["write", "open-write-close"])
def test_a_backup_of_hard_links_to_a_kept_tree_is_never_overwritten(shell: Shell, phase: str) -> None:
    def file(fresh: str, phases: str) -> Path:
        workload = FILES.format(phases=phases)
        return shell.write("c.toml", PLACED.format(target=shell.data, fresh=fresh, workload=workload))

    shell("run", file("true", '"make-tree", "create"'), "--no-report")
    backup = shell.home / "backup"
    subprocess.run(["cp", "-al", shell.data / "bench", backup], check=True)
    before = {path: path.read_bytes() for path in backup.rglob("f.*")}
    assert len(before) == 4
    said = shell("run", file("false", f'"{phase}"'), "--no-report", check=1)
    assert "has another name (a hard link)" in said.err
    assert {path: path.read_bytes() for path in backup.rglob("f.*")} == before


KILLED = """\
target = "{target}"
[workload]
op = "write"
tasks = [1]
transfer_size = "64k"
block_size = "1MiB"
[repeat]
count = 1
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="a kill at one system call takes strace")
@pytest.mark.parametrize(
    "call", ["mkdirat:1", "pwrite64:1", "renameat2:1", "renameat2:2", "unlinkat:1", "unlinkat:2", "unlinkat:3"]
)
def test_a_kill_at_any_call_that_makes_or_removes_a_scratch_directory_leaves_nothing_that_is_not_known_as_its_own(
    shell: Shell, call: str
) -> None:
    name, _, when = call.partition(":")
    killed = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={name}"]
    killed += ["-e", f"inject={name}:signal=KILL:when={when}"]
    file = shell.write("c.toml", KILLED.format(target=shell.data))
    words = [str(LAUNCHER), "run", "--no-report", "--out", "run", str(file)]
    subprocess.run([*killed, *words], cwd=shell.home, capture_output=True, check=False, timeout=240)
    left = list(shell.data.iterdir())
    said = shell("clean", "--yes", shell.data)
    assert list(shell.data.iterdir()) == [], (left, said.out)
    if (shell.home / "run/manifest.json").exists():
        state = json.loads((shell.home / "run/manifest.json").read_text())["state"]
        if state != "complete":
            shell("run", "--resume", "run", "--no-report")
    assert list(shell.data.iterdir()) == []


def test_a_file_of_the_user_in_a_kept_tree_stays_however_often_it_is_cleaned(shell: Shell) -> None:
    shell("mdtest", "-d", shell.data, "-F", "-n", "8", "-C")
    tree = shell.data / "test-dir.0-0"
    mine, *_ = tree.glob("tree.*/f.0.2")
    mine.unlink()
    mine.write_bytes(PRECIOUS)
    for _ in range(2):
        said = shell("clean", shell.data, "--kept", "--yes", check=1)
        hint = "hint: move it away, then clean again"
        assert said.err == f"tonnage: error: {tree} stays: {mine} is not as Tonnage left it; {hint}\n"
        assert mine.read_bytes() == PRECIOUS
    mine.rename(shell.home / "mine")
    shell("clean", shell.data, "--kept", "--yes")
    assert shell.left_behind == []


def test_a_file_of_the_user_in_a_kept_tree_stays_after_reads_and_after_a_killed_clean(shell: Shell) -> None:
    words = ("mdtest", "-d", shell.data, "-F", "-n", "50000")
    shell(*words, "-C")
    tree = shell.data / "test-dir.0-0"
    mine, *_ = tree.glob("tree.*/f.0.2")
    mine.unlink()
    mine.write_bytes(PRECIOUS)
    shell(*words, "-T")
    kill_once(
        shell,
        lambda: len(os.listdir(mine.parent)) < 49_000,  # noqa: PTH208 - quick
        *("clean", shell.data, "--kept", "--yes"),
    )
    assert "an earlier run left it on purpose" in shell("clean", shell.data, "--yes", "--force").out
    said = shell("clean", shell.data, "--kept", "--yes", check=1)
    assert f"{mine} is not as Tonnage left it" in said.err and mine.read_bytes() == PRECIOUS
    assert [path.name for path in mine.parent.iterdir()] == [mine.name]
    mine.rename(shell.home / "mine")
    shell("clean", shell.data, "--kept", "--yes")
    assert shell.left_behind == []


KEPT = """target = "data"
place = {{ name = "mine", fresh = {fresh}, keep = {keep} }}
[workload]
op = ["{op}"]
tasks = [2]
block_size = "64KiB"
transfer_size = "64KiB"
[repeat]
count = 1
"""


def keep_streams(shell: Shell, op: str = "write", fresh: str = "true", keep: str = "true", check: int = 0) -> str:
    """Runs streams in a directory that is kept, or in the one that was; what it said on standard error."""
    shell.write("kept.toml", KEPT.format(op=op, fresh=fresh, keep=keep))
    return shell("run", "kept.toml", "--no-report", check=check).err


def append(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(PRECIOUS)


def replace(file: Path) -> None:
    file.unlink()
    file.write_bytes(PRECIOUS)


def rewrite_with_its_time(file: Path) -> None:
    before = file.stat()
    file.write_bytes(PRECIOUS.ljust(before.st_size, b"."))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [append, replace, rewrite_with_its_time, lambda file: file.chmod(0o400)])
def test_a_data_file_that_was_changed_since_it_was_kept_is_neither_removed_nor_written_over(
    shell: Shell, change: Callable[[Path], None]
) -> None:
    keep_streams(shell)
    mine = shell.data / "mine/data.00000001"
    change(mine)
    changed = mine.read_bytes()
    for op, keep in (("read", "true"), ("write", "true"), ("write", "false")):
        assert f"{mine.name} is not as the run before left it" in keep_streams(shell, op, "false", keep, check=2)
    for _ in range(2):
        said = shell("clean", shell.data, "--kept", "--yes", check=1)
        assert f"mine stays: {mine} is not as Tonnage left it" in said.err
    assert mine.read_bytes() == changed
    mine.rename(shell.home / "mine")
    shell("clean", shell.data, "--kept", "--yes")
    assert shell.left_behind == []


def test_a_kept_directory_of_streams_is_worked_in_again_and_again_and_then_removed(shell: Shell) -> None:
    keep_streams(shell)
    for op in ("read", "write", "read"):
        keep_streams(shell, op, "false")
    shell("clean", shell.data, "--kept", "--yes")
    assert shell.left_behind == []
    keep_streams(shell)
    keep_streams(shell, "read", "false", "false")
    assert shell.left_behind == []
