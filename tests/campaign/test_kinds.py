"""Each kind of workload is a table, its settings, and what carries them out; nothing else asks which kind it has."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import tonnage.campaign
from tonnage.campaign.campaign_file import build_campaign, parse_campaign
from tonnage.campaign.execute import EXECUTORS
from tonnage.campaign.kinds import WORKLOADS, WorkloadSection
from tonnage.campaign.kinds.kind import OnDemand, factors_of
from tonnage.campaign.kinds.stream import StreamSetting, plain_stream
from tonnage.errors import RequestError

OTHERWISE = {
    "files": {"items", "phases"},  # items_per_directory, sequence
    "checkpoint": {"transfers"},  # block_size
    "stage": {"from_device", "check"},  # device, check_copies
    "network": {"at_once"},  # the number of pairs
    "training": {"dataset", "checkpoint_size"},  # dataset_files
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


def test_a_probe_imports_no_other_kind_than_its_own() -> None:
    program = (
        "import json, sys\n"
        "import tonnage.campaign.run_lifecycle\n"
        "from tonnage.campaign.execute import executor_of\n"
        "from tonnage.campaign.campaign_file import probe_campaign\n"
        "executor_of(probe_campaign('sim:', {}).settings()[0])\n"
        "print(json.dumps([*sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(json.loads(done.stdout))
    kinds = {f"tonnage.campaign.{room}.{kind}" for room in ("kinds", "execute") for kind in WORKLOADS}
    assert loaded & kinds == {"tonnage.campaign.kinds.stream", "tonnage.campaign.execute.stream"}
    assert "tonnage.cluster.scheduler" not in loaded


def test_a_signal_waits_until_the_module_of_a_kind_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_kind.py").write_text("import signal\nKIND = signal.pthread_sigmask(signal.SIG_BLOCK, [])\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    kinds = OnDemand[set[signal.Signals]]({"slow": "slow_kind:KIND"})
    assert list(kinds) == ["slow"] and "slow_kind" not in sys.modules
    assert {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} <= kinds["slow"]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        ({"kind": "strean"}, "there is no kind of workload 'strean'; hint: did you mean 'stream'?"),
        ({"kind": ["tail"]}, r"there is no kind of workload \['tail'\]; hint: did you mean 'tail'?"),
        ({"kind": 7}, "there is no kind of workload 7; hint: known kinds are stream, files, tail, "),
        (3, "workload: 3 is no table; hint: give it keys, such as tasks = "),
    ],
)
def test_what_is_no_kind_is_told_in_words_of_the_campaign_file(workload: object, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        build_campaign({"target": "sim:", "workload": workload})


def test_a_mistake_in_a_table_of_any_kind_has_its_line() -> None:
    text = 'target = "sim:"\n[[workload]]\nname = "a"\n[[workload]]\nname = "b"\nkind = "tail"\nwait = 3\n'
    with pytest.raises(RequestError, match=r"c\.toml:7: workload\.wait: "):
        parse_campaign(text, "c.toml")
    with pytest.raises(RequestError, match=r"c\.toml:6: there is no kind of workload 'tial'"):
        parse_campaign(text.replace("tail", "tial"), "c.toml")


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_table_of_each_kind_comes_back_from_a_manifest_as_it_was(kind: str) -> None:
    needed: dict[str, object] = {
        "command": {"argv": ["true"], "copies": 1},
        "training": {"model": "unet3d-h100"},
        "kv-cache": {"model": "llama3.1-8b"},
    }.get(kind, {})
    given = build_campaign({"target": ["/tmp/a", "/tmp/b"], "workload": {"kind": kind, **needed}})
    assert type(given.workloads[0]) is WORKLOADS[kind]
    stored = given.model_dump(mode="json")
    assert stored["workloads"][0].keys() == WORKLOADS[kind].model_fields.keys()
    assert build_campaign(stored, stored=True) == given
