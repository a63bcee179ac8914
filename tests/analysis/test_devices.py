"""What a run says of the devices that held its files, and of the calls to an NFS server: records made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from made_results import phase_result, task_result
from tonnage.analysis import analyse
from tonnage.analysis.summary import schema, summary
from tonnage.filesystems.file_holders import FileLayout, FileShare, Item, whole
from tonnage.records import Run, RunWriter, device_lines, event_lines, record_name, task_lines, trial_line
from tonnage.report.page_data import Source
from tonnage.report.sections.devices import story, tables
from tonnage.report.sections.nfs import exhibits, table

SECOND, MB = 10**9, 10**6
DEVICES = ("ost0", "ost1", "ost2", "ost3")
CALLS = {
    "operations": 10, "timeouts": 1, "sent_bytes": MB, "received_bytes": 1500, "queue_ns": 20 * MB, "rtt_ns": 100 * MB,
    "execute_ns": 130 * MB, "retransmissions": 2,
}  # fmt: skip


def task(number: int, rate: int) -> dict[str, Any]:
    steps = dict.fromkeys(("open_ns", "transfer_ns", "sync_ns", "close_ns"), 1)
    return task_result(number, 0, SECOND, None, bytes=rate, operations=rate // MB, **steps)


def run_of(path: Path, repetitions: list[dict[str, int]], *, source: str = "own", nfs: Any = None) -> Run:
    """Each repetition: two tasks on each device, each at half of the device's rate."""
    writer = RunWriter.create(path, {"state": "complete", "target": {"kind": "posix"}, "campaign": {}})
    for trial, rates in enumerate(repetitions):
        names = [device for device in rates for _ in range(2)]
        tasks = [task(number, rates[device] // 2) for number, device in enumerate(names)]
        items = tuple(
            Item(f"data.{number}", 4 * MB, (FileShare(device, 4 * MB), FileShare("spare", 4 * MB, 1)), number, number)
            for number, device in enumerate(names)
        )
        held = FileLayout(items=items, total=len(items))
        result = phase_result(tasks, None, cpu_user_ns=1, cpu_system_ns=1)
        setting = {"op": "write", "tasks": len(tasks), "transfer_size": MB, "sync": "fsync", "source": source}
        line = trial_line(
            trial=trial, setting=setting, phase="write", repetition=trial, block=trial, started="", result=result,
            devices=held.summary(record_name(trial, "write")), nfs=nfs,
        )  # fmt: skip
        hosts = ["node-1"] * len(tasks)
        lines = device_lines(line, held.lines())
        writer.append_trial(line, task_lines(line, result, hosts), event_lines(line, result), devices=lines)
    return Run.open(path)


def even(rate: int) -> dict[str, int]:
    return dict.fromkeys(DEVICES, rate)


def test_a_devices_rate_is_that_of_its_tasks_together(tmp_path: Path) -> None:
    slow = {**even(100 * MB), "ost2": 40 * MB}
    analysis = analyse(run_of(tmp_path, [slow, {**even(102 * MB), "ost2": 50 * MB}, slow]))
    (found,) = analysis.devices
    parts = {part.device: part for part in found.parts}
    assert parts["ost1"].median_bytes_per_s == 100 * MB
    assert (parts["ost2"].median_bytes_per_s, parts["ost2"].tasks) == (40 * MB, 2)
    assert (parts["ost2"].bytes, parts["ost2"].share) == (8 * MB, 0.25)
    # It has copies alone: what was read is not there.
    assert (parts["spare"].bytes, parts["spare"].all_bytes, parts["spare"].median_bytes_per_s) == (0, 32 * MB, None)
    assert "8 files on 5 devices" in story(found)
    ((_, content),) = tables(analysis)
    assert ("ost2", "–", "2", "8.00 MB", "25 %", "8.00 MB", "2", "40.0 MB/s") in content.rows


def test_a_device_that_is_always_slower_is_a_finding_and_one_that_was_once_is_none(tmp_path: Path) -> None:
    slow = {**even(100 * MB), "ost2": 40 * MB}
    told = [f for f in analyse(run_of(tmp_path / "a", [slow] * 3)).findings if f.code == "straggler-device"]
    assert len(told) == 1
    assert (
        "tasks on ost2 moved 40 MB/s, 40 % of the other devices' median, in each of 3 repetitions" in told[0].evidence
    )
    once = run_of(tmp_path / "b", [slow, even(100 * MB), slow])
    assert not [f for f in analyse(once).findings if f.code == "straggler-device"]


def test_tasks_that_read_files_of_others_say_nothing_of_a_device(tmp_path: Path) -> None:
    (found,) = analyse(run_of(tmp_path, [even(100 * MB)], source="shift")).devices
    assert all(part.median_bytes_per_s is None for part in found.parts)


def test_the_summary_has_each_devices_figures_by_its_schema(tmp_path: Path) -> None:
    found = summary(analyse(run_of(tmp_path, [{**even(100 * MB), "ost2": 40 * MB}] * 3)), None)
    jsonschema.validate(json.loads(json.dumps(found)), schema())
    (held,) = found["devices"]
    parts = {part["device"]: part for part in held["parts"]}
    assert (parts["ost2"]["rates"], parts["ost2"]["median_bytes_per_s"]) == ([40 * MB] * 3, 40 * MB)
    assert (parts["spare"]["rates"], parts["spare"]["median_bytes_per_s"]) == ([], None)


def test_where_one_device_has_everything_there_is_no_section(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, {"state": "complete", "target": {"kind": "posix"}, "campaign": {}})
    held = FileLayout(items=(Item("a", 1, whole(["sda"], 1).parts, 0, 0),), total=1)
    assert held.lines() == []
    assert writer.path == tmp_path
    assert analyse(Run.open(tmp_path)).devices == ()


@pytest.mark.parametrize("operations", [{"WRITE": CALLS}, {}])
def test_the_calls_to_an_nfs_server_have_a_section_where_they_were_counted(
    tmp_path: Path, operations: dict[str, Any]
) -> None:
    mount = {
        "host": "h", "mount_point": "/mnt", "device": "s:/x", "bytes": {}, "operations": operations,
        "transport": {"connections": 1, "sends": 10, "backlog": 40},
    }  # fmt: skip
    run = run_of(tmp_path, [even(100 * MB)], nfs=[mount])
    shown = exhibits(analyse(run), Source.of(run))
    assert len(shown) == (1 if operations else 0)
    for exhibit in shown:
        assert table(mount).rows == (
            ("WRITE", "10", "2", "1", "–", "1.00 MB", "1.50 kB", "2.00 ms", "10.0 ms"),
        )  # fmt: skip
        (figure,) = exhibit.variants[0].figures
        assert figure.caption.startswith(
            "10 calls to s:/x, 2 of them sent again; when a call was sent 4.0 others waited"
        )
