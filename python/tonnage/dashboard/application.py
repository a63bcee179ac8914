"""Addresses, and what answers on each. Runs are named by identifiers that were found, never by a path."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tonnage.dashboard import pages
from tonnage.dashboard.access import AccessCheck, Rules
from tonnage.dashboard.background_thread import in_daemon_thread
from tonnage.dashboard.run_entry import Watched
from tonnage.dashboard.run_files import unforeseen
from tonnage.dashboard.updates import UpdateLoop
from tonnage.errors import TonnageError

_IDENTIFIER = re.compile(r"[0-9a-f]{16}\Z")
_MOST_VIEWERS = 500
_BEAT_S = 10.0
"""Between two signs of life where nothing happens; a viewer that is gone is noticed then."""
_RETRY_MS = 1000
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report names its own scripts by their hashes. In a sandbox of its own origin it could not even ask this server."""


class Application:
    """The page of one set of directories."""

    def __init__(self, updates: UpdateLoop, roots: list[str]) -> None:
        self._updates, self._roots = updates, roots
        self._reports = pages.Reports()
        self._heavy = asyncio.Lock()
        self._viewers = 0

    def starlette(self, rules: Rules) -> Starlette:
        """Makes the application behind its access rules."""
        routes = [
            Route("/", self._list),
            Route("/events", self._events),
            Route("/run/{run}", self._run),
            Route("/report/{run}", self._report),
            Route("/compare/{base}/{other}", self._compare),
            Route("/static/{name}", self._static),
        ]
        return Starlette(routes=routes, middleware=[Middleware(AccessCheck, rules=rules)], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        # A browser that reconnects after a restart asks for a run at once: it must be known then.
        for topic, data in (await in_daemon_thread(lambda: self._updates.runs.refresh(()))).items():
            self._updates.topics.put(topic, data)
        work = asyncio.create_task(self._updates.work())
        try:
            yield
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _list(self, _request: Request) -> Response:
        return _html(pages.list_page(tuple(self._updates.boards), self._roots))

    async def _run(self, request: Request) -> Response:
        run = self._found(request.path_params["run"])
        return _html(pages.run_page(run)) if run else _unknown()

    async def _report(self, request: Request) -> Response:
        run = self._found(request.path_params["run"])
        return await self._made("No report", lambda: self._reports.report(run)) if run else _unknown()

    async def _compare(self, request: Request) -> Response:
        base, other = (self._found(request.path_params[name]) for name in ("base", "other"))
        if base is None or other is None:
            return _unknown()
        return await self._made("No comparison", lambda: self._reports.comparison(base, other))

    async def _made(self, without: str, make: Callable[[], bytes]) -> Response:
        """A page of the report's making, one at a time: each may keep a processor busy for seconds."""
        async with self._heavy:
            try:
                page = await in_daemon_thread(make)
            except (TonnageError, OSError) as error:
                return _html(pages.problem_page(without, str(error)), 422)
            except Exception as error:
                # Records of any make are reported: what no section foresaw must not end the page for the others.
                return _html(pages.problem_page(without, unforeseen(error, without)), 422)
        return _html(page, headers={"content-security-policy": _REPORT_POLICY})

    async def _static(self, request: Request) -> Response:
        found = pages.asset(request.path_params["name"])
        if found is None:
            return _unknown()
        data, kind, tag = found
        headers = {"etag": tag, "cache-control": "private, no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    async def _events(self, request: Request) -> Response:
        run = request.query_params.get("run")
        if run is not None and self._found(run) is None:
            return _unknown()
        if self._viewers >= _MOST_VIEWERS or self._updates.topics.closed:
            return PlainTextResponse("too many look already\n", 503)
        seen = self._updates.topics.seen(request.headers.get("last-event-id"))
        return StreamingResponse(self._event_stream(run, seen), media_type="text/event-stream")

    async def _event_stream(self, run: str | None, seen: int) -> AsyncIterator[str]:
        topics = self._updates.topics
        self._viewers += 1
        try:
            with self._updates.viewer(run) as wanted:
                yield f"retry: {_RETRY_MS}\n: {topics.epoch}\n\n"
                while not topics.closed:
                    news = topics.since(seen, wanted)
                    for number, topic, data in news:
                        yield f"id: {topics.epoch}.{number}\nevent: {topic.partition(':')[0]}\ndata: {data}\n\n"
                    seen = max([seen, *(number for number, _, _ in news)])
                    if not news and not await topics.wait(_BEAT_S):
                        yield ": \n\n"
        finally:
            self._viewers -= 1

    def _found(self, identifier: str) -> Watched | None:
        return self._updates.runs.get(identifier) if _IDENTIFIER.match(identifier) else None


def _html(page: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(page, status, media_type="text/html", headers=headers)


def _unknown() -> Response:
    return _html(pages.problem_page("Not here", "There is no such page, or its run is gone."), 404)
