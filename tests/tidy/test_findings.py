"""Every finding has its page, and what the page says of thresholds is what the code does."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator

from .tree import PACKAGE, ROOT, name, python_files, read, rust_files

PAGES = PACKAGE / "explained"
INDEX = ROOT / "docs" / "findings.md"
SECTIONS = ("Threshold", "Example", "What to do", "Checked by")
PASSED_THROUGH = {"notes"}
"""A judge that says nothing of its own: its findings have the codes of the notes of storages and engine."""
_OPERATORS = {ast.Pow: operator.pow, ast.Mult: operator.mul, ast.LShift: lambda left, right: left * 2**right}
_NOTE = re.compile(r"\.note\(\s*\"([a-z0-9-]+)\"")
_NOTE_PAIR = re.compile(r"\(\s*\"([a-z0-9]+(?:-[a-z0-9]+)+)\",\s*(?:format!|text\b|sentence\b)")
_NOTE_CONSTANT = re.compile(r"const \w+: &str = \"([a-z0-9]+(?:-[a-z0-9]+)+)\"")
_STATED = re.compile(r"^\| .* \| `(\w+) = ([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def finding_codes(text: str) -> set[str]:
    """The codes that a module registers with ``@finding(...)``, or gives to ``Finding(...)`` or ``Note(...)``."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"finding", "Finding", "Note"}:
            given = [word.value for word in node.keywords if word.arg == "code"] + node.args[:1]
            found |= {
                value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)
            }
    return found


def note_codes(text: str) -> set[str]:
    """The codes of notes that a storage or the engine takes down, in Rust: given in place, in a pair, or a constant."""
    return set(_NOTE.findall(text)) | set(_NOTE_PAIR.findall(text)) | set(_NOTE_CONSTANT.findall(text))


def raised() -> set[str]:
    """Every code that the package or its engine can raise."""
    judges = [path for room in ("analysis", "compat", "importers") for path in python_files(f"python/tonnage/{room}/")]
    judged = {code for path in judges for code in finding_codes(read(path))}
    noted = {
        code
        for path in rust_files()
        if re.search("/(storage|engine)/src/", name(path))
        for code in note_codes(read(path))
    }
    assert judged and noted, "no finding or no note was found: the scan is broken"
    return (judged - PASSED_THROUGH) | noted


def number(text: str) -> float:
    """A constant as Python or Rust writes it: ``10**6``, ``1 << 20``, ``200_000_000``, ``0.95``."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return float(_OPERATORS[type(node.op)](value(node.left), value(node.right)))
        assert isinstance(node, ast.Constant) and isinstance(node.value, (int, float)), text
        return node.value

    return float(value(ast.parse(text.strip(), mode="eval").body))


def defined(text: str, constant: str) -> str | None:
    """What a module of either language sets a constant to."""
    match = re.search(rf"^(?:pub(?:\(crate\))? )?(?:const )?{constant}(?:: \w+)? = ([^;#\n]+)", text, re.MULTILINE)
    return match[1].strip() if match else None


def limits(text: str) -> Iterator[str]:
    """The public numbers of a module of findings: its thresholds."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constant = node.targets[0].id
            if (
                constant.isupper()
                and not constant.startswith("_")
                and re.fullmatch(r"[0-9_. *<]+", ast.unparse(node.value))
            ):
                yield constant


def page_complaints(code: str, text: str) -> list[str]:
    """What a page of a finding must have: its heading, a paragraph, its sections in order, its own example."""
    found = [] if text.startswith(f"# `{code}`\n\n") else [f"{code}.md does not begin with its code"]
    if tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) != SECTIONS:
        found.append(f"{code}.md: sections are not {', '.join(SECTIONS)}")
    example = re.search(r"^```text\n(.+?)\n```$", text, re.MULTILINE | re.DOTALL)
    if example is None or code not in example[1].splitlines()[0]:
        found.append(f"{code}.md: no example of its own")
    return found


def stated_complaints(code: str, text: str) -> list[str]:
    """Thresholds of a page that are not those of the code."""
    found = []
    for constant, value, place in _STATED.findall(text):
        path = ROOT / place
        said = defined(read(path), constant) if path.is_file() else None
        if said is None or number(said) != number(value):
            found.append(f"{code}.md: {constant} = {value}, and {place} has {said}")
    return found


def test_every_finding_has_its_page_and_every_page_a_finding() -> None:
    assert raised() == {page.stem for page in PAGES.glob("*.md")}


def test_every_page_has_its_sections_and_an_example() -> None:
    complaints = [line for page in sorted(PAGES.glob("*.md")) for line in page_complaints(page.stem, read(page))]
    assert not complaints, "\n".join(complaints)


def test_the_index_leads_to_every_page() -> None:
    linked = re.findall(r"\(\.\./python/tonnage/explained/([a-z0-9-]+)\.md\)", read(INDEX))
    assert {page.stem for page in PAGES.glob("*.md")} == set(linked)


def test_thresholds_on_pages_are_those_of_the_code() -> None:
    complaints = [line for page in sorted(PAGES.glob("*.md")) for line in stated_complaints(page.stem, read(page))]
    assert not complaints, "\n".join(complaints)


def test_every_threshold_of_the_code_is_on_a_page() -> None:
    stated = {(constant, place) for page in PAGES.glob("*.md") for constant, _, place in _STATED.findall(read(page))}
    modules = python_files("python/tonnage/analysis/findings/")
    wanted = {(constant, name(path)) for path in modules for constant in limits(read(path))}
    assert wanted and wanted <= stated, wanted - stated


def test_tests_that_pages_name_exist() -> None:
    named = {
        (page.name, path)
        for page in PAGES.glob("*.md")
        for path in re.findall(r"`((?:tests|crates)/[^`]+)`", read(page))
    }
    missing = [f"{page}: {path}" for page, path in sorted(named) if not (ROOT / path).exists()]
    assert not missing, "\n".join(missing)


def test_the_scan_for_findings_reads_every_way_of_naming_a_code() -> None:
    text = "@finding('stall')\ndef f(e): yield Finding('above-ceiling', s, e, a)\n"
    text += "results.Finding(subject=s, code='wrapped', evidence=e, advice=a)\nFinding(code, s)"
    assert finding_codes(text) == {"stall", "above-ceiling", "wrapped"}
    rust = 'const NO: &str = "no-direct";\nconst NAME: &str = "MARKER";\nfiles.note(\n    "depth-one", || x);'
    rust += 'notes.push(("nfs-delayed", format!("{n} times")));\n("tonnage-abc", c"data", 5)'
    assert note_codes(rust) == {"no-direct", "depth-one", "nfs-delayed"}


def test_the_page_check_sees_another_code_a_missing_section_and_a_foreign_example() -> None:
    assert len(page_complaints("stall", "# stall\n\n## Example\n\n```text\nlate  write\n```\n")) == 3


def test_the_threshold_check_sees_another_value() -> None:
    row = "| what | `LATE = {}` | `python/tonnage/analysis/findings/workload_kinds.py` |"
    assert stated_complaints("late", row.format("0.98")) == []
    assert len(stated_complaints("late", row.format("0.9"))) == 1
    assert len(stated_complaints("late", row.format("0.98").replace("LATE", "LATER"))) == 1
    assert number("200_000_000") == number("2 * 10**8") and defined("pub const N: u64 = 1_000;", "N") == "1_000"
    assert list(limits("A = 0.5\n_B = 2\nC = 'x'\nD: int = 3\nE = 1 << 20\n")) == ["A", "E"]
