"""The user's program under ``stage run``: its PID is known before it begins, so that the mover can watch it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Mapping, Sequence

from tonnage.errors import RequestError
from tonnage.staging.signals import ENDING


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
