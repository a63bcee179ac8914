"""From a path to the servers that hold it: looks at it, finds its mount, asks that file system."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from tonnage.errors import RequestError
from tonnage.filesystems.registry import served_by
from tonnage.filesystems.servers import Answer, ObservedPath
from tonnage.machine.identity import identity
from tonnage.machine.mounts import Mount, find_mount, read_mounts
from tonnage.placement.site.model import Site
from tonnage.placement.where.located import Located
from tonnage.placement.where.look import Look, absolute, look
from tonnage.placement.where.names import other_names
from tonnage.placement.where.servers import servers_of

_MOST_LAYERS = 4
"""An overlay on an image on an overlay… ends somewhere."""


def locate(
    path: str | os.PathLike[str], site: Site, *, timeout_s: float, looked: Callable[[], Look] | None = None
) -> Located:
    """Where the data of ``path`` lives. Never blocks longer than a few times ``timeout_s``, whatever its mount does.

    A path that does not exist yet lives where its nearest parent does. RequestError for one that leads nowhere (a
    broken link); where nobody knows the servers, ``Located.problem`` says why. ``looked`` gives what
    :func:`~tonnage.placement.where.look.look` said of ``path``, or raises what it raised, where somebody has looked.
    """
    asked = os.fsdecode(path)
    if not asked or "\0" in asked:
        raise RequestError("an empty path names nothing; hint: give a file or directory, or leave it out")
    return _locate(asked, site, timeout_s, _MOST_LAYERS, looked)


def _locate(asked: str, site: Site, timeout_s: float, layers: int, looked: Callable[[], Look] | None = None) -> Located:
    whole = absolute(asked)
    seen, notes = _seen(whole, looked or (lambda: look(asked, timeout_s=timeout_s)), timeout_s)
    mounts = read_mounts()
    # What is not there yet has no links, and of what hangs nobody knows them: there ".." is what it looks like.
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


def _seen(whole: str, looked: Callable[[], Look], timeout_s: float) -> tuple[Look | None, tuple[str, ...]]:
    """What a look says (None: it hangs), and what of it a user has to know."""
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


def _mount(mounts: list[Mount], seen: Look | None, real: str) -> Mount | None:
    """The kernel's own word for what could be opened; what could not is found by its name."""
    if seen is not None and not seen.denied:
        with suppress(StopIteration):
            return next(mount for mount in mounts if mount.number == seen.mount_number)
    return find_mount(mounts, real)
