"""Movers and those who ask them: a socket that is busy, names that many want, and kills at the very start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from .shell import DEADLINE_S, LAUNCHER
from .stage import Stage

IDLE = 32


def connection(state: Path, stack: ExitStack) -> socket.socket:
    made = stack.enter_context(socket.socket(socket.AF_UNIX))
    made.settimeout(DEADLINE_S)
    made.connect(str(state / "control.sock"))
    return made


def answer(state: Path, line: bytes) -> dict[str, Any]:
    """To one request on a connection of its own."""
    with ExitStack() as stack:
        asked = connection(state, stack)
        asked.sendall(line + b"\n")
        found = json.loads(stack.enter_context(asked.makefile("rb")).readline())
        assert isinstance(found, dict)
        return found


def test_connections_that_say_nothing_keep_nobody_from_the_status_and_from_the_stop(stage: Stage) -> None:
    stage("start", *stage.trees)
    pid = stage.status()["pid"]
    with ExitStack() as stack:
        for _ in range(3 * IDLE):
            try:
                connection(stage.state, stack).sendall(b'{"do": ')
            except OSError:
                continue
        said = stage("status", "--from", stage.local, "--json")
        assert said.json["running"] and said.json["pid"] == pid
        for _ in range(IDLE):
            connection(stage.state, stack)
        assert "safe in" in stage("stop").out
    assert not stage.is_running()


def test_a_mover_whose_process_is_stopped_is_not_told_as_one_that_does_not_run(stage: Stage) -> None:
    stage("start", *stage.trees)
    pid = stage.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        for action in ("status", "stop"):
            said = stage(action, "--from", stage.local, check=1)
            assert "does not answer within" in said.err and "; hint: " in said.err, said.err
            assert "does not run" not in said.out
        said = stage("list", check=1)
        assert "does not answer" in said.out + said.err and "no movers" not in said.out
    finally:
        os.kill(pid, signal.SIGCONT)
    # What it was asked while it stood still it does now.
    wait_until(lambda: not stage.is_running(), "the mover has gone")


def test_a_mover_whose_socket_is_gone_still_runs_and_that_is_said(stage: Stage) -> None:
    stage("start", *stage.trees)
    pid = stage.status()["pid"]
    (stage.state / "control.sock").unlink()
    try:
        for action in ("status", "stop"):
            said = stage(action, "--state", stage.state, check=1)
            assert "holds" in said.err and "; hint: " in said.err and said.out == "", said
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the mover has gone")


@pytest.mark.parametrize("value", ["-1", "1e400", "NaN", '"7"', "true", "[1]", "{}", "1.5", "9" * 30, "1" + "0" * 5000])
def test_a_number_that_is_none_gets_an_error_on_its_connection(stage: Stage, value: str) -> None:
    stage("start", *stage.trees)
    with ExitStack() as stack:
        asked = connection(stage.state, stack)
        lines = stack.enter_context(asked.makefile("rb"))
        for request in (
            f'{{"do": "limit", "bytes_per_s": {value}, "files_per_s": null}}',
            f'{{"do": "limit", "bytes_per_s": null, "files_per_s": {value}}}',
            f'{{"do": "stop", "deadline_ns": {value}}}',
            f'{{"do": {value}}}',
            '{"do": "limit"}',
            "[" * 30_000,
        ):
            asked.sendall(request.encode() + b"\n")
            line = lines.readline()
            assert line, f"no answer to {request[:60]}"
            assert set(json.loads(line)) == {"error"}, (request[:60], line)
        asked.sendall(b'{"do": "status"}\n')
        status = json.loads(lines.readline())["ok"]
    assert status["progress"] in ("starting", "watching")
    assert (status["limit_bytes_per_s"], status["limit_files_per_s"]) == (None, None)


def test_a_line_without_an_end_gets_an_error(stage: Stage) -> None:
    stage("start", *stage.trees)
    assert "bytes" in answer(stage.state, b"x" * (3 << 20))["error"]
    assert stage.is_running()


def test_movers_of_directories_of_one_name_that_begin_together_all_work(stage: Stage) -> None:
    count = 6
    trees = [stage.shell.home / str(number) / "scratch" for number in range(count)]
    runs = []
    for number, tree in enumerate(trees):
        tree.mkdir(parents=True)
        (tree / "file").write_text(f"of {number}")
        words = ("--from", tree, "--to", stage.shell.home / f"to-{number}")
        runs.append(stage.begin("run", *words, "--", "true"))
    said = [stage.said_by(run) for run in runs]
    assert [one.code for one in said] == [0] * count, [one.err for one in said]
    for number in range(count):
        assert (stage.shell.home / f"to-{number}" / "file").read_text() == f"of {number}"


def test_a_kill_at_any_moment_of_the_start_leaves_what_resume_finishes(stage: Stage) -> None:
    """At system calls on the journal, the plan, the lock and the mover's id."""
    resumed = 0
    if subprocess.run(["which", "strace"], capture_output=True, check=False).returncode:
        pytest.skip("strace is not here")
    (stage.local / "file").write_text("all of it")
    files = [stage.state / name for name in ("journal.sqlite", "plan.json", "lock", "id", "journal.sqlite-wal")]
    paths = [word for file in files for word in ("-P", str(file))]
    for number in (1, 2, 3, 4, 6, 9, 14, 22, 34):
        for path in (stage.state, stage.remote):
            subprocess.run(["rm", "-rf", path], check=True)
        kill = ["strace", "-f", "-qq", "-o", "/dev/null", *paths, "-e", f"inject=all:signal=KILL:when={number}"]
        command = [*kill, LAUNCHER, "stage", "in", *stage.trees, "--state", str(stage.state)]
        environment = stage.shell.environment(**stage._runtime)
        done = subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE_S, check=False)
        assert done.returncode != 0, f"kill {number} came too late"
        if (stage.state / "journal.sqlite").exists():
            stage("resume", "--wait", "--state", stage.state)
            resumed += 1
            assert (stage.remote / "file").read_text() == "all of it", f"after kill {number}"
        else:
            assert "hint: begin with" in stage("resume", "--wait", "--state", stage.state, check=2).err
    assert resumed > 3


def test_a_journal_that_cannot_be_one_is_one_line_with_a_hint(stage: Stage) -> None:
    stage.run()
    journal = stage.state / "journal.sqlite"
    for file in stage.state.glob("journal.sqlite*"):
        file.unlink()
    (stage.shell.home / "elsewhere").write_text("the user's")
    makers = (journal.mkdir, lambda: os.mkfifo(journal), lambda: journal.symlink_to(stage.shell.home / "elsewhere"))
    for make in makers:
        make()
        for action in (("status",), ("resume", "--wait"), ("start",)):
            words = stage.trees if action == ("start",) else ("--from", str(stage.local))
            said = stage(*action, *words, check=2)
            assert said.err.count("\n") == 1 and str(journal) in said.err and "; hint: " in said.err, said.err
        journal.rmdir() if journal.is_dir() and not journal.is_symlink() else journal.unlink()
    assert (stage.shell.home / "elsewhere").read_text() == "the user's"


def test_a_journal_that_cannot_be_opened_is_one_line_with_a_hint(stage: Stage) -> None:
    stage.run()
    (stage.state / "journal.sqlite-wal").unlink(missing_ok=True)
    (stage.state / "journal.sqlite-wal").mkdir()
    said = stage("resume", "--wait", "--from", stage.local, check=2)
    assert said.err.count("\n") == 1 and "cannot open journal " in said.err and "; hint: " in said.err, said.err
