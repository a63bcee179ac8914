"""Runs a mover in this process until the application, the user or the batch system ends it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from signal import SIGINT

from tonnage.staging.application_process import Application
from tonnage.staging.mover_host import Host, is_safe
from tonnage.staging.mover_status import Status
from tonnage.staging.moving_time import LOOK_S, Movement
from tonnage.staging.signals import EndRequest, Signals

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
    """Who wanted it to end, if that is why."""
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
