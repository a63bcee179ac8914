"""Interactive jobs of the local scheduler: this terminal's streams and signals, and a turn like any other's."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from local_spool import ended, lines_of, request
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.local import Local
from waiting import wait_until

CALL = """
import os, sys
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.scheduler import JobRequest, SchedulerError
try:
    key, directory, *argv = sys.argv[1:]
    request = JobRequest(argv=tuple(argv), key=key, directory=directory)
    sys.exit(scheduler("local", timeout_s=20).interactive(request))
except SchedulerError as error:
    sys.exit(f"refused: {error}")
"""


def command(directory: Path, *argv: str, key: str = "i") -> list[str]:
    return [sys.executable, "-c", CALL, key, str(directory), *argv]


def outcome(directory: Path, *argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(directory, *argv), input=text, capture_output=True, text=True, timeout=60, check=False
    )


def started(directory: Path, *argv: str, key: str = "i") -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command(directory, *argv, key=key), stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def full(local: Local, directory: Path) -> str:
    """A job that takes every slot until it is cancelled; it runs."""
    slots = local.hosts()[0].slots
    job = local.submit(request("sleep", "600", key="full", directory=directory, slots=slots)).job
    wait_until(lambda: [line.state for line in lines_of(local, job)] == ["running"])
    return job


def test_its_streams_directory_and_status_are_ours(local: Local, tmp_path: Path) -> None:
    done = outcome(tmp_path, "sh", "-c", "read word; echo $word; pwd; echo err >&2; exit 9", text="hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (9, f"hello\n{tmp_path}\n", "err\n")
    wait_until(lambda: not local.jobs())
    (line,) = local.jobs(ended=True)
    assert (line.state, line.exit_status) == ("failed", 9)


def test_a_signal_that_ends_it_is_128_more(local: Local, tmp_path: Path) -> None:
    assert outcome(tmp_path, "sh", "-c", "kill -15 $$").returncode == 128 + 15
    wait_until(lambda: not local.jobs())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_reaches_the_program(local: Local, tmp_path: Path, number: signal.Signals) -> None:
    trap = f"trap 'exit 42' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.02; done"
    with started(tmp_path, "sh", "-c", trap) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(60) == 42
    wait_until(lambda: not local.jobs())


def test_a_program_that_is_not_there_is_one_line(local: Local, tmp_path: Path) -> None:
    done = outcome(tmp_path, "no-such-program")
    assert done.returncode == 1
    assert done.stderr == "refused: no-such-program is not installed here\n"
    wait_until(lambda: not local.jobs())


def test_it_waits_for_a_slot_like_any_other(local: Local, tmp_path: Path) -> None:
    blocker = full(local, tmp_path)
    with started(tmp_path, "echo", "ran") as process:
        wait_until(lambda: len(local.jobs()) == 2)
        assert [line.state for line in local.jobs()] == ["running", "pending"]
        local.cancel(blocker)
        assert process.communicate(timeout=60) == ("ran\n", "")


def test_it_holds_its_slot_while_it_runs(local: Local, tmp_path: Path) -> None:
    slots = local.hosts()[0].slots
    with started(tmp_path, "sh", "-c", "echo ready; while [ ! -e go ]; do sleep 0.02; done") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        job = local.submit(request("true", key="k", directory=tmp_path, slots=slots)).job
        wait_until(
            lambda: [line.reason for line in lines_of(local, job)] == [f"waits for {slots} free slots"] or slots == 1
        )
        (tmp_path / "go").touch()
        assert process.wait(60) == 0
    assert ended(local, job).state == "done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_ended_while_it_waits_leaves_the_queue(
    local: Local, tmp_path: Path, number: signal.Signals
) -> None:
    blocker = full(local, tmp_path)
    with started(tmp_path, "sh", "-c", "echo > ran") as process:
        wait_until(lambda: len(local.jobs()) == 2)
        os.kill(process.pid, number)
        process.wait(60)
    wait_until(lambda: [line.job for line in local.jobs()] == [blocker])
    local.cancel(blocker)
    ended(local, blocker)
    assert not (tmp_path / "ran").exists()


def test_one_that_is_cancelled_while_it_waits_says_so(local: Local, tmp_path: Path) -> None:
    full(local, tmp_path)
    with started(tmp_path, "true") as process:
        wait_until(lambda: len(local.jobs()) == 2)
        local.cancel(local.jobs()[1].job)
        _, said = process.communicate(timeout=60)
    assert said == "refused: job 2 was cancelled before it began\n"
    assert process.returncode == 1


def test_cancelling_ends_the_program_and_its_status_says_how(local: Local, tmp_path: Path) -> None:
    with started(tmp_path, "sh", "-c", "echo ready; exec sleep 600") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        local.cancel("1")
        assert process.wait(60) == 128 + 15
    assert ended(local, "1").state == "cancelled"


def test_a_key_that_is_taken_starts_nothing(local: Local, tmp_path: Path) -> None:
    local.submit(request("true", key="i", directory=tmp_path))
    done = outcome(tmp_path, "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert "has the key i already" in done.stderr
    wait_until(lambda: not local.jobs())


def test_ctrl_c_reaches_a_program_in_a_terminal_once(local: Local, tmp_path: Path) -> None:
    count = "import signal, time; signal.signal(2, lambda *_: print('one', flush=True)); print('ready', flush=True)"
    argv = command(tmp_path, sys.executable, "-c", f"{count}; time.sleep(1); print('end', flush=True); exit(7)")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(argv[0], argv)
    said = b""
    try:
        while b"ready\r\n" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        while b"end" not in said:
            said += os.read(terminal, 4096)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 7
    assert said.count(b"one") == 1
    wait_until(lambda: not local.jobs())


def test_a_program_that_cannot_start_has_the_exit_code_of_a_shell(local: Local, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.touch(mode=0o644)
    for program, code, told in (
        (str(tmp_path / "absent"), 127, "is not installed here"),
        (str(text), 126, "is not executable"),
    ):
        with pytest.raises(SchedulerError, match=told) as refused:
            local.interactive(request(program, key=program, directory=tmp_path))
        assert refused.value.exit_code == code
