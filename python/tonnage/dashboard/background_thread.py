"""Work beside the event loop: in a daemon thread, and rarely enough not to disturb a measurement."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """What ``call`` returns or raises, from a daemon thread, which does not delay the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        try:
            news: tuple[Callable[[Any], None], Any] = (future.set_result, call())
        except Exception as error:
            news = (future.set_exception, error)
        # The loop may be gone: then so is who asked.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *news)

    threading.Thread(target=work, name="aside", daemon=True).start()
    return await future


SHARE = 500
"""What took a second of a processor may be done again after so many."""


class WorkRate:
    """One kind of work."""

    def __init__(self, least_s: float) -> None:
        self._least_s = least_s
        self._due_s = 0.0

    def is_due(self) -> bool:
        """Whether it may be done now."""
        return time.monotonic() >= self._due_s

    def during(self, call: Callable[[], T]) -> T:
        """Does it, in this thread. The processor time that it took, not how long it waited for one, says when it is due
        again."""
        began_s, used_s = time.monotonic(), time.thread_time()
        try:
            return call()
        finally:
            cost_s = time.thread_time() - used_s
            self._due_s = max(began_s + self._least_s, time.monotonic() + (SHARE - 1) * cost_s)
