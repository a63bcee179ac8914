"""``kind = "command"`` as a user runs it: real programs, their failures, and what is left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from .shell import Said, Shell

PACK = """\
target = "{target}"
order = "given"
[workload]
kind = "command"
argv = ["sh", "-c", "gzip < input > packed.$TONNAGE_COPY; echo packed {{copy}}"]
copies = 50
tasks = [1, 8]
keep_output = true
prepare = ["sh", "-c", "head -c 300000 /dev/zero > input; echo $TONNAGE_TASKS >> prepared"]
cleanup = ["sh", "-c", "ls packed.* | wc -l >> counted"]
[repeat]
count = 1
"""


def lines(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


def campaign(shell: Shell, **workload: Any) -> Path:
    keys = {"kind": "command", "copies": 1, "tasks": 1, **workload}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return shell.write("command.toml", f'target = "{shell.data}"\n[repeat]\ncount = 1\n[workload]\n{text}')


def test_fifty_copies_alone_and_eight_wide_with_their_hooks_and_output(shell: Shell) -> None:
    shell("run", shell.write("pack.toml", PACK.format(target=shell.data)), "--out", "run")
    run = shell.home / "run"
    trials = lines(run, "trials.jsonl")
    assert [(line["record"], line["status"], line["operations"]) for line in trials] == [
        ("0000-command", "ok", 50),
        ("0001-command", "ok", 50),
    ]
    copies = lines(run, "copies.jsonl")
    assert len(copies) == 100 and all(copy["exit_code"] == 0 for copy in copies)
    assert all(copy["read_call_bytes"] >= 300_000 for copy in copies)
    assert (run / "output/0001-command/49.out").read_text() == "packed 49\n"
    assert (shell.data / "prepared").read_text().split() == ["1", "8"]
    assert (shell.data / "counted").read_text().split() == ["50", "50"], "no file of the user's was removed"
    assert shell("verify", "run").code == 0
    (run / "copies.jsonl").write_text("".join(json.dumps({**copy, "exit_code": 1}) + "\n" for copy in copies))
    assert "operations is 50 in trials.jsonl, and 0 from copies.jsonl" in shell("verify", "run", check=1).out


def test_a_copy_that_fails_fails_the_trial_with_its_last_words(shell: Shell) -> None:
    line = "[ $TONNAGE_COPY != 2 ] || { echo it is broken >&2; exit 4; }"
    file = campaign(shell, argv=["sh", "-c", line], copies=9, keep_output=True)
    said = shell("run", file, "--out", "run", check=1)
    (trial,) = lines(shell.home / "run", "trials.jsonl")
    assert trial["reason"] == "1 copy failed: copy 2 ended with exit code 4: it is broken"
    assert "copy 2 ended with exit code 4: it is broken" in said.err
    assert (trial["operations"], trial["errors"]) == (2, 1)


def test_arguments_reach_the_program_as_they_stand_in_the_file(shell: Shell) -> None:
    odd = ["two  words", 'it\'s "quoted"', "a\nb", "$HOME", "`id`", "*", ""]
    program = "import json, sys; json.dump(sys.argv[1:], sys.stdout)"
    shell("run", campaign(shell, argv=["python3", "-c", program, *odd], keep_output=True), "--out", "run")
    assert json.loads((shell.home / "run/output/0000-command/0.out").read_text()) == odd


def test_a_program_that_is_not_there_or_a_string_is_refused_and_nothing_is_written(shell: Shell) -> None:
    said = shell("run", campaign(shell, argv=["no-such-tool"]), "--out", "run", check=2)
    assert said.err.endswith("there is no program 'no-such-tool'; hint: give its path, or put it in PATH\n")
    said = shell("run", campaign(shell, argv="gzip -k file"), "--out", "run", check=2)
    assert 'hint: write ["gzip", "-k", "file"]' in said.err
    assert not (shell.home / "run").exists()


def test_a_hook_that_fails_is_told_and_decides_where_it_comes_first(shell: Shell) -> None:
    bad = ["sh", "-c", "echo no room >&2; exit 3"]
    said = shell("run", campaign(shell, argv=["touch", "ran"], prepare=bad), "--out", "before", check=1)
    assert "prepare ended with exit code 3: no room" in said.err
    assert not (shell.data / "ran").exists()
    said = shell("run", campaign(shell, argv=["touch", "ran"], cleanup=bad), "--out", "after")
    assert "cleanup ended with exit code 3: no room" in said.err
    (event,) = [event for event in lines(shell.home / "after", "events.jsonl") if event["kind"] == "hook-failed"]
    assert event["message"] == "cleanup ended with exit code 3: no room"


def living(mark: str) -> list[str]:
    """Command lines of the live processes that hold ``mark``."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in text and "command.toml" not in text:
            found.append(text)
    return found


def test_ctrl_c_leaves_no_process_and_the_users_files(
    shell: Shell, interrupt: Callable[[subprocess.Popen[str], signal.Signals], Said]
) -> None:
    argv = ["sh", "-c", "touch mine.{copy}; sleep 8643.25 & sleep 8643.25"]
    process = shell.start("run", campaign(shell, argv=argv, copies=100, tasks=3), "--out", "run")
    while len(living("sleep\0" + "8643.25")) < 6:
        assert process.poll() is None
        time.sleep(0.01)
    assert interrupt(process, signal.SIGINT).code == 130
    assert living("8643.25") == []
    assert sorted(path.name for path in shell.data.iterdir()) == ["mine.0", "mine.1", "mine.2"]
    (trial,) = lines(shell.home / "run", "trials.jsonl")
    assert (trial["status"], trial["errors"]) == ("interrupted", 0)


def test_copies_of_a_killed_run_are_asked_to_end(shell: Shell) -> None:
    process = shell.start("run", campaign(shell, argv=["sleep", "8644.75"], copies=4, tasks=4), "--out", "run")
    while len(living("8644.75")) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    while living("8644.75"):
        time.sleep(0.01)


@pytest.mark.parametrize("room", ["output", "heat"])
def test_what_a_record_promises_and_lost_while_it_ran_ends_the_run_with_an_error(shell: Shell, room: str) -> None:
    run = shell.home / "run"
    file = campaign(shell, argv=["rm", "-r", str(run / room)], keep_output=True)
    said = shell("run", file, "--out", "run", "--no-report", check=1)
    assert f"run/{room}/0000-command" in said.err and "it was removed while its phase ran" in said.err
    assert json.loads((run / "manifest.json").read_text())["state"] == "running"
    assert lines(run, "trials.jsonl") == []


def test_what_a_child_says_after_its_copy_ended_alters_nothing_that_was_kept(shell: Shell) -> None:
    words = "(until test -e told; do sleep 0.01; done; echo late; : > said) & echo hello"
    file = campaign(shell, argv=["sh", "-c", words], keep_output=True)
    shell("run", file, "--out", "run", "--no-report")
    (shell.data / "told").touch()
    wait_until((shell.data / "said").exists, "the child said its words")
    assert (shell.home / "run/output/0000-command/0.out").read_text() == "hello\n"
    assert list((shell.home / "run/output/0000-command").glob(".*")) == []
    assert "sealed: " in shell("verify", "run").out
