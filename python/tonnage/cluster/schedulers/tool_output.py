"""Checks the output of a scheduler's tools: unexpected output is an error with its text, never an empty list. Of a
failed submission it finds whether the scheduler refused it; otherwise the job may exist.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from tonnage.cluster.hostlist import how_many, unfold
from tonnage.cluster.scheduler import Job, NoSuchQueue, Scheduler, SchedulerError, SubmissionUnknown
from tonnage.machine.site_tools import ToolError, ToolMissing, ToolSilent
from tonnage.machine.user_state import user_name

_SHOWN = 100
"""Characters of an answer that an error shows."""
_MOST_HOSTS = 1 << 20
"""A few words can stand for more names than memory holds."""
_LATEST_S = 1 << 36
"""Beyond that, in seconds since 1970, no job has a time."""
_SHELLS = 125
"""Statuses above it are a shell's or ``timeout``'s, of a program that was killed or never began."""
_LOST = re.compile(
    r"tim(?:ed|e)[- ]?out|Zero Bytes|(?:receive|send|shutdown) failure|Message receive|Unexpected message"
    r"|sending/receiving|Connection reset|Connection aborted|Broken pipe|lost connection|Premature end|End of File"
    r"|protocol error",
    re.IGNORECASE,
)
"""In any scheduler's words for an answer that did not come, though the question may have arrived."""


Record = Mapping[str, Any]
"""A JSON object as a tool printed it, whose keys may be missing or of any type."""


class Nonsense(SchedulerError):
    """A tool answered with what it was not asked for."""

    def __init__(self, tool: str, what: str, text: str) -> None:
        """``what`` it was asked for; ``text`` as it was printed: what a terminal would obey is escaped."""
        super().__init__(f"{tool} printed what is no {what}: {text.strip()[:_SHOWN]!a}")


def document(text: str, tool: str, what: str) -> Record:
    """A JSON object; empty where nothing was printed. Nonsense for all else."""
    try:
        found = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Nonsense(tool, what, text)
    return found


def moment(value: object) -> float | None:
    """Seconds since 1970; None for what is no time of a job."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 <= found < _LATEST_S else None


def hosts(text: str) -> tuple[str, ...]:
    """Those of ``a[1-3],b``. ValueError where they are more than any cluster has."""
    if how_many(text) > _MOST_HOSTS:
        raise ValueError(f"more than {_MOST_HOSTS} hosts")
    return unfold(text)


def with_key(scheduler: Scheduler, key: str) -> Job | None:
    """The job that this user submitted with that key: others can choose the same."""
    me = user_name()
    jobs = scheduler.jobs(user=me, ended=True)
    return next((job for job in jobs if job.key == key and job.user == me), None)


class Refusals:
    """How one scheduler's tool says that it took nothing."""

    def __init__(self, words: str, *, no_queue: str | None = None) -> None:
        """``words``: a pattern for a line of its standard error; ``no_queue``: a part of what it says of a queue
        that is not there."""
        self._words = re.compile(words, re.MULTILINE | re.IGNORECASE)
        self._no_queue = no_queue

    def is_clear(self, error: ToolError) -> bool:
        """Returns whether the tool never ran, or ended by itself with a refusal in its own words."""
        if isinstance(error, ToolSilent):
            return False
        if error.status is None:
            return True
        ended = 0 < error.status <= _SHELLS
        return ended and self._words.search(error.errors) is not None and _LOST.search(error.errors) is None

    def scheduler_error(self, error: ToolError) -> SchedulerError:
        """Returns the error as :meth:`of` does, in the words of the first line."""
        return self.of(error, f"the scheduler refused: {error}" if self.is_clear(error) else str(error))

    def of(self, error: ToolError, text: str) -> SchedulerError:
        """Returns the error to raise for a failed submission; ``text``: the message for the user."""
        if not self.is_clear(error):
            return SubmissionUnknown(text)
        is_queue = self._no_queue is not None and self._no_queue in error.output
        return (NoSuchQueue if is_queue else SchedulerError)(text)


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
