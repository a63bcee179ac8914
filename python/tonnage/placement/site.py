"""The site file ``tonnage.toml``: its schema with every default of placement, which files count, how they are merged.

The file holds data only. What of it may reach a tool's command line is checked here, so that no value can pass for an
option: a project's file may be another user's.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from tonnage.errors import RequestError
from tonnage.field_types import Count, Delay, Fraction, Length, Rate, SchedulerName, Time
from tonnage.machine.guarded_access import carefully
from tonnage.toml_documents import Document, DocumentTable, line_of

_NAME = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:@/%\[\]-]{0,254}")
_INDICES = re.compile(
    r"proc:|ssh:(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*"
    r"|https?://(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[!-~]*)?"
)
Text = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""What only messages show: without line ends and other control characters."""
NAME = "tonnage.toml"
TRUSTED = "TONNAGE_TRUSTED"
"""The variable that names directories, between colons, whose site files count, whichever user owns them."""
_Table = TypeVar("_Table", bound=DocumentTable)
_MOST_LINKS = 40
"""As many as the kernel follows."""
_PATIENCE_S = 2.0
"""The time limit for reading all of them: the limit of the site file is not known yet."""


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is no name; hint: use letters, digits and '_', '.', '-', ':', '@', '/', '%', '[', ']'"
        )
    return text


def _indices(text: str) -> str:
    if not _INDICES.fullmatch(text):
        raise ValueError(f"{text!r} is no source of indices; hint: write http://HOST:9100/metrics, ssh:HOST or proc:")
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f"{text!r} depends on where somebody is; hint: begin it with /")
    return text


Name = Annotated[str, AfterValidator(_name)]
"""What a tool is given as a word of its own: it cannot begin with a dash, nor hold a blank or a comma."""


class Line(DocumentTable):
    """A load line stated by hand, for a server that was not probed."""

    tasks: Count = Field(description="tasks beyond which more only wait")
    plateau: Rate | None = Field(None, description="bytes per second there")


class Server(DocumentTable):
    """A file server, or a set of them that one name stands for."""

    name: Text = Field(description="what users and messages call it")
    aliases: tuple[Text, ...] = Field((), description="other names and addresses of it, as mounts and tools print them")
    holds: tuple[Text, ...] = Field(
        (),
        description="what it serves, where no tool says so: a mount source, a path, or FSNAME-OST0003; `*` matches; "
        "where several servers hold the same, any of them will do",
    )
    hosts: tuple[Name, ...] = Field((), description="hosts beside it, as the scheduler calls them, nearest first")
    queue: Name | None = Field(None, description="queue or partition of those hosts")
    slots: Count | None = Field(None, description="jobs that may run beside it at once")
    licence: Name | None = Field(None, description="the scheduler's licence or resource of which each job holds one")
    indices: Annotated[str, AfterValidator(_indices)] | None = Field(
        None, description="where its load is read: `http://HOST:9100/metrics`, `ssh:HOST`, or `proc:` for this host"
    )
    line: Line | None = Field(None, description="its load line, where none was measured")

    @property
    def names(self) -> tuple[str, ...]:
        """All that it is called, its own name first."""
        return (self.name, *self.aliases)


class Access(DocumentTable):
    """How fast a host reaches a server; the first entry that matches both counts."""

    hosts: tuple[Text, ...] = Field(("*",), description="hosts, `*` matches")
    servers: tuple[Text, ...] = Field(("*",), description="servers, `*` matches")
    bandwidth: Rate = Field(description="bytes per second of one host")
    latency: Delay = Field(0, description="of one operation")


class Policy(DocumentTable):
    """How jobs are placed."""

    local_wait: Delay = Field(60 * 10**9, description="longest expected wait for a slot beside the data")
    index_age: Delay = Field(30 * 10**9, description="age beyond which an index is stale, and said so")
    index_refresh: Delay = Field(10 * 10**9, description="age beyond which an index is read again")
    index_timeout: Delay = Field(30 * 10**6, description="how long a decision waits for indices")
    decay: Time = Field(60 * 10**9, description="time in which the weight of a placed job falls to 1/e")
    list_age: Delay = Field(
        3 * 10**9,
        description="how old the scheduler's lists may be in a decision: in a burst they are asked for so often",
    )
    scheduler_timeout: Time = Field(10 * 10**9, description="how long one of the scheduler's tools may take")
    file_timeout: Time = Field(2 * 10**9, description="how long a path, or a tool of its file system, may take")
    reference_bytes: Length = Field(10**9, description="bytes that a job is taken to read where nothing is known of it")
    reference_operations: int = Field(1000, ge=0, description="operations that it is taken to do")
    near_bandwidth: Rate = Field(10**9, description="bytes per second beside the data, where nothing else is known")
    near_latency: Delay = Field(0, description="of one operation there")
    far_bandwidth: Rate = Field(10**8, description="bytes per second from any other host")
    far_latency: Delay = Field(10**6, description="of one operation from there")
    cpu_bound_below: Fraction = Field(0.1, description="a job that waits for storage less than this is not capped")


class Site(DocumentTable):
    """The whole file; several files (system, user, project) make one, the nearest first."""

    scheduler: SchedulerName = Field("auto", description="who runs jobs")
    lines: Annotated[Text, AfterValidator(_absolute)] | None = Field(
        None, description="directory of load lines that all users share"
    )
    server: tuple[Server, ...] = Field((), description="file servers, a table `[[server]]` each")
    access: tuple[Access, ...] = Field((), description="links that are not alike, a table `[[access]]` each")
    policy: Policy = Field(Policy(), description="how jobs are placed: `[policy]`")

    def named(self, name: str) -> Server | None:
        """The server that has this name, alias or address: the whole name, or its first part before a dot."""
        for spelled in (name, name.partition(".")[0]):
            for server in self.server:
                if spelled in server.names:
                    return server
        return None


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The site files of a directory, the farthest first."""

    texts: dict[Path, str]
    passed_over: tuple[str, ...] = ()
    """Sentences: which file does not count, and why."""


def find_files(directory: Path, read: Callable[[Path], str]) -> FoundFiles:
    """Those that count in ``directory``, each read by ``read``, whose RequestErrors pass.

    A server that holds a project's directory and does not answer within 2 s costs the project's file only.
    """
    try:
        # Symbolic links stay unresolved: the project is found along the path that the user typed.
        here: Path | None = Path(os.path.abspath(directory))  # noqa: PTH100
    except OSError:
        here = None  # the working directory was removed
    try:
        return _read_files(here, read)
    except TimeoutError:
        found = _read_files(None, read)
        return FoundFiles(found.texts, (f"no project's site file was looked for: {directory} does not answer",))


def read_file(path: Path, read: Callable[[Path], str]) -> FoundFiles:
    """Reads one file alone."""
    return FoundFiles({path: carefully(lambda: read(path), [path.absolute()], timeout_s=_PATIENCE_S)})


def system_file() -> Path:
    """``/etc/tonnage/tonnage.toml``; ``TONNAGE_SYSTEM_CONFIG`` names another directory."""
    return Path(os.environ.get("TONNAGE_SYSTEM_CONFIG") or "/etc/tonnage") / NAME


def user_file() -> Path:
    """Returns ``$XDG_CONFIG_HOME/tonnage/tonnage.toml``, else the same below ``~/.config``."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    # expanduser leaves `~` alone where the home directory is unknown; then there is no such file.
    return (Path(base) if base.startswith("/") else Path(os.path.expanduser("~/.config"))) / "tonnage" / NAME  # noqa: PTH111


def _read_files(here: Path | None, read: Callable[[Path], str]) -> FoundFiles:
    """Reads the system's and the user's files, and the project's where ``here`` is given."""
    common = [system_file(), user_file()]

    def look() -> tuple[dict[str, str], str | None]:
        files = [path for path in common if path.is_file()]
        project, passed_over = _project_file(here) if here else (None, None)
        if project and not any(project.samefile(path) for path in files):
            files.append(project)
        return {str(path): read(path) for path in files}, passed_over

    texts, passed_over = carefully(look, [*common, *filter(None, [here])], timeout_s=_PATIENCE_S)
    return FoundFiles({Path(path): text for path, text in texts.items()}, (passed_over,) if passed_over else ())


def _project_file(here: Path) -> tuple[Path | None, str | None]:
    """The nearest upwards; or why it does not count."""
    owners = {os.geteuid(), 0}
    for above in (here, *here.parents):
        path = above / NAME
        try:
            facts = path.stat()
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(facts.st_mode):
            continue
        link = _foreign_link(path, owners)
        if (link is not None or facts.st_uid not in owners) and not _is_trusted(above):
            whose = "it belongs to another user" if link is None else f"{link} is a link of another user's"
            return None, (
                f"{path} does not count here: {whose}; hint: --site {path} reads it once, and "
                f"{TRUSTED}={above} in the environment trusts what is there"
            )
        if facts.st_mode & stat.S_IWOTH:
            return None, f"{path} does not count here: everybody may write it"
        return path, None
    return None, None


def _foreign_link(path: Path, owners: set[int]) -> Path | None:
    """A link of another user on the way to a file: its owner chooses which file is read."""
    for _ in range(_MOST_LINKS):
        facts = path.lstat()
        if not stat.S_ISLNK(facts.st_mode):
            return None
        if facts.st_uid not in owners:
            return path
        path = path.parent.resolve() / path.readlink()
    return path


def _is_trusted(directory: Path) -> bool:
    """Whether this user trusts the owner of this directory to say where jobs go and which programs are run."""
    return str(directory) in os.environ.get(TRUSTED, "").split(os.pathsep)


DOCUMENT = Document(Site, "site file", "`tonnage explain site-file`", "`tonnage explain site-file`")


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
    """A site, and the file and line of each of its values."""

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
                values: DocumentTable | None = source.site
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
    """Returns the path of a site file that the user named; RequestError for an empty name."""
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
    policy, whole = Policy(), Site()
    for site in sites:
        for server in site.server:
            known = servers.get(server.name)
            servers[server.name] = server if known is None else _over(known, server)
        # Of several entries the first that matches counts.
        access[:0] = site.access
        policy = _over(policy, site.policy)
        whole = _over(whole, site)
    return whole.model_copy(update={"server": tuple(servers.values()), "access": tuple(access), "policy": policy})


def _over(far: _Table, near: _Table) -> _Table:
    """``far``, overridden by every key that ``near`` sets."""
    return far.model_copy(update={key: getattr(near, key) for key in near.model_fields_set})


def _given(values: DocumentTable | None, key: Iterable[str]) -> bool:
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
        for name in server.names:
            other = named.setdefault(name, server.name)
            if other != server.name:
                at = loaded.origin("aliases", server=server.name) or loaded.origin("name", server=server.name)
                there = loaded.origin("aliases", server=other) or loaded.origin("name", server=other)
                raise RequestError(
                    f"{at}: {name!r} stands for server {server.name!r}, and at {there} for {other!r}; "
                    "hint: leave it to one of them"
                )
