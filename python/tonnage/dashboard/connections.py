"""Connections whose requests must come within a time. In a file of its own, for it needs packages of an extra."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
"""From a request's first byte, or from the connection's beginning (before a handshake), to its last byte."""


class Patient(H11Protocol):
    """uvicorn's own, with that limit."""

    _late: asyncio.TimerHandle | None = None

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        # It is made when the connection is taken, and told of it when a handshake has ended.
        self._until = self.loop.time() + REQUEST_S

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._late = self.loop.call_at(self._until, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._forget()
        elif self._late is None and self.transport is not None:
            self._late = self.loop.call_later(REQUEST_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
