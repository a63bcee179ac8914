"""Runs a program in the foreground of this terminal and waits for its end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from tonnage.machine.site_tools import ToolError, ToolMissing

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Signals sent to this process alone. Ctrl-C and Ctrl-\\ go to all of the terminal's foreground by themselves."""
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


def run_in_foreground(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    started: Callable[[int], object] = lambda _: None,
    deliver: Callable[[int], bool] | None = None,
) -> int:
    """Its exit status, 128 + n where signal n ended it. Input, output and signals are this process's own.

    ``started`` is called with the program's process. ``deliver`` passes a signal on in its own way, where the program
    represents another one that runs elsewhere; the program itself gets those for which it is False. ToolMissing or
    ToolError where the program cannot be started.
    """
    kept = {number: signal.getsignal(number) for number in (*_PASSED_ON, *_FROM_TERMINAL)}
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if not child:
            early.append(number)
        elif number in _FROM_TERMINAL and _has_terminal():
            pass
        elif deliver is None or not deliver(number):
            child[0].send_signal(number)

    try:
        # A handler, unlike an ignored signal, is not inherited.
        for number in kept:
            signal.signal(number, pass_on)
        try:
            given = None if environment is None else dict(environment)
            child.append(subprocess.Popen(list(argv), env=given, cwd=directory))
        except FileNotFoundError as error:
            if error.filename != argv[0]:
                raise ToolError(f"{argv[0]} cannot be run: {error.strerror} ({error.filename})") from None
            raise ToolMissing(f"{argv[0]} is not installed here") from None
        except PermissionError:
            raise ToolError(f"{argv[0]} cannot be run: it is not executable") from None
        except OSError as error:
            raise ToolError(f"{argv[0]} cannot be run: {error.strerror}") from None
        for missed in early:
            child[0].send_signal(missed)
        started(child[0].pid)
        status = child[0].wait()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


def _has_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, which sends the signals of its keys to all foreground
    processes."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
