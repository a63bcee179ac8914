"""Memory of many tasks: peak resident bytes of a process of its own, less the buffers that the tasks were given.

Run as a program it measures and prints one JSON object: ``memory.py DIRECTORY TASKS``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from cell_files import Ground
from cell_load import KIB, MIB, Load
from child_processes import cleaned_up_on_signals, said_by
from tonnage_contender import Tonnage

LIMIT_BYTES = 300 * MIB
ARENA_BYTES = 2 * MIB
"""What a task's unique payload takes at least (``crates/workload/src/payload.rs``)."""


def measure_in_child(directory: Path, tasks: int) -> dict[str, dict[str, int]]:
    """Figures of a child process, so that what this one has touched does not count."""
    command = [sys.executable, __file__, str(directory), str(tasks)]
    done = said_by(command)
    done.check_returncode()
    result: dict[str, dict[str, int]] = json.loads(done.stdout)
    return result


def peak_bytes() -> int:
    """Returns the largest resident size since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * KIB
    raise RuntimeError("/proc/self/status has no VmHWM")


def one(load: Load, buffer_bytes: int, directory: Path, records: Path) -> dict[str, int]:
    """Peak of one load, where each task has ``buffer_bytes`` of buffers."""
    tonnage = Tonnage()
    with Ground(load, directory, records) as ground:
        tonnage.prepare(load, ground)
        Path("/proc/self/clear_refs").write_text("5")  # begins the peak anew
        tonnage.run(load)
        peak = peak_bytes()
    buffers = load.tasks * buffer_bytes
    return {"peak_bytes": peak, "buffer_bytes": buffers, "own_bytes": peak - buffers}


def main() -> None:
    directory, tasks = Path(sys.argv[1]), int(sys.argv[2])
    read = Load("read", 4 * KIB, 4 * MIB, tasks=tasks, random=True, seconds=2.0)
    write = Load("write", MIB, 4 * MIB, tasks=tasks, fresh=True)
    with cleaned_up_on_signals(), tempfile.TemporaryDirectory(dir=directory) as records:
        figures = {
            "4 KiB random read": one(read, 4 * KIB, directory, Path(records)),
            "1 MiB write, unique payload": one(write, ARENA_BYTES, directory, Path(records)),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
