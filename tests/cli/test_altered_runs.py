"""A record that is not as it was sealed is no measurement: who reads its figures is told."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.errors import RecordError

from .json_output import answered

CAMPAIGN = """
target = "sim:knee=4,plateau=2GB/s,noise=2%"
[workload]
op = "write"
tasks = [1, 2, 4]
transfer_size = "1MiB"
block_size = "32MiB"
[repeat]
count = 3
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs of one campaign; the second has lost its last trials since."""
    directory = tmp_path / "runs"
    directory.mkdir()
    for number in range(3):
        file = tmp_path / f"{number}.toml"
        file.write_text(f"seed = {number}\n{CAMPAIGN}")
        assert main(["run", str(file), "--out", str(directory / f"run-{number}"), "--no-report"]) == 0
    lines = directory / "run-1" / "trials.jsonl"
    lines.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:-3]))
    return directory


@pytest.mark.parametrize("words", [["compare", "run-0", "run-1"], ["history", "run-1", "run-0"], ["project", "run-1"]])
def test_an_altered_run_that_is_named_is_refused(
    runs: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    more = ["--tasks", "8"] if words[0] == "project" else []
    assert main([words[0], *(str(runs / name) for name in words[1:]), *more]) == 1
    said = capsys.readouterr()
    assert not said.out and said.err.count("\n") == 1
    assert "run-1: trials.jsonl was altered since the run was sealed; hint: `tonnage verify" in said.err


@pytest.mark.parametrize("words", [["compare", "run-0", "run-2"], ["history", "run-2", "run-0"], ["project", "run-2"]])
def test_a_run_whose_manifest_was_altered_is_refused(
    runs: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its date orders a history, its host is what a comparison names."""
    manifest = runs / "run-2" / "manifest.json"
    manifest.write_text(re.sub(r'"created": ?"20', '"created":"19', manifest.read_text(), count=1))
    more = ["--tasks", "8"] if words[0] == "project" else []
    capsys.readouterr()
    assert main([words[0], *(str(runs / name) for name in words[1:]), *more]) == 1
    said = capsys.readouterr()
    assert not said.out and "run-2: manifest.json was altered since it was written; hint:" in said.err
    assert main(["report", str(runs / "run-2")]) == 0
    assert "manifest.json was altered" in capsys.readouterr().err


def test_an_altered_run_of_a_directory_is_left_out(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "history", runs)["history"]
    assert [Path(run["run"]).name for run in found["runs"]] == ["run-0", "run-2"]
    capsys.readouterr()
    assert main(["history", str(runs)]) == 0
    assert "left out:" in capsys.readouterr().err


def test_a_report_of_an_altered_run_says_so(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", str(runs / "run-1")]) == 0
    assert "trials.jsonl was altered since the run was sealed: what follows is" in capsys.readouterr().err
    assert "trials.jsonl was altered since the run was sealed: what" in (runs / "run-1/report.html").read_text()
    assert "trials.jsonl was altered" in answered(capsys, "report", runs / "run-1")["altered"]
    capsys.readouterr()
    assert main(["report", str(runs / "run-0")]) == 0
    assert "altered" not in capsys.readouterr().err
    assert "was altered since" not in (runs / "run-0/report.html").read_text()
    assert "altered" not in answered(capsys, "report", runs / "run-0")


@pytest.mark.parametrize("text", [None, "no record\n"])
def test_the_live_page_tells_of_an_altered_run_that_was_looked_at(runs: Path, text: str | None) -> None:
    pytest.importorskip("plotly", reason="plotly is not installed: pip install 'tonnage[serve]'")
    from tonnage.dashboard.pages import Reports
    from tonnage.dashboard.run_entry import Watched

    whole, changed = (Watched(name, runs / name, "") for name in ("run-0", "run-1"))
    if text is not None:
        (runs / "run-1/trials.jsonl").write_text(text)
    for closely in (True, False):
        whole.refresh(closely=closely)
        changed.refresh(closely=closely)
        assert (whole.state, whole.problem) == ("complete", None)
        assert changed.state == "damaged" and "trials.jsonl" in (changed.problem or "")
    with pytest.raises(RecordError, match=r"trials.jsonl was altered since the run was sealed"):
        Reports().comparison(whole, changed)
    if text is None:
        assert b"trials.jsonl was altered since the run was sealed" in Reports().report(changed)


def test_where_every_run_of_a_directory_was_altered_nothing_is_compared(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = tmp_path / "lost"
    lost.mkdir()
    shutil.copytree(runs / "run-1", lost / "run-1")
    assert main(["compare", str(runs / "run-0"), str(lost)]) == 2
    assert "no run in" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_damaged_manifest_is_a_run_that_does_not_hold_and_not_a_wrong_request(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs / "run-0", run)
    text = (run / "manifest.json").read_text(encoding="utf-8")
    (run / "manifest.json").write_text(text[: len(text) // 2], encoding="utf-8")
    assert main(["verify", str(run), *words]) == 1
    assert "manifest.json is not JSON" in capsys.readouterr().err
    assert main(["verify", str(tmp_path), *words]) == 2
