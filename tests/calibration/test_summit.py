"""The Summit experiment at its own size on the model: what was published comes out of the ceilings alone."""

from __future__ import annotations

import re
import resource
import time
from pathlib import Path

import pytest
from tonnage import published
from tonnage.analysis import analyse
from tonnage.analysis.run_analysis import Analysis
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.records import Run, verify_files
from tonnage.report.sections import tiers

EXAMPLE = Path(__file__).parents[2] / "examples" / "summit-nvme-scale.toml"
NODES = (2, 128, 256, 512, 1100, 4608)
AGREES = 0.05
"""How far a total may be from the published one."""
COSTS_S = 60
"""Limit of processor time for the whole sweep, once, whatever else the machine does."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example, each point once, at fewer numbers of nodes."""
    text = EXAMPLE.read_text(encoding="utf-8").replace("count = 3", "count = 1")
    text, swept = re.subn(r"^tasks = .*", f"tasks = {[16 * nodes for nodes in NODES]}", text, flags=re.MULTILINE)
    assert swept == 2
    campaign = parse_campaign(text, EXAMPLE.name).model_copy(update={"seed": 11})
    out = tmp_path_factory.mktemp("summit") / "run"
    began = time.process_time()
    outcome = run_campaign(campaign, text=None, command_line=["test"], out=str(out), observer=Observer())
    cost_s = time.process_time() - began
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"summit-nvme-scale, once: {cost_s:.1f} s of processor time, at most {memory_kb} kB")
    assert outcome.exit_code == 0 and cost_s < COSTS_S
    return Run.open(out)


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    """What it says."""
    return analyse(run)


def test_the_published_totals_come_out_at_2_and_1100_nodes(analysis: Analysis) -> None:
    names = {"gpfs": "slow", "nvme": "fast"}
    found = {(point.workload, point.op, point.tasks // 16): point.median for point in analysis.points}
    for row in published.figures("summit-nvme")["summit-ior"]:
        ours = found[names[row["tier"]], row["op"], int(row["nodes"])]
        said = float(row["MB_per_s"]) * 1e6
        assert abs(ours / said - 1) < AGREES, f"{row['tier']} {row['op']} at {row['nodes']}: {ours / said:.3f}"


def test_the_crossover_is_where_the_measured_ceilings_put_it(analysis: Analysis) -> None:
    assert analysis.tiers is not None
    found = {crossover.op: crossover for crossover in analysis.tiers.crossovers}
    assert found["write"].nodes == pytest.approx(531, rel=AGREES)
    assert found["read"].nodes == pytest.approx(241, rel=AGREES)
    assert (found["write"].behind, found["write"].ahead) == (512, 1100)
    assert (found["read"].behind, found["read"].ahead) == (128, 256)
    assert all(crossover.levelled for crossover in found.values())
    assert "measured behind at 512 and ahead at 1,100" in tiers.sentence(found["write"])


def test_a_line_a_node_is_kept_where_there_are_many_tasks_and_the_records_agree(run: Run) -> None:
    lines = {line["record"]: line for line in run.trials()}
    tasks: dict[str, list[int]] = {record: [] for record in lines}
    for task in run.tasks():
        tasks[task["record"]].append(task.get("tasks", 1))
    # What lays out files writes only those that are missing.
    for record, line in ((record, line) for record, line in lines.items() if line["purpose"] == "measure"):
        assert sum(tasks[record]) == line["setting"]["tasks"]
        assert bool(line["facts"].get("by_node")) == (len(tasks[record]) < line["setting"]["tasks"])
    hosts = {task["host"] for task in run.tasks()}
    assert len(hosts) == 4608 and "node4608" in hosts
    assert verify_files(run) == []
