"""Small files, small functions."""

from __future__ import annotations

import statistics

from .functions import python_functions, rust_functions
from .tree import ROOT, name, python_files, read, rust_files, sources

CAP_LINES = 800
SMELL_LINES = 500
MEDIAN_LINES = 200
FUNCTION_LINES = 60
PICTURES_BYTES = 1_500_000
"""Of all pictures of the docs: who clones the sources has them all, and each version of them."""

LARGE: dict[str, str] = {}
"""Files of 500 lines and more, each with the reason why it is not two files."""


def too_large(sizes: dict[str, int], reasons: dict[str, str]) -> list[str]:
    """Complaints about files over the cap, and over the smell without a reason; reasons no longer needed as well."""
    found = [f"{file}: {lines} lines, the cap is {CAP_LINES}" for file, lines in sizes.items() if lines > CAP_LINES]
    for file, lines in sizes.items():
        if SMELL_LINES <= lines <= CAP_LINES and not reasons.get(file):
            found.append(f"{file}: {lines} lines; split it, or say in LARGE why not")
    found += [f"{file}: listed in LARGE but small" for file in reasons if sizes.get(file, 0) < SMELL_LINES]
    return found


def too_long(functions: list[tuple[str, str, int, int]]) -> list[str]:
    """Complaints about functions, given as ``(file, name, line, lines)``."""
    return [
        f"{file}:{line}: {function} has {lines} lines, the cap is under {FUNCTION_LINES}"
        for file, function, line, lines in functions
        if lines >= FUNCTION_LINES
    ]


def _sizes() -> dict[str, int]:
    return {name(path): len(read(path).splitlines()) for path in sources()}


def test_no_file_is_over_the_cap_and_each_large_one_says_why() -> None:
    complaints = too_large(_sizes(), LARGE)
    assert not complaints, "\n".join(complaints)


def test_the_median_file_is_small() -> None:
    assert statistics.median(_sizes().values()) < MEDIAN_LINES


def test_every_function_fits_on_a_screen() -> None:
    functions = [(name(path), *entry) for path in python_files() for entry in python_functions(read(path))]
    functions += [(name(path), *entry) for path in rust_files() for entry in rust_functions(read(path))]
    assert len(functions) > 100, "the scan found next to nothing: it is broken"
    complaints = too_long(functions)
    assert not complaints, "\n".join(complaints)


def test_the_pictures_of_the_docs_are_small() -> None:
    pictures = list((ROOT / "docs" / "images").rglob("*.png"))
    assert len(pictures) > 10, "the scan found next to nothing: it is broken"
    assert sum(picture.stat().st_size for picture in pictures) < PICTURES_BYTES


def test_the_size_check_sees_an_oversized_a_large_and_a_needlessly_excused_file() -> None:
    sizes = {"huge.py": 801, "large.py": 500, "excused.rs": 600, "small.py": 10}
    complaints = too_large(sizes, {"excused.rs": "a table", "small.py": "was large once", "huge.py": "no excuse helps"})
    assert [line.split(":")[0] for line in complaints] == ["huge.py", "large.py", "small.py"]


def test_the_function_check_sees_a_long_python_function_and_forgives_its_docstring() -> None:
    body = "    x = 1\n" * 58
    assert not too_long([("f.py", *entry) for entry in python_functions(f"def f():\n{body}")])
    documented = f'def f():\n    """One.\n\n    Two."""\n{body}'
    assert not too_long([("f.py", *entry) for entry in python_functions(documented)])
    assert too_long([("f.py", *entry) for entry in python_functions(f"async def f():\n{body}    y = 1\n")])


def test_the_function_check_sees_through_braces_in_rust_strings_and_declarations() -> None:
    text = (
        "trait T { fn declared(&self, a: [u8; 4]) -> u8; }\n"
        'fn short<\'a>(x: &\'a str) -> char {\n    // }\n    let s = "{{{ \\" {";\n'
        '    let r = r#"}"{"#;\n    \'{\'\n}\n'
        "fn long() {\n" + "    step();\n" * 58 + "}\n"
    )
    assert list(rust_functions(text)) == [("short", 2, 6), ("long", 8, 60)]
    complaints = too_long([("f.rs", *entry) for entry in rust_functions(text)])
    assert len(complaints) == 1 and "long" in complaints[0]
