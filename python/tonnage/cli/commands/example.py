"""``tonnage example``: the campaigns, and the notebook, that the package carries with it."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path

import tonnage
from tonnage.cli.command import Arguments
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError

COMMAND = Command(
    "example",
    "print a campaign to begin with",
    "Prints the example NAME, or writes it with --out: a campaign file for tonnage run, or a notebook. Without a NAME "
    "it lists them all. They come with the package and need no network.",
    (
        Option(("name",), "which example", "NAME", optional=True),
        Option(("--out",), "write it to this file, which must not be there yet", "FILE", completes="file"),
    ),
    (
        ("tonnage example", "every example, one a line"),
        ("tonnage example first-light --out first-light.toml", "a campaign to change and to run"),
    ),
)

FILES = Path(tonnage.__file__).parent / "examples"
"""``examples`` of a checkout links to them: there is one copy of each."""


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    files = {path.name: path for path in sorted(FILES.iterdir()) if path.suffix in (".toml", ".ipynb")}
    if arguments.name is None:
        if arguments.out is not None:
            raise RequestError("--out is for one example; hint: `tonnage example` lists them, name one")
        width = max(len(path.stem) for path in files.values())
        print("\n".join(f"{path.stem:<{width}}  {_gist(path)}" for path in files.values()))
        return 0
    text = _named(arguments.name, files).read_text(encoding="utf-8")
    if arguments.out is None:
        print(text, end="")
        return 0
    from tonnage.outputs import Form, Output

    Output(Path(arguments.out), "--out", Form("a file to write over", lambda _: False)).make(text)
    return 0


def _named(name: str, files: dict[str, Path]) -> Path:
    """With its suffix or without."""
    by_name = {path.stem: path for path in files.values()} | files
    if name not in by_name:
        near = get_close_matches(name, by_name, n=1)
        hint = f"is it {near[0]}?" if near else "`tonnage example` lists them all"
        raise RequestError(f"{name!r} is no example; hint: {hint}")
    return by_name[name]


def _gist(path: Path) -> str:
    """Its first line: of a campaign a comment, of a notebook the heading."""
    text = path.read_text(encoding="utf-8")
    first = json.loads(text)["cells"][0]["source"][0] if path.suffix == ".ipynb" else text.partition("\n")[0]
    return str(first).lstrip("# ").rstrip()
