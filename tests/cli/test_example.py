"""``tonnage example``: what to begin with, wherever the package is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.cli import main
from tonnage.cli.commands.example import FILES


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["example", *words]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_without_a_name_every_example_has_a_line_that_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys).splitlines()
    assert [line.split()[0] for line in lines] == [path.stem for path in sorted(FILES.iterdir())]
    assert len(lines) > 7 and all(len(line.split()) > 4 and "#" not in line for line in lines)


def test_each_is_printed_as_it_is_and_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    for path in sorted(FILES.iterdir()):
        text = said(capsys, path.stem)
        assert text == path.read_text(encoding="utf-8") == said(capsys, path.name)
        if path.suffix == ".toml":
            assert parse_campaign(text, path.name).name
        else:
            assert json.loads(text)["cells"]


def test_it_writes_a_new_file_and_never_over_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "first.toml"
    assert said(capsys, "first-light", "--out", str(out)) == ""
    assert out.read_text() == (FILES / "first-light.toml").read_text() and list(tmp_path.iterdir()) == [out]
    out.write_text("")
    link = tmp_path / "link.toml"
    link.symlink_to("nowhere.toml")
    for taken in (out, link, tmp_path):
        told = said(capsys, "iobsub", "--out", str(taken), code=2)
        assert told == f"tonnage: error: --out: {taken} is there; hint: move it away, or give another place\n"
    assert out.read_text() == "" and link.is_symlink() and len(list(tmp_path.iterdir())) == 2


def test_a_name_that_is_none_and_an_output_without_a_name_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "first-ligt", code=2)
    assert told == "tonnage: error: 'first-ligt' is no example; hint: is it first-light?\n"
    assert "`tonnage example` lists them all" in said(capsys, "../../../README", code=2)
    assert "name one" in said(capsys, "--out", "x.toml", code=2)
