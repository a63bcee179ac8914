"""The HTTP server: listens until it has to end; connections, encrypted or not, that a slow client cannot hold open."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.dashboard.pages import Board
from tonnage.errors import RequestError
from tonnage.http_origin import own_names
from tonnage.toml_documents import read_text

if TYPE_CHECKING:
    import uvicorn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 512
_LEAVE_S = 2
"""Seconds that running requests get when the server has to end."""
_NICE = 10
"""Behind what measures, and not so far behind that a busy host leaves the page blank."""


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """The request of ``tonnage serve``."""

    roots: Sequence[Path]
    host: str
    port: int
    """0: any free one."""
    token: bool
    """Also where only this host can reach it."""
    certificate: Path | None = None
    """None: plain text."""
    key: Path | None = None
    """None: in the certificate's file."""


@dataclass(frozen=True, slots=True)
class _Listener:
    """Where viewers come in."""

    listening: socket.socket
    token: str | None
    tls: ssl.SSLContext | None


def serve(request: ServeRequest, boards: Sequence[Board], announce: Callable[[str, bool], None]) -> None:
    """Serves until SIGINT or SIGTERM. ``announce`` gets the address once it can be opened, and whether the page crosses
    a network as plain text. RequestError where a directory is none, the address cannot be listened on, the certificate
    or its key is not usable, or a package is missing."""
    for root in request.roots:
        if not root.is_dir():
            raise RequestError(f"{root} is not a directory; hint: name the directory that holds the runs")
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise RequestError("the live page needs starlette and uvicorn; hint: pip install 'tonnage[serve]'") from None
    from tonnage.dashboard.pages import check_kit

    check_kit()
    tls = _tls(request)
    listening, address = _listen(request.host, request.port)
    with listening:
        loopback = ip_address(address).is_loopback
        token = secrets.token_urlsafe(24) if request.token or not loopback else None
        # A measurement on this host goes first.
        with suppress(OSError):
            os.nice(_NICE)
        is_plain = tls is None and not loopback
        asyncio.run(
            _serve(request, boards, _Listener(listening, token, tls), lambda address: announce(address, is_plain))
        )


def _tls(request: ServeRequest) -> ssl.SSLContext | None:
    if request.certificate is not None:
        return https(request.certificate, request.key)
    if request.key is not None:
        raise RequestError("--key is the key of a certificate; hint: name that too, with --certificate FILE")
    return None


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
    request: ServeRequest, boards: Sequence[Board], listener: _Listener, announce: Callable[[str], None]
) -> None:
    import uvicorn

    from tonnage.dashboard.access import Rules
    from tonnage.dashboard.application import Application
    from tonnage.dashboard.run_list import Runs
    from tonnage.dashboard.topic_store import TopicStore
    from tonnage.dashboard.updates import UpdateLoop

    class Server(uvicorn.Server):
        """Leaves signals to its caller, and reports when it listens."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            # It listens here: uvicorn has no limit for a handshake.
            await super().startup([])
            if self.should_exit:
                return
            for place in sockets or ():
                self.servers.append(await _listener(self, place, listener.tls))
            announce(_address(request.host, port, listener))

    port = listener.listening.getsockname()[1]
    topics = TopicStore()
    updates = UpdateLoop(Runs(request.roots), boards, topics)
    rules = Rules(own_names(request.host), listener.token, port)
    application = Application(updates, [str(root) for root in request.roots]).starlette(rules)
    # Its log is for developers of a server, not for users of the page.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        server_header=False,
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
    await server.serve(sockets=[listener.listening])


async def _listener(server: uvicorn.Server, place: socket.socket, tls: ssl.SSLContext | None) -> asyncio.Server:
    """Shakes hands for no longer than a request may take."""
    from tonnage.dashboard.connections import REQUEST_S, Patient

    return await asyncio.get_running_loop().create_server(
        lambda: Patient(server.config, server.server_state, server.lifespan.state),
        sock=place,
        backlog=_BACKLOG,
        ssl=tls,
        ssl_handshake_timeout=REQUEST_S if tls else None,
    )


def _address(host: str, port: int, listener: _Listener) -> str:
    """What to open in a browser; for all interfaces, under this host's name."""
    try:
        name = platform.node() if ip_address(host).is_unspecified else f"[{host}]" if ":" in host else host
    except ValueError:
        name = host
    scheme = "https" if listener.tls else "http"
    return f"{scheme}://{name}:{port}/" + (f"?token={listener.token}" if listener.token else "")


_STRANGERS = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""OpenSSL's words for a key of another certificate; the last one where they are of different kinds, as RSA and EC."""


def https(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """TLS 1.2 or newer with that certificate (PEM, with those that vouch for it); without ``key``, its key is in the
    same file. RequestError where one cannot be read, is none, does not match, or others can read the key."""
    holder = key or certificate
    _check(certificate, "certificate", "CERTIFICATE-----")
    _check(holder, "private key", "PRIVATE KEY-----")
    _check_private(holder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A handshake costs this host more than it costs the viewer.
    context.options |= ssl.OP_NO_RENEGOTIATION

    def password() -> str:
        raise RequestError(f"the key in {holder} needs a password; hint: `openssl pkey -in FILE` writes one without")

    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        if error.reason in _STRANGERS:
            why = f"the key in {holder} does not belong to the certificate in {certificate}; hint: name its own --key"
        else:
            why = f"https cannot use {certificate} with the key in {holder}: {error.reason or error}"
        raise RequestError(why) from None
    except OSError as error:
        raise RequestError(f"cannot read {certificate} or {holder}: {error.strerror}") from None
    return context


def _check(file: Path, what: str, mark: str) -> None:
    try:
        text = read_text(file)
    except (OSError, ValueError) as error:
        raise RequestError(f"cannot read the {what} {file}: {getattr(error, 'strerror', None) or error}") from None
    if mark not in text:
        raise RequestError(
            f"{file} holds no {what} in PEM form; hint: --certificate takes the certificate, --key the file of its key"
        )


def _check_private(file: Path) -> None:
    """An administrator may let a group of his choice read a key that is not this user's."""
    found = file.stat()
    if found.st_mode & (0o077 if found.st_uid == os.geteuid() else 0o007):
        raise RequestError(
            f"others may read or write the key in {file} (mode {found.st_mode & 0o777:o}); hint: mode 600"
        )
