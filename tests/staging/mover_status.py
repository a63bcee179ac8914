"""What a mover says, and an object with a mover's door for the parts that only talk to one."""

from __future__ import annotations

from typing import Any

NOTHING = {"files": 0, "bytes": 0}


def status(**more: Any) -> dict[str, Any]:
    """A status in which nothing has happened yet, with ``more`` in it; ``done=(2, 10)`` is two files of ten bytes."""
    totals = ("queued", "copying", "done", "cleared", "failed", "gone", "skipped", "will_not_fit")
    given = {
        key: {"files": value[0], "bytes": value[1]} if key in totals and isinstance(value, tuple) else value
        for key, value in more.items()
    }
    return {
        "id": "0" * 32, "name": "run7", "from": "/local", "to": "/gpfs", "progress": "watching",
        **{name: dict(NOTHING) for name in totals},
        "copied_bytes": 0, "replaced_after_clearing": 0,
        "rate_bytes_per_s": None, "rate_files_per_s": None, "left_ns": None, "workers": 2,
        "limit_bytes_per_s": None, "limit_files_per_s": None, "gentle_bytes_per_s": None,
        "source_used_permille": 400, "above_high_mark": False, "watch": "inotify", "scans": 1,
        "waiting": [], "failures": [], "notes": [],
        "running": True, "pid": 1, "state": "/local/.tonnage-stage", "direction": "out",
        **given,
    }  # fmt: skip
