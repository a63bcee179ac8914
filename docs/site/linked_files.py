"""A hook of mkdocs: files of the checkout that a page links to are part of the site, so that no link leaves it.

Pages link to code, examples and results by their paths in the checkout. In the site a page of Markdown becomes a page
below ``source/``, another file a text of the same name and ``.txt`` (a browser shows it and does not download it), a
directory its ``README.md`` or a list of what is in it.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
BELOW = "source/"
_LINK = re.compile(r"(\]\(|<img[^>]*\bsrc=\")([^)\s\"#]+)(?=[)\s\"#])")
_FENCED = re.compile(r"(^```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)
_FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe)\b[^>]*\bsrc=[\"']?(?:https?:)?//|<link\b[^>]*\bhref=[\"']?(?:https?:)?//"
)


def repository_path(page: str, target: str) -> str | None:
    """Path from the root of what a page at ``page`` links to; None for an address, or what is outside the checkout."""
    if ":" in target or target.startswith("/"):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return None if path.startswith("..") else path


def site_path(path: str) -> str:
    """Where a file or directory of the checkout is in the site, as mkdocs names its sources."""
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    if (ROOT / path).is_dir():
        return BELOW + posixpath.join(path, "README.md")
    return BELOW + (path if path.endswith(".md") else f"{path}.txt")


def source_of(page: str) -> str:
    """Returns the path in the checkout of a page of the site."""
    return page.removeprefix(BELOW) if page.startswith(BELOW) else DOCS + page


def links(page: str, text: str) -> list[str]:
    """Returns the paths from the root that a page links to, in its prose."""
    prose = _FENCED.sub("", text)
    found = (repository_path(page, match[2]) for match in _LINK.finditer(prose))
    return [path for path in found if path and (ROOT / path).exists()]


def rewritten(page: str, text: str) -> str:
    """The text of a page with each link as the site has it."""

    def link(match: re.Match[str]) -> str:
        path = repository_path(page, match[2])
        if path is None or not (ROOT / path).exists():
            return match[0]
        if path.startswith(DOCS) and page.startswith(DOCS) and not (ROOT / path).is_dir():
            return match[0]
        here = posixpath.dirname(site_path(page))
        return match[1] + posixpath.relpath(site_path(path), here or ".")

    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what pages link to outside of ``docs``, and what those pages link to."""
    known = {source_of(file.src_uri) for file in files}
    waiting = [file.src_uri for file in files.documentation_pages()]
    pages = [(source_of(uri), (ROOT / DOCS / uri).read_text(encoding="utf-8")) for uri in waiting]
    while pages:
        page, text = pages.pop()
        for path in links(page, text):
            if path.startswith(DOCS) or path in known:
                continue
            known.add(path)
            content = _content(path)
            files.append(File.generated(config, site_path(path), content=content))
            if site_path(path).endswith(".md"):
                pages.append((posixpath.join(path, "README.md") if (ROOT / path).is_dir() else path, content))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Links as the site has them."""
    return rewritten(source_of(page.file.src_uri), markdown)


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """The page. PluginError if it loads something from elsewhere: the site is read where there is no network."""
    if found := _FROM_ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads from elsewhere: {found[0]}")
    return output


def _content(path: str) -> str:
    """What the site has of a path: the text of a file; of a directory its README, or the list of its files."""
    whole = ROOT / path
    if whole.is_file():
        return whole.read_text(encoding="utf-8")
    if (whole / "README.md").is_file():
        return (whole / "README.md").read_text(encoding="utf-8")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--", path], check=True, capture_output=True, text=True
    ).stdout
    names = [os.path.relpath(name, path) for name in listed.split("\0") if name]
    return "\n".join([f"# {path}", "", *(f"- [{name}]({name})" for name in names)]) + "\n"
