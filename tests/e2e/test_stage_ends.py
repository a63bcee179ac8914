"""Every way a mover may end early: it says so, exits accordingly, and ``resume`` finishes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from .shell import DEADLINE_S, LAUNCHER
from .stage import Stage, contents
from .test_stage import fill

SLOW = ("--limit", "1MB/s", "--workers", "1")


def resumed(stage: Stage) -> None:
    """``resume --wait`` completes it, however slow it was asked to be."""
    (stage.state / "plan.json").write_text((stage.state / "plan.json").read_text().replace("1000000,", "null,"))
    said = stage("resume", "--wait", "--from", stage.local)
    stage.assert_equal()
    # Before it: where it stands, if it takes its time.
    *_, last = said.err.splitlines()
    assert "safe in" in last and "left" not in last and "failed" not in said.err, said.err
    assert stage("status", "--from", stage.local).code == 0


@pytest.mark.parametrize("deadline", ["0", "1s"])
def test_sigterm_ends_it_by_its_deadline_and_resume_finishes(stage: Stage, deadline: str) -> None:
    fill(stage.local, 10, 2_000_000)
    process = stage.begin("start", "--foreground", *stage.trees, *SLOW, "--deadline", deadline)
    stage.wait_for_copying()
    process.send_signal(signal.SIGTERM)
    said = stage.said_by(process)
    assert said.code == 1 and "before all files were safe; hint: go on with `tonnage stage resume --wait" in said.err
    resumed(stage)


def test_ctrl_c_ends_it_at_once_with_130_and_the_line_that_goes_on(stage: Stage) -> None:
    fill(stage.local, 10, 2_000_000)
    process = stage.begin("in", *stage.trees, "--state", stage.state, *SLOW)
    stage.wait_for_copying()
    process.send_signal(signal.SIGINT)
    said = stage.said_by(process)
    line = f"go on with `tonnage stage resume --wait --state {stage.state}`"
    assert said.code == 130 and line in said.err, said.err
    resumed(stage)


def test_sigkill_of_a_mover_is_seen_and_resume_finishes(stage: Stage) -> None:
    fill(stage.local, 10, 2_000_000)
    stage("start", *stage.trees, *SLOW)
    stage.wait_for_copying()
    stage.kill()
    said = stage("status", "--from", stage.local, check=1)
    assert "does not run" in said.out
    assert "does not run and" in stage("wait", "--name", "local", check=1).err
    assert "local            does not run" in stage("list").out
    resumed(stage)


def test_what_was_written_after_a_mover_was_killed_is_not_called_safe(stage: Stage) -> None:
    fill(stage.local, 2)
    stage("start", *stage.trees)
    stage("wait")
    stage.kill()
    (stage.local / "later").write_text("precious")
    assert "nobody knows what was written since it ended; hint: " in stage("wait", "--from", stage.local, check=1).err
    assert "had not come to its end" in stage("stop", "--from", stage.local, check=1).err
    assert "had not come to its end" in stage("status", "--from", stage.local, check=1).out
    resumed(stage)
    stage("stop", "--from", stage.local)
    assert "nobody knows" in stage("wait", "--from", stage.local, check=1).err


def test_a_stop_that_leaves_files_says_how_to_go_on_and_one_in_the_background_goes_on(stage: Stage) -> None:
    fill(stage.local, 10, 2_000_000)
    stage("start", *stage.trees, *SLOW)
    stage.wait_for_copying()
    said = stage("stop", "--deadline", "0", check=1)
    assert "left; hint: go on with `tonnage stage resume --state" in said.err
    assert stage("stop", "--from", stage.local, check=1).out.startswith("the mover does not run; ")
    stage("resume", "--from", stage.local)
    stage("limit", "none")
    stage("wait")
    stage.assert_equal()
    stage("stop")


def test_what_a_deadline_does_not_let_through_is_counted_and_what_comes_first_is_safe(stage: Stage) -> None:
    fill(stage.local, 6, 1_500_000)
    (stage.local / "newest.chk").write_bytes(os.urandom(200_000))
    said = stage.run(*SLOW, "--first", "*.chk", "--deadline", "2s", program="true", check=1)
    assert (stage.remote / "newest.chk").read_bytes() == (stage.local / "newest.chk").read_bytes()
    assert "the time was over before all files were safe" in said.err
    resumed(stage)


def test_a_signal_to_the_run_reaches_the_program_once_and_its_last_checkpoint_arrives(stage: Stage) -> None:
    code = (
        "import os, signal, sys, time\n"
        "def last(number, frame):\n"
        "    open('checkpoint', 'a').write('saved\\n'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, last); open('ready', 'w').close()\n"
        "while True: time.sleep(1)\n"
    )
    command = [*stage.trees, "--", sys.executable, "-c", f"import os; os.chdir({str(stage.local)!r})\n{code}"]
    process = stage.begin("run", *command)
    wait_until((stage.local / "ready").exists, "the program is ready")
    process.send_signal(signal.SIGTERM)
    assert stage.said_by(process).code == 0
    assert (stage.remote / "checkpoint").read_text() == "saved\n"


def test_ctrl_c_on_a_terminal_reaches_the_program_exactly_once(stage: Stage) -> None:
    code = (
        "import signal, time\n"
        "count = 0\n"
        "def more(number, frame):\n"
        "    global count; count += 1\n"
        "signal.signal(signal.SIGINT, more); open('ready', 'w').close()\n"
        "while not count: time.sleep(0.05)\n"
        "time.sleep(0.5); open('count', 'w').write(str(count))\n"
    )
    program = [sys.executable, "-c", f"import os; os.chdir({str(stage.local)!r})\n{code}"]
    ours, theirs = pty.openpty()
    # A session of its own whose terminal this is.
    lead = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", lead, LAUNCHER, "stage", "run", *stage.trees, "--", *program],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=stage.shell.home,
        env=stage.shell.environment(**stage._runtime),
    )  # fmt: skip
    os.close(theirs)
    try:
        wait_until((stage.local / "ready").exists, "the program is ready")
        os.write(ours, b"\x03")
        assert process.wait(60) == 0, os.read(ours, 100_000)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
    assert (stage.local / "count").read_text() == "1"
    stage.assert_equal()


def test_the_program_outlives_a_killed_mover_and_resume_finishes(stage: Stage) -> None:
    fill(stage.local, 6, 2_000_000)
    script = f"cd {stage.local}; sleep 3; echo done > late"
    process = stage.begin("run", *stage.trees, *SLOW, "--", "sh", "-c", script)
    stage.wait_for_copying()
    process.kill()
    process.wait()
    wait_until((stage.local / "late").exists, "the program went on")
    resumed(stage)
    assert (stage.remote / "late").read_text() == "done\n"


def on_another_host(stage: Stage, *words: str | Path) -> str:
    """What a command says where the host has another name. Only the first process needs the right to give it one."""
    script = "import socket, subprocess, sys; socket.sethostname('elsewhere'); sys.exit(subprocess.call(sys.argv[1:]))"
    unshare = ["unshare", "--uts"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--uts"]
    done = subprocess.run(
        [*unshare, sys.executable, "-c", script, LAUNCHER, *words],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env=stage.shell.environment(XDG_RUNTIME_DIR=str(stage.shell.home / "elsewhere")),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def may_name_a_host() -> bool:
    words = (
        ["unshare", "--uts", "true"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--uts", "true"]
    )
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_name_a_host(), reason="no right to a host name of one's own")
def test_a_mover_that_was_killed_is_resumed_from_another_host_that_has_its_journal(stage: Stage) -> None:
    fill(stage.local, 4)
    stage("start", *stage.trees)
    stage("wait")
    stage("limit", "1MB/s")
    fill(stage.local / "later", 10, 2_000_000)
    stage.wait_for_copying()
    stage.kill()
    (stage.shell.home / "elsewhere").mkdir(mode=0o700)
    on_another_host(stage, "stage", "resume", "--wait", "--state", stage.state)
    stage.assert_equal()
    [manifest] = (stage.remote / ".tonnage-stage").glob("manifest-*")
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    hosts = {line["path"]: line["host"] for line in lines if line["kind"] == "file"}
    assert {hosts.pop(f"file{number}") for number in range(4)} == {socket.gethostname()}
    assert len(hosts) == 10 and "elsewhere" in hosts.values(), hosts


def test_a_source_whose_time_cannot_be_kept_stays_and_that_is_told(stage: Stage) -> None:
    for name in ("far", "near"):
        (stage.local / name).write_text(name)
    beyond_s = 10_413_792_000
    os.utime(stage.local / "far", (beyond_s, beyond_s))
    if int((stage.local / "far").stat().st_mtime) != beyond_s:
        pytest.skip("this file system keeps no time in the year 2300")
    stage("run", *stage.trees, "--delete", "done", "--", "true")
    assert (stage.local / "far").exists() and not (stage.local / "near").exists()
    status = stage.status()
    assert status["dropped_attributes"] == 1, status
    stage("run", *stage.trees, "--delete", "done", "--drop-attributes", "--", "true")
    assert not (stage.local / "far").exists()


def killed_at_a_copy(stage: Stage) -> list[Path]:
    """Starts a slow mover and kills it while it copies; the temporaries that it leaves."""
    stage("start", *stage.trees, *SLOW)
    wait_until(lambda: temporaries(stage) != [], "a copy is under way")
    stage.kill()
    return temporaries(stage)


def temporaries(stage: Stage) -> list[Path]:
    return list(stage.remote.rglob(".tonnage-*.part"))


@pytest.mark.parametrize("size", [2_000_000, 20_000_000])
@pytest.mark.parametrize("becomes", ["removed", "renamed", "of a renamed directory"])
def test_a_killed_mover_leaves_no_temporary_of_a_file_that_is_gone(stage: Stage, size: int, becomes: str) -> None:
    inner = stage.local / "inner"
    stage.local.mkdir(exist_ok=True)
    fill(inner, 3, size)
    assert killed_at_a_copy(stage)
    for path in [] if becomes == "of a renamed directory" else list(inner.iterdir()):
        path.unlink() if becomes == "removed" else path.rename(path.with_name(f"new-{path.name}"))
    if becomes == "of a renamed directory":
        inner.rename(stage.local / "new")
    resumed_elsewhere(stage)


def resumed_elsewhere(stage: Stage) -> None:
    """The same as ``resumed`` where names of before may still be at the destination."""
    (stage.state / "plan.json").write_text((stage.state / "plan.json").read_text().replace("1000000,", "null,"))
    stage("resume", "--wait", "--from", stage.local)
    assert temporaries(stage) == []
    there = contents(stage.remote)
    assert all(there[name] == found for name, found in contents(stage.local).items())


def test_a_wait_tells_what_was_removed_at_the_destination_since(stage: Stage) -> None:
    stage.run(program="echo one > a; echo two > b; echo three > c")
    stage("start", *stage.trees, "--name", "run7")
    assert "3 files, 14 B safe in" in stage("wait", "--name", "run7").out
    (stage.remote / "a").unlink()
    (stage.remote / "b").write_text("something else")
    said = stage("wait", "--name", "run7", check=1)
    assert "safe" not in said.out and f"3 files, 14 B were copied to {stage.remote}" in said.out
    assert "2 files were copied, and are no longer as they were: a, b; hint: `tonnage stage verify --to" in said.err


def test_a_resume_whose_journal_was_removed_does_not_say_that_nothing_was_begun(stage: Stage) -> None:
    stage.run(program="echo one > a")
    for left in stage.state.glob("journal*"):
        left.unlink()
    said = stage("resume", "--state", stage.state, check=2)
    assert "a mover was begun in" in said.err and "its journal is not there" in said.err
    assert "hint: begin with `tonnage stage start`" in said.err
    again = stage("resume", "--state", stage.shell.home, check=2)
    assert "nothing was begun in" in again.err


def test_each_failure_is_told_once_and_the_hint_of_a_wait_mends_them(stage: Stage) -> None:
    """More of them than are named; an end with failures is an end all the same."""
    stage.remote.mkdir()
    for number in range(103):
        (stage.local / f"f{number}").write_text("ours")
        (stage.remote / f"f{number}").write_text("of somebody else")
    stage("start", *stage.trees)
    said = stage("wait", "--from", stage.local, check=1)
    lines = said.err.splitlines()
    # More than a hundred are named where an early file fails late.
    named = sum(line.startswith("failed: f") for line in lines)
    assert len(lines) == len(set(lines)) and 100 <= named <= 103
    assert [line for line in lines if line.endswith(" more")] == [f"failed: {103 - named} more"] * (named < 103)
    for path in stage.remote.glob("f*"):
        path.unlink()
    *_, last = lines
    stop, resume = re.findall(r"`tonnage stage ([^`]*)`", last)
    stopped = stage(*stop.split(), check=1).err.splitlines()
    assert len(stopped) == len(set(stopped)) and "failed: 3 more" in stopped
    ended = stage("status", "--from", stage.local, check=1).out
    assert "does not run)" in ended and "103 files, 412 B failed" in ended
    assert "had not come to its end" not in stage("stop", "--from", stage.local, check=1).err
    stage(*resume.split())
    stage.assert_equal()


def blind(stage: Stage, *words: str | Path, code: int = 0) -> str:
    """What a command says on stderr that may read no more than modes say, as any user but root."""
    keep_out = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*keep_out, LAUNCHER, "stage", *words]
    done = subprocess.run(
        command, env=stage.environment(), cwd=stage.shell.home, check=False, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def test_a_directory_that_cannot_be_read_is_not_safe_while_the_mover_runs_and_after_its_end(stage: Stage) -> None:
    (stage.local / "closed").mkdir(mode=0o300)
    (stage.local / "closed" / "inside").write_text("ours")
    (stage.local / "open").write_text("ours")
    blind(stage, "start", *stage.trees)
    told = "failed: closed: cannot open directory closed: Permission denied; it is not staged"
    running = stage("wait", "--from", stage.local, check=1)
    assert told in running.err and "1 file, 0 B failed; hint: mend what is named above" in running.err
    assert "does not run" not in running.err
    assert told in stage("status", "--from", stage.local, check=1).out
    assert "1 file, 0 B failed" in stage("stop", "--from", stage.local, check=1).err
    ended = stage("status", "--from", stage.local, check=1)
    assert told in ended.out and stage("wait", "--from", stage.local, check=1).err.count(told) == 1
    elsewhere = stage("start", "--from", stage.local, "--to", stage.shell.home / "elsewhere", check=2)
    assert "which is not finished; hint: resume that first" in elsewhere.err
    (stage.local / "closed").chmod(0o700)
    stage("resume", "--wait", "--from", stage.local)
    stage.assert_equal()
    assert "failed" not in stage("status", "--from", stage.local).out


def test_directories_whose_modes_keep_the_user_out_are_staged_again(stage: Stage) -> None:
    """Of an ordinary user: the copy has such a mode as well, and what comes later is put into it."""
    closed, fixed = stage.local / "closed", stage.local / "fixed" / "inner"
    closed.mkdir(mode=0o000)
    fixed.mkdir(parents=True)
    (fixed / "early").write_text("ours")
    for path in (fixed, fixed.parent):
        path.chmod(0o500)
    assert "cannot open directory closed: Permission denied" in blind(stage, "run", *stage.trees, "--", "true", code=1)
    modes = {path: stat.S_IMODE((stage.remote / path).stat().st_mode) for path in ("closed", "fixed", "fixed/inner")}
    assert modes == {"closed": 0o000, "fixed": 0o500, "fixed/inner": 0o500}
    closed.chmod(0o700)
    fixed.chmod(0o700)
    for path in (closed / "late", fixed / "late"):
        path.write_text("ours")
    fixed.chmod(0o500)
    assert "closed" not in blind(stage, "resume", "--wait", "--from", stage.local)
    stage.assert_equal()
    assert stat.S_IMODE((stage.remote / "fixed" / "inner").stat().st_mode) == 0o500
    blind(stage, "run", *stage.trees, "--", "true")


def test_a_marker_stays_away_while_a_directory_of_its_set_cannot_be_read(stage: Stage) -> None:
    closed = stage.local / "set" / "closed"
    closed.mkdir(parents=True)
    (closed / "inside").write_text("ours")
    closed.chmod(0o300)
    (stage.local / "set" / "COMPLETE").write_text("")
    blind(stage, "start", *stage.trees, "--marker", "COMPLETE")
    waited = stage("wait", "--from", stage.local, check=1).err
    assert (
        "waits: set/COMPLETE: its set is not whole: 1 of it failed" in waited and "1 file, 0 B failed; hint" in waited
    )
    said = stage("stop", "--from", stage.local, check=1)
    assert "failed: set/COMPLETE: its set is not whole: 1 of it failed; mend that, then resume" in said.err
    assert not (stage.remote / "set" / "COMPLETE").exists() and (stage.remote / "set" / "closed").is_dir()
    closed.chmod(0o700)
    stage("resume", "--wait", "--from", stage.local)
    stage.assert_equal()


def test_more_threads_than_a_machine_has_are_refused(stage: Stage) -> None:
    said = stage("start", *stage.trees, "--workers", "100000", check=2)
    assert said.err == "tonnage: error: more than 256 workers; hint: give fewer, or let the mover find their number\n"
    assert not stage.remote.exists() and not stage.state.exists()


def test_a_copy_that_the_user_may_not_read_is_not_called_another(stage: Stage) -> None:
    (stage.local / "closed").mkdir(mode=0o000)
    blind(stage, "run", *stage.trees, "--", "true", code=1)
    (stage.local / "closed").rmdir()
    said = blind(stage, "verify", "--to", stage.remote, code=1)
    assert "cannot be read, and may be right; hint: verify as a user who may read" in said
    assert "not as the manifests say" not in said
