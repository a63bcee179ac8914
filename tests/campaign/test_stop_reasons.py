"""Why each point of a run was not measured again: in the manifest, in what is printed, and true."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.run_lifecycle import Outcome, run_campaign
from tonnage.cli import main
from tonnage.records import Run
from tonnage.records.line_types import pack_stop_reasons, stop_reason_of

from .interrupting import InterruptingObserver

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

Measure = Callable[..., Outcome]
SWEEP = """target = "{target}"
seed = 5
[repeat]
{repeat}
[[workload]]
op = ["write"]
tasks = [2, 4]
transfer_size = "1MiB"
block_size = "64MiB"
"""


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    def run(
        repeat: str, target: str = "sim:knee=4,noise=3%", budget: str = "", observer: Observer | None = None
    ) -> Outcome:
        text = SWEEP.format(target=target, repeat=repeat) + budget
        campaign = parse_campaign(text, "stopped.toml")
        out = str(tmp_path / "run")
        return run_campaign(campaign, text=text, command_line=[], out=out, observer=observer or Observer())

    return run


def reasons_of(path: Path) -> dict[int, str | None]:
    return {point.tasks: point.stopped for point in analyse(Run.open(path)).points}


def test_a_point_with_all_its_repetitions_says_so(measure: Measure) -> None:
    assert reasons_of(measure("count = 3").path) == {2: "repetitions", 4: "repetitions"}


def test_a_point_stops_when_its_interval_is_narrow(measure: Measure) -> None:
    found = measure('interval = "20%"\nat_least = 3\nat_most = 12', target="sim:knee=4,noise=1%")
    assert reasons_of(found.path) == {2: "narrow", 4: "narrow"}


def test_a_point_that_never_gets_narrow_stops_at_the_most_repetitions(measure: Measure) -> None:
    found = measure('interval = "1%"\nat_least = 3\nat_most = 5', target="sim:knee=4,noise=20%")
    assert reasons_of(found.path) == {2: "most", 4: "most"}


def test_a_time_budget_that_is_used_up_says_so(measure: Measure) -> None:
    found = measure("count = 50", budget='[budget]\ntime = "1s"\n')
    assert set(reasons_of(found.path).values()) == {"budget"}


def test_an_interrupted_run_says_so_of_what_was_not_done(measure: Measure) -> None:
    found = measure("count = 4", observer=InterruptingObserver(3, signal.SIGTERM))
    assert found.state == "interrupted"
    assert set(reasons_of(found.path).values()) == {"interrupted"}


@pytest.mark.parametrize(
    ("model", "options", "reason", "said"),
    [
        ("knee=4,noise=20%", (), "budget", "measuring ended when its time was used up"),
        ("knee=2,noise=1%", ("--budget", "10m"), "known", "measuring ended when the load line was known well enough"),
        (
            "shape=linear,noise=1%",
            ("--budget", "10m"),
            "limit",
            "measuring ended because no plateau shows up to the largest number of tasks",
        ),
    ],
)
def test_a_search_says_why_it_ended(
    model: str, options: tuple[str, ...], reason: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["probe", f"sim:{model}", "--op", "write", "--seed", "1", "--no-report", "--no-keep", *options]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0
    assert said in capsys.readouterr().out
    summary = json.loads((tmp_path / "run/manifest.json").read_text())["summary"]
    assert summary["load_lines"][0]["stopped"] == reason
    assert {point["stopped"] for point in summary["points"]} <= {reason, "aside"}


def test_what_ends_the_reads_of_a_search_does_not_end_its_writes(tmp_path: Path) -> None:
    from tonnage.campaign.campaign_file import build_campaign

    command = {"name": "probe", "target": "sim:knee=4,noise=8%", "seed": 1, "search": {"op": ["write", "read"]}}
    campaign = build_campaign({**command, "workload": {"block_size": 1 << 20}}, stored=True)
    out = str(tmp_path / "run")
    found = run_campaign(
        campaign, text=None, command_line=[], out=out, observer=InterruptingObserver(65, signal.SIGTERM)
    )
    assert found.state == "interrupted"
    points = analyse(Run.open(found.path)).points
    assert {point.stopped for point in points if point.op == "write"} <= {"budget", "aside"}
    assert {point.stopped for point in points if point.op == "read"} <= {"interrupted", "aside"}
    assert "interrupted" in {point.stopped for point in points}


def test_reasons_are_packed_and_read_back() -> None:
    reasons = {0: "budget", 1: "aside", 2: "budget"}
    manifest = {"stopped": pack_stop_reasons(reasons)}  # type: ignore[arg-type]
    assert {trial: stop_reason_of(manifest, trial) for trial in reasons} == reasons
    assert stop_reason_of({}, 0) is None and stop_reason_of({"stopped": pack_stop_reasons({})}, 0) is None
