"""Commands on simulated storages."""

from __future__ import annotations

from tests.memory_paths import memory_path, memory_path_factory  # noqa: F401 - fixtures
