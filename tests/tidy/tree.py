"""The files of the checkout, and how to read the ones that checks look into."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pytest brings tomli there
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tonnage"
SOURCE_SUFFIXES = {".rs", ".py", ".c", ".h", ".js", ".css", ".html", ".sh", ".pyi"}
PROSE_SUFFIXES = {".md", ".txt", ".cff", ""}
DATA_SUFFIXES = {".toml", ".yml", ".yaml", ".json", ".jsonl", ".csv", ".lock", ".in"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | PROSE_SUFFIXES | DATA_SUFFIXES
RECORDED = ("bench/results/",)
"""Files that keep what another program said are facts: nobody edits them to please a check."""


@cache
def files() -> tuple[Path, ...]:
    """All files that are, or could be, committed: tracked ones and new ones that nothing ignores."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (ROOT / name for name in sorted(set(listed.split("\0")) - {""}))
    return tuple(path for path in paths if path.is_file() and not path.is_symlink())


def name(path: Path) -> str:
    """The path as a person in the checkout would type it."""
    return path.relative_to(ROOT).as_posix()


def sources() -> list[Path]:
    """Code that people write and read."""
    return [path for path in files() if path.suffix in SOURCE_SUFFIXES or name(path) == "tonnage"]


def texts() -> list[Path]:
    """Everything made of words, code included."""
    return [path for path in files() if path.suffix in TEXT_SUFFIXES and not name(path).startswith(RECORDED)]


def python_files(*tops: str) -> list[Path]:
    """Python files below the directories named, or anywhere."""
    return [path for path in files() if path.suffix == ".py" and name(path).startswith(tops or ("",))]


def rust_files() -> list[Path]:
    """Rust files of all crates."""
    return [path for path in files() if path.suffix == ".rs" and name(path).startswith("crates/")]


def read(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8", errors="replace")


def read_toml(path: Path) -> dict:
    """A TOML file as nested dicts."""
    return tomllib.loads(read(path))
