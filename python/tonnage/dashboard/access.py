"""Access rules: requests only read, use one of this host's own names, and carry the token where there is one."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tonnage.http_origin import refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The kit that draws writes styles into the page, and no script."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Rules:
    """States the conditions that a request must meet."""

    names: Collection[str]
    """Names of this server, in lower case; addresses pass without."""
    token: str | None
    """None: everybody who reaches the port may read."""
    port: int

    @property
    def cookie(self) -> str:
        """Its name: cookies know hosts, not ports."""
        return f"tonnage-{self.port}"


class AccessCheck:
    """Before everything else."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in said]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("nothing can be changed here\n", 405, {"allow": "GET, HEAD"})
        refused = refusal({name.decode("latin-1"): value for name, value in headers.items()}, self._rules.names)
        if refused is not None:
            status, words = refused
            return PlainTextResponse(f"{words}\n", status)
        return self._without_token(scope, headers) if self._rules.token is not None else None

    def _without_token(self, scope: Scope, headers: dict[bytes, str]) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is not None and self._is_token(given):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # One slash: two would lead to another server.
            path = "/" + scope["path"].lstrip("/")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            secure = scope["scheme"] == "https"
            answer.set_cookie(self._rules.cookie, given, httponly=True, samesite="strict", secure=secure)
            return answer
        if given is None and self._is_token(self._kept(headers.get(b"cookie", ""))):
            return None
        return PlainTextResponse("open the address with the token that `tonnage serve` printed\n", 403)

    def _kept(self, header: str) -> str:
        try:
            found = SimpleCookie(header).get(self._rules.cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self._rules.token or "").encode())
