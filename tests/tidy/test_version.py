"""``Cargo.toml`` has the version: what has to repeat it says the same."""

from __future__ import annotations

import re

import tonnage
from tonnage import _native

from .tree import ROOT, files, name, read, read_toml

VERSION = read_toml(ROOT / "Cargo.toml")["workspace"]["package"]["version"]
REPEATED = (
    re.compile(r"^version: (\S+)$", re.MULTILINE),
    re.compile(r"^\s*(?:version|set version|%?set version) *= *[\"'](\d[^\"']*)[\"']", re.MULTILINE),
    re.compile(r"\btonnage[-/@](\d+\.\d+\.\d+)\b"),
)
"""How citations, recipes and their pages state it."""
PLACES = ("CITATION.cff", "packaging/", "docs/install.md")


def stated(text: str) -> set[str]:
    """Every version of Tonnage that a text names."""
    return {match for pattern in REPEATED for match in pattern.findall(text)}


def test_package_engine_and_build_take_it_from_there() -> None:
    assert tonnage.__version__ == VERSION == _native.__version__
    project = read_toml(ROOT / "pyproject.toml")["project"]
    assert "version" in project["dynamic"] and "version" not in project
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert read_toml(manifest)["package"]["version"] == {"workspace": True}, manifest
    assert VERSION not in read(ROOT / "python/tonnage/__init__.py")


def test_citation_recipes_and_changelog_name_it() -> None:
    wrong = {name(path): found for path in files() if name(path).startswith(PLACES) if (found := stated(read(path)))}
    assert "CITATION.cff" in wrong and all(found == {VERSION} for found in wrong.values()), wrong
    heading = re.search(r"^## (\S+)", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert heading and heading[1] == VERSION


def test_the_check_sees_another_version() -> None:
    assert stated("version: 1.2.3\n") == {"1.2.3"} == stated('    version = "1.2.3"\n') == stated("see tonnage-1.2.3-x")
