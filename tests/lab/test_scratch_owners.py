"""Whose a scratch directory is: seen from other PID namespaces, under shared host names, and through mounts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and mounts want root")

NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts")
TONNAGE = (sys.executable, "-m", "tonnage.cli")
MARKER = "TONNAGE-SCRATCH"
LIMIT_S = 120


def has_scratch_file(data: Path) -> bool:
    try:
        return any(data.glob(".tonnage-*/data.*"))
    except FileNotFoundError:  # of a directory in which the target was tried out, and which has just gone
        return False


def clean(*words: str | Path, within: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*within, *TONNAGE, "clean", *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False
    )
    assert "Traceback" not in done.stderr
    return done


@contextmanager
def running(data: Path, *within: str) -> Iterator[subprocess.Popen[bytes]]:
    """A probe that works in ``data`` until the block ends."""
    command = [*within, *TONNAGE, "probe", str(data), "--budget", "120s", "--max-tasks", "3", "--no-report"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [*command, "--out", str(data.parent / "run")], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        wait_until(lambda: has_scratch_file(data) or process.poll() is not None, "a scratch file")
        assert process.poll() is None
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills it with all that it started: the first process of a PID namespace takes the others along."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT_S)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


def scratch_of(data: Path) -> Path:
    (found,) = data.glob(".tonnage-*")
    return found


@pytest.mark.parametrize(("run_in", "clean_in"), [(NAMESPACE, ()), ((), NAMESPACE), (NAMESPACE, NAMESPACE)])
def test_a_live_run_of_another_pid_namespace_keeps_its_scratch_and_a_killed_one_loses_it(
    data: Path, run_in: tuple[str, ...], clean_in: tuple[str, ...]
) -> None:
    with running(data, *run_in) as process:
        for force in ((), ("--force",)):
            said = clean(data, "--yes", *force, within=clean_in)
            assert said.returncode == 0 and "still running" in said.stdout, said.stdout
            assert (scratch_of(data) / MARKER).is_file()
        assert process.poll() is None, "the run goes on"
        end(process)
        (scratch_of(data) / "data.00000000").touch()
        said = clean(data, "--yes", within=clean_in)
        assert f"removed {data}/.tonnage-" in said.stdout, said.stdout + said.stderr
    assert list(data.iterdir()) == []


def test_a_suspended_run_keeps_its_scratch(data: Path) -> None:
    with running(data) as process:
        os.killpg(process.pid, signal.SIGSTOP)
        assert "still running" in clean(data, "--yes", "--force").stdout
        assert (scratch_of(data) / MARKER).is_file()


def rewrite(marker: Path, **changes: Any) -> None:
    """Changes the marker in place, as its owner would have written it."""
    fields = json.loads(marker.read_text())
    with marker.open("r+") as file:
        file.write(json.dumps({**fields, **changes}).ljust(1024, "\n"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"boot": "0" * 32}, "of another host"),
        ({"boot": "0" * 32, "machine": "0" * 32}, "of another host"),
        ({"host": "elsewhere", "boot": "0" * 32}, "of another host"),
        ({"boot": None, "machine": None, "pid_namespace": None, "locked": False}, "of an older version"),
        ({"pid_namespace": "4:1", "locked": False}, "another PID namespace"),
        ({"locked": False}, "no locks"),
    ],
)
def test_what_cannot_be_known_stays_until_it_is_forced(data: Path, changes: dict[str, Any], why: str) -> None:
    with running(data) as process:
        end(process)
    rewrite(scratch_of(data) / MARKER, **changes)
    if changes.keys() == {"boot"}:
        # The same machine after a restart is known; without an id of the machine it is not.
        rewrite(scratch_of(data) / MARKER, machine=None)
    said = clean(data, "--yes")
    assert said.returncode == 0 and "nothing to remove" in said.stdout
    assert why in said.stdout and "--force" in said.stdout, said.stdout
    assert scratch_of(data).is_dir()
    assert "removed" in clean(data, "--yes", "--force").stdout
    assert list(data.iterdir()) == []


def test_a_copied_scratch_directory_is_not_ours_not_even_by_force(data: Path) -> None:
    with running(data) as process:
        end(process)
    original, aside = scratch_of(data), data.parent / "aside"
    subprocess.run(["cp", "-a", original, aside], check=True)
    subprocess.run(["rm", "-r", original], check=True)
    subprocess.run(["cp", "-a", aside, original], check=True)
    held = sorted(path.name for path in original.iterdir())
    said = clean(data, "--yes", "--force")
    assert "a copy" in said.stdout, said.stdout
    assert sorted(path.name for path in original.iterdir()) == held


@contextmanager
def mounted(source: Path, target: Path) -> Iterator[None]:
    subprocess.run(["mount", "--bind", source, target], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", target], check=True)


@pytest.mark.parametrize("where", ["marker", "directory", "tree", "file", "inside a tree", "room", "stage"])
def test_what_is_mounted_in_a_scratch_directory_is_not_emptied(data: Path, tmp_path: Path, where: str) -> None:
    with running(data) as process:
        end(process)
    scratch = scratch_of(data)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    precious = [theirs / name for name in ("data.00000000", "f.0.0", "tree.00000000")]
    for path in precious:
        path.write_text("precious")
    with ExitStack() as stack:
        if where == "marker":
            # Another's directory that shows our marker.
            other = data / ".tonnage-other"
            other.mkdir()
            (other / MARKER).touch()
            (other / "data.00000000").write_text("precious")
            precious = [other / "data.00000000"]
            stack.enter_context(mounted(scratch / MARKER, other / MARKER))
        elif where == "directory":
            # Our directory at a place of somebody else's, whose files are below the mount.
            other = data / ".tonnage-other"
            other.mkdir()
            stack.enter_context(mounted(scratch, other))
        elif where == "file":
            (scratch / "data.00000000").touch()
            stack.enter_context(mounted(precious[0], scratch / "data.00000000"))
        else:
            inner = scratch / {"tree": "tree.00000000", "room": "room", "stage": ".tonnage-stage"}.get(
                where, "tree.00000000/d.1"
            )
            if where == "room":
                # All that is in a room is data.
                precious = precious[:1]
                for other in theirs.iterdir():
                    if other not in precious:
                        other.unlink()
            inner.mkdir(parents=True)
            stack.enter_context(mounted(theirs, inner))
        clean(data, "--yes", "--force")
        assert [path.read_text() for path in precious] == ["precious"] * len(precious)
    assert [path.read_text() for path in precious] == ["precious"] * len(precious)


def test_names_that_others_chose_are_printed_without_their_control_characters(data: Path) -> None:
    with running(data) as process:
        end(process)
    odd = data / "results\x1b[2J\nremoved everything"
    marked = subprocess.run(
        [*TONNAGE, "ior", "-w", "-k", "-o", str(data / "file"), "-b", "64k", "-t", "64k"],
        capture_output=True, text=True, cwd=data.parent, check=False,
    )  # fmt: skip
    assert marked.returncode == 0, marked.stderr
    mark = json.loads(os.getxattr(data / "file", "user.tonnage.run"))
    (data / "file").rename(odd)
    os.setxattr(odd, "user.tonnage.run", json.dumps({**mark, "sealed": None}).encode())
    said = clean(data, "--yes")
    assert "\x1b" not in said.stdout and "results\\x1b[2J\\nremoved everything  run " in said.stdout, said.stdout
    assert odd.exists()


def test_a_process_that_proc_does_not_show_is_not_taken_for_dead(data: Path) -> None:
    """Without the lock, and with a /proc that hides the processes of other users, nobody can know."""
    with running(data):
        scratch = scratch_of(data)
        rewrite(scratch / MARKER, locked=False)
        subprocess.run(["chown", "-R", "65534:65534", data], check=True)
        hidden = "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "
        words = " ".join([*TONNAGE, "clean", str(data), "--yes"])
        for parent in [data, *data.parents]:
            if not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden + words]
        said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert "Traceback" not in said.stderr
        assert "removed" not in said.stdout and scratch.is_dir(), said.stdout
