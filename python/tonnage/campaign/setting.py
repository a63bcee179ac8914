"""One setting of all factors, and the phases that measure it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """Every factor of a trial, under the names of ``docs/record-format.md``. Sizes in bytes."""

    op: str
    tasks: int
    transfer_size: int
    block_size: int
    segments: int
    access: str
    layout: str
    direct: str
    sync: str
    queue_depth: int
    storage: str
    verify: bool
    time_limit_ns: int | None
    cache: str
    payload: str
    wrap: bool

    def as_dict(self) -> dict[str, Any]:
        """As it stands in ``trials.jsonl``."""
        return asdict(self)

    @property
    def files(self) -> int:
        """Number of files it works on."""
        return self.tasks if self.layout == "file-per-task" else 1

    @property
    def file_bytes(self) -> int:
        """Bytes of each of them after one pass."""
        return self.segments * self.block_size * (1 if self.layout == "file-per-task" else self.tasks)

    @property
    def pass_bytes(self) -> int:
        """Bytes that all tasks move in one pass."""
        return self.segments * self.block_size * self.tasks


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, once."""

    setting: Setting
    repetition: int
    block: int
    purpose: str = "measure"
    """``measure``, or ``sustain`` for one long trial on the plateau."""


def phase_spec(setting: Setting, record: str, seed: int, *, first_task: int = 0) -> dict[str, Any]:
    """The PhaseSpec (``crates/workload/src/phase.rs``) that measures ``setting``; tasks from ``first_task`` on."""
    return {
        "record": record,
        "tasks": {"first": first_task, "here": setting.tasks - first_task, "total": setting.tasks},
        "limit": {"time_ns": setting.time_limit_ns, "wrap": setting.wrap},
        "seed": seed,
        "work": {
            "kind": "stream",
            "op": setting.op,
            "geometry": {
                "transfer_size": setting.transfer_size,
                "block_size": setting.block_size,
                "segments": setting.segments,
                "layout": setting.layout,
                "access": setting.access,
            },
            "queue_depth": setting.queue_depth,
            "durability": setting.sync if setting.op == "write" else "none",
            "cache": setting.cache,
            "payload": setting.payload,
            "verify": setting.verify and setting.op == "read",
        },
    }
