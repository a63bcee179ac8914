"""Whoever installed a wheel has no ``docs``: what the package says to its users names commands that print its pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tonnage.cli.commands.explain import ABOUT

from .tree import PACKAGE, ROOT, files, name, python_files, read, rust_files

DOCUMENTATION = PACKAGE / "documentation"
LEFT_OUT = {"README", "design", "findings", "house", "lab"}
"""Pages of ``docs`` for developers, and lists of the other pages, which ``tonnage explain`` makes."""
FOLDERS = (".", "concepts", "tutorials")
WRITERS = {
    "python/tonnage/cli/pages.py",
    "python/tonnage/compat/front_end.py",
    "python/tonnage/compat/ior/help.py",
    "python/tonnage/compat/iobsub/options.py",
}
"""They write pages of the checkout."""
OF_THE_CHECKOUT = {"python/tonnage/examples/knox-epouta.toml": "docs/lab.md"}
"""An example that needs other parts of the checkout too."""
_PAGE = re.compile(r"docs/[\w/-]*|\b(?!README)[\w-]+\.md\b")
_RUST_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
OF_AN_EXAMPLE = {"few-operations"}
"""The finding of a plug-in that the page of plug-ins shows."""
_COMMAND = re.compile(r"tonnage explain ([a-z][\w-]*)")


def said(text: str) -> Iterator[tuple[int, str]]:
    """The texts of a Python module that are no docstrings, with their lines."""
    tree = ast.parse(text)
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.lineno, node.value


def python_complaints(file: str, text: str) -> list[str]:
    """Pages of the checkout that a module's texts name."""
    return [f"{file}:{line}: {page[0]}" for line, one in said(text) if (page := _PAGE.search(one))]


def rust_complaints(file: str, text: str) -> list[str]:
    """The same of Rust, where the reason of a lint is for developers."""
    lines = (
        (at, line)
        for at, line in enumerate(text.splitlines(), 1)
        if "reason = " not in line and not line.lstrip().startswith("//")
    )
    return [
        f"{file}:{at}: {page[0]}"
        for at, line in lines
        for one in _RUST_TEXT.findall(line)
        if (page := _PAGE.search(one))
    ]


def explained() -> set[str]:
    pages = {path.stem for folder in ("explained", "documentation") for path in (PACKAGE / folder).glob("*.md")}
    return pages | ABOUT.keys()


def test_no_text_for_users_names_a_page_of_the_checkout() -> None:
    modules = [path for path in python_files("python/tonnage/") if name(path) not in WRITERS]
    found = [line for path in modules for line in python_complaints(name(path), read(path))]
    found += [
        line for path in rust_files() if "/tests/" not in name(path) for line in rust_complaints(name(path), read(path))
    ]
    for path in (PACKAGE / "examples").iterdir():
        text = read(path).replace(OF_THE_CHECKOUT.get(name(path), "\0"), "")
        found += [f"{name(path)}: {page}" for page in _PAGE.findall(text)]
    assert not found, "name `tonnage explain PAGE`:\n" + "\n".join(found)


def test_every_page_that_a_text_names_is_one_that_explain_prints() -> None:
    texts = [path for path in files() if path.suffix in {".py", ".md", ".toml", ".rs"} and "tests" not in path.parts]
    named = {(code, name(path)) for path in texts for code in _COMMAND.findall(read(path))}
    assert len(named) > 30, "the scan is broken"
    assert not [(code, file) for code, file in named if code not in explained() | OF_AN_EXAMPLE]


def test_the_package_has_every_page_for_users_once() -> None:
    pages = {path.resolve() for folder in FOLDERS for path in (ROOT / "docs" / folder).glob("*.md")}
    wanted = {path for path in pages if path.stem not in LEFT_OUT}
    carried = {path.stem: path for path in DOCUMENTATION.glob("*.md")}
    assert {path.resolve() for path in carried.values()} == wanted
    assert all(path.is_symlink() and path.resolve().stem == stem for stem, path in carried.items())
    assert not carried.keys() & {path.stem for path in (PACKAGE / "explained").glob("*.md")}


def test_the_check_sees_a_page_in_a_hint_and_not_in_a_docstring() -> None:
    module = '"""As docs/a.md says."""\nHINT = "see docs/a.md"\nOTHER = "see b.md"\nCOMMAND = "tonnage explain a"\n'
    assert python_complaints("f.py", module) == ["f.py:2: docs/a", "f.py:3: b.md"]
    assert rust_complaints("f.rs", '/// "docs/a.md"\nerror("see docs/a.md")\n#[x(reason = "docs/a.md")]') == [
        "f.rs:2: docs/a"
    ]


def test_the_check_of_names_sees_a_page_that_is_gone() -> None:
    assert _COMMAND.findall("hint: see `tonnage explain attic`") == ["attic"]
    assert "attic" not in explained() and "stall" in explained()
