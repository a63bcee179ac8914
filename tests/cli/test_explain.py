"""``tonnage explain``: the page of a finding, wherever the package is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.cli.commands import explain
from tonnage.cli.commands.explain import DOCUMENTATION, FINDINGS


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["explain", *words]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_a_code_prints_its_page_with_links_as_commands(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "cache-read")
    assert text.startswith("# `cache-read`\n") and "## Threshold" in text
    assert "(`tonnage explain method`)" in text and "](" not in text


def test_a_page_of_the_documentation_is_printed_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "load-line")
    assert text.startswith("# The load line\n") and "](" not in text and "<!--" not in text
    assert "`tonnage explain " in text


@pytest.mark.parametrize(("word", "heading"), [("training", "How many GPUs"), ("company", "Beside the others")])
def test_what_a_command_is_called_names_the_page_about_it(
    word: str, heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, word).startswith(f"# {heading}\n")


def test_code_of_a_page_stays_as_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "# A\n\n[b](a.md#part) and [this](../x/y.py), [c](#d), [far](https://example.org)\n\n"
    page += "![A curve](a.png)\n\n```\n[a](a.md) <!-- x -->\n```\n"
    (tmp_path / "a.md").write_text(page)
    monkeypatch.setattr(explain, "DOCUMENTATION", tmp_path)
    text = said(capsys, "a")
    assert "b (`tonnage explain a`) and this (x/y.py), c, far (https://example.org)\n" in text
    assert "\n(picture: A curve)\n" in text
    assert "```\n[a](a.md) <!-- x -->\n```\n" in text


def test_several_codes_are_printed_once_each_in_the_order_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "stall", "late", "stall")
    assert [line for line in text.splitlines() if line.startswith("# ")] == ["# `stall`", "# `late`"]


def test_without_a_name_every_finding_and_every_page_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    findings, _, pages = said(capsys).partition("\nPages of the documentation:\n")
    assert [line.split()[0] for line in findings.splitlines()] == sorted(page.stem for page in FINDINGS.glob("*.md"))
    assert all(len(line.split()) > 4 for line in findings.splitlines())
    assert [line.split()[0] for line in pages.splitlines()] == sorted(page.stem for page in DOCUMENTATION.glob("*.md"))
    assert re.search(r"^site-file {2,}The site file$", pages, re.MULTILINE)


def test_a_name_that_is_none_is_one_line_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "stal", code=2) == "tonnage: error: 'stal' is no finding and no page; hint: is it stall?\n"
    assert "hint: is it site-file?" in said(capsys, "sitefile", code=2)
    assert "`tonnage explain` lists them all" in said(capsys, "../../README", code=2)
