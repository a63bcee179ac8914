"""Where the page is put: replaced whole or not at all, and never over a file that is no report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import recorded_sample
import report_sample as sample
from tonnage import analysis, errors
from tonnage.records import RunWriter
from tonnage.report import write_report


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was interrupted before its first trial."""
    RunWriter.create(tmp_path / "run", sample.manifest(state="interrupted"))
    return tmp_path / "run"


def test_the_report_is_in_the_run_directory_and_says_how_the_run_ended(run: Path) -> None:
    path = write_report(run)
    assert path == run / "report.html"
    assert "This run was interrupted" in path.read_text(encoding="utf-8")
    assert [file.name for file in run.iterdir() if file.suffix == ".tmp"] == []


def test_a_report_is_replaced_by_the_next(run: Path) -> None:
    first = write_report(run).stat().st_ino
    assert write_report(run).stat().st_ino != first


def test_a_file_that_is_no_report_is_not_replaced(run: Path, tmp_path: Path) -> None:
    mine = tmp_path / "thesis.html"
    mine.write_text("<html>years of work</html>")
    with pytest.raises(errors.RequestError, match="not a report of Tonnage"):
        write_report(run, mine)
    assert mine.read_text() == "<html>years of work</html>"


def test_a_run_that_takes_no_report_does_not_blame_an_option_that_was_not_given(run: Path) -> None:
    (run / "report.html").write_text("<html>years of work</html>")
    with pytest.raises(errors.RequestError, match=r"^report: .* is there and .*; hint: report a copy of the run$"):
        write_report(run)


def test_a_link_and_what_is_no_file_are_not_written_through(run: Path, tmp_path: Path) -> None:
    report = write_report(run)
    before = report.read_bytes()
    places = [tmp_path / name for name in ("link", "second", "fifo", "directory")]
    places[0].symlink_to(report)
    os.link(report, places[1])
    os.mkfifo(places[2])
    places[3].mkdir()
    for place in places:
        with pytest.raises(errors.RequestError, match=r"--out: .*; hint: "):
            write_report(run, place)
    assert places[0].is_symlink() and report.read_bytes() == before


def test_a_place_that_does_not_exist_or_is_a_directory_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.RequestError, match="not a directory"):
        write_report(run, tmp_path / "no" / "report.html")
    with pytest.raises(errors.RequestError, match="cannot be replaced"):
        write_report(run, tmp_path)


def test_a_page_that_fails_half_way_leaves_the_old_one(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write_report(run).read_bytes()
    files = sorted(file.name for file in run.iterdir() if file.is_file())

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_report(run)
    assert (run / "report.html").read_bytes() == old
    assert sorted(file.name for file in run.iterdir() if file.is_file()) == files


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.RecordError, match="is not a run directory"):
        write_report(tmp_path)


def test_the_page_of_recorded_trials_says_what_the_analysis_says(tmp_path: Path) -> None:
    found = analysis.analyse(recorded_sample.write(tmp_path / "run"))
    page = write_report(tmp_path / "run").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert [point.tasks for point in found.points] == [1, 2, 4, 8, 16]
    assert found.load_lines[0].reached
    assert found.load_lines[0].why in page
    assert page.count('<li value="') == len(found.promises) == 12
    assert "Pictures left out" not in page
