"""A command goes down the tree, every process carries it out, and the answers come up, merged on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tonnage.cluster.host_group import Arguments
from tonnage.cluster.mpi.membership import children, parent
from tonnage.cluster.mpi.ranks import Ranks
from tonnage.cluster.mpi.transport import Tag
from tonnage.errors import RequestError, TonnageError, system_text

FEW = 8
"""The number of problems that an error lists."""
_LOOK_S = 0.1
_LEVEL_S = 0.5
"""By so much the limit of a process is shorter than that of its parent, so that its answer still arrives in time."""

Kind = Literal["os", "value", "memory", "request", "other"]


class Problem(NamedTuple):
    """Why a process could not carry out a command."""

    rank: int
    host: str
    kind: Kind
    text: str
    errno: int = 0

    @classmethod
    def of(cls, error: BaseException, ranks: Ranks) -> Problem:
        """From what was raised."""
        here = (ranks.rank, ranks.me.host)
        if isinstance(error, OSError):
            return cls(*here, "os", system_text(error), error.errno or 0)
        kinds: tuple[tuple[type[BaseException], Kind], ...] = (
            (RequestError, "request"), (ValueError, "value"), (MemoryError, "memory"), (TonnageError, "value"),
        )  # fmt: skip
        for type_, kind in kinds:
            if isinstance(error, type_):
                return cls(*here, kind, str(error))
        return cls(*here, "other", f"{type(error).__name__}: {error}")

    def error(self) -> Exception:
        """To be raised in the first process; it says where."""
        where = f"process {self.rank} on {self.host}"
        if self.kind == "os":
            return OSError(self.errno, f"{self.text} ({where})")
        if self.kind == "request":
            return RequestError(f"{where}: {self.text}")
        return (MemoryError if self.kind == "memory" else ValueError)(f"{where}: {self.text}")


class Answer:
    """The merged answer of a process and all below it."""

    def __init__(
        self,
        problems: Sequence[Problem] = (),
        notes: Sequence[tuple[str, str]] = (),
        lost: tuple[int, str] | None = None,
        signal: int = 0,
    ) -> None:
        self.problems = list(problems)
        self.notes = list(notes)
        self.lost = lost
        """A process that did not answer, and how that was seen."""
        self.signal = signal
        """One that any of them was sent."""

    def add(self, other: Answer) -> None:
        """Merges another answer into this one."""
        self.problems = sorted([*self.problems, *other.problems], key=lambda one: one.rank)[:FEW]
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))
        self.lost = self.lost or other.lost
        self.signal = self.signal or other.signal

    def message(self, serial: int) -> bytes:
        """Encodes the answer for the process above."""
        return json.dumps([serial, self.problems, self.notes, self.lost, self.signal]).encode()


def read_answer(message: bytes) -> tuple[int, Answer]:
    """Returns the number of the command, and the answer."""
    serial, problems, notes, lost, signal = json.loads(message)
    found = Answer([Problem(*one) for one in problems], [tuple(note) for note in notes], lost and tuple(lost), signal)
    return serial, found


class Command(NamedTuple):
    """A command: its name, its arguments, and its time limit."""

    serial: int
    verb: str
    arguments: Arguments
    limit_s: float

    def message(self) -> bytes:
        """Encodes the command for the processes below."""
        return json.dumps([self.serial, self.verb, self.arguments, self.limit_s - _LEVEL_S]).encode()

    @classmethod
    def read(cls, message: bytes) -> Command:
        """Decodes a command from the process above."""
        return cls(*json.loads(message))


def pass_on(ranks: Ranks, members: Sequence[int], order: Command) -> list[int]:
    """Sends it to those directly below; who they are."""
    position = members.index(ranks.rank)
    below = [members[child] for child in children(position, len(members))]
    message = order.message()
    for rank in below:
        ranks.transport.send(rank, Tag.ORDER, message)
    return below


def carry_out(
    ranks: Ranks, members: Sequence[int], order: Command, act: Callable[[], Sequence[tuple[str, str]] | None]
) -> Answer:
    """Passes the command on, calls ``act``, which returns notes, and waits for the answers from below. An exception of
    ``act`` becomes the problem of this process."""
    until = time.monotonic() + order.limit_s
    below = pass_on(ranks, members, order)
    answer = Answer()
    try:
        answer.notes = list(act() or ())
    except Exception as error:
        # Every exception is caught: the other processes wait for an answer.
        answer.problems.append(Problem.of(error, ranks))
    for rank in below:
        answer.add(_await(ranks, rank, order, until))
    return answer


def tell_above(ranks: Ranks, members: Sequence[int], order: Command, answer: Answer) -> None:
    """Sends the answer on its way up."""
    above = parent(members.index(ranks.rank))
    assert above is not None
    ranks.transport.send(members[above], Tag.ANSWER, answer.message(order.serial))


def _await(ranks: Ranks, rank: int, order: Command, until: float) -> Answer:
    rest = ranks.transport.poll_pause()
    moved = time.monotonic()
    next_look = moved + _LOOK_S
    while True:
        found = ranks.transport.try_receive(Tag.ANSWER, rank)
        if found is not None:
            serial, answer = read_answer(found[1])
            if serial == order.serial:
                return answer
            continue
        rest.pause()
        now = time.monotonic()
        if now < next_look:
            continue
        next_look = now + _LOOK_S
        if ranks.gone(rank):
            return Answer(lost=(rank, f"its process ended (order: {order.verb})"))
        if not ranks.stopped(rank):
            moved = now
        elif now - moved > ranks.patience_s:
            return Answer(lost=(rank, f"it was stopped, and gave no sign of life (order: {order.verb})"))
        if now > until:
            return Answer(lost=(rank, f"it did not answer in time (order: {order.verb})"))
