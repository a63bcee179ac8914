"""Finds the servers that hold a path: examines the path, finds its mount, asks that file system, and says how each is
known."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.filesystems.known_filesystems import served_by
from tonnage.filesystems.servers import Answer, Device, ObservedPath
from tonnage.machine.guarded_access import carefully
from tonnage.machine.mounts import Mount, find_mount, identity, read_mounts
from tonnage.machine.time_limit import in_time
from tonnage.placement.site import Server, Site

_MOST_LAYERS = 4
"""The limit of nested overlays and images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where a path's data lives, as the file system's own tools tell it. The site file gives servers their names."""

    path: str
    """As it was asked for, absolute."""
    real_path: str = ""
    """The same without symbolic links: this one counts."""
    other_names: tuple[str, ...] = ()
    """The same through links of the site file's own spelling."""
    mount: Mount | None
    target: str
    """The storage's identity (``tonnage.machine.mounts``): what a kept load line belongs to."""
    servers: tuple[str, ...] = ()
    """Hosts that serve it, best first: names or addresses as the tools print them, or, where none does, names of the
    site file. Empty: unknown."""
    devices: tuple[Device, ...] = ()
    striped: bool = False
    """The data is spread over the servers: they are a set that carries load, not a place to pin a job to."""
    local: bool = False
    """It is on this host's own device or memory; ``servers`` is this host."""
    how: tuple[str, ...] = ()
    """How that is known: sentences that name the tool or file that said so, in the order of the questions."""
    problem: str | None = None
    """Why the servers are not known: one sentence with a hint; None where they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStatus:
    """The facts of a path."""

    path: str
    """Without links: of the path, or of its nearest parent that is there."""
    rest: str
    """The part below ``path`` that does not exist yet."""
    mount_number: int
    is_directory: bool
    size_bytes: int
    inode: int
    denied: bool
    """``rest`` may exist: this user has no permission to see it."""
    deleted: bool


def path_status(path: str, *, timeout_s: float) -> PathStatus:
    """Looks at ``path``, mounting what is mounted on demand. TimeoutError where it hangs; OSError.

    RequestError for a path that leads nowhere: a broken link, a loop of links, a file where a directory should be.
    """
    return PathStatus(**in_time(lambda: asdict(status_here(path)), timeout_s=timeout_s))


def absolute(path: str) -> str:
    """``path`` from the root on, links and all; also from a working directory that was deleted."""
    try:
        here = str(Path.cwd())
    except FileNotFoundError:
        here = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")  # noqa: PTH115
    return os.path.normpath(os.path.join(here, path)) if ".." not in path.split("/") else os.path.join(here, path)  # noqa: PTH118


def status_here(path: str) -> PathStatus:
    """As :func:`path_status`, in this process, which may hang for ever."""
    at, denied = path, False
    while True:
        try:
            handle = _open_handle(at)
            break
        except FileNotFoundError:
            with suppress(OSError):
                to = os.readlink(at)  # noqa: PTH115
                why = f"{at} is a broken symbolic link to {to}; hint: mend it, or name what it should lead to"
                raise RequestError(why) from None
        except PermissionError:
            denied = True
        except NotADirectoryError:
            why = f"{path} is below a file that is no directory; hint: give a path that can exist"
            raise RequestError(why) from None
        parent = os.path.dirname(at.rstrip("/")) or ("/" if at.startswith("/") else ".")  # noqa: PTH120
        if parent == at:
            raise PermissionError(13, "Permission denied", path)
        at = parent
    facts = os.fstat(handle)
    with open(f"/proc/self/fdinfo/{handle}", encoding="ascii") as lines:  # noqa: PTH123
        number = next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
    deleted = facts.st_nlink == 0 or (real.endswith(" (deleted)") and not os.path.lexists(real))
    return PathStatus(
        path=real.removesuffix(" (deleted)") if deleted else real,
        rest=path[len(at) :].strip("/") if at != "." else ("" if path == "." else path),
        mount_number=number,
        is_directory=os.path.isdir(f"/proc/self/fd/{handle}"),  # noqa: PTH112
        size_bytes=facts.st_size,
        inode=facts.st_ino,
        denied=denied,
        deleted=deleted,
    )


def _open_handle(path: str) -> int:
    """A handle that reads nothing. Only opening it as a directory makes an automount happen."""
    try:
        return os.open(path, os.O_PATH | os.O_DIRECTORY)
    except NotADirectoryError:
        return os.open(path, os.O_PATH)


def servers_of(located: Located, site: Site) -> tuple[Server, ...]:
    """The servers that hold what was located, best first; empty where unknown.

    A name that a tool gave is the site's server of that name, alias or address; a device, or where no tool helped the
    mount's source or the path, is that of the server which ``holds`` it, by the longest pattern. What the site file
    does not know at all is a plain server with one host of its name beside it.
    """
    found = [_of_device(device.name, device.server, site) for device in located.devices]
    found += [site.named(name) or _plain(name) for name in located.servers]
    known = [server for server in found if server is not None and server in site.server]
    if not known:
        known = list(_holding(_all_names(located), site))
    if not known or located.striped:
        known += [server for server in found if server is not None]
    return tuple({server.name: server for server in known}.values())


def _of_device(device: str, name: str | None, site: Site) -> Server | None:
    if name and (server := site.named(name)):
        return server
    held = _holding([device], site)
    return held[0] if held else _plain(name) if name else None


def _plain(name: str) -> Server:
    return Server(name=name, hosts=(name,))


def _all_names(located: Located) -> list[str]:
    mount = located.mount
    return [located.real_path, *located.other_names, *([mount.device] if mount else [])]


def _holding(names: Iterable[str], site: Site) -> tuple[Server, ...]:
    """Those whose pattern for one of ``names`` is the longest: ``/data/proj`` before ``/data``."""
    fitting = [
        (len(pattern), server)
        for server in site.server
        for pattern in server.holds
        if any(matches(name, pattern) for name in names)
    ]
    longest = max((length for length, _ in fitting), default=0)
    return tuple(server for length, server in fitting if length == longest)


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern of ``holds`` means this; a path holds all that is below it."""
    below = pattern.startswith("/") and fnmatchcase(name, pattern.rstrip("/") + "/*")
    return below or fnmatchcase(name, pattern)


def other_names(typed: str, real: str, site: Site, *, timeout_s: float) -> tuple[str, ...]:
    """``real`` as the site file's patterns spell it, of those patterns that fit the path as it was typed.

    A pattern that leads elsewhere (``typed`` leaves it by a link) gives none. Where one does not answer in time,
    ``real`` is all there is.
    """
    typed = os.path.normpath(typed)
    if typed == real:
        return ()
    patterns = [pattern for server in site.server for pattern in server.holds if pattern.startswith("/")]
    begins = sorted({_fixed_part(pattern) for pattern in patterns if matches(typed, pattern)})
    found: list[str] = []
    with suppress(OSError):  # TimeoutError is one
        ends = carefully(lambda: [os.path.realpath(begin) for begin in begins], begins, timeout_s=timeout_s)
        for begin, end in zip(begins, ends, strict=True):
            if begin != end and (real == end or real.startswith(end.rstrip("/") + "/")):
                found.append(os.path.normpath(f"{begin}/{real[len(end) :]}"))
    return tuple(found)


def _fixed_part(pattern: str) -> str:
    """The directory that a pattern names without wildcards."""
    whole = re.match(r"[^*?[]*", pattern)
    begin = whole[0] if whole else ""
    return begin.rstrip("/") or "/" if begin == pattern else begin.rpartition("/")[0] or "/"


def locate(
    path: str | os.PathLike[str], site: Site, *, timeout_s: float, looked: Callable[[], PathStatus] | None = None
) -> Located:
    """Where the data of ``path`` lives. Never blocks longer than a few times ``timeout_s``, whatever its mount does.

    A path that does not exist yet lives where its nearest parent does. RequestError for one that leads nowhere (a
    broken link); where the servers are unknown, ``Located.problem`` says why. ``looked`` gives what :func:`path_status`
    said of ``path``, or raises what it raised, where somebody has looked.
    """
    asked = os.fsdecode(path)
    if not asked or "\0" in asked:
        raise RequestError("an empty path names nothing; hint: give a file or directory, or leave it out")
    return _locate(asked, site, timeout_s, _MOST_LAYERS, looked)


def _locate(
    asked: str, site: Site, timeout_s: float, layers: int, looked: Callable[[], PathStatus] | None = None
) -> Located:
    whole = absolute(asked)
    seen, notes = _status(whole, looked or (lambda: path_status(asked, timeout_s=timeout_s)), timeout_s)
    mounts = read_mounts()
    # A path that does not exist yet has no links, and those of a path that hangs are unknown: ".." is resolved
    # textually there.
    real = os.path.normpath(os.path.join(seen.path, seen.rest) if seen else whole)  # noqa: PTH118
    mount = _mount(mounts, seen, real)
    others = other_names(whole, real, site, timeout_s=timeout_s) if seen else ()
    located = Located(path=whole, real_path=real, other_names=others, mount=mount, target="", how=notes)
    if mount is None:
        return replace(
            located, problem="the mount table does not say on which file system this is; hint: is /proc mounted?"
        )

    def below(lower: str) -> Answer:
        if not layers:
            return Answer(problem="too many file systems lie on one another; hint: name the server in tonnage.toml")
        found = _locate(lower, site, timeout_s, layers - 1)
        return Answer(
            servers=found.servers,
            devices=found.devices,
            striped=found.striped,
            local=found.local,
            how=found.how,
            problem=found.problem,
        )

    observed = ObservedPath(
        path=seen.path if seen else real,
        mount=mount,
        mounts=tuple(mounts),
        is_known=site.named,
        timeout_s=timeout_s,
        answers=seen is not None and not seen.denied and not seen.deleted,
        is_directory=seen.is_directory if seen else True,
        size_bytes=seen.size_bytes if seen else 0,
        inode=seen.inode if seen else 0,
        below=below,
    )
    answer = served_by(observed)
    return _by_site_file(
        replace(
            located,
            target=identity(mount, observed.path),
            servers=answer.servers,
            devices=answer.devices,
            striped=answer.striped,
            local=answer.local,
            how=(*notes, *answer.how),
            problem=answer.problem,
        ),
        site,
    )


def _by_site_file(located: Located, site: Site) -> Located:
    """Where no tool knows a server, what the site file says that its servers hold."""
    if located.servers:
        return located
    held = tuple(server.name for server in servers_of(located, site))
    if not held:
        return located
    how = (*located.how, f"tonnage.toml: {', '.join(held)} {'holds' if len(held) == 1 else 'hold'} it")
    return replace(located, servers=held, striped=located.striped or len(held) > 1, how=how, problem=None)


def _status(
    whole: str, looked: Callable[[], PathStatus], timeout_s: float
) -> tuple[PathStatus | None, tuple[str, ...]]:
    """The status of a path (None: it hangs), and notes on it for the user."""
    try:
        seen = looked()
    except TimeoutError:
        return None, (f"{whole} did not answer within {timeout_s:g} s: the mount table alone says where it is",)
    except OSError as error:
        return None, (f"{whole} cannot be looked at ({error.strerror}): the mount table alone says where it is",)
    if seen.denied:
        return seen, (f"no permission to look below {seen.path}: the mount table alone says where {whole} is",)
    if seen.deleted:
        return seen, (f"{seen.path} was deleted: it was here",)
    if seen.rest:
        return seen, (f"{seen.rest} does not exist yet: {seen.path} says where it will be",)
    return seen, ()


def _mount(mounts: list[Mount], seen: PathStatus | None, real: str) -> Mount | None:
    """The mount by the kernel's mount id where the path could be opened, else by its name."""
    if seen is not None and not seen.denied:
        with suppress(StopIteration):
            return next(mount for mount in mounts if mount.number == seen.mount_number)
    return find_mount(mounts, real)
