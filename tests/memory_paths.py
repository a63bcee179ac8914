"""``tmp_path`` and ``tmp_path_factory`` in memory, for the tests of a directory whose ``conftest.py`` imports them.

A run syncs each of its records, a dozen times a trial: tests that measure simulated storages, or nothing, wait for the
disk longer than they compute. Tests of what files on a real file system do keep pytest's own fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from tests.calibration.memory_directory import in_memory


class MemoryPaths:
    """What ``pytest.TempPathFactory`` gives, below a directory of its own."""

    def __init__(self, base: Path) -> None:
        self._base = base

    def getbasetemp(self) -> Path:
        return self._base

    def mktemp(self, basename: str, numbered: bool = True) -> Path:
        if numbered:
            return Path(mkdtemp(prefix=f"{basename}-", dir=self._base))
        (path := self._base / basename).mkdir()
        return path


@pytest.fixture(scope="session", name="tmp_path_factory")
def memory_path_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.TempPathFactory | MemoryPaths]:
    if (memory := in_memory()) is None:
        yield tmp_path_factory
        return
    with TemporaryDirectory(dir=memory, prefix="tonnage-tests-", ignore_cleanup_errors=True) as directory:
        yield MemoryPaths(Path(directory))


@pytest.fixture(name="tmp_path")
def memory_path(tmp_path_factory: pytest.TempPathFactory | MemoryPaths) -> Iterator[Path]:
    base = tmp_path_factory.getbasetemp()
    with TemporaryDirectory(dir=base, prefix="test-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)
