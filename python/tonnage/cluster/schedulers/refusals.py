"""Whether a submission that failed was refused. All else leaves it open whether the job is there."""

from __future__ import annotations

import re

from tonnage.cluster.scheduler import NoSuchQueue, SchedulerError, SubmissionUnknown
from tonnage.machine.tool import ToolError, ToolSilent

_SHELLS = 125
"""Statuses above it are a shell's or ``timeout``'s, of a program that was killed or never began."""
_LOST = re.compile(
    r"tim(?:ed|e)[- ]?out|Zero Bytes|(?:receive|send|shutdown) failure|Message receive|Unexpected message"
    r"|sending/receiving|Connection reset|Connection aborted|Broken pipe|lost connection|Premature end|End of File"
    r"|protocol error",
    re.IGNORECASE,
)
"""In any scheduler's words for an answer that did not come, though the question may have arrived."""


class Refusals:
    """How one scheduler's tool says that it took nothing."""

    def __init__(self, words: str, *, no_queue: str | None = None) -> None:
        """``words``: a pattern for a line of its standard error; ``no_queue``: a part of what it says of a queue
        that is not there."""
        self._words = re.compile(words, re.MULTILINE | re.IGNORECASE)
        self._no_queue = no_queue

    def is_clear(self, error: ToolError) -> bool:
        """Whether the tool never ran, or ended by itself with a refusal in its own words."""
        if isinstance(error, ToolSilent):
            return False
        if error.status is None:
            return True
        ended = 0 < error.status <= _SHELLS
        return ended and self._words.search(error.errors) is not None and _LOST.search(error.errors) is None

    def told(self, error: ToolError) -> SchedulerError:
        """As :meth:`of`, in the words of the first line."""
        return self.of(error, f"the scheduler refused: {error}" if self.is_clear(error) else str(error))

    def of(self, error: ToolError, text: str) -> SchedulerError:
        """What to raise for a submission that failed so; ``text``: as a user is told."""
        if not self.is_clear(error):
            return SubmissionUnknown(text)
        is_queue = self._no_queue is not None and self._no_queue in error.said
        return (NoSuchQueue if is_queue else SchedulerError)(text)
