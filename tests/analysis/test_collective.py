"""The finding that collective transfers cost more than they give, on models where they do and where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.records import Run


def found(path: Path, model: str) -> list[tuple[str, str]]:
    """Subject and evidence of each finding of a run that measures both ways on the model."""
    campaign = build_campaign(
        {
            "target": f"sim:{model}",
            "seed": 3,
            "workload": {
                "op": "write",
                "tasks": [8],
                "storage": "mpiio",
                "layout": "shared",
                "collective": [False, True],
                "block_size": 4 << 20,
            },
            "repeat": {"count": 5},
        },
        "test",
        stored=True,
    )
    outcome = run_campaign(campaign, text=None, command_line=["test"], out=str(path))
    assert outcome.state == "complete"
    findings = analyse(Run.open(outcome.path)).findings
    return [(one.subject, one.evidence) for one in findings if one.code == "collective-costs"]


def test_an_exchange_that_spares_the_storage_nothing_is_told_with_its_figures(tmp_path: Path) -> None:
    ((subject, evidence),) = found(tmp_path / "run", "knee=8,noise=3%,aggregators=2:20%")
    assert "write" in subject and "collective True" in subject and "8 tasks" in subject
    # Two tasks reach 25.3 % of the plateau, of which the exchange leaves 80 %.
    assert "times as long as independent ones (95 % interval 4." in evidence
    assert "half of the operations took" in evidence


@pytest.mark.parametrize("model", ["knee=2,decline=20%,noise=3%,aggregators=2:20%", "knee=8,noise=3%"])
def test_collective_transfers_that_gain_or_cost_nothing_are_no_finding(tmp_path: Path, model: str) -> None:
    assert found(tmp_path / "run", model) == []
