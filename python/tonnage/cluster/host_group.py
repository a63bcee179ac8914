"""One process on each host of a run. It does what a campaign or a check needs on that host outside the timed phases.

A **service** is a plain function under a name in ``SERVICES``: it takes and returns what JSON can carry and runs in a
process on the host. The processes may be this one alone, ranks of an MPI job, or started by the scheduler or ssh. All
are asked in the same way at the same time, and the caller sets how long it waits for each.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tonnage.errors import TonnageError, system_text

SERVICES: dict[str, str] = {
    "wall-clock": "time:time_ns",
    "facts": "tonnage.machine.host_facts:host_facts",
    "host-state": "tonnage.machine.host_facts:host_state",
    "load": "tonnage.machine.host_facts:load",
    "ceilings": "tonnage.cluster.ceiling_service:measure",
    "look-scratch": "tonnage.cluster.own_scratch:visibility",
    "make-scratch": "tonnage.cluster.own_scratch:make",
    "leave-scratch": "tonnage.cluster.own_scratch:leave",
    "path-facts": "tonnage.machine.path_facts:path_facts",
    "leave-mark": "tonnage.machine.path_facts:leave_mark",
    "sees-mark": "tonnage.machine.path_facts:sees_mark",
    "remove-mark": "tonnage.machine.path_facts:remove_mark",
    "link-listen": "tonnage.cluster.remote.links:listen",
    "link-try": "tonnage.cluster.remote.links:attempt",
    "start-program": "tonnage.cluster.remote.programs:start_program",
    "await-program": "tonnage.cluster.remote.programs:await_program",
    "stop-program": "tonnage.cluster.remote.programs:stop_program",
}
"""Name → ``module:function``. The function gets its arguments as keywords."""


Arguments = Mapping[str, Any]
"""Keywords of a service, which JSON can carry."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A host's answer: a value, or the reason why there is none."""

    value: Any = None
    problem: str | None = None
    """The reason why there is no value, in one sentence; None: ``value`` is valid."""


class HostGroup(Protocol):
    """One process on each host of a run, or of a check."""

    @property
    def hosts(self) -> Sequence[str]:
        """Their names, in the launcher's order, each once."""

    def ask(self, service: str, arguments: Mapping[str, Arguments], *, timeout_s: float) -> dict[str, Answer]:
        """Has each host named in ``arguments`` do the service with its own arguments, all at the same time. A host that
        does not answer in time has a problem that says so; it never raises for one host's sake."""


def perform(service: str, arguments: Arguments) -> Answer:
    """Does a service in this process. What it raises on purpose (``TonnageError``, ``OSError``) is its problem."""
    module, _, function = SERVICES[service].partition(":")
    try:
        return Answer(getattr(import_module(module), function)(**arguments))
    except TonnageError as error:
        return Answer(problem=str(error))
    except OSError as error:
        return Answer(problem=system_text(error))


class Alone:
    """A host group of this host alone."""

    hosts: Sequence[str] = (platform.node(),)

    def ask(
        self,
        service: str,
        arguments: Mapping[str, Arguments],
        *,
        timeout_s: float,  # noqa: ARG002
    ) -> dict[str, Answer]:
        return {
            host: perform(service, given) if host in self.hosts else Answer(problem=f"{host} is not this host")
            for host, given in arguments.items()
        }
