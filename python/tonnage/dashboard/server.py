"""Listens until it is told to end."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from tonnage.dashboard.board import Board
from tonnage.errors import RequestError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 512
_LEAVE_S = 2
"""For requests in hand when it is told to end."""
_NICE = 10
"""Behind what measures, and not so far behind that a busy host leaves the page blank."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    roots: Sequence[Path]
    host: str
    port: int
    """0: any free one."""
    token: bool
    """Also where only this host can reach it."""


def serve(wish: Wish, boards: Sequence[Board], announce: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. ``announce`` gets the address once it can be opened. RequestError where a directory is
    none, the address cannot be listened on, or what it needs is not installed."""
    for root in wish.roots:
        if not root.is_dir():
            raise RequestError(f"{root} is not a directory; hint: name the directory that holds the runs")
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise RequestError(
            "the live page needs starlette and uvicorn; hint: install tonnage with its extra `serve`"
        ) from None
    from tonnage.dashboard.pages import check_kit

    check_kit()
    listening, address = _listen(wish.host, wish.port)
    with listening:
        loopback = ip_address(address).is_loopback
        token = secrets.token_urlsafe(24) if wish.token or not loopback else None
        # A measurement on this host goes first.
        with suppress(OSError):
            os.nice(_NICE)
        asyncio.run(_serve(wish, boards, listening, token, announce))


def _listen(host: str, port: int) -> tuple[socket.socket, str]:
    """A socket that takes connections, and its address."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise RequestError(
            f"cannot listen on {host}, port {port}: {why}; hint: give another --port, 0 for any, or another --host"
        ) from None
    return listening, str(listening.getsockname()[0])


async def _serve(
    wish: Wish, boards: Sequence[Board], listening: socket.socket, token: str | None, announce: Callable[[str], None]
) -> None:
    import uvicorn

    from tonnage.dashboard.application import Application
    from tonnage.dashboard.gate import Rules
    from tonnage.dashboard.keeper import Keeper
    from tonnage.dashboard.patient import Patient
    from tonnage.dashboard.runs import Runs
    from tonnage.dashboard.topics import Topics

    class Server(uvicorn.Server):
        """Leaves signals to who started it, and tells when it listens."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                announce(_address(wish.host, port, token))

    port = listening.getsockname()[1]
    topics = Topics()
    keeper = Keeper(Runs(wish.roots), boards, topics)
    rules = Rules(_names(wish.host), token, port)
    application = Application(keeper, [str(root) for root in wish.roots]).starlette(rules)
    # Its words are for who develops a server, not for who looks at runs.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
        http=Patient,
        ws="none",
        loop="asyncio",
        lifespan="on",
        timeout_graceful_shutdown=_LEAVE_S,
    )
    server = Server(config)

    def end() -> None:
        topics.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    await server.serve(sockets=[listening])


def _names(host: str) -> frozenset[str]:
    """What this server may be called, beside its addresses."""
    node = platform.node()
    return frozenset(name.lower() for name in ("localhost", host, node, node.partition(".")[0]) if name)


def _address(host: str, port: int, token: str | None) -> str:
    """What to open in a browser; for all interfaces, under this host's name."""
    try:
        name = platform.node() if ip_address(host).is_unspecified else f"[{host}]" if ":" in host else host
    except ValueError:
        name = host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
