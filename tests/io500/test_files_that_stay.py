"""What the benchmark removes, and what it never does: files of others, and what is no longer as it wrote it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.io500 import benchmark
from tonnage.io500.benchmark_progress import FILE

from .small_benchmark import FEW, Io500, everything_below, interrupted


def test_what_lies_in_the_data_directory_stays_and_refuses(here: Path, io500: Io500) -> None:
    (here / "whole.ini").write_text(f"{FEW}[global]\ntimestamp-datadir = FALSE\n")
    (here / "data" / "ior-easy").mkdir(parents=True)
    theirs = here / "data" / "ior-easy" / "theirs"
    theirs.write_text("precious")
    code, out, err = io500("whole.ini")
    assert (code, out) == (2, "")
    assert "lies in the data directory, and is not of this benchmark" in err
    assert theirs.read_text() == "precious"
    assert not (here / "results").exists()
    theirs.unlink()
    assert io500("whole.ini", "--timestamp", "then")[0] == 0
    assert everything_below(here / "data") == [here / "data" / "ior-easy"]


def test_a_file_that_came_meanwhile_is_not_removed(here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = benchmark.measure

    def with_visitor(step: Any, *rest: Any) -> Any:
        if step.name == "mdtest-easy-stat":
            (here / "data" / "then" / "mdtest-easy" / "theirs").write_text("precious")
        return measure(step, *rest)

    monkeypatch.setattr(benchmark, "measure", with_visitor)
    code, _, err = io500("few.ini", "--timestamp", "then")
    left = [path for path in everything_below(here / "data") if path.is_file()]
    assert left == [here / "data" / "then" / "mdtest-easy" / "theirs"]
    assert code == 1 and f"{left[0].parent} stays: theirs is in it\n" in err


def test_files_of_the_very_names_that_are_not_as_they_were_written_stay(
    here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One came instead of a file of ours, and one was written to; both have names that IOR gives."""
    measure = benchmark.measure
    data = here / "data" / "then"
    easy, hard = data / "ior-easy" / "ior_file_easy.00000000", data / "ior-hard" / "file"

    def exchanged(step: Any, *rest: Any) -> Any:
        measured = measure(step, *rest)
        if step.name == "ior-rnd4K-easy-read":
            kept = easy.with_name("kept")
            easy.rename(kept)
            easy.write_text("precious")
            kept.unlink()
            hard.write_text("precious")
        return measured

    monkeypatch.setattr(benchmark, "measure", exchanged)
    code, _, err = io500("small.ini", "--timestamp", "then")
    assert code == 1
    for path in (easy, hard):
        assert path.read_text() == "precious"
        assert f"{path} stays: it is not as this benchmark left it" in err


def test_the_tree_of_another_mdtest_stays(here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = benchmark.measure

    def with_visitor(step: Any, *rest: Any) -> Any:
        measured = measure(step, *rest)
        if step.name == "mdtest-easy-delete":
            theirs = here / "data" / "then" / "mdtest-easy"
            assert main(["mdtest", "-C", "-F", "-n", "3", "-d", str(theirs)]) == 0
        return measured

    monkeypatch.setenv("TONNAGE_OUT", str(here / "elsewhere"))
    monkeypatch.setattr(benchmark, "measure", with_visitor)
    io500("few.ini", "--timestamp", "then")
    left = [path for path in everything_below(here / "data") if path.name.startswith("f.")]
    assert len(left) == 3


@pytest.mark.parametrize("what", ["mode", "directory", "link", "owner"])
def test_a_resume_trusts_no_state_that_another_user_may_have_written(
    here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    results = interrupted(here, io500, monkeypatch)
    state = results / FILE
    assert state.stat().st_mode & 0o077 == 0
    if what == "mode":
        state.chmod(0o666)
    elif what == "directory":
        results.chmod(0o777)
    elif what == "link":
        state.rename(here / "elsewhere")
        state.symlink_to(here / "elsewhere")
    elif os.geteuid() == 0:
        os.chown(state, 65534, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
    code, out, err = io500("--resume", "results/then")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1 and "; hint: " in err
    assert (here / "data" / "then" / "ior-easy" / "0" / "ior_file_easy.00000000").exists()


def test_a_cleanup_removes_what_an_interrupt_left(here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch) -> None:
    results = interrupted(here, io500, monkeypatch)
    theirs = here / "data" / "then" / "ior-easy" / "theirs"
    theirs.write_text("precious")
    code, out, err = io500("--resume", str(results), "--cleanup")
    # The directories are the benchmark's, and stay for the file in one of them: one line.
    assert code == 1 and err.splitlines() == [f"tonnage: io500: {theirs.parent} stays: theirs is in it"]
    assert "removed what the benchmark left in data/then; some of it stays" in out
    assert [path for path in everything_below(here / "data") if path.is_file()] == [theirs]
    assert (results / "result.txt").exists()
    assert io500("--resume", str(results))[0] == 2
    assert io500("few.ini", "--cleanup")[0] == 2


def test_a_cleanup_leaves_files_that_came_into_a_tree_of_mdtest_after_its_phase(
    here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's own file in the place of one of mdtest's, by its very name."""
    results = interrupted(here, io500, monkeypatch)
    (mark,) = (here / "data" / "then" / "mdtest-easy").rglob("TONNAGE-SCRATCH")
    ours = sorted(path for path in everything_below(mark.parent) if path.is_file() and path != mark)
    theirs = ours[len(ours) // 2]
    theirs.unlink()
    left_ns = mark.stat().st_mtime_ns
    while True:  # until the file system's clock, which may step by milliseconds, says later
        theirs.write_text("precious")
        if theirs.stat().st_ctime_ns > left_ns:
            break
    code, _, err = io500("--resume", str(results), "--cleanup")
    assert code == 1 and str(theirs) in err
    assert [path for path in everything_below(here / "data") if path.is_file()] == [mark, theirs]
    assert theirs.read_text() == "precious"


@pytest.mark.parametrize("text", [None, "another's"])
def test_a_cleanup_tells_of_a_tree_that_has_lost_its_mark(
    here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    results = interrupted(here, io500, monkeypatch)
    (mark,) = (here / "data" / "then" / "mdtest-easy").rglob("TONNAGE-SCRATCH")
    mark.unlink()
    if text is not None:
        mark.write_text(text)
    files = [path for path in everything_below(mark.parent) if path.is_file() and path != mark]
    code, out, err = io500("--resume", str(results), "--cleanup")
    assert code == 1 and "some of it stays" in out
    assert f"{min(files)} stays, and {len(files) - 1} more files beside it" in err
    assert all(path.exists() for path in files)
