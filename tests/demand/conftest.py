"""What a job asks of a storage, from recorded logs."""

from __future__ import annotations

from tests.memory_paths import memory_path, memory_path_factory  # noqa: F401 - fixtures
