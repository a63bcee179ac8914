"""``tonnage explain``: the pages of findings, which the package carries with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    "print what a finding means",
    "Prints the page of each finding CODE: what it means, its threshold, an example, what to do, and where it is "
    "calibrated. Without a CODE it lists them all. The pages come with the package and need no network.",
    (
        Option(
            ("codes",),
            "codes of findings, as a report prints them",
            "CODE",
            optional=True,
            repeats=True,
        ),
    ),
    (
        ("tonnage explain stall", "what a stall is, and where to look"),
        ("tonnage explain", "every finding, one a line"),
    ),
)

PAGES = Path(tonnage.__file__).parent / "explained"
"""There is one copy of each page, and every package of Tonnage has it."""
_ROOT = "../../../"
"""How a page's links lead to the top of the repository."""
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def run(arguments: Arguments) -> int:
    """Exit code."""
    pages = {path.stem: path for path in sorted(PAGES.glob("*.md"))}
    added = {code: _told(load()) for code, load in plugins.each(plugins.FINDINGS)}
    for code in arguments.codes:
        if code not in pages and code not in added:
            raise RequestError(f"{code!r} is no finding; hint: {_hint(code, [*pages, *added])}")
    if arguments.codes:
        asked = dict.fromkeys(arguments.codes)
        print("\n\n".join(_read(pages[code]) if code in pages else added[code] for code in asked))
    else:
        gists = {code: _gist(path) for code, path in pages.items()}
        gists |= {code: text.partition("\n")[0] for code, text in added.items()}
        width = max(map(len, gists), default=0)
        print("\n".join(f"{code:<{width}}  {gist}" for code, gist in gists.items()))
    return 0


def _told(judge: object) -> str:
    """What a plug-in's finding says of itself."""
    return getdoc(judge) or "its plug-in does not explain it"


def _hint(code: str, codes: Sequence[str]) -> str:
    near = get_close_matches(code, codes, n=1)
    return f"is it {near[0]}?" if near else "`tonnage explain` lists them all"


def _read(page: Path) -> str:
    """Its text, with the targets of links as paths of the repository."""
    return _LINK.sub(_target, page.read_text(encoding="utf-8")).rstrip()


def _target(link: re.Match[str]) -> str:
    said, target = link.groups()
    if "://" in target:
        return f"{said} ({target})"
    return f"{said} ({target.removeprefix(_ROOT)})" if target.startswith(_ROOT) else said


def _gist(page: Path) -> str:
    """The first sentence below the heading."""
    paragraph = page.read_text(encoding="utf-8").split("\n\n")[1]
    return re.split(r"(?<=[.:])\s", " ".join(paragraph.split()), maxsplit=1)[0].rstrip(":.")
