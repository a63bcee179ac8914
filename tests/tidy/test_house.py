"""The page of the house is true: each file, directory and name that it mentions exists."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from .tree import PACKAGE, ROOT, files, name, read

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(--|\./|make |python -m |tonnage [a-zA-Z])")
"""What somebody types, and no name of the sources."""
_ARGUMENTS = re.compile(r"\([^()]*\)|\{.*\}")
_DEFINED = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))? )?(?:async )?(?:unsafe )?(?:def|class|fn|struct|enum|trait|mod|const|type) (\w+)"
    r"|^(?:    )?(\w+)(?:: [^=\n]+)? = |^    (?:pub )?(\w+)[:,({]",
    re.MULTILINE,
)


@cache
def known() -> frozenset[str]:
    """Names of files and directories, whole and without a suffix, and what the sources define."""
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir()}  # one holds links alone
    for path in files():
        found |= {part for whole in path.relative_to(ROOT).parts for part in (whole, whole.partition(".")[0])}
        if path.suffix in {".py", ".pyi", ".rs"}:
            found |= {one for match in _DEFINED.findall(read(path)) for one in match if one}
    return frozenset(found)


def unknown_names(page: str, names: Collection[str]) -> list[str]:
    """Code in the page with a name in it that is none; words in capitals stand for what a reader chooses."""
    found = []
    for code in _CODE.findall(_FENCED.sub("", page)):
        if _COMMAND.match(code):
            continue
        parts = re.split(r"::|[/ ]|\.(?!\w+$)", _ARGUMENTS.sub("", code).replace("<command>", "NAME"))
        for part in filter(None, parts):
            words = [part] if part in names else part.split(".")
            if any(word and not word.isupper() and word not in names and word not in _SUFFIXES for word in words):
                found.append(f"`{code}`: there is no {part}")
    return found


_SUFFIXES = {"py", "md", "rs", "json", "schema", "test_SUBJECT", "nav"}


def test_every_file_and_name_of_the_house_page_exists() -> None:
    complaints = unknown_names(read(ROOT / "docs" / "house.md"), known())
    assert not complaints, "\n".join(complaints)


def test_every_file_directly_in_the_package_has_its_row() -> None:
    page = read(ROOT / "docs" / "house.md")
    modules = [path for path in files() if path.suffix == ".py" and name(path.parent) == "python/tonnage"]
    elsewhere = {"__init__.py", "measuring.py", "notebook.py"}
    missing = [path.name for path in modules if f"`{path.name}`" not in page and path.name not in elsewhere]
    assert len(modules) > 10 and not missing, f"docs/house.md has no row for {missing}"


def test_a_name_that_is_gone_is_seen_and_a_command_is_none() -> None:
    page = "`a/b.py` has `Old.read(path)`, `NAME.py` and `make site`\n```\n`gone`\n```\n"
    assert unknown_names(page, {"a", "b", "b.py", "Old", "read"}) == []
    assert unknown_names(page, {"a", "b", "read", "b.py"}) == ["`Old.read(path)`: there is no Old.read"]
    assert unknown_names(page, {"a", "Old", "read"}) == ["`a/b.py`: there is no b.py"]
