"""Several interpreters on one storage: what they leave behind, put together, is what one would."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tonnage import _native
from tonnage.records import Run, RunWriter

MIB = 1 << 20
TREE = {"depth": 1, "branch": 2, "items_per_directory": 3, "leaves_only": False, "shared": False}

FOLLOWER = """
import json, sys
from tonnage import _native
target = _native.Target(json.loads(sys.stdin.readline()))
for line in sys.stdin:
    phase = target.start(line, share=True)
    print("ready", flush=True)
    sys.stdin.readline()
    phase.go()
    while not phase.wait(0.01):
        said = phase.meeting()
        if said is not None:
            print(said, flush=True)
            phase.meet(int(sys.stdin.readline()))
    share = phase.share()
    print(len(share), flush=True)
    sys.stdout.buffer.write(share)
    sys.stdout.flush()
target.clear()
target.finish()
"""


def streaming(op: str, **changes: Any) -> dict[str, Any]:
    geometry = {"transfer_size": 65536, "block_size": MIB, "segments": 1, "layout": "shared", "access": "sequential"}
    stream = {"kind": "stream", "op": op, "durability": "none", "cache": "keep", "payload": "unique"}
    return {**stream, "geometry": geometry, "verify": op == "read", **changes}


class Processes:
    """This process and another one, each with half of the tasks."""

    def __init__(self, target: dict[str, Any], child: subprocess.Popen[bytes], run_directory: Path | None) -> None:
        self.target = _native.Target(json.dumps({**target, "process": "first"}))
        self._child = child
        self._run_directory = run_directory
        self._tell(json.dumps(self.target.for_others()))

    def _tell(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def _hear(self) -> bytes:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line, "the other process ended"
        return line

    def run(self, record: str, work: dict[str, Any], tasks: int = 4, **changes: Any) -> dict[str, Any]:
        here = tasks // 2

        def spec(first: int, count: int) -> str:
            part = {"first": first, "here": count, "total": tasks}
            return json.dumps({"record": record, "seed": 7, "tasks": part, "work": work, **changes})

        self._tell(spec(here, tasks - here))
        phase = self.target.start(spec(0, here), share=True)
        assert self._hear() == b"ready\n"
        self._tell("go")
        phase.go()
        while not phase.wait(0.01):
            said = phase.meeting()
            if said is not None:
                agreed = max(said, int(self._hear()))
                self._tell(str(agreed))
                phase.meet(agreed)
        mine = phase.share()
        size = int(self._hear())
        assert self._child.stdout is not None
        share = _native.merge_shares(self._child.stdout.read(size), mine)
        directory = None if self._run_directory is None else str(self._run_directory)
        return _native.write_share(share, directory, record, 10**12)


@contextmanager
def two_processes(target: dict[str, Any], run_directory: Path | None = None) -> Iterator[Processes]:
    with ExitStack() as stack:
        pipe = subprocess.PIPE
        child = stack.enter_context(subprocess.Popen([sys.executable, "-c", FOLLOWER], stdin=pipe, stdout=pipe))
        stack.callback(child.kill)
        processes = Processes(target, child, run_directory)
        yield processes
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(30) == 0
        processes.target.finish()


@pytest.mark.parametrize("kind", ["posix", "uring"])
@pytest.mark.parametrize("layout", ["shared", "file-per-task"])
def test_what_one_wrote_the_other_reads(tmp_path: Path, kind: str, layout: str) -> None:
    scratch = _native.Scratch.create(str(tmp_path), "wide")
    with two_processes({"kind": kind, "directories": [scratch.path]}) as processes:
        write, read = streaming("write"), streaming("read", source={"kind": "shift", "tasks": 2})
        for work in (write, read):
            work["geometry"]["layout"] = layout
        written = processes.run("0000-write", write)
        assert [task["bytes"] for task in written["tasks"]] == [MIB] * 4
        assert [task["task"] for task in written["tasks"]] == [0, 1, 2, 3]
        found = processes.run("0001-read", read)
        assert found["verify"]["checked_bytes"] == 4 * MIB
        assert found["verify"]["damaged_operations"] == 0
        processes.target.clear()
    assert [path.name for path in Path(scratch.path).iterdir()] == ["TONNAGE-SCRATCH"]
    scratch.remove()


@pytest.mark.parametrize("keep", [False, True])
def test_a_named_file_that_both_create_is_of_neither_and_of_the_run(tmp_path: Path, keep: bool) -> None:
    name = tmp_path / "testFile"
    target = {"kind": "posix", "names": [str(name)], "run_id": "wide", "keep": keep, "existing": "refuse"}
    with two_processes(target) as processes:
        for trial in range(5):
            result = processes.run(f"000{trial}-write", streaming("write"))
            assert result["first_error"] is None
            assert result["stop_reason"] == "size"
            if trial % 2:
                processes.target.clear()
                assert not name.exists()
    assert name.exists() == keep


def test_a_name_of_the_users_is_refused_before_it_is_touched(tmp_path: Path) -> None:
    name = tmp_path / "testFile"
    name.write_text("the user's own results")
    target = {"kind": "posix", "names": [str(name)], "run_id": "wide"}
    for process in ("first", "other"):
        opened = _native.Target(json.dumps({**target, "process": process}))
        spec = {"record": "r", "seed": 7, "tasks": {"here": 1, "total": 2}, "work": streaming("write")}
        with pytest.raises(ValueError, match="Tonnage did not make it"):
            opened.start(json.dumps(spec), share=True)
        opened.finish()
    assert name.read_text() == "the user's own results"


def test_trees_of_one_are_looked_at_and_removed_by_the_other(tmp_path: Path) -> None:
    scratch = _native.Scratch.create(str(tmp_path), "wide")
    with two_processes({"kind": "posix", "directories": [scratch.path]}) as processes:
        for number, op in enumerate(("make-tree", "create", "stat", "read", "remove", "remove-tree")):
            work = {"kind": "files", "op": op, "tree": TREE, "file_bytes": 4096, "cache": "keep", "payload": "unique"}
            shift = 2 if op in ("stat", "read", "remove") else 0
            result = processes.run(f"000{number}-{op}", {**work, "shift": shift, "verify": op == "read"})
            assert result["first_error"] is None, result["first_error"]
            expected = 3 if op.endswith("tree") else 9
            assert [task["operations"] for task in result["tasks"]] == [expected] * 4
    assert [path.name for path in Path(scratch.path).iterdir()] == ["TONNAGE-SCRATCH"]
    scratch.remove()


def test_the_run_directory_holds_what_one_process_would_have_written(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", {"version": 1})
    with two_processes({"kind": "null"}, tmp_path / "run") as processes:
        result = processes.run("0000-write", streaming("write"), operation_log=3)
    run = Run.open(tmp_path / "run")
    series, histograms = run.series("0000-write"), run.histograms("0000-write")
    assert series is not None and histograms is not None
    assert sum(series["bytes"]) == 4 * MIB
    assert set(series["task"]) == {0, 1, 2, 3}
    assert series["start_ns"] == sorted(series["start_ns"])
    assert list(histograms) == [f"task-{task}" for task in range(4)]
    assert result["latency"]["count"] == 64
    heat = run.heat("0000-write")
    assert heat is not None and sum(heat["count"]) == 64
    operations = _native.read_table(str(tmp_path / "run/operations/0000-write.parquet"))
    assert operations["task"] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_processes_agree_when_the_time_is_up_and_at_barriers() -> None:
    work = streaming("write", barriers=True)
    work["geometry"]["block_size"] = 1 << 40
    with two_processes({"kind": "null", "delays": {"transfer_ns": 1_000_000, "task": 3}}) as processes:
        result = processes.run("0000-write", work, limit={"time_ns": 100_000_000, "wear_out": True, "operations": 300})
    assert len({task["operations"] for task in result["tasks"]}) == 1
    assert result["tasks"][3]["stonewall_operations"] < result["tasks"][0]["operations"]
    assert all(task["close_wait_ns"] > 0 for task in result["tasks"][:3])


def test_a_share_of_a_simulated_phase_is_its_result() -> None:
    model = json.dumps({"kind": "sim", "plateau_bytes_per_s": 10**9, "seed": 3})
    spec = {"record": "r", "seed": 7, "tasks": {"here": 3, "total": 3}, "work": streaming("write")}
    results = []
    for share in (False, True):
        target = _native.Target(json.dumps(json.loads(model)))
        assert json.loads(target.for_others()) == json.loads(model)
        phase = target.start(json.dumps(spec), share=share)
        phase.go()
        assert phase.wait(1.0)
        results.append(_native.write_share(phase.share(), None, "r", 0) if share else phase.result())
    assert results[0] == results[1]


def test_calls_in_the_wrong_order_say_what_is_wrong() -> None:
    target = _native.Target(json.dumps({"kind": "null"}))
    spec = json.dumps({"record": "r", "seed": 7, "tasks": {"here": 1, "total": 1}, "work": streaming("write")})
    phase = target.start(spec)
    phase.go()
    while not phase.wait(1.0):
        pass
    with pytest.raises(RuntimeError, match="share=True"):
        phase.share()
    shared = target.start(spec, share=True)
    with pytest.raises(RuntimeError, match="has not ended"):
        shared.share()
    shared.go()
    while not shared.wait(1.0):
        pass
    share = shared.share()
    with pytest.raises(RuntimeError, match="taken before"):
        shared.share()
    with pytest.raises(ValueError, match="two processes ran task 0"):
        _native.merge_shares(share, share)
    with pytest.raises(ValueError, match="damaged"):
        _native.merge_shares(share, share[:-9])
