"""Where a cell's contenders run: one directory, one Tonnage target, and files that all of them share."""

from __future__ import annotations

import json
import sys
import tempfile
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from cell_load import Load

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

_TOUCH = bytes(1 << 20)


class Ground:
    """Context manager. The data files are laid out by Tonnage, and shared with the peers by symbolic links: Tonnage
    refuses to write a file that has two names.

    Sharing matters: which physical pages a file got decides its speed by tens of per cent on a virtual machine,
    and by the size of the writes that made it on ext4.
    """

    def __init__(self, load: Load, place: Path, records: Path) -> None:
        self.load = load
        self.place = place
        self.records = records
        self.directory = Path()
        self.target: Any = None
        self.scratch: Any = None

    def __enter__(self) -> Ground:
        self.temporary = tempfile.TemporaryDirectory(dir=self.place, prefix="tonnage-bench-")
        try:
            self.directory = Path(self.temporary.name)
            self.open_target()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def open_target(self) -> None:
        from tonnage import _native

        run = Path(tempfile.mkdtemp(dir=self.records, prefix="run-"))
        for part in ("series", "heat", "latency"):
            (run / part).mkdir()
        kind = "null" if self.load.null else "uring" if self.load.depth > 1 else "posix"
        spec: dict[str, Any] = {"kind": kind, "direct": "no"}
        if not self.load.null:
            self.scratch = _native.Scratch.create(str(self.directory), f"bench-{uuid.uuid4().hex[:12]}")
            spec["directories"] = [self.scratch.path]
        self.target = _native.Target(json.dumps(spec), series_directory=str(run))

    def link(self, directory: Path, name: str) -> None:
        """Makes the shared files appear in ``directory`` under ``name``, a format of ``task``."""
        for task, file in enumerate(sorted(Path(self.scratch.path).glob("data.*"))):
            (directory / name.format(task=task)).symlink_to(file)

    def touch_free_memory(self) -> None:
        """Writes and removes as much as a run of new files will.

        On a virtual machine the first touch of a page that the host took back costs many times a copy, and whoever
        runs next after a pause would pay it.
        """
        with tempfile.TemporaryFile(dir=self.directory, buffering=0) as file:
            for _ in range(self.load.tasks * self.load.file_bytes // len(_TOUCH)):
                file.write(_TOUCH)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.target is not None:
                self.target.clear()
            if self.scratch is not None:
                self.scratch.remove()
        finally:
            self.temporary.cleanup()
