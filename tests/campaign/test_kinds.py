"""Each kind of workload is a table, its settings, and what carries them out; nothing else asks which kind it has."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import pytest
import tonnage.campaign
from tonnage.campaign.execute import EXECUTORS
from tonnage.campaign.kinds import WORKLOADS, WorkloadSection
from tonnage.campaign.kinds.kind import factors_of
from tonnage.campaign.kinds.stream import StreamSetting, plain_stream

OTHERWISE = {
    "files": {"items", "phases"},  # items_per_directory, sequence
    "checkpoint": {"transfers"},  # block_size
    "stage": {"from_device", "check"},  # device, check_copies
    "network": {"at_once"},  # the number of pairs
}
"""Knobs that settings have under another name, for records had that name first, or in another form."""
HOME = Path(tonnage.campaign.__file__).parent


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_knob_of_a_table_reaches_its_settings(kind: str) -> None:
    section = WORKLOADS[kind]
    knobs = {*section.model_fields} - {*WorkloadSection.model_fields}
    assert knobs - {field.name for field in fields(section.SETTING)} == OTHERWISE.get(kind, set())


def test_every_kind_is_carried_out() -> None:
    assert EXECUTORS.keys() == WORKLOADS.keys()
    assert {kind: section.SETTING.__dataclass_fields__["kind"].default for kind, section in WORKLOADS.items()} == {
        kind: kind for kind in WORKLOADS
    }


def test_factors_are_the_fields_that_may_be_lists_in_the_order_of_the_table() -> None:
    assert factors_of(WORKLOADS["tail"]) == (
        "readers", "transfer_size", "file_size", "rate_bytes_per_s", "follow", "wait", "poll_ns", "sync", "storage",
        "direct",
    )  # fmt: skip
    assert factors_of(WORKLOADS["command"]) == ("tasks",)
    # A list that is one value, and a factor that may be left out.
    assert "advice" not in factors_of(WORKLOADS["stream"]) and "devices" in factors_of(WORKLOADS["stream"])


def test_what_lays_files_out_keeps_which_they_are_and_nothing_of_how_they_are_read() -> None:
    reading = plain_stream().plain(
        op="read", tasks=3, layout="shared", payload="constant", verify=True, think_ns=5, hog=0.5, time_limit_ns=7
    )
    fill = reading.fill(1 << 16)
    assert fill == plain_stream().plain(tasks=3, layout="shared", payload="constant", transfer_size=1 << 16)
    assert (fill.op, fill.verify, fill.think_ns, fill.hog, fill.time_limit_ns) == ("write", False, None, None, None)


def test_nothing_but_the_kinds_asks_for_the_kind_of_a_setting() -> None:
    kinds = {section.__name__ for section in WORKLOADS.values()}
    kinds |= {section.SETTING.__name__ for section in WORKLOADS.values()}
    asking = [
        f"{path.relative_to(HOME)}:{node.lineno}"
        for path in HOME.rglob("*.py")
        if path.parent.name not in ("kinds", "execute")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if kinds & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    ]
    assert asking == []
    assert issubclass(WORKLOADS["stream"].SETTING, StreamSetting)
