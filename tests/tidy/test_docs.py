"""What has a name has a page, a line or a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .tree import ROOT, files, name, python_files, read, read_toml

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)|<img[^>]*\bsrc=\"([^\"]+)\"")
_PROMISE = re.compile(r"^\| [^|]* \| ([^|]*`[^|]*|all of it) \| ([^|]*`[^|]*) \| [^|]* \|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
VERBS = frozenset(read(ROOT / "tests" / "tidy" / "verbs.txt").split())
"""Finite verbs as docstrings have them: auxiliaries, and the form of what a function does (``reads``, ``returns``)."""
NOT_YET = "python/tonnage/cluster/schedulers/local/"
"""A directory whose functions are not held to ``VERBS`` yet."""
_QUOTED = re.compile("``[^`]*``")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def crate_page_complaints(crate: Path) -> list[str]:
    """A crate without a page that says what it is for, or that opted out of the workspace's lints."""
    page = crate / "README.md"
    found = []
    if not page.is_file() or len(read(page).split()) < 20:
        found.append(f"crates/{crate.name}/README.md is missing or says nothing")
    if read_toml(crate / "Cargo.toml").get("lints") != {"workspace": True}:
        found.append(f"crates/{crate.name}/Cargo.toml: [lints] workspace = true is missing")
    return found


def docstring_complaints(file: str, text: str) -> list[str]:
    """Modules that are not empty, and public classes, without a docstring."""
    tree = ast.parse(text)
    if not tree.body:
        return []
    found = [] if ast.get_docstring(tree) else [f"{file}: no module docstring"]
    if file.startswith("tests/"):
        return found  # there a class is a shape of data that its test explains
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node):
            found.append(f"{file}:{node.lineno}: class {node.name} has no docstring")
    return found


def verbless_docstrings(file: str, text: str) -> list[str]:
    """Public functions whose docstring has no finite verb, and so says what is returned at most. Not properties: the
    description of a value is a noun."""
    return [
        f"{file}:{node.lineno}: {node.name}: no verb; say what the function does: Returns, Reads, Makes"
        for node in _public_functions(ast.parse(text))
        if (doc := ast.get_docstring(node)) and not VERBS & set(re.findall("[a-z]+", _QUOTED.sub("", doc).lower()))
    ]


def _public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    bodies: list[ast.Module | ast.ClassDef] = [tree]
    while bodies:
        for node in bodies.pop().body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bodies.append(node)
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and not node.name.startswith("_")
                and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
            ):
                yield node


def dead_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead nowhere."""
    found = []
    for match in _LINK.finditer(_FENCED.sub("", text)):
        target = (match.group(1) or match.group(2)).partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
            found.append(f"{page.name}: {target} does not exist")
    return found


def test_every_crate_has_a_page_and_the_common_lints() -> None:
    crates = [manifest.parent for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml"))]
    complaints = [line for crate in crates for line in crate_page_complaints(crate)]
    assert crates and not complaints, "\n".join(complaints)


def test_public_rust_items_must_be_documented() -> None:
    lints = read_toml(ROOT / "Cargo.toml")["workspace"]["lints"]["rust"]
    assert lints["missing_docs"] in {"warn", "deny"}
    assert "--deny warnings" in read(ROOT / "Makefile"), "clippy must turn that warning into a failure"


def test_every_python_module_and_public_class_says_what_it_is_for() -> None:
    complaints = [line for path in python_files() for line in docstring_complaints(name(path), read(path))]
    assert not complaints, "\n".join(complaints)


def test_the_docstring_of_every_public_function_says_what_it_does() -> None:
    paths = python_files("python/", "lab/", "bench/", "docs/")
    complaints = [
        line for path in paths for line in verbless_docstrings(name(path), read(path)) if not line.startswith(NOT_YET)
    ]
    assert len(paths) > 500 and not complaints, "\n".join(complaints)


def test_links_between_pages_lead_somewhere() -> None:
    pages = [path for path in files() if path.suffix == ".md"]
    complaints = [f"{name(page)}: {line}" for page in pages for line in dead_links(page, read(page))]
    assert not complaints, "\n".join(complaints)


def promise_complaints(page: str, tests: set[str], sources: set[str]) -> list[str]:
    """Rows of a table of promises that name a test or a file that is not there."""
    found = []
    for row in _PROMISE.findall(page):
        found += [f"no test {test}" for test in _CODE.findall(row[1]) if test not in tests]
        for path in _CODE.findall(row[0]):
            whole = path if path.startswith("python/") else f"crates/mover/src/{path}"
            if whole not in sources and f"{whole}/mod.rs" not in sources:
                found.append(f"no file {path}")
    return found


def test_every_promise_of_the_stager_names_code_and_a_test_that_are_there() -> None:
    page = read(ROOT / "docs" / "stage.md").partition("## Each promise")[2].partition("\n## ")[0]
    known = {name(path): path for path in files()}
    tested = [
        path
        for file, path in known.items()
        if file.endswith((".py", ".rs")) and file.startswith(("tests/", "crates/mover/"))
    ]
    tests = {found for path in tested for found in re.findall(r"(?:^def|fn) (\w+)", read(path), re.MULTILINE)}
    assert len(_PROMISE.findall(page)) > 20, "the table was not found"
    complaints = promise_complaints(page, tests, set(known))
    assert not complaints, "\n".join(complaints)


def test_the_check_of_promises_sees_a_test_and_a_file_that_are_gone() -> None:
    row = "| it holds | `a.rs` | `test_it` | everywhere |"
    assert promise_complaints(row, {"test_it"}, {"crates/mover/src/a.rs"}) == []
    assert promise_complaints(row, set(), set()) == ["no test test_it", "no file a.rs"]


def test_the_index_of_the_docs_names_every_page() -> None:
    index = read(ROOT / "docs" / "README.md")
    pages = [
        path for path in files() if path.parent == ROOT / "docs" and path.suffix == ".md" and path.name != "README.md"
    ]
    missing = [page.name for page in pages if f"({page.name})" not in index]
    assert not missing, f"docs/README.md does not link {missing}"


def test_the_crate_check_sees_an_empty_page_and_missing_lints(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("[package]\nname = 'attic'\n")
    (tmp_path / "README.md").write_text("# attic\n")
    assert len(crate_page_complaints(tmp_path)) == 2


def test_the_docstring_check_sees_a_silent_module_and_class() -> None:
    assert len(docstring_complaints("f.py", "import os\nclass Point:\n    x = 1\n")) == 2
    assert not docstring_complaints("f.py", '"""Points."""\nclass _Inner: pass\n')
    assert not docstring_complaints("__init__.py", "")


def test_the_verb_check_sees_a_noun_alone_and_lets_properties_and_values_in_code_pass() -> None:
    noun = 'def f():\n    """The rate of ``what is read``, in bytes."""\n'
    assert len(verbless_docstrings("f.py", noun)) == 1
    assert not verbless_docstrings("f.py", noun.replace("The rate", "Returns the rate"))
    assert not verbless_docstrings(
        "f.py", f"class A:\n    @property\n    {noun.replace(chr(10), chr(10) + '    ').rstrip()}"
    )
    assert len(verbless_docstrings("f.py", noun.replace("def f", "async def f"))) == 1
    assert not verbless_docstrings("f.py", noun.replace("def f", "def _f"))


def test_the_link_check_sees_a_dead_link_but_not_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = (
        '[a](missing.md#part) [b](https://example.org) [c](#here)\n```\n[d](also-missing.md)\n```\n<img src="no.png">'
    )
    assert dead_links(page, text) == ["page.md: missing.md does not exist", "page.md: no.png does not exist"]
