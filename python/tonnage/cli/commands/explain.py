"""``tonnage explain``: the pages of findings and of the documentation, which the package carries with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import getdoc
from pathlib import Path

import tonnage
from tonnage import plugins
from tonnage.cli.command import Arguments
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError

COMMAND = Command(
    "explain",
    "print what a finding means, or a page of the documentation",
    "Prints the page of each finding NAME: what it means, its threshold, an example, what to do, and where it is "
    "calibrated. Or a page of the documentation: concepts, tutorials, the keys of files. Without a NAME it lists them "
    "all. The pages come with the package and need no network.",
    (
        Option(
            ("names",),
            "codes of findings, as a report prints them, or names of pages",
            "NAME",
            optional=True,
            repeats=True,
        ),
    ),
    (
        ("tonnage explain stall", "what a stall is, and where to look"),
        ("tonnage explain campaign", "every key of the campaign file"),
        ("tonnage explain", "every finding and every page, one a line"),
    ),
)

_HERE = Path(tonnage.__file__).parent
FINDINGS = _HERE / "explained"
DOCUMENTATION = _HERE / "documentation"
"""Links to the pages of the checkout's ``docs``, all in one directory; every package of Tonnage has what they hold."""
ABOUT = {"training": "how-many-accelerators", "company": "beside-the-others"}
"""Words that a user knows from commands → the page about them."""
_FENCED = re.compile(r"(^```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    findings, pages = _pages(FINDINGS), _pages(DOCUMENTATION)
    added = {code: _plug_ins_text(load) for code, load in plugins.each(plugins.FINDINGS)}
    about = {word: pages[name] for word, name in ABOUT.items() if name in pages}
    known: dict[str, str | Path] = {**about, **added, **pages, **findings}
    for name in arguments.names:
        if name not in known:
            raise RequestError(f"{name!r} is no finding and no page; hint: {_hint(name, list(known))}")
    if arguments.names:
        asked = (known[name] for name in dict.fromkeys(arguments.names))
        print("\n\n".join(_read(page, known) if isinstance(page, Path) else page for page in asked))
    else:
        gists = {code: _gist(path) for code, path in findings.items()}
        gists |= {code: text.partition("\n")[0] for code, text in added.items()}
        print("\n".join(_listed(gists)))
        print("\nPages of the documentation:")
        print("\n".join(_listed({name: _title(path) for name, path in pages.items()})))
    return 0


def _pages(directory: Path) -> dict[str, Path]:
    return dict(sorted((path.stem, path) for path in directory.glob("*.md")))


def _listed(gists: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, gists), default=0)
    return (f"{name:<{width}}  {gist}" for name, gist in gists.items())


def _plug_ins_text(load: Callable[[], object]) -> str:
    """What a plug-in's finding says of itself, or why it cannot be asked."""
    try:
        return getdoc(load()) or "its plug-in does not explain it"
    except plugins.PlugInError as error:
        return str(error)


def _hint(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f"is it {near[0]}?" if near else "`tonnage explain` lists them all"


def _read(page: Path, known: Mapping[str, object]) -> str:
    """Its text for a terminal: a link names the command that prints its page, or a file of the sources."""

    def target(link: re.Match[str]) -> str:
        picture, said, path = link.groups()
        if picture:
            return f"(picture: {said})" if said else ""
        if "://" in path:
            return f"{said} ({path})"
        path = path.partition("#")[0]
        name = Path(path).stem
        if path.endswith(".md") and name in known:
            command = f"`tonnage explain {name}`"
            return command if said.strip("`").removesuffix(".md") == name else f"{said} ({command})"
        # What leads out of the documentation is a file of the sources.
        source = re.sub(r"^(\.\./)+", "", path)
        return f"{said} ({source})" if source != path and not path.endswith(".md") else said

    parts = _FENCED.split(_COMMENT.sub("", page.read_text(encoding="utf-8")))
    return "".join(part if number % 2 else _LINK.sub(target, part) for number, part in enumerate(parts)).rstrip()


def _gist(page: Path) -> str:
    """The first sentence below the heading."""
    paragraph = page.read_text(encoding="utf-8").split("\n\n")[1]
    return re.split(r"(?<=[.:])\s", " ".join(paragraph.split()), maxsplit=1)[0].rstrip(":.")


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).lstrip("# ").rstrip()
