"""The movers of this user on this host, by name. Only a hint: a mover runs where its socket answers."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.staging.control_socket import answers

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_LARGEST = 64 << 10
"""Bytes of an entry that are read."""


@dataclass(frozen=True, slots=True)
class Registered:
    """One mover, alive or not; what a dead one left can be resumed."""

    name: str
    source: Path
    to: Path
    state: Path
    pid: int
    direction: str

    @property
    def local(self) -> Path:
        """The node-local tree, which has one mover at most."""
        return self.source if self.direction == "out" else self.to

    @property
    def alive(self) -> bool:
        """Whether it answers."""
        return answers(self.state)


def check_name(name: str) -> str:
    """The name itself; RequestError where it cannot be one."""
    if not _NAME.fullmatch(name):
        raise RequestError(f"{name!r} cannot be a mover's name; hint: up to 64 letters, digits, '.', '_' and '-'")
    return name


def name_of(tree: Path) -> str:
    """The tree's last component, as far as it can be a name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", tree.name).lstrip(".-")[:56] or "root"


@contextmanager
def registered_name(name: str, state: Path, *, numbered: bool) -> Iterator[str]:
    """Holds the name for a mover on this host, from before it works until it has ended, however it ends.

    ``numbered``: with a number behind it where another mover has it; else that is a RequestError.
    """
    with ExitStack() as held:
        with _locked() as place:
            taken = {found.name for found in registered() if found.state != state and found.alive}
            for wished in _numbered(name):
                if wished not in taken and (lock := _name_lock(place, wished)) is not None:
                    held.callback(os.close, lock)
                    break
                if not numbered:
                    raise _refused_name(wished, next((one for one in registered() if one.name == wished), None))
        try:
            yield wished
        finally:
            # No other process has it open meanwhile and could lock a file without a name.
            with _locked() as place:
                _lock_file(place, wished).unlink(missing_ok=True)
                with suppress(OSError):
                    place.rmdir()


def _lock_file(place: Path, name: str) -> Path:
    return place / f"{name}.lock"


def _name_lock(place: Path, name: str) -> int | None:
    """A descriptor that holds the name; None where another has it. The caller holds the place's lock."""
    descriptor = os.open(_lock_file(place, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _refused_name(name: str, holder: Registered | None) -> RequestError:
    who = f", from {holder.source} (process {holder.pid})" if holder else ""
    return RequestError(f"a mover named {name} runs already{who}; hint: give another --name")


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


def refuse_taken(entry: Registered) -> None:
    """RequestError where a living mover of another state directory has the name, or works on the same local tree."""
    for found in registered():
        if found.state == entry.state or not found.alive:
            continue
        if found.name == entry.name:
            raise _refused_name(entry.name, found)
        if found.direction == entry.direction and same_tree(found.local, entry.local):
            raise RequestError(
                f"mover {found.name} (process {found.pid}) works on {entry.local} already, with its state in "
                f"{found.state}; hint: stop it first"
            )


def same_tree(one: Path, other: Path) -> bool:
    """Whether both paths lead to one directory, or are equal where one cannot be asked."""
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def register(entry: Registered) -> None:
    """Makes the mover known; the entries of dead movers of the same name or the same state give way."""
    with _locked() as place:
        refuse_taken(entry)
        for file, found in _entries(place):
            if (found.state == entry.state and found.name != entry.name) or not found.state.is_dir():
                file.unlink(missing_ok=True)
        fresh = place / f".{secrets.token_hex(8)}"
        text = json.dumps({key: str(value) for key, value in asdict(entry).items()})
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(place / f"{entry.name}.json")


def forget(entry: Registered) -> None:
    """Takes the entry away, unless another mover has taken the name over."""
    with _locked() as place:
        file = place / f"{entry.name}.json"
        if _read(file) == entry:
            file.unlink(missing_ok=True)


def registered() -> list[Registered]:
    """All that are known, sorted by name, from every place where this user's movers may have registered."""
    entries = [entry for place in _places() if _is_ours(place) for _, entry in _entries(place)]
    # Where the journal went with a job's storage, there is nothing to ask and nothing to resume.
    found = {entry.state: entry for entry in entries if entry.state.is_dir()}
    return sorted(found.values(), key=lambda entry: (entry.name, str(entry.state)))


def _places() -> list[Path]:
    """A batch job has no runtime directory where the login shell beside it has one: looked for in both."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    shared = Path(f"/tmp/tonnage-{os.geteuid()}")
    return [Path(runtime) / "tonnage", shared] if runtime and Path(runtime).is_dir() else [shared]


def _own_directory() -> Path:
    place = _places()[0]
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"cannot make {place}: {error.strerror}; hint: set XDG_RUNTIME_DIR to a directory of yours"
        ) from None
    if not _is_ours(place):
        raise RequestError(
            f"{place} is not a directory that only you can write; hint: set XDG_RUNTIME_DIR to a directory of yours"
        )
    return place


def _is_ours(place: Path) -> bool:
    try:
        found = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _entries(place: Path) -> list[tuple[Path, Registered]]:
    files = sorted(place.glob("*.json"))
    return [(file, entry) for file in files if (entry := _read(file)) is not None]


def _read(file: Path) -> Registered | None:
    try:
        with file.open(encoding="utf-8") as text:
            found = json.loads(text.read(_LARGEST))
        source, to, state = (Path(found[key]) for key in ("source", "to", "state"))
        return Registered(check_name(found["name"]), source, to, state, int(found["pid"]), str(found["direction"]))
    except (OSError, ValueError, KeyError, TypeError, RequestError):
        return None


@contextmanager
def _locked() -> Iterator[Path]:
    """Locks the directory of entries; the process that has it may remove it where it is empty."""
    directory, place = _opened_directory()
    try:
        yield place
    finally:
        os.close(directory)


def _opened_directory() -> tuple[int, Path]:
    """Locked, and still there."""
    while True:
        place = _own_directory()
        try:
            directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(directory, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(place.stat(), os.fstat(directory)):
                return directory, place
        os.close(directory)
