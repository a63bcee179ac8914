"""The caller's side of the process on one host: requests sent, answers received, and its problem."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

from tonnage import __version__
from tonnage.cluster.host_group import Answer, Arguments
from tonnage.cluster.remote.agent import HELLO, MOST_LINE, MOST_NOISE, Hello, Reply, Request, line, read

_MOST_UNSENT = 64 << 20
_MOST_ERRORS = 16 << 10
_CHUNK = 1 << 18
_NO_TONNAGE = "there is no Tonnage; hint: install it there as here, or where all hosts see it"


class HostProcess:
    """A process on a host. Nothing here waits: the host group's listener moves bytes as a pipe takes or gives some."""

    def __init__(self, argv: Sequence[str], first_line: bytes) -> None:
        self.name = argv[0]
        """The program that connects to the host (``ssh``, ``srun``), for error messages."""
        self.problem: str | None = None
        """Why it will not answer any more; None: it may."""
        self.hello: Hello | None = None
        self.answers: dict[int, Answer] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self._asked: set[int] = set()
        self._unsent = bytearray(first_line)
        self._heard = bytearray()
        self._noise = bytearray()
        self._errors = bytearray()
        try:
            # A session of its own: a Ctrl-C is for us, and all of it can be ended at once.
            self.process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except FileNotFoundError:
            self.problem = f"{argv[0]} is not installed here"
        except OSError as error:
            self.problem = f"{argv[0]} cannot be run: {error.strerror}"
        else:
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                assert pipe
                os.set_blocking(pipe.fileno(), False)

    @property
    def ready(self) -> bool:
        return self.hello is not None and self.problem is None

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent) and self.problem is None

    def ask(self, number: int, service: str, arguments: Arguments) -> None:
        """Puts a request on its way."""
        if len(self._unsent) > _MOST_UNSENT:
            self.problem = "it takes no requests any more"
            return
        self._asked.add(number)
        self._unsent += line(Request(id=number, service=service, arguments=arguments))

    def forget(self, number: int) -> None:
        """Drops its answer, should it arrive."""
        self._asked.discard(number)
        self.answers.pop(number, None)

    def send(self) -> None:
        """Sends as much as the pipe takes now."""
        assert self.process and self.process.stdin
        try:
            sent = os.write(self.process.stdin.fileno(), self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            # The process has ended; its outputs and its status say why.
            self._unsent.clear()
            return
        del self._unsent[:sent]

    def hear(self, descriptor: int) -> bool:
        """Reads what is available on one of its outputs; False at its end."""
        assert self.process and self.process.stderr
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        if descriptor == self.process.stderr.fileno():
            self._errors = (self._errors + chunk)[-_MOST_ERRORS:]
        elif self.problem is None:
            self.take(chunk)
        return bool(chunk)

    def take(self, chunk: bytes) -> None:
        """Takes bytes of the remote process: answers, or a problem where they are no answers."""
        self._heard += chunk
        lines: list[bytearray] = []
        if b"\n" in chunk:
            *lines, self._heard = self._heard.split(b"\n")
        for raw in lines:
            if self.problem is None:
                self._take_line(bytes(raw))
        if len(self._heard) > (MOST_NOISE if self.hello is None else MOST_LINE):
            self.problem = "what answers there is no Tonnage: its lines do not end"

    def _take_line(self, raw: bytes) -> None:
        try:
            if self.hello is not None:
                self._take_answer(read(raw))
            elif raw.startswith(HELLO):
                self._greet(read(raw[len(HELLO) :]))
            else:
                self._noise += raw + b"\n"
                if len(self._noise) > MOST_NOISE:
                    self.problem = f"what answers there is no Tonnage: it says {_shown(raw)}"
        except (ValueError, KeyError, TypeError):
            self.problem = f"its answer is none: {_shown(raw)}"

    def _greet(self, hello: Hello) -> None:
        version = str(hello["version"])
        if version != __version__:
            self.problem = f"it has Tonnage {version}, and {__version__} asks; hint: install the same on both"
        self.hello = {**hello, "version": version, "host": str(hello["host"])}

    def _take_answer(self, reply: Reply) -> None:
        number, problem = reply["id"], reply["problem"]
        if number in self._asked:
            self._asked.discard(number)
            self.answers[number] = Answer(reply["value"], None if problem is None else str(problem))

    def ended(self, status: int | None) -> None:
        """Its pipes are closed: says why, from what it left."""
        if self.problem is not None:
            return
        last = _last(self._errors) or _last(self._noise)
        last_line = f": {last}" if last else ""
        if self.hello is not None:
            how = (
                f"with status {status}" if status and status > 0 else f"by signal {-status}" if status else "of itself"
            )
            self.problem = f"it ended {how}{last_line}"
        elif status == 127 or "No module named" in last:
            self.problem = _NO_TONNAGE
        else:
            self.problem = (
                f"{self.name} failed with status {status}{last_line}" if status else f"{self.name} ended{last_line}"
            )

    def let_go(self) -> None:
        """Closes its pipe, which ends the remote process."""
        self._unsent.clear()
        if self.process and self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """To all of it that is on this host."""
        if self.process and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)


def _last(raw: bytes | bytearray) -> str:
    lines = [text.strip() for text in raw.decode("utf-8", "replace").splitlines() if text.strip()]
    return lines[-1][:500] if lines else ""


def _shown(raw: bytes) -> str:
    return repr(raw[:80].decode("utf-8", "replace"))
