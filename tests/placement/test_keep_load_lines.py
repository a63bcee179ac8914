"""What a search found is kept where placement finds it; where it cannot be, the reason is one sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.analysis import Analysis, analyse
from tonnage.cli import main
from tonnage.machine.user_state import user_state
from tonnage.measuring import keep_load_line
from tonnage.placement.server_load_lines import keep_load_lines, line_of, plan_kept_lines
from tonnage.placement.site import load_site
from tonnage.placement.where import locate
from tonnage.records import Run, RunWriter
from tonnage.records.load_line_files import KeptLine, keep_line, kept_lines
from tonnage.units import time_text

Probed = Callable[..., tuple[Run, Analysis]]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search on a model whose load line is 8 tasks."""
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    path = tmp_path_factory.mktemp("model") / "run"
    command = [sys.executable, "-m", "tonnage.cli", "probe", "sim:knee=8,plateau=2GB/s", "--seed", "1", "--no-report"]
    done = subprocess.run([*command, "--out", path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "load line" not in done.stderr, "of a model nothing is kept"
    return path


@pytest.fixture
def probed(model: Path) -> Probed:
    """The same as if it had been of directories."""

    def make(*directories: Path) -> tuple[Run, Analysis]:
        target = {"directories": [{"path": str(directory)} for directory in directories]}
        RunWriter.reopen(model).update_manifest(target=target)
        run = Run.open(model)
        return run, analyse(run)

    return make


def test_each_line_that_was_reached_is_kept_with_its_interval_and_found_by_its_path(
    probed: Probed, tmp_path: Path
) -> None:
    run, analysis = probed(tmp_path)
    kept = keep_load_lines(run, analysis)
    assert kept.directory == user_state("lines") and kept.problem is None
    found = kept_lines([user_state("lines")])
    assert sorted(line.operation for line in found) == ["read", "write"]
    for line, measured in zip(kept.lines, analysis.load_lines, strict=True):
        assert (line.tasks, line.low, line.high) == (measured.tasks, measured.tasks_low, measured.tasks_high)
        assert line.low <= 8 <= line.high
        assert line.plateau_bytes_per_s == pytest.approx(2e9, rel=0.05)
        assert line.single_bytes_per_s == pytest.approx(2e9 / 8, rel=0.05)
        assert (line.access, line.transfer_size, line.run) == ("sequential", 1 << 20, str(run.path))
    site = load_site(tmp_path)
    assert line_of(site, None, locate(str(tmp_path), site, timeout_s=5)) == next(
        line for line in kept.lines if line.operation == "read"
    )


def test_the_sites_shared_directory_comes_first_and_the_users_own_where_it_takes_nothing(
    probed: Probed, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    (tmp_path / "tonnage.toml").write_text(f'lines = "{shared}"\n', encoding="utf-8")
    assert keep_load_lines(*probed(tmp_path)).directory == user_state("lines")
    shared.mkdir()
    kept = keep_load_lines(*probed(tmp_path))
    assert kept.directory == shared
    assert {line for line in kept_lines([shared]) if isinstance(line, KeptLine)} == set(kept.lines)


def test_a_line_that_was_not_reached_is_not_kept(probed: Probed, tmp_path: Path) -> None:
    run, analysis = probed(tmp_path)
    lines = tuple(replace(line, reached=False) for line in analysis.load_lines)
    kept = keep_load_lines(run, replace(analysis, load_lines=lines))
    assert (kept.lines, kept.problem) == ((), None)
    assert not kept_lines([user_state("lines")])


def test_directories_on_several_storages_have_no_line_of_their_own(probed: Probed, tmp_path: Path) -> None:
    kept = keep_load_lines(*probed(tmp_path, Path("/dev/shm")))
    assert kept.problem is not None and kept.problem.endswith("are several storages")


def test_a_site_file_that_is_wrong_is_told_and_not_thrown(probed: Probed, tmp_path: Path) -> None:
    (tmp_path / "tonnage.toml").write_text("[[servr]]\n", encoding="utf-8")
    problem = keep_load_lines(*probed(tmp_path)).problem
    assert problem == f"{tmp_path}/tonnage.toml:1: unknown key 'servr'; hint: did you mean 'server'?"


def test_without_a_place_to_keep_it_the_reason_is_told(
    probed: Probed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    problem = keep_load_lines(*probed(tmp_path)).problem
    assert problem is not None and "hint: set XDG_STATE_HOME" in problem


def notes_about(run: Run, analysis: Analysis) -> list[str]:
    """What a probe tells of keeping its lines."""
    told: list[str] = []
    keep_load_line(plan_kept_lines(run, analysis), told.append)
    return told


def test_a_line_of_weaker_evidence_is_kept_and_told_and_placement_goes_on_with_the_better_one(
    probed: Probed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, analysis = probed(tmp_path)
    (first,) = notes_about(run, analysis)
    assert first.startswith("kept the load line for placement (write ")
    strong = next(line for line in kept_lines([user_state("lines")]) if line.operation == "read")
    keep_line(user_state("lines"), replace(strong, tasks=9, low=8, high=10, measured_ns=100 * strong.measured_ns))
    again, weaker = notes_about(run, analysis)
    assert again == first
    seconds = time_text(strong.measured_ns)
    head = f"not in use for placement, being weaker evidence: read {strong.tasks} tasks, on {seconds} "
    assert weaker.startswith(head)
    assert " of trials, than 9 tasks on " in weaker and "write" not in weaker and "\n" not in weaker
    assert main(["where", str(tmp_path)]) == 0
    assert "9 tasks [8, 10]" in capsys.readouterr().out
    site = load_site(tmp_path)
    found = line_of(site, None, locate(str(tmp_path), site, timeout_s=5))
    assert isinstance(found, KeptLine) and found.tasks == 9


def test_a_line_with_a_wider_interval_says_that_it_is_wider(probed: Probed, tmp_path: Path) -> None:
    run, analysis = probed(tmp_path)
    (line, *_) = plan_kept_lines(run, analysis).lines
    exact = replace(line, measured_at_s=line.measured_at_s - 10, low=line.tasks, high=line.tasks)
    keep_line(user_state("lines"), exact)
    wide = tuple(replace(one, tasks_low=1, tasks_high=30) for one in analysis.load_lines)
    _, weaker = notes_about(run, replace(analysis, load_lines=wide))
    tasks = f"{line.tasks} tasks"
    assert weaker.endswith(f"{line.operation} {tasks} [1, 30], than {tasks} [{line.tasks}, {line.tasks}]")


def test_a_line_that_is_old_is_replaced_whatever_it_stood_on(probed: Probed, tmp_path: Path) -> None:
    run, analysis = probed(tmp_path)
    for line in plan_kept_lines(run, analysis).lines:
        old = line.measured_at_s - 31 * 86400
        keep_line(user_state("lines"), replace(line, measured_at_s=old, measured_ns=100 * line.measured_ns))
    assert len(notes_about(run, analysis)) == 1
