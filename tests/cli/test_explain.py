"""``tonnage explain``: the page of a finding, wherever the package is."""

from __future__ import annotations

import pytest
from tonnage.cli import main
from tonnage.cli.commands.explain import PAGES


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["explain", *words]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_a_code_prints_its_page_with_links_as_paths_of_the_repository(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "cache-read")
    assert text.startswith("# `cache-read`\n") and "## Threshold" in text
    assert "method (docs/method.md)" in text and "](" not in text


def test_several_codes_are_printed_once_each_in_the_order_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "stall", "late", "stall")
    assert [line for line in text.splitlines() if line.startswith("# ")] == ["# `stall`", "# `late`"]


def test_without_a_code_every_finding_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys).splitlines()
    assert [line.split()[0] for line in lines] == sorted(page.stem for page in PAGES.glob("*.md"))
    assert all(len(line.split()) > 4 for line in lines)


def test_a_code_that_is_none_is_one_line_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "stal", code=2) == "tonnage: error: 'stal' is no finding; hint: is it stall?\n"
    assert "`tonnage explain` lists them all" in said(capsys, "../../README", code=2)
