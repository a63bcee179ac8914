"""Files lead one way: a circle of files that need each other is small."""

from __future__ import annotations

import pytest

from .python_imports import Package
from .rust_imports import Crate, circles, paths_of
from .tree import PACKAGE, ROOT, python_files, read, rust_files

MOST = 3
"""Files in a circle."""
CRATES = sorted(path.name for path in (ROOT / "crates").iterdir() if (path / "src").is_dir())


def crate(name: str) -> Crate:
    source = ROOT / "crates" / name / "src"
    return Crate({path.relative_to(source).as_posix(): read(path) for path in rust_files() if source in path.parents})


@pytest.mark.parametrize("name", CRATES)
def test_no_circle_of_files_is_large(name: str) -> None:
    large = [circle for circle in crate(name).circles() if len(circle) > MOST]
    assert not large, "\n".join(f"crates/{name}: {len(circle)} files need each other: {circle}" for circle in large)


def test_a_circle_is_seen_through_exports_and_paths_and_not_through_tests() -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::One;\npub use b::inner::{Two, Three as Four};\n",
        "a.rs": "use crate::Two;\npub struct One;\n#[cfg(test)]\nmod tests {\n    use crate::c::Five;\n}\n",
        "b/mod.rs": "pub mod inner;\n",
        "b/inner.rs": "pub struct Two;\npub fn three() -> crate::One { crate::One }\n",
        "c.rs": "// use crate::a::One;\nuse std::a::One;\npub struct Five;\nuse super::One;\n",
    }
    assert Crate(files).circles() == [["a.rs", "b/inner.rs"]]


def test_a_tree_of_uses_is_one_path_each() -> None:
    assert paths_of("crate::{a, b::{c, d as e}}") == [("crate", "a"), ("crate", "b", "c"), ("crate", "b", "d")]


def package() -> Package:
    sources: dict[str, str] = {}
    doors: set[str] = set()
    for path in python_files("python/tonnage/"):
        parts = ["tonnage", *path.relative_to(PACKAGE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = read(path)
        doors |= {name} if parts[-1] == "__init__" else set()
    return Package(sources, frozenset(doors))


def test_no_circle_of_python_files_is_large() -> None:
    found = [sorted(circle) for circle in circles(package().uses) if len(circle) > MOST]
    assert not found, "\n".join(f"{len(circle)} files need each other: {circle}" for circle in found)


def test_a_circle_of_python_files_is_seen_in_functions_and_types_and_not_through_the_engine() -> None:
    sources = {
        "p": "from p import a",
        "p.a": "def f():\n    from p.b import x",
        "p.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a",
        "p.c": "from p import _native, __version__\nimport p.a",
    }
    found = sorted(sorted(circle) for circle in circles(Package(sources, frozenset({"p"})).uses) if len(circle) > 1)
    assert found == [["p.a", "p.b"]]
