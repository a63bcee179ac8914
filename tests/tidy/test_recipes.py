"""What ``packaging/`` says of the package is what ``pyproject.toml`` says."""

from __future__ import annotations

import re

from .tree import ROOT, read, read_toml

PROJECT = read_toml(ROOT / "pyproject.toml")["project"]
PACKAGING = ROOT / "packaging"
NOT_OFFERED = {"mpich", "pbs", "dev", "serve"}
"""Extras that Spack's recipe leaves out: an MPI and a scheduler are the site's, and for `serve` Spack's packages are
too old."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9-]+)>=([\d.]+)")
_SPACK = re.compile(r"depends_on\(\"py-([a-z0-9-]+)@([\d.]+)")
_CONDA = re.compile(r"(?:- |then: )([a-z0-9-]+) >=([\d.]+)")


def wanted(requirements: list[str]) -> dict[str, tuple[int, ...]]:
    """Package → the oldest version that does; without references to Tonnage's own extras."""
    found = (_REQUIREMENT.match(one) for one in requirements)
    return {match[1].lower(): numbers(match[2]) for match in found if match}


def numbers(version: str) -> tuple[int, ...]:
    """``2``, ``2.0`` and ``2.0.0`` are the same."""
    parts = [int(part) for part in version.strip(".").split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def differing(recipe: str, pattern: re.Pattern[str], requirements: dict[str, tuple[int, ...]]) -> list[str]:
    """Packages that a recipe does not have, or from another version on."""
    stated = {name: numbers(version) for name, version in pattern.findall(recipe)}
    return [name for name, version in requirements.items() if stated.get(name) != version]


def extras() -> dict[str, tuple[int, ...]]:
    offered = {name: some for name, some in PROJECT["optional-dependencies"].items() if name not in NOT_OFFERED}
    return {name: version for some in offered.values() for name, version in wanted(some).items()}


def test_spack_wants_what_the_package_wants() -> None:
    recipe = read(PACKAGING / "spack" / "package.py")
    build = wanted(read_toml(ROOT / "pyproject.toml")["build-system"]["requires"])
    assert not differing(recipe, _SPACK, wanted(PROJECT["dependencies"]) | extras() | build)
    rust = read_toml(ROOT / "Cargo.toml")["workspace"]["package"]["rust-version"]
    assert f'"rust@{rust}:"' in recipe and '"python@3.10:"' in recipe
    assert PROJECT["requires-python"] == ">=3.10"


def test_conda_wants_what_the_package_and_its_report_want() -> None:
    report = wanted(PROJECT["optional-dependencies"]["report"])
    assert not differing(read(PACKAGING / "conda" / "recipe.yaml"), _CONDA, wanted(PROJECT["dependencies"]) | report)


def test_every_recipe_is_on_the_page_of_installation() -> None:
    page = read(ROOT / "docs" / "install.md")
    for folder in PACKAGING.iterdir():
        if folder.is_dir() and folder.name != "installed":
            assert f"](../packaging/{folder.name}" in page, folder.name
    assert all(f"| `{extra}` |" in page for extra in PROJECT["optional-dependencies"] if extra != "dev")


def test_the_check_sees_a_missing_package_and_an_older_one() -> None:
    recipe = 'depends_on("py-numpy@1.20:")\n'
    assert differing(recipe, _SPACK, {"numpy": (1, 26), "scipy": (1, 13)}) == ["numpy", "scipy"]
    assert not differing(recipe, _SPACK, {"numpy": (1, 20)})
