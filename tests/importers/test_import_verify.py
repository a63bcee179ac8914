"""``tonnage verify`` of an imported run: the files of other tools are what they were when they were imported."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tonnage.analysis.verify import verify
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, take

ORIGINAL = RECORDED / "ior" / "4.1-plain.txt"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return take("ior", tmp_path / "run", ORIGINAL).path


def kept(run: Path) -> Path:
    (path,) = (run / "originals").iterdir()
    return path


def test_an_original_that_was_altered_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(run).write_text(ORIGINAL.read_text().replace("670.93", "970.93"))
    assert main(["verify", str(run)]) == 1
    assert f"originals/{kept(run).name} was altered since it was recorded" in capsys.readouterr().out


def test_an_original_that_is_missing_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(run).unlink()
    assert main(["verify", str(run)]) == 1
    assert "originals/0000-4.1-plain.txt is missing" in capsys.readouterr().out


def test_an_original_that_was_exchanged_together_with_its_line_of_hashes_is_told_by_the_manifest(run: Path) -> None:
    """Of a run without a seal the manifest alone knows what was imported."""
    before = hashlib.sha256(kept(run).read_bytes()).hexdigest()
    kept(run).write_text(ORIGINAL.read_text().replace("670.93", "970.93"))
    after = hashlib.sha256(kept(run).read_bytes()).hexdigest()
    sums = run / "files.sha256"
    sums.write_text(sums.read_text().replace(before, after))
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seal"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    told = verify(Run.open(run)).contradictions
    assert any("is not the file that was imported" in sentence for sentence in told), told
