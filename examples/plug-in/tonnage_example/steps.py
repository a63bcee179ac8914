"""A workflow engine whose trace has a line a task: its name, its start and its end in nanoseconds since 1970."""

from __future__ import annotations

from pathlib import Path

from tonnage.importers import Trace, TracedTask


def read(path: Path) -> Trace:
    """All tasks. OSError where the file cannot be read, and nothing else."""
    tasks, problems = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if len(words) == 3 and all(word.isascii() and word.isdigit() for word in words[1:]):
            name, start, end = words
            tasks.append(TracedTask(name=name, process=name, status="ok", start_ns=int(start), end_ns=int(end)))
        else:
            problems.append(f"line {number}: it is not a name and two instants; left out")
    return Trace(tuple(tasks), tuple(problems))
