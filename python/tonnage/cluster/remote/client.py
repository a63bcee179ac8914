"""A host group of processes on other hosts, each at the end of pipes. One thread moves the bytes of all of them."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import re
import selectors
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import tonnage
from tonnage.cluster.host_group import Alone, Answer, Arguments, HostGroup
from tonnage.cluster.remote.host_process import HostProcess
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
from tonnage.errors import RequestError

_HOST = re.compile(r"(?:[\w.-]+@)?[\w\[][\w.:\[\]%-]*", re.ASCII)


def here(_host: str, _start_s: float) -> list[str]:
    """Connects to this host itself."""
    return ["sh", "-s"]


def ssh(host: str, start_s: float) -> list[str]:
    """``[USER@]HOST``, which must let this user in without a question. This host needs no ssh."""
    if host in (platform.node(), "localhost"):
        return here(host, start_s)
    options = ["-T", "-x", "-a", "-oBatchMode=yes", f"-oConnectTimeout={max(1, round(start_s))}"]
    # A host that is cut off is noticed after 30 s.
    alive = ["-oServerAliveInterval=10", "-oServerAliveCountMax=3"]
    return ["ssh", *options, *alive, "--", host, "exec sh -s"]


def srun(host: str, start_s: float, queue: str | None = None) -> list[str]:
    """A step of the job around us, or a job of its own where there is none, in this queue: one task, which shares what
    others have."""
    step = ["srun", f"--nodelist={host}", "--nodes=1", "--ntasks=1", "--job-name=tonnage-agent", "--mpi=none"]
    alone = [f"--immediate={max(1, round(start_s))}", *([] if queue is None else [f"--partition={queue}"])]
    inside = ["--overlap"] if in_a_job() else alone
    return [*step, *inside, "--cpu-bind=none", "--quiet", "sh", "-s"]


def in_a_job() -> bool:
    """Whether this process runs inside a Slurm job."""
    return "SLURM_JOB_ID" in os.environ


def check(host: str) -> str:
    """The host's name; RequestError where it can be none."""
    if not _HOST.fullmatch(host):
        raise RequestError(f"{host!r} is no host's name; hint: write HOST or USER@HOST, several with commas between")
    return host


def first_line() -> bytes:
    """For the shell: this very Python and package where the host has them, else the ``tonnage`` of its ``PATH``."""
    package = Path(tonnage.__file__).resolve().parent
    isolated = ["-I"] if sys.flags.isolated else []
    words = [sys.executable, *isolated, "-m", "tonnage.cli", "agent"]
    if not isolated and (path := os.environ.get("PYTHONPATH")):
        absolute = os.pathsep.join(str(Path(entry).absolute()) for entry in path.split(os.pathsep) if entry)
        words = ["env", f"PYTHONPATH={absolute}", *words]
    program, directory = shlex.quote(sys.executable), shlex.quote(str(package))
    return os.fsencode(f"[ -x {program} ] && [ -d {directory} ] && exec {shlex.join(words)}; exec tonnage agent\n")


START_S = 30.0
"""Seconds in which a host must answer: longer than a login on a busy host takes."""
END_S = 8.0
"""For all hosts together to end what they started, before they are ended from here."""
_TERM_S = 1.0
"""Between SIGTERM, which lets a scheduler's command take its step back, and SIGKILL."""
_LOOK_S = 0.02


class RemoteHostGroup:
    """One process on each host. A host that cannot be reached, or is lost, has a problem from then on, and no other one
    waits for it. ``close`` ends them all, within 10 s."""

    def __init__(self, hosts: Sequence[str], way: Callable[[str], Sequence[str]], *, start_s: float = START_S) -> None:
        """Starts them all at once and returns when each is there or has a problem, after ``start_s`` at the latest."""
        self.hosts: Sequence[str] = tuple(dict.fromkeys(hosts))
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._closing = False
        self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._silent: dict[HostProcess, float] = {}
        """Those whose outputs are closed, until when their status is waited for."""
        self._processes: dict[str, HostProcess] = {}
        self._listener = threading.Thread(target=self._listen, name="remote hosts", daemon=True)
        try:
            for host in self.hosts:
                self._processes[host] = there = HostProcess(way(host), first_line())
                if there.process is not None:
                    assert there.process.stdout and there.process.stderr
                    for pipe in (there.process.stdout, there.process.stderr):
                        self._selector.register(pipe.fileno(), selectors.EVENT_READ, there)
            self._listener.start()
            self._wait_ready(start_s)
        except BaseException:
            self.close()
            raise

    def _wait_ready(self, start_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(one.ready or one.problem for one in self._processes.values()), start_s)
            for there in self._processes.values():
                if not there.ready and not there.problem:
                    there.problem = f"it did not answer within {start_s:g} s"
                    there.signal(signal.SIGTERM)

    @property
    def problems(self) -> dict[str, str]:
        """Host → why it does not answer."""
        with self._changed:
            return {host: there.problem for host, there in self._processes.items() if there.problem is not None}

    @property
    def nodes(self) -> dict[str, str]:
        """Host → what it calls itself, of those that are there."""
        with self._changed:
            return {host: there.hello["host"] for host, there in self._processes.items() if there.hello is not None}

    def ask(self, service: str, arguments: Mapping[str, Arguments], *, timeout_s: float) -> dict[str, Answer]:
        """As ``HostGroup.ask``; threads may ask at once. A service that is late goes on; its answer is dropped."""
        until_s = time.monotonic() + timeout_s
        found: dict[str, Answer] = {}
        waiting: dict[str, int] = {}
        with self._changed:
            for host, given in arguments.items():
                if host not in self._processes:
                    found[host] = Answer(problem=f"{host} is none of the hosts of this host_group")
                    continue
                waiting[host] = next(self._numbers)
                if self._processes[host].problem is None:
                    self._processes[host].ask(waiting[host], service, dict(given))
            self._nudge()
            while waiting:
                for host, number in list(waiting.items()):
                    there = self._processes[host]
                    if number in there.answers or there.problem is not None:
                        found[host] = there.answers.pop(number, Answer(problem=there.problem))
                        del waiting[host]
                left_s = until_s - time.monotonic()
                if not waiting or left_s <= 0:
                    break
                self._changed.wait(left_s)
            for host, number in waiting.items():
                self._processes[host].forget(number)
                found[host] = Answer(problem=f"it did not answer within {timeout_s:g} s ({service})")
        return {host: found[host] for host in arguments}

    def close(self) -> None:
        """Ends every far end with what it started; those that do not go in time are ended from here."""
        with self._changed:
            self._closing = True
            self._nudge()
        if self._listener.ident is not None:
            self._listener.join()
        for there in self._processes.values():
            there.let_go()
        for number, patience_s in ((None, END_S), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _TERM_S)):
            for there in self._processes.values():
                if number is not None:
                    there.signal(number)
            self._wait_ended(patience_s)
        self._selector.close()
        for there in self._processes.values():
            if there.process is not None:
                for pipe in (there.process.stdout, there.process.stderr):
                    if pipe is not None:
                        pipe.close()
        for descriptor in (self._woken, self._wake):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _wait_ended(self, patience_s: float) -> None:
        """Until all have ended; reads what they still say, so that no full pipe holds one back."""
        until_s = time.monotonic() + patience_s
        while left := [there for there in self._processes.values() if there.process and there.process.poll() is None]:
            if time.monotonic() > until_s:
                return
            for key, _ in self._selector.select(_LOOK_S):
                if isinstance(key.data, HostProcess) and key.data in left and not key.data.hear(key.fd):
                    self._selector.unregister(key.fd)

    def __enter__(self) -> RemoteHostGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _nudge(self) -> None:
        """Wakes the listener: there is something to send, or the group closes."""
        with contextlib.suppress(OSError):
            os.write(self._wake, b".")

    def _listen(self) -> None:
        """The loop of the thread."""
        while not self._closing:
            self._offer()
            for key, events in self._selector.select(_LOOK_S if self._silent else None):
                with self._changed:
                    self._move(key, events)
                    self._changed.notify_all()
            self._bury()

    def _move(self, key: selectors.SelectorKey, events: int) -> None:
        there = key.data
        if there is None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, 1 << 12)
        elif events & selectors.EVENT_WRITE:
            there.send()
        elif not there.hear(key.fd):
            self._selector.unregister(key.fd)
            if there.process.stdout.fileno() not in self._selector.get_map():
                self._silent.setdefault(there, time.monotonic() + 1)

    def _offer(self) -> None:
        """Polls for room in the pipes of the processes that have something to send, and of no others."""
        with self._changed:
            for there in self._processes.values():
                if there.process is None or there.process.stdin is None:
                    continue
                pipe = there.process.stdin.fileno()
                watched = pipe in self._selector.get_map()
                if there.has_unsent and not watched:
                    self._selector.register(pipe, selectors.EVENT_WRITE, there)
                elif watched and not there.has_unsent:
                    self._selector.unregister(pipe)

    def _bury(self) -> None:
        """Reports the processes that have ended, as soon as their status is known."""
        for there, until_s in list(self._silent.items()):
            status = there.process.poll() if there.process else None
            if status is not None or time.monotonic() > until_s:
                del self._silent[there]
                with self._changed:
                    there.ended(status)
                    self._changed.notify_all()


CONNECTIONS = ("alone", "ssh", "slurm", "mpi")
"""``alone``: this host only; ``ssh``; ``slurm``: steps of the job around, or jobs; ``mpi``: processes of mpiexec."""


@contextlib.contextmanager
def remote_hosts(name: str, hosts: Sequence[str], *, start_s: float = START_S) -> Iterator[HostGroup]:
    """A host group on ``hosts`` for as long as the context lasts. RequestError for a way or a host's name
    that cannot be.

    A host that is not there within ``start_s`` has a problem in each answer; ``hosts`` of the group name it all the
    same.
    """
    if name == "alone":
        yield Alone()
    elif name == "mpi":
        from tonnage.cluster.launcher_by_name import launcher

        yield launcher("mpi").host_group
    elif name in CONNECTIONS:
        for host in hosts:
            check(host)
        queues = _queues() if name == "slurm" and not in_a_job() else {}

        def way(host: str) -> Sequence[str]:
            return ssh(host, start_s) if name == "ssh" else srun(host, start_s, queues.get(host))

        with RemoteHostGroup(hosts, way, start_s=start_s) as host_group:
            yield host_group
    else:
        raise RequestError(f"there is no way {name!r} to hosts; hint: choose one of {', '.join(CONNECTIONS)}")


def _queues() -> dict[str, str]:
    """Host → a queue that takes jobs for it, the default one where it is among them; empty where Slurm does not tell:
    srun says then what is wrong."""
    try:
        every = sorted(scheduler("slurm").queues(), key=lambda queue: queue.default)
    except SchedulerError:
        return {}
    return {host: queue.name for queue in every if queue.open for host in queue.hosts}
