"""Recipes of package managers: each says the version that is here, and asks for what the package asks for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tonnage

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EASYCONFIG = next((PACKAGING / "easybuild").glob("*.eb"))
VERSIONS = {
    "spack/package.py": r'^    version\("([^"]+)"\)$',
    "conda/recipe.yaml": r'^  version: "([^"]+)"$',
    f"easybuild/{EASYCONFIG.name}": r"^version = '([^']+)'$",
    "container/Containerfile": r"'tonnage\[[\w,]+\]==([\w.]+)'",
    "container/tonnage.def": r"'tonnage\[[\w,]+\]==([\w.]+)'",
    "modulefile/0.1.0": r"^set version (\S+)$",
    "modulefile/0.1.0.lua": r'^local version = "([^"]+)"$',
}
# As Debian names what interprets modulefiles; others have it elsewhere and say so in MODULES_CMD.
MODULECMD = os.environ.get("MODULES_CMD", "/usr/lib/x86_64-linux-gnu/modulecmd.tcl")


def asked(requirements: list[str]) -> dict[str, str]:
    """Name → the least version, of requirements as pyproject.toml has them."""
    found = (re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", one) for one in requirements)
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize("recipe", VERSIONS)
def test_a_recipe_is_of_the_version_that_is_here(recipe: str) -> None:
    found = re.findall(VERSIONS[recipe], (PACKAGING / recipe).read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [tonnage.__version__]


def test_the_names_of_files_have_the_version_too() -> None:
    assert EASYCONFIG.name.startswith(f"tonnage-{tonnage.__version__}-")
    assert {path.name.removesuffix(".lua") for path in (PACKAGING / "modulefile").iterdir()} == {tonnage.__version__}


def test_conda_asks_for_what_the_package_asks_for() -> None:
    text = (PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = text.partition("\n  run:\n")[2].partition("\ntests:")[0]
    wanted = asked(PROJECT["dependencies"]) | asked(PROJECT["optional-dependencies"]["report"])
    assert dict(re.findall(r"(?:- |then: )([\w-]+) >=([\d.]+)", run)) == wanted
    (least,) = re.findall(r'python_min: "([\d.]+)"', text)
    assert PROJECT["requires-python"] == f">={least}"


def spack(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, least version and variant of each ``depends_on`` of a Python package."""
    for name, version, variant in re.findall(r'depends_on\("py-([\w-]+)@([\d.]+):\d*"(?:, when="\+(\w+)")?', text):
        yield variant, name, version


def test_spack_asks_for_what_the_package_and_each_extra_ask_for() -> None:
    found = set(spack((PACKAGING / "spack" / "package.py").read_text(encoding="utf-8")))
    extras = {variant for variant, _, _ in found} - {""}
    assert extras == {"report", "notebook", "stage", "darshan", "mpi"}
    for extra in ("", *extras):
        wanted = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        own = {name: version for variant, name, version in found if variant == extra}
        for name, version in asked(wanted).items():
            told = own.get(name)
            assert told is not None and version.removesuffix(".0") == told, (extra, name)


@pytest.mark.skipif(
    not (shutil.which("tclsh") and Path(MODULECMD).exists()),
    reason="no Environment Modules: install environment-modules, or say in MODULES_CMD where modulecmd.tcl is",
)
def test_the_module_gives_the_command_and_leaves_the_users_python(tmp_path: Path) -> None:
    version = tonnage.__version__
    root = tmp_path / "opt" / version
    for name, program in (("module", "tonnage"), ("bin", "python3")):
        (root / name).mkdir(parents=True)
        (root / name / program).write_text(f"#!/bin/sh\necho {name}\n")
        (root / name / program).chmod(0o755)
    (root / "share" / "man").mkdir(parents=True)
    text = (PACKAGING / "modulefile" / version).read_text(encoding="utf-8")
    places = tmp_path / "modules" / "tonnage"
    places.mkdir(parents=True)
    (places / version).write_text(text.replace("/opt/tonnage/", f"{root.parent}/"))
    given = {"MODULEPATH": str(places.parent), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = ["tclsh", MODULECMD, "bash", "load", f"tonnage/{version}"]
    loaded = subprocess.run(words, env={**os.environ, **given}, capture_output=True, text=True, timeout=60, check=True)
    script = f"{loaded.stdout}\ntonnage; command -v python3; echo $MANPATH"
    said = subprocess.run(["bash", "-c", script], env=given, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.splitlines() == ["module", "/usr/bin/python3", f"{root}/share/man:"]
