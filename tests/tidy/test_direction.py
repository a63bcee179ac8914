"""Packages and crates depend one way (docs/design.md, "The parts"): on those below them only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .tree import PACKAGE, ROOT, name, python_files, read, read_toml

CRATES: dict[str, set[str]] = {
    "workload": set(),
    "storage": {"workload"},
    "records": set(),
    "engine": {"workload", "storage", "records"},
    "testing": {"workload", "storage"},
    "simulator": {"workload", "records"},
    "mover": set(),
    "bindings": {"workload", "storage", "records", "engine", "simulator", "mover"},
}
"""What each crate may depend on. A new crate gets a line here before it gets a dependency."""

IN_TESTS: dict[str, set[str]] = {
    "storage": {"testing"},
    "engine": {"testing"},
    "simulator": {"storage", "engine", "testing"},
}
"""What the tests of a crate may use besides: storages that are not shipped, and for the simulator what it models."""

PYTHON_BRIDGES = {"pyo3", "pythonize"}
"""Crates that only ``bindings`` knows."""

_MIDDLE = {"cluster", "machine", "importers", "demand", "analysis", "records"}
PACKAGES: dict[str, set[str]] = {
    "records": {"_native"},
    "published": set(),
    "analysis": {"records"},
    "machine": {"records", "_native"},
    "filesystems": {"machine", "records"},
    "demand": {"analysis", "records"},
    "importers": {"demand", "records"},
    "cluster": {"records", "machine", "_native"},
    "campaign": _MIDDLE | {"filesystems", "_native", "published"},
    "placement": _MIDDLE | {"filesystems"},
    "staging": _MIDDLE | {"_native"},
    "dashboard": _MIDDLE | {"report"},
    "report": {"analysis", "demand", "records", "published"},
    "compat": _MIDDLE | {"campaign", "placement", "staging"},
    "io500": {"analysis", "campaign", "compat", "records"},
    "cli": _MIDDLE | {"campaign", "measuring", "placement", "staging", "dashboard", "report", "compat", "io500"},
    "notebook": {"analysis", "records", "report"},
    "measuring": {"analysis", "campaign", "cluster", "notebook", "placement", "records", "report"},
    "": {"measuring", "notebook", "placement"},
    "__main__": {"cli"},
}
"""What each Python package may import besides the files directly in ``tonnage`` (errors, units and the like)."""


def crate_complaints(crate: str, manifest: dict) -> list[str]:
    """What a crate's manifest depends on and must not."""
    used: set[str] = set()
    found: list[str] = []
    for table in ("dependencies", "dev-dependencies", "build-dependencies"):
        named = set(manifest.get(table, {}))
        used |= named
        ours = {dependency.removeprefix("tonnage-") for dependency in named if dependency.startswith("tonnage-")}
        allowed = CRATES.get(crate, set()) | (IN_TESTS.get(crate, set()) if table == "dev-dependencies" else set())
        found += [f"crates/{crate} must not depend on {other}" for other in sorted(ours - allowed)]
    if crate not in CRATES:
        found.append(f"crates/{crate} has no line in CRATES")
    if crate != "bindings":
        found += [f"crates/{crate}: only bindings knows {bridge}" for bridge in sorted(used & PYTHON_BRIDGES)]
    return found


def imported_packages(module: tuple[str, ...], is_package: bool, text: str) -> set[tuple[str, int]]:
    """``(package, line)`` of each import from this package in ``module`` (its dotted name, ``tonnage`` first)."""
    here = module if is_package else module[:-1]
    found: set[tuple[str, int]] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            targets = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            targets = [(*base, alias.name) for alias in node.names]
        else:
            continue
        found |= {(target[1], node.lineno) for target in targets if target[0] == "tonnage" and len(target) > 1}
    return found


def import_complaints(module: tuple[str, ...], is_package: bool, text: str, packages: set[str]) -> list[str]:
    """Imports that lead upwards or sideways. ``packages``: names of the package's directories and of ``_native``."""
    package = module[1] if len(module) > 1 else ""
    allowed = PACKAGES.get(package, set()) | {package}
    return [
        f"{'.'.join(module)}:{line}: {package or 'the package itself'} must not import {other}"
        for other, line in sorted(imported_packages(module, is_package, text))
        if other in packages and other not in allowed
    ]


def _module(path: Path) -> tuple[tuple[str, ...], bool]:
    parts = ("tonnage", *path.relative_to(PACKAGE).with_suffix("").parts)
    return (parts[:-1], True) if parts[-1] == "__init__" else (parts, False)


def _packages() -> set[str]:
    package_files = python_files("python/tonnage/")
    return {path.parent.name for path in package_files if path.parent.parent == PACKAGE} | {"_native", "__main__"}


def test_crates_depend_downwards_only() -> None:
    complaints = []
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        complaints += crate_complaints(manifest.parent.name, read_toml(manifest))
    assert not complaints, "\n".join(complaints)


def test_python_packages_import_downwards_only() -> None:
    complaints = []
    for path in python_files("python/tonnage/"):
        complaints += import_complaints(*_module(path), read(path), _packages())
    assert not complaints, "\n".join(complaints)


def test_every_python_package_is_on_the_plan() -> None:
    unplanned = _packages() - set(PACKAGES) - {"_native"}
    assert not unplanned, f"{sorted(unplanned)} need a line in PACKAGES, docs/design.md and docs/house.md"


def test_every_package_and_crate_has_its_row_in_the_house_page() -> None:
    page = read(ROOT / "docs" / "house.md")
    crates = [f"`crates/{path.parent.name}`" for path in (ROOT / "crates").glob("*/Cargo.toml")]
    packages = [f"`tonnage.{package}`" for package in _packages() - {"_native", "__main__"}]
    missing = [row for row in crates + packages if row not in page]
    assert not missing, f"docs/house.md says nothing of {missing}"


def test_every_directory_of_the_checkout_has_its_row_in_the_house_page() -> None:
    page = read(ROOT / "docs" / "house.md")
    tracked = {path.relative_to(ROOT).parts[0] for path in python_files() if len(path.relative_to(ROOT).parts) > 1}
    missing = [folder for folder in sorted(tracked - {"python", "crates"}) if f"| `{folder}/` |" not in page]
    assert {"lab", "bench", "packaging", "tests", "examples"} <= tracked
    assert not missing, f"docs/house.md has no row for {missing}"


@pytest.mark.parametrize(
    ("crate", "manifest", "word"),
    [
        ("workload", {"dependencies": {"tonnage-storage": {}}}, "storage"),
        ("storage", {"dev-dependencies": {"tonnage-engine": {}}}, "engine"),
        ("simulator", {"dependencies": {"tonnage-engine": {}}}, "engine"),
        ("engine", {"dependencies": {"pyo3": {}}}, "bindings"),
        ("attic", {}, "CRATES"),
    ],
)
def test_the_crate_check_sees_a_step_up(crate: str, manifest: dict, word: str) -> None:
    assert any(word in complaint for complaint in crate_complaints(crate, manifest))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("tonnage.analysis.knee", "import tonnage._native"),
        ("tonnage.analysis.knee", "from .. import _native"),
        ("tonnage.analysis.knee", "def late():\n    from tonnage.campaign import Campaign"),
        ("tonnage.records.writer", "from ..analysis.results import Point"),
        ("tonnage.report.page", "from tonnage import machine"),
        ("tonnage.errors", "from .cli import main"),
    ],
)
def test_the_import_check_sees_a_step_up(module: str, text: str) -> None:
    assert import_complaints(tuple(module.split(".")), False, text, set(PACKAGES) | {"_native"})


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "tonnage.analysis.knee",
            "from ..records import Run\nfrom ..errors import X\nfrom .stats import median",
        ),
        ("tonnage.cli.main", "from tonnage.campaign import Campaign"),
        ("tonnage.records.run", "from tonnage import _native, __version__"),
    ],
)
def test_the_import_check_allows_the_way_down(module: str, text: str) -> None:
    assert not import_complaints(tuple(module.split(".")), False, text, set(PACKAGES) | {"_native"})


def test_the_scan_names_a_module_as_python_does() -> None:
    assert _module(PACKAGE / "records" / "__init__.py") == (("tonnage", "records"), True)
    assert _module(PACKAGE / "errors.py") == (("tonnage", "errors"), False)
    assert name(PACKAGE / "errors.py") == "python/tonnage/errors.py"
