"""The published experiments, typed: each example runs on a laptop, and shows the published figures beside its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .shell import DEADLINE_S, ROOT, Shell

EXAMPLES = {
    "knox-epouta-alone": ("0.001", "sob on NFS between Knox and ePouta", {"write", "read"}),
    "summit-nvme": (
        "0.0001",
        "Summit: from how many nodes on",
        {"write", "read", "stage", "open-write-close"},
    ),
    "iobsub": ("0.001", "iobsub: jobs over NFS and at the file server", {"command"}),
    "lcls-ffb": ("0.0002", "LCLS fast feedback", {"write", "tail"}),
}


REPETITIONS = 3 if "TONNAGE_COLD" in os.environ else 1
"""Of three: settings, phases and bytes of each trial are the same."""


@pytest.mark.timeout(DEADLINE_S + 60)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_runs_at_a_small_scale_with_the_published_figures_beside(name: str, shell: Shell) -> None:
    scale, table, phases = EXAMPLES[name]
    text = (ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8")
    assert text.count("count = 3\n") == 1
    file = shell.write(f"{name}.toml", text.replace("count = 3\n", f"count = {REPETITIONS}\n"))
    run = shell.home / "run"
    said = shell("run", "--scale", scale, "--target", shell.data, file, "--out", run)
    assert table in said.out
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    measured = [line for line in lines if line["purpose"] == "measure"]
    assert {line["phase"] for line in measured} == phases
    assert all(line["status"] == "ok" for line in lines)
    assert table in (run / "report.html").read_text(encoding="utf-8")
    assert not list(shell.data.iterdir())
    assert "records agree" in shell("verify", run).out


def test_every_example_is_run_by_a_test() -> None:
    found = {path.stem for path in Path(ROOT, "examples").glob("*.toml")}
    # tests/e2e/test_run.py has the first; the second needs six hosts and a scheduler: tests/lab/test_knox.py;
    # the third is a model of thousands of nodes: tests/calibration/test_summit.py; the last needs snapshots:
    # tests/calibration/test_ceph_example.py on a model, tests/lab/test_ceph_snapshots.py on real storages.
    assert found == {*EXAMPLES, "first-light", "knox-epouta", "summit-nvme-scale", "ceph-snapshots"}
