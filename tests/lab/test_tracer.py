"""The lab's tracer does to a call what it was told, and nothing else."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
import tracer
from stage_faults import workers
from tracer import Action, Call, traced

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
pytestmark = pytest.mark.skipif(not tracer.HERE, reason="registers are known on x86-64 only")


def write_twice(root: Path, action: Action) -> tuple[int | None, object]:
    """A process that writes ten bytes to one file and then to another; the action is for the first write."""
    seen: list[Call] = []

    def body() -> int:
        answers = []
        for name in ("one", "two"):
            file = os.open(root / name, os.O_WRONLY | os.O_CREAT)
            try:
                answers.append(os.write(file, b"0123456789"))
            except OSError as error:
                answers.append(-(error.errno or 0))
        (root.parent / "answers").write_text(json.dumps(answers))
        return 7

    def ask(call: Call) -> Action | None:
        if call.name != "write":
            return None
        seen.append(call)
        return action if len(seen) == 1 else None

    code = traced(body, [root], ask, native.__file__, 30)
    told = root.parent / "answers"
    return code, json.loads(told.read_text()) if told.exists() else None


@pytest.mark.parametrize(
    ("action", "code", "answers", "bytes_one"),
    [
        (Action(), 7, [10, 10], 10),
        (Action(errno.ENOSPC), 7, [-errno.ENOSPC, 10], 0),
        (Action(errno.EIO, done=True), 7, [-errno.EIO, 10], 10),
        (Action(short=True), 7, [5, 10], 5),
        (Action(kill="before"), None, None, 0),
        (Action(kill="after"), None, None, 10),
    ],
    ids=["nothing", "fails", "answer lost", "short", "kill before", "kill after"],
)
def test_one_call_is_disturbed_and_no_other(
    tmp_path: Path, action: Action, code: int | None, answers: object, bytes_one: int
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with workers(1) as alone:  # of a process that has neither threads nor other children
        assert alone.submit(write_twice, root, action).result() == (code, answers)
    assert (root / "one").stat().st_size == bytes_one
    assert (root / "two").exists() == (code is not None)
