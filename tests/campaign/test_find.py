"""A campaign searches the files below its target, and leaves them as they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    for name in ("a", "a/b", "c"):
        (place / name).mkdir(parents=True)
        for number in range(20):
            (place / name / f"f.{number:02d}").write_bytes(bytes(3901 if number % 2 else 0))
    return place


def found(tmp_path: Path, text: str) -> list[tuple[int, int | None]]:
    """Files that each trial looked at, and those that matched."""
    (tmp_path / "campaign.toml").write_text(text)
    assert main(["run", str(tmp_path / "campaign.toml"), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    run = Run.open(tmp_path / "run")
    return [(line["operations"], line.get("found")) for line in run.trials() if line["purpose"] == "measure"]


def test_every_number_of_tasks_finds_the_same(tmp_path: Path, tree: Path) -> None:
    workload = 'kind = "find"\ntasks = [1, 2, 5]\npattern = "*1?"\nsize = 3901\n'
    text = f'target = "{tree}"\n[repeat]\ncount = 1\n[workload]\n{workload}'
    before = sorted(path.stat().st_ctime_ns for path in tree.rglob("*"))
    assert found(tmp_path, text) == [(60, 15)] * 3
    assert sorted(path.stat().st_ctime_ns for path in tree.rglob("*")) == before


def test_only_what_changed_later_is_newer(tmp_path: Path, tree: Path) -> None:
    mark = tree / "c" / "mark"
    # Times are stamped in ticks of the file system.
    last = max(path.stat().st_ctime_ns for path in tree.rglob("*"))
    while not mark.exists() or mark.stat().st_ctime_ns == last:
        mark.write_bytes(b"")
    workload = f'kind = "find"\ntasks = 2\nnewer = "{mark}"\n'
    assert found(tmp_path, f'target = "{tree}"\n[repeat]\ncount = 1\n[workload]\n{workload}') == [(61, 1)]


def test_a_model_has_as_many_files_as_it_is_told(tmp_path: Path) -> None:
    workload = 'kind = "find"\ntasks = [1, 4]\npattern = "*1"\nfiles = 100\n'
    told = found(tmp_path, f'target = "sim:"\n[repeat]\ncount = 2\n[workload]\n{workload}')
    assert told == [(100, 10)] * 4


@pytest.mark.parametrize(
    ("target", "more", "told"),
    [
        ("null:", "", "a find searches one directory; hint: give one as target"),
        (
            ".",
            'newer = "nowhere"',
            "workload.newer: nowhere: No such file or directory; hint: give a file that is there",
        ),
        (".", 'pattern = "a/b"', "workload.pattern"),
        (".", "size = -1", "workload.size"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, more: str, told: str
) -> None:
    (tmp_path / "campaign.toml").write_text(f'target = "{target}"\n[workload]\nkind = "find"\n{more}\n')
    assert main(["run", str(tmp_path / "campaign.toml"), "--out", str(tmp_path / "run")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_listed_is_told_and_all_else_is_looked_at(tmp_path: Path, tree: Path) -> None:
    """Root reads every directory: it gives that power up first."""
    for name in ("c", "d"):
        (tree / name).mkdir(exist_ok=True)
        (tree / name).chmod(0)
    workload = 'kind = "find"\ntasks = 2\npattern = "*1"\n'
    (tmp_path / "campaign.toml").write_text(f'target = "{tree}"\n[repeat]\ncount = 1\n[workload]\n{workload}')
    command = [os.fspath(Path(__file__).parents[2] / "tonnage"), "run", "campaign.toml", "--out", "run", "--no-report"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    for name in ("c", "d"):
        (tree / name).chmod(0o700)
    (line,) = (line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure")
    assert (line["operations"], line.get("found"), line["errors"]) == (40, 4, 2)
    assert done.returncode == 1
    assert line["reason"] is not None
    assert line["reason"].startswith("the search missed 2 places: ")
    assert "cannot be looked at: Permission denied" in line["reason"]
    assert "the search missed 2 places" in done.stdout + done.stderr
