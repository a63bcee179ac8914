"""The pages of concepts: their examples print what stands in them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

PAGES = Path(__file__).parents[2] / "docs" / "concepts"
NAMES = sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "README")
BLOCK = re.compile(r"^```(toml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(command: str, directory: Path) -> list[str]:
    """What a user sees of it: its result, and why it was refused where it was."""
    program, *words = shlex.split(command)
    assert program == "tonnage"
    argv = [sys.executable, "-m", "tonnage.cli", *words]
    done = subprocess.run(argv, cwd=directory, check=False, capture_output=True, text=True, timeout=120)
    return lines_of(done.stdout + (done.stderr if done.returncode else ""))


def lines_of(text: str) -> list[str]:
    """Without the blanks that pad a table."""
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_page_print_what_stands_there(name: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks if kind == "console"], "no example"
    for kind, text in blocks:
        first, _, rest = text.partition("\n")
        if kind == "toml":
            (tmp_path / first.removeprefix("# ")).write_text(rest, encoding="utf-8")
        else:
            assert printed(first.removeprefix("$ "), tmp_path) == lines_of(rest), first


def test_every_page_is_in_the_index_and_in_that_of_all_pages() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert NAMES and all(f"({name}.md)" in index for name in NAMES)
    assert "(concepts/README.md)" in (PAGES.parent / "README.md").read_text(encoding="utf-8")
