"""From site files to a Site: each is read and checked for itself, then the nearer one wins, key by key."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tonnage.documents import Document, line_of
from tonnage.errors import RequestError
from tonnage.placement.site.files import find_files, read_file, system_file, user_file
from tonnage.placement.site.model import Access, Policy, Server, Site

DOCUMENT = Document(Site, "site file", "docs/site-file.md", "docs/site-file.md")


@dataclass(frozen=True, slots=True)
class Source:
    """One site file."""

    path: Path
    text: str
    site: Site

    def at(self, *key: str, number: int = 0) -> str:
        """``FILE:LINE`` of a key; only the file where the key is not written on a line of its own."""
        line = line_of(self.text, key, number) or line_of(self.text, key[:1], number)
        return f"{self.path}:{line}" if line else str(self.path)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A site, and where what it says was written."""

    site: Site
    sources: tuple[Source, ...] = ()
    """The farthest first: a later one wins."""
    passed_over: tuple[str, ...] = ()

    def origin(self, *key: str, server: str | None = None) -> str | None:
        """``FILE:LINE`` of a key that counts (``policy``, ``decay``), of a server's where one is named.

        None for a default.
        """
        for source in reversed(self.sources):
            if server is None:
                values: Any = source.site
                number = 0
            else:
                number = next((at for at, one in enumerate(source.site.server) if one.name == server), -1)
                values = source.site.server[number] if number >= 0 else None
            if values is not None and _given(values, key):
                return source.at(*(() if server is None else ("server",)), *key, number=number)
        return None


def load_site(directory: Path, file: Path | None = None) -> Site:
    """The site as seen from a directory: the files of the system, the user and the project; or of one file alone.

    RequestError in one line with file and line where one of them is wrong, or where they contradict each other.
    """
    return read_site(directory, file).site


def site_path(given: str | os.PathLike[str] | None) -> Path | None:
    """A file that somebody named; RequestError for an empty name, which is no file."""
    if given is not None and not os.fspath(given):
        raise RequestError("the name of the site file is empty; hint: leave it out")
    return None if given is None else Path(given)


def read_site(directory: Path, file: Path | None = None) -> Loaded:
    """As :func:`load_site`, with where each value was written."""
    try:
        found = find_files(directory, DOCUMENT.read) if file is None else read_file(file, DOCUMENT.read)
    except TimeoutError:
        what = file or f"{system_file()} or {user_file()}"
        raise RequestError(f"{what} does not answer; hint: name a site file on another storage with --site") from None
    sources = tuple(_source(path, text) for path, text in found.texts.items())
    for source in sources:
        _check_twice(source)
    loaded = Loaded(_merged([source.site for source in sources]), sources, found.passed_over)
    _check_names(loaded)
    return loaded


def _source(path: Path, text: str) -> Source:
    data = DOCUMENT.parse(text, str(path))
    try:
        site = Site.model_validate(data, context={"written": True})
    except ValidationError as error:
        raise RequestError(DOCUMENT.explain(error, str(path), text)) from None
    return Source(path, text, site)


def _merged(sites: list[Site]) -> Site:
    """``sites``: the farthest first."""
    if not sites:
        return Site()
    servers: dict[str, Server] = {}
    access: list[Access] = []
    policy = Policy()
    scalars: dict[str, Any] = {}
    for site in sites:
        for server in site.server:
            known = servers.get(server.name)
            servers[server.name] = server if known is None else _over(known, server)
        # Of several entries the first that matches counts.
        access[:0] = site.access
        policy = _over(policy, site.policy)
        scalars |= {key: getattr(site, key) for key in ("scheduler", "lines") if key in site.model_fields_set}
    return Site(server=tuple(servers.values()), access=tuple(access), policy=policy, **scalars)


def _over(far: Any, near: Any) -> Any:
    """``far`` with every key that ``near`` says."""
    return far.model_copy(update={key: getattr(near, key) for key in near.model_fields_set})


def _given(values: Any, key: Iterable[str]) -> bool:
    for part in key:
        if values is None or part not in values.model_fields_set:
            return False
        values = getattr(values, part)
    return True


def _check_twice(source: Source) -> None:
    """RequestError where a file describes one server in two tables."""
    seen: set[str] = set()
    for number, server in enumerate(source.site.server):
        if server.name in seen:
            at = source.at("server", "name", number=number)
            raise RequestError(f"{at}: server {server.name!r} is there twice; hint: make one [[server]] of the two")
        seen.add(server.name)


def _check_names(loaded: Loaded) -> None:
    """RequestError where a name or an alias is said of two servers; what they hold may be the same."""
    named: dict[str, str] = {}
    for server in loaded.site.server:
        for name in (server.name, *server.aliases):
            other = named.setdefault(name, server.name)
            if other != server.name:
                at = loaded.origin("aliases", server=server.name) or loaded.origin("name", server=server.name)
                there = loaded.origin("aliases", server=other) or loaded.origin("name", server=other)
                raise RequestError(
                    f"{at}: {name!r} stands for server {server.name!r}, and at {there} for {other!r}; "
                    "hint: leave it to one of them"
                )
