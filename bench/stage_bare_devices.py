"""The bare devices by Tonnage itself in the same run: reading the source's, writing the destination's, fsync inside."""

from __future__ import annotations

import itertools
import json
import secrets
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from child_processes import to_the_end
from stage_file_systems import EmptyDirectory
from tonnage import _native

MIB = 1 << 20


class Raw:
    """Context manager. The number of tasks and the mode (through the cache or past it) are those that were fastest when
    warming up; the table tells them.
    """

    def __init__(self, source: EmptyDirectory, to: EmptyDirectory, file_bytes: int, records: Path) -> None:
        self.places = {"read": source, "write": to}
        self.bytes = max(MIB, file_bytes // MIB * MIB)
        self.records = records
        self.how: dict[str, dict[str, Any]] = {}
        self.numbers = itertools.count()

    def __enter__(self) -> Raw:
        self.temporary = tempfile.TemporaryDirectory(dir=self.records, prefix="tonnage-bench-")
        for part in ("series", "heat", "latency"):
            (Path(self.temporary.name) / part).mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.temporary.cleanup()

    def warm_up(self) -> None:
        for op in ("read", "write"):
            # Memory has nothing past the cache.
            modes = ("no",) if self.places[op].kind == "tmpfs" else ("no", "yes")
            rates = {way: self.rate(op, *way) for way in itertools.product((1, 2), modes)}
            tasks, direct = max(rates, key=lambda way: rates[way])
            self.how[op] = {"tasks": tasks, "direct": direct}

    def read(self) -> float:
        """Measures the bytes a second of reading."""
        return self.rate("read", **self.how["read"])

    def write(self) -> float:
        """Measures the bytes a second of writing, the fsync inside."""
        return self.rate("write", **self.how["write"])

    def rate(self, op: str, tasks: int, direct: str) -> float:
        place = self.places[op]
        scratch = _native.Scratch.create(str(place.path), secrets.token_hex(4))
        try:
            spec = {"kind": "posix", "directories": [scratch.path], "direct": direct}
            target = _native.Target(json.dumps(spec), series_directory=self.temporary.name)
            try:
                written = self.phase(target, "write", tasks)
                found = written if op == "write" else self.phase(target, "read", tasks)
            finally:
                target.clear()
        finally:
            scratch.remove()
            place.sync()
        return found

    def phase(self, target: _native.Target, op: str, tasks: int) -> float:
        spec = {
            "record": f"{next(self.numbers):04}-{op}",
            "tasks": {"here": tasks, "total": tasks},
            "limit": {},
            "seed": 1,
            "work": {
                "kind": "stream",
                "op": op,
                "geometry": {
                    "transfer_size": MIB,
                    "block_size": self.bytes,
                    "layout": "file-per-task",
                    "access": "sequential",
                },
                "durability": "fsync" if op == "write" else "none",
                "cache": "drop" if op == "read" else "keep",
            },
        }
        phase = target.start(json.dumps(spec))
        phase.go()
        to_the_end(phase)
        result = phase.result()
        if result["first_error"]:
            raise RuntimeError(result["first_error"]["message"])
        ran = result["tasks"]
        elapsed_ns = max(task["end_ns"] for task in ran) - min(task["start_ns"] for task in ran)
        return float(sum(task["bytes"] for task in ran) * 1e9 / elapsed_ns)
