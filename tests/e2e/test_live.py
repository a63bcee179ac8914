"""What a user at a terminal sees while a run goes on."""

from __future__ import annotations

import os
import pty
import re

from .shell import LAUNCHER, Shell


def on_a_terminal(shell: Shell, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and everything that reached the terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(shell.home)
        plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        os.execve(
            LAUNCHER, ["tonnage", *arguments], {**plain, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
        )
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen.decode(errors="replace")


def test_a_terminal_shows_trial_rate_latency_times_and_the_curve_so_far(shell: Shell) -> None:
    code, seen = on_a_terminal(shell, "probe", str(shell.data), "--budget", "3s", "--max-tasks", "3", "--no-report")
    assert code == 0, seen
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    for expected in ("trial ", "now ", "p99 ", "running", "elapsed 0:0", "left 0:0", "median throughput by tasks", "█"):
        assert expected in text
    # The panel is gone at the end: the last thing on the terminal is the result.
    assert "elapsed" not in text[text.rindex("read: ") :]


def test_a_terminal_without_colour_or_cursor_gets_plain_lines(shell: Shell) -> None:
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, seen = on_a_terminal(
            shell, "probe", "sim:knee=2", "--op", "write", "--max-tasks", "4", "--no-report", **environment
        )
        assert code == 0, seen
        assert "\x1b" not in seen
        assert seen.count("-write ") >= 3
