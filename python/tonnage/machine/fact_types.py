"""What is asked of a host, as types; None is what its system does not say."""

from __future__ import annotations

from typing import TypedDict


class HostFacts(TypedDict):
    """Names, versions and sizes, for the manifest. Sizes in bytes."""

    hostname: str
    system: str
    kernel: str
    architecture: str
    distribution: str | None
    cpu_model: str | None
    cpu_count: int | None
    cpus_allowed: int
    cpu_affinity: list[int]
    memory_bytes: int | None
    page_bytes: int
    clock: str | None
    python: str
    user_is_root: bool


class HostLoad(TypedDict):
    """How busy a host is; ``pressure``: resource → ``some_avg10`` and others, in per cent of time."""

    load_1min: float
    load_5min: float
    load_15min: float
    pressure: dict[str, dict[str, float]] | None


class HostState(HostFacts, HostLoad):
    """What besides the storage decides how fast a measurement is."""

    available_bytes: int | None
    swap_bytes: int | None
    swap_used_bytes: int | None
    governors: list[str]
    boost: bool | None
    open_files: int
    io_uring: bool
    not_io_uring: str | None
    io_uring_disabled: int | None
    cache_settings: dict[str, int]
    tools: list[str]


class PathFacts(TypedDict, total=False):
    """A path on a host (``path_facts``)."""

    path: str
    problem: str | None
    is_directory: bool | None
    mount_point: str | None
    file_system: str | None
    device: str | None
    options: str | None
    identity: str | None
    free_bytes: int | None
    size_bytes: int | None
    writable: bool | None
    not_writable: str | None
    direct: bool | None
    not_direct: str | None
