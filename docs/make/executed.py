"""Pages whose commands are run: ``python docs/make/executed.py PAGE...`` runs them and writes what they print into
the page.

A page's blocks are carried out in order, in one directory. By the word behind the fence:

- ``toml``, ``yaml``, ``python``, and a script that begins with ``#!``: a file, named by its first comment;
- ``console``: each ``$ command`` is run by bash, and what is below it is its standard output, and its errors where it
  does not end with 0. A line ``…`` stands for any lines. Behind ``<!-- stable … -->``, a regular expression a line, the
  figures vary from run to run, and each expression is found in what is shown and in what is printed;
- ``sh``: commands of which nothing is shown; each has to end with 0.

Anything else is text. ``tests/e2e/test_tutorials.py`` holds the pages to it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(
    r"(?:^<!-- stable\n(?P<stable>.*?)^-->\n+)?^```(?P<kind>toml|yaml|python|console|sh)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"^# (\S+\.\w+)$", re.MULTILINE)
_LIMIT_S = 900
"""Of one command. It takes seconds where nobody else computes, and for ever where it hangs."""
_HOMES = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TONNAGE_SYSTEM_CONFIG")
"""Variables with the places of a user's own files: those of whoever runs a page are neither read nor changed."""


@dataclass(frozen=True)
class Printed:
    """A command of a page: what stands below it, and what it printed."""

    command: str
    shown: str
    said: str
    stable: tuple[str, ...]

    def complaints(self) -> list[str]:
        """In what the page differs from the command; empty where it does not."""
        if self.stable:
            found = [(one, where) for one in self.stable for where in ("shown", "said")]
            return [
                f"{self.command}: no {one!r} in what is {where}:\n{getattr(self, where)}"
                for one, where in found
                if not re.search(one, getattr(self, where), re.MULTILINE)
            ]
        pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in self.shown.splitlines())
        if re.fullmatch(pattern, self.said):
            return []
        return [f"{self.command} prints\n{self.said}\nand the page shows\n{self.shown}"]


class Directory:
    """Where a page's blocks are carried out: a directory of its own, with a home of its own."""

    def __init__(self, place: Path, launcher: Path = ROOT / "tonnage") -> None:
        self.work = place / "work"
        self.work.mkdir()
        programs = place / "bin"
        programs.mkdir()
        (programs / "tonnage").symlink_to(launcher)
        (self.work / "tonnage").symlink_to(launcher)  # pages of a checkout say ./tonnage
        own = {name: str(place / name.lower()) for name in _HOMES}
        for directory in own.values():
            Path(directory).mkdir(mode=0o700)
        path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        self.environment = {**os.environ, **own, "PATH": path, "NO_COLOR": "1"}

    def run(self, command: str) -> str:
        """What a command prints. AssertionError if it ends in a traceback."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        said = done.stdout + (done.stderr if done.returncode else "")
        return "".join(f"{line.rstrip()}\n" for line in said.strip().splitlines())

    def write(self, text: str) -> None:
        """The file that a block is. ValueError where no line of it is its name."""
        named = _NAME.search(text)
        if not named:
            raise ValueError(f"a block without the name of its file:\n{text}")
        path = self.work / named[1]
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)


def carry_out(page: str, directory: Directory) -> Iterator[Printed]:
    """Carries out the blocks of a page's text, and tells of each command that shows what it prints."""
    for block in _BLOCK.finditer(page):
        kind, text = block["kind"], block["text"]
        if kind in ("toml", "yaml", "python") or text.startswith("#!"):
            directory.write(text)
        elif kind == "sh":
            subprocess.run(
                ["bash", "-eu", "-c", text],
                cwd=directory.work,
                env=directory.environment,
                check=True,
                timeout=_LIMIT_S,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        else:
            stable = tuple((block["stable"] or "").splitlines())
            for command, shown in _commands(text):
                yield Printed(command, shown, directory.run(command), stable)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def main() -> int:
    """Runs the commands of each page and writes what they print in the place of what was shown."""
    if len(sys.argv) < 2:
        print("usage: python docs/make/executed.py PAGE...", file=sys.stderr)
        return 2
    for name in sys.argv[1:]:
        page = Path(name)
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as place:
            for printed in carry_out(text, Directory(Path(place))):
                if printed.complaints():
                    print(f"{name}: {printed.command}")
                    text = text.replace(
                        f"$ {printed.command}\n{printed.shown}", f"$ {printed.command}\n{printed.said}", 1
                    )
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
