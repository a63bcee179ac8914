"""Requirements on a connection: TLS with a certificate whose key no other user can read, and a request that ends in
time."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tonnage.errors import RequestError
from tonnage.toml_documents import read_text

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
