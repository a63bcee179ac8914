"""Runs a mover in this process until the application, the user or the batch system ends it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from signal import SIGINT
from types import TracebackType

from tonnage.errors import RequestError
from tonnage.staging.mover_host import Host, is_safe
from tonnage.staging.mover_status import LOOK_S, Movement, Status

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FROM_KERNEL = 0x80
"""``si_code`` of what a terminal sends to its whole foreground group."""


@dataclass(frozen=True, slots=True)
class EndRequest:
    """A request to end this process."""

    number: signal.Signals
    by_terminal: bool
    """The application in the same group has had it too."""


class Signals:
    """Use as a context, entered before any thread is started: they inherit that these signals are not theirs."""

    def __enter__(self) -> Signals:
        # A child's end wakes the wait as well.
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ENDING, signal.SIGCHLD})
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        while signal.sigtimedwait((*ENDING, signal.SIGCHLD), 0) is not None:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def wait(self, timeout_s: float) -> EndRequest | None:
        """Returns the request that came within the time; None also when a child has ended."""
        found = signal.sigtimedwait((*ENDING, signal.SIGCHLD), timeout_s)
        # Stopped and continued in the last moment of the wait, Python hands out what was never filled in.
        if found is None or found.si_signo not in ENDING:
            return None
        return EndRequest(signal.Signals(found.si_signo), found.si_code == _FROM_KERNEL)


class Application:
    """A child that waits at a gate until ``go``; its stdin, stdout, stderr and process group are ours."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Call before any thread is started. RequestError where the program cannot be found."""
        self.words = list(words)
        program = shutil.which(words[0], path=environment.get("PATH"))
        if program is None:
            raise RequestError(f"cannot find the program {words[0]!r}; hint: give its path after --")
        self._gate_in, self._gate = os.pipe()
        self._failure, self._failure_in = os.pipe()
        self.pid = os.fork()
        self.status: int | None = None
        """As a shell would say it: 128 + the number of a signal that ended it."""
        if self.pid == 0:
            self._become(program, environment)
        os.close(self._gate_in)
        os.close(self._failure_in)

    def go(self) -> None:
        """The program begins. RequestError where the system cannot execute it."""
        os.write(self._gate, b"g")
        os.close(self._gate)
        self._gate = -1
        said = os.read(self._failure, 16)
        os.close(self._failure)
        self._failure = -1
        if said:
            self._reap(0)
            number = int(said)
            raise RequestError(
                f"cannot execute {self.words[0]!r}: {os.strerror(number)}; hint: try it without `stage run`"
            )

    def give_up(self) -> None:
        """The program never begins."""
        for descriptor in (self._gate, self._failure):
            if descriptor >= 0:
                os.close(descriptor)
        self._gate = self._failure = -1
        self._reap(0)

    def has_ended(self) -> bool:
        """Looks; ``status`` is set once it is True."""
        if self.status is None:
            self._reap(os.WNOHANG)
        return self.status is not None

    def send(self, number: signal.Signals) -> None:
        """Passes a signal on. Its number cannot be another's: it is not reaped yet."""
        if self.status is None:
            os.kill(self.pid, number)

    def _reap(self, flags: int) -> None:
        if self.status is None:
            pid, status = os.waitpid(self.pid, flags)
            if pid:
                self.status = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def _become(self, program: str, environment: Mapping[str, str]) -> None:
        """In the child. Nothing of the parent's runs here but this."""
        try:
            os.close(self._gate)
            os.close(self._failure)
            if os.read(self._gate_in, 1) != b"g":
                os._exit(0)
            for number in (*ENDING, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execve(program, self.words, dict(environment))
        except OSError as error:
            os.write(self._failure_in, str(error.errno or errno.EIO).encode())
        finally:
            os._exit(127)


Tell = Callable[[Status], None]
"""Gets the status a few times a second."""

_NEAR_S = 0.05
"""Seconds between two checks while the end is near."""
_TOLD_S = 0.25


@dataclass(frozen=True, slots=True)
class Ended:
    """How a mover's life in this process went."""

    status: Status
    elapsed_ns: int
    moving_ns: int
    """The part of it in which something was moved."""
    asked: EndRequest | None
    """The request that ended it; None where it ended for another reason."""
    application: int | None = None
    """Its exit status as a shell would say it."""

    @property
    def exit_code(self) -> int:
        """The application's if it is not 0; 130 after Ctrl-C before the end; 1 where something is not safe."""
        if self.application:
            return self.application
        if self.application is None and self.is_interrupted:
            return 130
        return 0 if is_safe(self.status) else 1

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it before everything was done."""
        return self.asked is not None and self.asked.number == SIGINT and self.status["progress"] != "finished"


def attend(host: Host, tell: Tell, *, drain: bool) -> Ended:
    """Runs the mover: until everything is safe (``drain``), else until it is asked to end."""
    started = time.monotonic_ns()
    with Signals() as signals, host:
        host.start()
        host.mover.give_way_to(None)
        if drain:
            host.mover.drain()
        movement = Movement(started)
        asked = _until_ended(host, signals, tell, movement)
        return _ended(host, started, movement, asked)


def accompany(host: Host, application: Application, tell: Tell) -> Ended:
    """Runs the mover beside the application, and on until everything is safe; ``tell`` is called once that is over.

    A signal goes to the application as well, unless a terminal sent it to both. From then on the deadline counts.
    """
    started = time.monotonic_ns()
    with Signals() as signals, host:
        host.start()
        host.mover.give_way_to(application.pid)
        application.go()
        movement = Movement(started)
        asked, until_ns = _beside(host, application, signals, movement)
        if until_ns is not None:
            host.mover.stop(max(until_ns - time.monotonic_ns(), 0))
        elif host.plan.deadline_ns is not None:
            host.mover.stop(host.plan.deadline_ns)
        else:
            host.mover.drain()
        asked = _until_ended(host, signals, tell, movement) or asked
        return _ended(host, started, movement, asked, application.status)


def _ended(
    host: Host, started_ns: int, movement: Movement, asked: EndRequest | None, application: int | None = None
) -> Ended:
    status, now_ns = host.status(), time.monotonic_ns()
    movement.update(status, now_ns)
    return Ended(status, now_ns - started_ns, movement.moving_ns, asked, application)


def _beside(
    host: Host, application: Application, signals: Signals, movement: Movement
) -> tuple[EndRequest | None, int | None]:
    """Until the application has ended; the first request to end, and when the mover's time is over."""
    first: EndRequest | None = None
    until_ns: int | None = None
    while not application.has_ended():
        # The end of a child wakes it.
        asked = signals.wait(LOOK_S)
        movement.update(host.status(), time.monotonic_ns())
        if asked and not asked.by_terminal:
            application.send(asked.number)
        if asked and first is None:
            first, until_ns = asked, time.monotonic_ns() + host.plan.grace_ns
        elif asked or (until_ns is not None and time.monotonic_ns() > until_ns):
            until_ns = 0
            host.mover.stop(0)
    return first, until_ns


def _until_ended(host: Host, signals: Signals, tell: Tell, movement: Movement) -> EndRequest | None:
    """Until the mover has ended. Ctrl-C halts it, anything else gives it its time, a second one halts it."""
    first: EndRequest | None = None
    told_ns, near = 0, True
    while not host.has_ended():
        status = host.status()
        movement.update(status, time.monotonic_ns())
        if time.monotonic_ns() - told_ns > _TOLD_S * 1e9:
            tell(status)
            told_ns, near = time.monotonic_ns(), status["progress"] == "draining"
        asked = signals.wait(_NEAR_S if near else LOOK_S)
        if asked:
            halt = first is not None or asked.number == SIGINT
            host.mover.stop(0 if halt else host.plan.grace_ns)
            first, near = first or asked, True
    return first
