"""The README, two pages and the tutorials: a reader who types what stands there sees what stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .shell import ROOT

sys.path.insert(0, str(ROOT / "docs" / "make"))

from executed import Directory, Printed, carry_out

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "docs" / "compare.md", ROOT / "docs" / "history.md", *TUTORIALS]
pytestmark = pytest.mark.timeout(1800)
"""A page has up to ten commands, and each of them its own limit."""
TASKS = [
    "first-probe",
    "slow-job",
    "accept-file-system",
    "stage-out",
    "place-jobs",
    "nightly-ci",
    "compare-io500",
    "transfer-sizes",
    "how-many-accelerators",
    "how-many-users",
    "beside-the-others",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_stands_there(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    printed = list(carry_out(text, Directory(tmp_path)))
    assert printed, "no command"
    assert len(printed) == len(re.findall(r"^\$ ", text, re.MULTILINE)), "a command is in no block that is run"
    complaints = [line for one in printed for line in one.complaints()]
    assert not complaints, "\n\n".join(complaints)


def test_there_is_a_tutorial_for_each_task_in_the_order_of_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"tutorials/([\w-]+)\.md", site) == TASKS
    assert {page.stem for page in TUTORIALS} == set(TASKS)


def test_a_page_that_shows_something_else_is_complained_of() -> None:
    assert not Printed("x", "a\n…\nd\n", "a\nb\nc\nd\n", ()).complaints()
    assert not Printed("x", "a 1\nb\n", "a 2\nc\n", (r"^a \d$",)).complaints()
    for shown, said, stable in (("a\n", "a\nb\n", ()), ("a\n", "b\n", ("^b$",)), ("b\n", "a\n", ("^b$",))):
        assert Printed("x", shown, said, stable).complaints(), shown
