"""What a laboratory raises where it cannot run, and how a test is skipped then."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

T = TypeVar("T")
SYSTEM_PATH = "/usr/sbin:/sbin"
"""Directories of daemons, which are not on an ordinary user's PATH."""


class Impossible(Exception):
    """This machine lacks something that a laboratory needs; the text says what."""


def require(programs: Iterable[str]) -> None:
    """Raises Impossible for the first of these programs that is not on PATH."""
    for name in programs:
        if shutil.which(name) is None:
            raise Impossible(f"{name} is not installed")


def program(name: str) -> str:
    """Returns the path of a program, also where only root has its directory on PATH; Impossible where there is none."""
    found = shutil.which(name) or shutil.which(name, path=SYSTEM_PATH)
    if found is None:
        raise Impossible(f"{name} is not installed")
    return found


@contextmanager
def skipped_where_impossible() -> Iterator[None]:
    """Skips the test, with the reason, where a laboratory that is started inside cannot run."""
    import pytest

    try:
        yield
    except Impossible as error:
        pytest.skip(str(error))


def entered(stack: ExitStack, laboratory: AbstractContextManager[T]) -> T:
    """Starts a laboratory for as long as the stack lasts; skips the test where it cannot run."""
    with skipped_where_impossible():
        return stack.enter_context(laboratory)
    raise AssertionError("a skipped test does not come here")
