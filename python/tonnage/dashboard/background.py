"""Work that may take long or hang, beside an event loop, without keeping the program from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def aside(call: Callable[[], T]) -> T:
    """What ``call`` returns or raises, from a thread that nobody waits for when the program ends."""
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
