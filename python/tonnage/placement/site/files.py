"""Which site files count here: the system's, the user's, and the project's nearest above a directory."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from tonnage.machine.careful import carefully

NAME = "tonnage.toml"
_PATIENCE_S = 2.0
"""How long a project's directory may take to be looked at: no site file has been read yet that could say so."""


@dataclass(frozen=True, slots=True)
class Found:
    """The site files of a directory, the farthest first."""

    files: tuple[Path, ...]
    passed_over: tuple[str, ...] = ()
    """Sentences: which file does not count, and why."""


def find_files(directory: Path) -> Found:
    """Those that count in ``directory``. Nothing is read but who owns what; a dead server is left alone after 2 s."""
    found = [path for path in (system_file(), user_file()) if path.is_file()]
    try:
        # Links are left as they are: where somebody works is what they typed.
        here = Path(os.path.abspath(directory))  # noqa: PTH100
        project, passed_over = carefully(lambda: _project_file(here), [here], timeout_s=_PATIENCE_S)
    except TimeoutError:
        return Found(tuple(found), (f"no project's site file was looked for: {directory} does not answer",))
    except OSError:
        return Found(tuple(found))  # the working directory was removed
    if project is not None and not any(Path(project).samefile(path) for path in found):
        found.append(Path(project))
    return Found(tuple(found), (passed_over,) if passed_over else ())


def system_file() -> Path:
    """``/etc/tonnage/tonnage.toml``; ``TONNAGE_SYSTEM_CONFIG`` names another directory."""
    return Path(os.environ.get("TONNAGE_SYSTEM_CONFIG") or "/etc/tonnage") / NAME


def user_file() -> Path:
    """``$XDG_CONFIG_HOME/tonnage/tonnage.toml``, else below ``~/.config``."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    # expanduser leaves `~` alone where nobody knows the home; then there is no such file.
    return (Path(base) if base.startswith("/") else Path(os.path.expanduser("~/.config"))) / "tonnage" / NAME  # noqa: PTH111


def _project_file(here: Path) -> tuple[str | None, str | None]:
    """The nearest upwards; or why it does not count."""
    owners = {os.geteuid(), 0, _owner(here)}
    for above in (here, *here.parents):
        path = above / NAME
        try:
            facts = path.stat()
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(facts.st_mode):
            continue
        if facts.st_uid not in owners:
            return None, f"{path} does not count here: it belongs to neither you nor the owner of {here}"
        if facts.st_mode & stat.S_IWOTH:
            return None, f"{path} does not count here: everybody may write it"
        return str(path), None
    return None, None


def _owner(directory: Path) -> int:
    try:
        return directory.stat().st_uid
    except (OSError, ValueError):
        return 0
