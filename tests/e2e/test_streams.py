"""What a user does to the streams of a command, and what names do to a terminal, takes nothing from the records."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from .shell import DEADLINE_S, LAUNCHER, Shell

CAMPAIGN = 'target = "sim:knee=2"\nseed = 9\n[workload]\ntasks = 1\nblock_size = "1MiB"\n[repeat]\ncount = 2\n'
ODD = "\x1b[31mred\x9b2J\u202eturned[bold]\nline"
"""A directory's name: what colours a terminal, clears it, turns its text, is markup of rich, or begins a line."""


def through_a_shell(shell: Shell, ending: str) -> subprocess.CompletedProcess[str]:
    shell.write("c.toml", CAMPAIGN)
    line = f"'{LAUNCHER}' run c.toml --out run --no-report {ending}"
    return subprocess.run(
        ["bash", "-c", line], cwd=shell.home, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (">&-", 0),
        ("2>&-", 0),
        (">&- 2>&- <&-", 0),
        ("2>/dev/full", 0),
        (">/dev/full", 1),
        ("2>&1 | head -1; exit ${PIPESTATUS[0]}", 1),
        ("| true; exit ${PIPESTATUS[0]}", 1),
    ],
)
def test_a_stream_that_takes_nothing_takes_no_record_and_ends_in_no_traceback(
    shell: Shell, ending: str, code: int
) -> None:
    done = through_a_shell(shell, ending)
    assert "Traceback" not in done.stderr + done.stdout and "Exception ignored" not in done.stderr
    assert done.returncode == code, done.stderr
    if ending == ">/dev/full":
        assert "standard output cannot be written: No space left on device; hint: " in done.stderr
    run = shell.home / "run"
    assert json.loads((run / "manifest.json").read_text())["state"] == "complete"
    assert "sealed: the SHA-256" in shell("verify", run).out
    for file in run.glob("*.jsonl"):
        assert all(json.loads(line) for line in file.read_text().splitlines()), "no word of a stream went into a record"


def test_names_with_control_characters_reach_no_terminal_as_they_are(shell: Shell) -> None:
    target = shell.data / ODD
    target.mkdir()
    said = shell("probe", target, "--budget", "3s", "--max-tasks", "3", "--no-keep")
    (run,) = shell.runs
    for text in (said.out, said.err, shell("report", run).out, shell("verify", shell.home / ODD, check=2).err):
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)
    assert "red\\x9b2J\\u202eturned[bold]\\nline" in said.err, "markup is text, and a newline begins no line"
    assert json.loads((run / "manifest.json").read_text())["target"]["path"] == str(target), "records have it as it is"
    json.loads(shell("report", run, "--json").out)


def test_a_target_that_is_no_utf_8_is_refused_in_our_words(shell: Shell) -> None:
    target = os.fsencode(shell.data) + b"/\xff"
    os.mkdir(target)  # noqa: PTH102 - a name of bytes
    done = subprocess.run([LAUNCHER, "probe", target], cwd=shell.home, capture_output=True, check=False)
    assert done.returncode == 2 and b"is not UTF-8" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr


def test_a_run_directory_may_be_called_anything(shell: Shell) -> None:
    shell.write("c.toml", CAMPAIGN)
    name = os.fsencode(shell.home) + b"/run \xff \x1b[2J\n"
    words: list[list[bytes | Path]] = [
        [b"run", b"c.toml", b"--no-report", b"--out", name],
        [b"verify", name],
        [b"report", name],
    ]
    for one in words:
        done = subprocess.run([LAUNCHER, *one], cwd=shell.home, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout + done.stderr
