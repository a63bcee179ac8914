"""The example package, installed as users install one: each plug-in does its part, and a broken one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plug-in"
LOCATE = """
from tonnage.filesystems import Device, facts_of, served_by
from tonnage.filesystems.servers import ObservedPath
from tonnage.machine.mounts import Mount
mount = Mount("/mnt", "fuse.examplefs", "far:/vol", "rw")
observed = ObservedPath(
    path="/mnt/x", mount=mount, timeout_s=5, mounts=(mount,), is_known=lambda name: False, below=lambda path: None
)
print(served_by(observed).servers, facts_of("/mnt", mount))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for PYTHONPATH with the package in it."""
    copy, place = tmp_path_factory.mktemp("source") / "plug-in", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, copy)
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", place, copy]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def tonnage(place: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without the package's own name in front: Python itself with ``-c``."""
    return python(place, home, "-m", "tonnage.cli", *words)


def python(place: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(place), "HOME": str(home), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, *words], cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_kind_of_file_is_imported_and_the_finding_fires(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "dd.txt").write_text("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n")
    done = tonnage(installed, tmp_path, "import", "dd", "dd.txt", "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    assert point["median"] == pytest.approx(1073741824 / 0.5)
    probed = tonnage(installed, tmp_path, "probe", "sim:", "--op", "write", "--out", "probed", "--json", "--no-keep")
    assert probed.returncode == 0, probed.stderr
    assert "few-operations" in [finding["code"] for finding in json.loads(probed.stdout)["findings"]]
    explained = tonnage(installed, tmp_path, "explain", "few-operations")
    assert explained.stdout == "A point of a run, by what is in its records and nothing else.\n"
    assert "few-operations" in tonnage(installed, tmp_path, "explain").stdout


def test_help_and_errors_name_what_plug_ins_add(installed: Path, tmp_path: Path) -> None:
    assert "'dd'" in tonnage(installed, tmp_path, "import", "ddd", "x").stderr
    assert "'dd'" not in tonnage(tmp_path, tmp_path, "import", "ddd", "x").stderr
    assert "local,shell}" in tonnage(installed, tmp_path, "submit", "--help").stdout
    (tmp_path / "c.toml").write_text('target = "sim:"\n[job]\non = "shelf"\n[workload]\n')
    wrong = tonnage(installed, tmp_path, "run", "--dry-run", "c.toml")
    assert wrong.returncode == 2 and "'shelf' is no scheduler; hint: they are auto, slurm, " in wrong.stderr
    assert "local, shell" in wrong.stderr


def test_a_job_is_submitted_by_a_scheduler_of_a_plug_in(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["submit", "--scheduler", "shell", "--anywhere", "--dry-run", "--json", "true"]
    assert "shell is not set up on this host" in tonnage(installed, tmp_path, *words).stderr
    monkeypatch.setenv("EXAMPLE_SITE", "1")
    done = tonnage(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert tonnage(tmp_path, tmp_path, *words).returncode == 2


def test_a_file_system_tells_its_servers_and_facts(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, "-c", LOCATE)
    assert done.stdout == "('far',) {'volume': '/vol', 'unknown': {}}\n", done.stderr
    assert python(tmp_path, tmp_path, "-c", LOCATE).stdout.startswith("('far',) None")


def test_a_workflow_engine_has_its_trace_read(installed: Path, tmp_path: Path) -> None:
    # 2 s of one task, in the past: what counts is that the trace is understood.
    (tmp_path / "c.toml").write_text(
        f'target = "{tmp_path}"\n[workload]\nkind = "command"\ncopies = 1\ntasks = 1\ntrace = "steps"\n'
        'argv = ["sh", "-c", "echo align $(date +%s%N) $(date +%s%N) >steps-1.trace"]\n'
    )
    done = tonnage(installed, tmp_path, "run", "c.toml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    tasks = [json.loads(line) for line in (tmp_path / "run" / "workflow.jsonl").read_text().splitlines()]
    assert {(task["engine"], task["name"]) for task in tasks} == {("steps", "align")}


def test_a_broken_plug_in_is_named_in_one_line(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    (broken / "tonnage_example" / "dd.py").write_text("def read(data, name):\n    return 1 / 0\n")
    (tmp_path / "dd.txt").write_text("x\n")
    done = tonnage(broken, tmp_path, "import", "dd", "dd.txt", "--out", "run")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "the plug-in dd (tonnage.importers) of the package tonnage-example failed: ZeroDivisionError" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_scheduler_of_tonnage_has_one_name_wherever_names_are_checked() -> None:
    from tonnage import plugins
    from tonnage.cluster.schedulers import _SCHEDULERS

    assert plugins.OWN[plugins.SCHEDULERS] == ("auto", *_SCHEDULERS)
