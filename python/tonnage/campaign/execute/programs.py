"""Programs on the hosts of a host group: started in rounds, waited for with limits, and gone whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from tonnage.cluster.host_group import HostGroup
from tonnage.errors import MeasurementError

ANSWER_S = 30.0
"""A host that has not answered so long after it should have is given up."""
_LOOK_S = 0.2
_CLOCK_LOOKS = 5


@dataclass(slots=True)
class Program:
    """One that was started on a host, and the last that was told of it (service ``await-program``)."""

    host: str
    argv: Sequence[str]
    port: int = 0
    """At which it listens; 0: at none."""
    handle: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return bool(self.told) and not self.told["running"]

    def last_words(self) -> str:
        """How it ended, and the last line that it printed to its errors."""
        status = self.told.get("status")
        lines = [line.strip() for line in str(self.told.get("err", "")).splitlines() if line.strip()]
        how = (
            "it was lost"
            if status is None
            else f"signal {status - 128} ended it"
            if status > 128
            else f"it ended with exit code {status}"
        )
        return how + "".join(f": {line[:200]}" for line in lines[-1:])


@dataclass(frozen=True, slots=True)
class Clock:
    """A host's wall clock against this process's monotonic clock."""

    offset_ns: int
    uncertainty_ns: int
    """Half the shortest round trip."""

    def here_ns(self, there_ns: int) -> int:
        """The instant on this process's clock."""
        return there_ns - self.offset_ns


class Programs:
    """What was started on the hosts of a host group; left, none of it runs any more."""

    def __init__(self, host_group: HostGroup) -> None:
        self._host_group = host_group
        self._started: list[Program] = []

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        left = [program for program in self._started if program.handle]
        for each in _rounds(left):
            # A host that does not answer ends its programs itself, with the process that had them started.
            self._host_group.ask(
                "stop-program", {host: {"handle": one.handle} for host, one in each.items()}, timeout_s=ANSWER_S
            )
        self._started.clear()

    def ask(self, service: str, arguments: Mapping[str, Mapping[str, Any]], *, lasts_s: float = 0.0) -> dict[str, Any]:
        """What each host answered; MeasurementError with the name of the first that has a problem."""
        answers = self._host_group.ask(service, arguments, timeout_s=lasts_s + ANSWER_S)
        for host in arguments:
            answer = answers.get(host)
            if answer is None or answer.problem is not None:
                raise MeasurementError(f"{host}: {answer.problem if answer else 'no answer'}")
        return {host: answers[host].value for host in arguments}

    def clocks(self, hosts: Iterable[str]) -> dict[str, Clock]:
        """Each host's clock, by round trips."""
        best: dict[str, Clock] = {}
        wanted: dict[str, dict[str, Any]] = {host: {} for host in hosts}
        for _ in range(_CLOCK_LOOKS):
            asked_ns = time.monotonic_ns()
            told = self.ask("wall-clock", wanted)
            half_ns = (time.monotonic_ns() - asked_ns) // 2
            for host, now_ns in told.items():
                if host not in best or half_ns < best[host].uncertainty_ns:
                    best[host] = Clock(now_ns - asked_ns - half_ns, half_ns)
        return best

    def start(self, programs: Sequence[Program]) -> None:
        """Starts them, on all hosts at the same time; of several on one host, one after the other."""
        for each in _rounds(programs):
            words = {host: {"argv": list(one.argv)} for host, one in each.items()}
            for host, told in self.ask("start-program", words).items():
                each[host].handle = told["handle"]
                self._started.append(each[host])

    def stop(self, program: Program) -> None:
        """Ends one before the others."""
        self.ask("stop-program", {program.host: {"handle": program.handle}})
        self._started.remove(program)
        program.handle = ""

    def look(self, programs: Sequence[Program], timeout_s: float) -> None:
        """Asks how each is; waits for one of each host to end, or to listen, for at most that long."""
        for number, each in enumerate(_rounds([program for program in programs if not program.ended])):
            wait_s = 0.0 if number else timeout_s
            words = {
                host: {"handle": one.handle, "timeout_s": wait_s, "listening": one.port or None}
                for host, one in each.items()
            }
            for host, told in self.ask("await-program", words, lasts_s=wait_s).items():
                each[host].told = told

    def attend(
        self, programs: Sequence[Program], limit_s: float, ended: Callable[[Program], None], interrupted: Any
    ) -> list[Program]:
        """Waits until all have ended, or for ``limit_s``, or until ``interrupted`` is true; ``ended`` is called for
        each that ends. Those that still run."""
        until_s = time.monotonic() + limit_s
        left = list(programs)
        while left and not interrupted and time.monotonic() < until_s:
            self.look(left, _LOOK_S)
            for program in [program for program in left if program.ended]:
                left.remove(program)
                ended(program)
        return left


def _rounds(programs: Sequence[Program]) -> list[dict[str, Program]]:
    """At most one of each host in a round: a host group does one service on a host at a time."""
    rounds: list[dict[str, Program]] = []
    for program in programs:
        free = next((each for each in rounds if program.host not in each), None)
        if free is None:
            rounds.append({program.host: program})
        else:
            free[program.host] = program
    return rounds
