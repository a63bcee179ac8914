"""The latest message of each topic for viewers. A slow or reconnecting viewer gets the latest message and none of those
before."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Collection
from typing import Any


class TopicStore:
    """Each change has a number; a viewer states the last number that it has received. For one event loop."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        """Identifies this server: numbers of an earlier server are invalid here."""
        self.version = 0
        self._latest: dict[str, tuple[int, str]] = {}
        self._changed = asyncio.Event()
        self.closed = False

    def put(self, topic: str, encoded: str) -> None:
        """The latest of a topic, as :func:`encode` made it; nothing happens where it is unchanged."""
        if topic in self._latest and self._latest[topic][1] == encoded:
            return
        self.version += 1
        self._latest[topic] = (self.version, encoded)
        self._announce()

    def drop(self, topics: Collection[str]) -> None:
        """Removes topics that no viewer needs any more."""
        for topic in topics:
            self._latest.pop(topic, None)

    def since(self, version: int, topics: Collection[str]) -> list[tuple[int, str, str]]:
        """(number, topic, JSON) of the changes after ``version``, in their order."""
        found = ((number, topic, data) for topic in topics for number, data in [self._latest.get(topic, (0, ""))])
        return sorted(one for one in found if one[0] > version)

    def seen(self, last_event_id: str | None) -> int:
        """The number in the identifier of the last event that a viewer got; 0 where that was another server's."""
        epoch, _, number = (last_event_id or "").partition(".")
        if epoch != self.epoch or not (number.isascii() and number.isdigit() and len(number) < 16):
            return 0
        return min(int(number), self.version)

    async def wait(self, timeout_s: float) -> bool:
        """Waits until anything changes; False after the timeout."""
        try:
            return await asyncio.wait_for(self._changed.wait(), timeout_s)
        except asyncio.TimeoutError:
            return False

    def close(self) -> None:
        """Ends the connections of all viewers."""
        self.closed = True
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def encode(value: Any) -> str:
    """JSON on one line, in ASCII: names of any bytes pass."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
