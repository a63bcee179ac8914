"""A destination, or a source, that is not the one it was: not mounted, made anew, under another mount, emptied."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loop_device import device
from stage_commands import Commands, everything
from stage_trees import MIB, PATIENCE_S, STATE, Stage, differences, tree

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


def write(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).write_bytes(name.encode() * 1000)


@pytest.mark.parametrize("below", [False, True], ids=["its root", "a directory in it"])
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_destination_that_is_not_mounted_gets_nothing_and_all_of_it_once_it_is(
    tmp_path: Path, kind: str, below: bool
) -> None:
    with device(tmp_path, kind, 320 * MIB if kind == "xfs" else 64 * MIB) as disk:
        stage = Stage(tmp_path)
        stage.to.rmdir()
        stage.to = disk.path / "run7" if below else disk.path
        command = Commands(stage)
        write(stage.source, "one", "two", "three")
        command.run("--delete", "done")
        assert everything(stage.source) == [name for name in everything(stage.source) if name.startswith(STATE)]
        write(stage.source, "four", "five", "six")
        disk.unmount()
        stage.to.mkdir(exist_ok=True)
        assert "not the directory that was staged to" in command.refused()
        assert "not the directory that was staged to" in command.run(code=2).stderr
        if below:
            stage.to.rmdir()
            command.resume(code=2)
        assert everything(disk.path) == [], "the bare mount point stays bare"
        disk.mount()
        assert "6 files, " in command.resume().stderr
        verified = command("verify", "--to", stage.to)
        assert verified.stdout.startswith("6 files checked"), verified.stdout


def made_anew(stage: Stage) -> None:
    subprocess.run(["rm", "-r", stage.to], check=True)
    stage.to.mkdir()


def renamed_away(stage: Stage) -> None:
    stage.to.rename(stage.work / "elsewhere")
    stage.to.mkdir()


def without_its_manifest(stage: Stage) -> None:
    for manifest in (stage.to / STATE).glob("manifest-*"):
        manifest.unlink()


def with_the_mark_of_another(stage: Stage) -> None:
    for mark in (stage.to / STATE).glob("mover-*"):
        mark.write_text("0" * 32 + "\n")


@pytest.mark.parametrize("change", [made_anew, renamed_away, without_its_manifest, with_the_mark_of_another])
def test_another_directory_of_the_same_path_is_refused_until_the_user_says_so(
    tmp_path: Path, change: Callable[[Stage], None]
) -> None:
    stage = Stage(tmp_path)
    command = Commands(stage)
    write(stage.source, "one", "two")
    command.run()
    change(stage)
    write(stage.source, "three")
    command.refused()
    command.resume("--trees-changed")
    assert differences(tree(stage.source), tree(stage.to)) == []
    # It is the one from now on.
    write(stage.source, "four")
    command.resume()
    assert command("verify", "--to", stage.to).stdout.startswith("4 files checked") or change is made_anew


@contextlib.contextmanager
def tmpfs(at: Path) -> Iterator[None]:
    if os.geteuid():
        pytest.skip("mounting needs root")
    subprocess.run(["mount", "-t", "tmpfs", "none", at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def test_a_file_system_mounted_over_the_destination_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    command = Commands(stage)
    write(stage.source, "one")
    command.run()
    with tmpfs(stage.to):
        command.refused()
    command.resume()


def test_a_bind_mount_of_the_destination_is_the_destination(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("mounting needs root")
    stage = Stage(tmp_path)
    command = Commands(stage)
    write(stage.source, "one")
    command.run()
    stage.to.rename(tmp_path / "moved")
    stage.to.mkdir()
    subprocess.run(["mount", "--bind", tmp_path / "moved", stage.to], check=True)
    try:
        write(stage.source, "two")
        command.resume()
        assert differences(tree(stage.source), tree(tmp_path / "moved")) == []
    finally:
        subprocess.run(["umount", "--lazy", stage.to], check=True)


def test_a_source_that_is_not_mounted_does_not_make_its_files_gone(tmp_path: Path) -> None:
    with device(tmp_path, "ext4", 64 * MIB) as disk:
        stage = Stage(tmp_path)
        stage.source.rmdir()
        stage.source, stage.state = disk.path, tmp_path / "state"
        command = Commands(stage)
        write(stage.source, "one")
        words = ("--state", stage.state, "--workers", "1", "--limit", "0", "--deadline", "0s")
        command.run(*words, code=1)
        disk.unmount()
        command.refused()
        disk.mount()
        command("start", "--from", stage.source, "--to", stage.to, "--state", stage.state)
        command("wait", "--state", stage.state)
        command("stop", "--state", stage.state)
        assert (stage.to / "one").exists()


def test_what_was_removed_at_the_destination_goes_again_and_is_lost_only_where_the_source_has_none(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    command = Commands(stage)
    write(stage.source, "one", "two")
    command.run()
    (stage.to / "one").unlink()
    command.resume()
    assert differences(tree(stage.source), tree(stage.to)) == []
    kept = stage.to / "two"
    aside = tmp_path / "two"
    kept.rename(aside)
    (stage.source / "two").unlink()
    said = command.resume(code=1)
    assert "failed: two: its copy at the destination was removed or changed" in said.stderr, said.stderr
    assert "1 file, 3.0 kB safe" in said.stderr.replace("3.00", "3.0"), said.stderr
    assert command("status", "--state", stage.state, code=1).stdout.count("two") == 1
    # Resumed without it, it is still lost; with it, it is safe.
    command.resume(code=1)
    aside.rename(kept)
    command.resume()


def test_what_was_cleared_and_then_removed_or_changed_fails_though_everything_was_safe(tmp_path: Path) -> None:
    for harm in ("removed", "cut", "touched"):
        work = tmp_path / harm
        work.mkdir()
        stage = Stage(work)
        command = Commands(stage)
        write(stage.source, "one", "two")
        command.run("--delete", "done")
        if harm == "removed":
            (stage.to / "one").unlink()
        elif harm == "cut":
            os.truncate(stage.to / "one", 5)
        else:
            os.utime(stage.to / "one", ns=(0, 0))
        said = command.resume(code=1)
        assert "failed: one: " in said.stderr and "1 file, " in said.stderr, said.stderr


def test_copies_that_are_removed_while_the_mover_runs_are_not_called_safe_in_the_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    write(stage.source, "one", "two")
    with stage.mover(drain=False) as mover:
        while not (stage.to / "two").exists() or not (stage.to / "one").exists():
            assert not mover.ended()
        while [state for _, state, *_ in stage.journal()] != [2, 2]:
            assert not mover.ended()
        (stage.to / "one").unlink()
        assert mover.end()["code"] == 0
    assert differences(tree(stage.source), tree(stage.to)) == []


def gone(stage: Stage) -> None:
    subprocess.run(["rm", "-r", stage.to], check=True)


def unmounted(stage: Stage) -> None:
    subprocess.run(["umount", "--lazy", stage.to], check=True)


@pytest.mark.parametrize("harm", [unmounted, renamed_away, gone, without_its_manifest])
def test_a_destination_that_goes_while_the_mover_runs_ends_it_with_one_line(
    tmp_path: Path, harm: Callable[[Stage], None]
) -> None:
    with contextlib.ExitStack() as mounts:
        stage = Stage(tmp_path)
        if harm is unmounted:
            disk = mounts.enter_context(device(tmp_path, "ext4", 64 * MIB))
            stage.to.rmdir()
            stage.to = disk.path
        command = Commands(stage)
        write(stage.source, "one")
        words = [sys.executable, "-m", "tonnage.cli", "stage", "start", "--foreground"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*words, "--from", stage.source, "--to", stage.to],
            env=command.environment, stdout=pipe, stderr=pipe, text=True,
        ) as process:  # fmt: skip
            try:
                while not (stage.state / "control.sock").exists():
                    assert process.poll() is None, process.communicate()
                command("wait", "--state", stage.state)
                harm(stage)
                write(stage.source, "two")
                _, said = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
        assert process.returncode == 1 and "Traceback" not in said, said
        line = "was removed" if harm is without_its_manifest else "is not the directory that it was"
        assert line in said and "; hint: " in said, said
        if harm is unmounted:
            assert everything(stage.to) == []
