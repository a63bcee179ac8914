"""iobsub's words taken apart: options, a queue, the program.

``-q`` is quiet in the published session, and a queue for users of LSF's bsub. The word after it decides: one that is
a queue of the site is taken as the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tonnage.cluster.scheduler import SchedulerError
from tonnage.command_line import split_program
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.iobsub.script import Script
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class IobsubRequest:
    """What somebody typed."""

    options: tuple[str, ...]
    """Ours, without the ``-q`` that gave the queue."""
    program: tuple[str, ...]
    """Empty where none was typed."""
    queue: str | None = None
    """Given by ``-q``."""
    notes: tuple[str, ...] = ()
    """How ``-q`` was taken, where that needs saying."""
    why_no_queue: str | None = None
    """The program stands right after ``-q``: why it is not taken as a queue."""


def read_arguments(words: Sequence[str], queues: Callable[[], Collection[str]]) -> IobsubRequest:
    """``queues`` is asked for the site's queues where a word stands right after ``-q``, and nowhere else.

    RequestError and HelpAsked as ``parse_arguments``.
    """
    taken: list[str] = []
    notes: list[str] = []
    queue, rest = None, list(words)
    while True:
        options, program = split_program(IOBSUB, rest)
        taken += options
        # "--" says that a program follows.
        may_be_queue = bool(program) and options[-1:] == ["-q"] and rest[len(options)] != "--"
        why = _why_no_queue(program[0], queues) if may_be_queue else None
        if not may_be_queue or why is not None:
            return IobsubRequest(
                options=tuple(taken), program=tuple(program), queue=queue, notes=tuple(notes), why_no_queue=why
            )
        taken.pop()
        queue, rest = program[0], program[1:]
        notes = [f"-q {queue} is taken as the queue {queue}; for a quiet job of a program of that name write -q --"]


def with_script(asked: IobsubRequest, script: Script, queues: Callable[[], Collection[str]]) -> IobsubRequest:
    """A script in the place of the program. What was typed counts more than what the script says of itself."""
    options: list[str] = []
    notes = list(asked.notes)
    queue = None
    for number, words in script.options:
        found = read_arguments(words, queues)
        if found.program:
            why = f", and {found.why_no_queue}" if found.why_no_queue else ""
            raise RequestError(f"iobsub: #BSUB in line {number}: {found.program[0]!r} is no option{why}; hint: mend it")
        options += found.options
        queue = found.queue or queue
    return IobsubRequest(
        options=(*options, *asked.options), program=script.argv, queue=asked.queue or queue, notes=tuple(notes)
    )


def _why_no_queue(word: str, queues: Callable[[], Collection[str]]) -> str | None:
    """None where it is one."""
    try:
        return None if word in queues() else f"there is no queue {word!r}"
    except SchedulerError as error:
        return f"the scheduler does not tell its queues ({error})"
