"""Tonnage's part of ``nfs.py``, in a process on the client's host, through the interface that the run loop uses.

``python bench/nfs_driver.py EXPORT RECORDS BYTES``: each line asked, such as ``write 8``, writes a new file at that
depth or reads the last one, and is answered by the nanoseconds from opening to closing it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from child_processes import to_the_end
from tonnage import _native

MIB = 1 << 20
SEED = 20_261_122


def phase(target: Any, record: str, op: str, depth: int, size: int) -> int:
    """Nanoseconds of one task's phase; what was written is committed when the file is closed, as libnfs does it."""
    geometry = {"transfer_size": MIB, "block_size": size, "layout": "file-per-task", "access": "sequential"}
    work = {
        "kind": "stream",
        "op": op,
        "geometry": geometry,
        "queue_depth": depth,
        "durability": "none",
        "cache": "keep",
    }
    tasks = {"here": 1, "total": 1}
    started = target.start(json.dumps({"record": record, "tasks": tasks, "limit": {}, "seed": SEED, "work": work}))
    started.go()
    to_the_end(started)
    result: dict[str, Any] = started.result()
    (task,) = result["tasks"]
    if result["first_error"] or task["bytes"] != size:
        raise RuntimeError(f"Tonnage moved {task['bytes']} of {size} bytes: {result['first_error']}")
    elapsed: int = task["end_ns"] - task["start_ns"]
    return elapsed


def main() -> int:
    export, records, size = sys.argv[1:]
    spec = {"kind": "nfs", "run_id": "bench", "nfs": json.loads(export)}
    target = _native.Target(json.dumps(spec), series_directory=records)
    try:
        for number, line in enumerate(sys.stdin):
            op, depth = line.split()
            if op == "write":
                target.clear()
            print(phase(target, f"{number:05}-{op}", op, int(depth), int(size)), flush=True)
    finally:
        target.clear()
        target.finish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
