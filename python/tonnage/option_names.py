"""Messages name options as the command line has them: ``--space``, ``--storage=uring``. In the
errors of a function that Python calls they are its keywords: ``space=``, ``storage='uring'``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from tonnage.errors import TonnageError

_OPTION = re.compile(r"(`[^`]*`)|(?<!\S)--([a-z][a-z0-9-]*)(?:=([\w%-]+(?:[.,][\w%-]+)*))?(?![\w=])")
"""Or a command line between backquotes, which stays one."""


@contextmanager
def reworded(word: Callable[[str], str]) -> Iterator[None]:
    """Rewrites the text of errors raised inside by ``word``."""
    try:
        yield
    except TonnageError as error:
        error.args = (word(str(error)), *error.args[1:])
        raise


@contextmanager
def in_keywords(names: Collection[str]) -> Iterator[None]:
    """Writes options in errors raised inside as keywords, where they are among ``names``."""

    def word(found: re.Match[str]) -> str:
        name = (found[2] or "").replace("-", "_")
        if name not in names:
            return found[0]
        value = found[3]
        if value is None and found.string[found.end() :].startswith(": "):
            return name
        return f"{name}=" if value is None else f"{name}={value if value.isdigit() else repr(value)}"

    with reworded(lambda text: _OPTION.sub(word, text)):
        yield


@contextmanager
def reworded_errors(words: Mapping[str, str]) -> Iterator[None]:
    """Replaces the keys of ``words`` in errors raised inside by their values: whole words, the longest first."""
    parts = "|".join(re.escape(part) for part in sorted(words, key=len, reverse=True))
    every = re.compile(rf"(?<![\w.])(?:{parts})(?![\w.])")
    with reworded(lambda text: every.sub(lambda found: words[found[0]], text)):
        yield
