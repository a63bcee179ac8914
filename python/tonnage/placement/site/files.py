"""Which site files count here: the system's, the user's, and the project's nearest above a directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage.errors import RequestError
from tonnage.machine.careful import carefully

NAME = "tonnage.toml"
TRUSTED = "TONNAGE_TRUSTED"
"""The variable that names directories, between colons, whose site files count whoever owns them."""
_MOST_LINKS = 40
"""As many as the kernel follows."""
_PATIENCE_S = 2.0
"""How long all of them may take: no site file has been read yet that could say so."""


@dataclass(frozen=True, slots=True)
class Found:
    """The site files of a directory, the farthest first."""

    texts: dict[Path, str]
    passed_over: tuple[str, ...] = ()
    """Sentences: which file does not count, and why."""


def find_files(directory: Path, read: Callable[[Path], str]) -> Found:
    """Those that count in ``directory``, each read by ``read``, whose RequestErrors pass.

    A server that holds a project's directory and does not answer within 2 s costs the project's file only.
    """
    try:
        # Links are left as they are: where somebody works is what they typed.
        here: Path | None = Path(os.path.abspath(directory))  # noqa: PTH100
    except OSError:
        here = None  # the working directory was removed
    try:
        return _read(here, read)
    except TimeoutError:
        found = _read(None, read)
        return Found(found.texts, (f"no project's site file was looked for: {directory} does not answer",))


def read_file(path: Path, read: Callable[[Path], str]) -> Found:
    """One file alone."""
    return _told(lambda: _texts([path], read), [path.absolute()])


def system_file() -> Path:
    """``/etc/tonnage/tonnage.toml``; ``TONNAGE_SYSTEM_CONFIG`` names another directory."""
    return Path(os.environ.get("TONNAGE_SYSTEM_CONFIG") or "/etc/tonnage") / NAME


def user_file() -> Path:
    """``$XDG_CONFIG_HOME/tonnage/tonnage.toml``, else below ``~/.config``."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    # expanduser leaves `~` alone where nobody knows the home; then there is no such file.
    return (Path(base) if base.startswith("/") else Path(os.path.expanduser("~/.config"))) / "tonnage" / NAME  # noqa: PTH111


def _read(here: Path | None, read: Callable[[Path], str]) -> Found:
    """Those of everybody and of the user, and the project's where ``here`` is given."""
    common = [system_file(), user_file()]

    def look() -> dict[str, Any]:
        files = [path for path in common if path.is_file()]
        project, passed_over = _project_file(here) if here else (None, None)
        if project and not any(project.samefile(path) for path in files):
            files.append(project)
        return {**_texts(files, read), "passed_over": passed_over}

    return _told(look, [*common, *filter(None, [here])])


def _texts(files: list[Path], read: Callable[[Path], str]) -> dict[str, Any]:
    """What a child can tell: the texts, or in whose place there is a refusal."""
    try:
        return {"texts": [[str(path), read(path)] for path in files]}
    except RequestError as error:
        return {"refusal": str(error)}


def _told(look: Callable[[], dict[str, Any]], paths: list[Path]) -> Found:
    told = carefully(look, paths, timeout_s=_PATIENCE_S)
    if "refusal" in told:
        raise RequestError(told["refusal"])
    passed_over = told.get("passed_over")
    return Found({Path(path): text for path, text in told["texts"]}, (passed_over,) if passed_over else ())


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
    """The link of somebody else's through which a file is reached: whoever made it chose which file that is."""
    for _ in range(_MOST_LINKS):
        facts = path.lstat()
        if not stat.S_ISLNK(facts.st_mode):
            return None
        if facts.st_uid not in owners:
            return path
        path = path.parent.resolve() / path.readlink()
    return path


def _is_trusted(directory: Path) -> bool:
    """Whether this user said that whoever writes there may say where jobs go, and which programs are asked."""
    return str(directory) in os.environ.get(TRUSTED, "").split(os.pathsep)
