"""iobsub's words taken apart: options, a queue, the program.

``-q`` is quiet in the published session, and a queue for users of LSF's bsub. The word after it decides: one that is
a queue of the site is taken as the queue.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tonnage.cluster.scheduler import SchedulerError
from tonnage.command_line import split_program
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.errors import RequestError

MOST_BYTES = 100_000
"""It travels as one word of a command line, of which the kernel takes 128 KiB."""
_SHELLS = re.compile(r"(sh|bash|dash|ksh|mksh|zsh|python[0-9.]*)$")


@dataclass(frozen=True, slots=True)
class Script:
    """What somebody gave on standard input."""

    text: str

    @property
    def options(self) -> list[tuple[int, list[str]]]:
        """Of each line of ``#BSUB``: its number and its words. RequestError where a quotation does not end."""
        found = []
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.match(r"#\s?BSUB(?=\s|$)(.*)", line):
                try:
                    words = shlex.split(match[1], comments=True)
                except ValueError as error:
                    raise RequestError(f"iobsub: #BSUB in line {number}: {error}; hint: close the quotation") from None
                found.append((number, words))
        return found

    @property
    def argv(self) -> tuple[str, ...]:
        """The interpreter that its first line names, /bin/sh where it names none, and the script as one word."""
        first = self.text.partition("\n")[0]
        words = first[2:].strip().split(None, 1) if first.startswith("#!") else ["/bin/sh"]
        program = (words or [""])[-1].split()[-1:] if len(words) > 1 and words[0].endswith("/env") else words[:1]
        if not program or not _SHELLS.search(program[0]):
            raise RequestError(
                f"iobsub: a script of {first[:60]!r} cannot be given on standard input; hint: write it into a file, "
                "and give that"
            )
        is_shell = not program[0].rpartition("/")[2].startswith("python")
        return (*words, "-c", self.text, *(["iobsub"] if is_shell else []))


def read_script() -> Script | None:
    """Standard input, to its end; None where it is a terminal, or holds nothing. RequestError where it is too long."""
    try:
        if os.isatty(0):
            return None
        found = b""
        while len(found) <= MOST_BYTES and (part := os.read(0, 1 << 16)):
            found += part
    except OSError:
        return None  # closed
    if len(found) > MOST_BYTES or b"\0" in found:
        what = f"more than {MOST_BYTES} bytes" if len(found) > MOST_BYTES else "a NUL"
        raise RequestError(
            f"iobsub: the script on standard input has {what}; hint: write it into a file, and give that"
        )
    return Script(os.fsdecode(found)) if found.strip() else None


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
