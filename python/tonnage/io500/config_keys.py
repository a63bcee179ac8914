"""The sections and keys of an IO500 configuration, with the benchmark's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "bool", "int", "uint", "float"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section."""

    name: str
    kind: Kind = "text"
    default: str | None = None
    """None: the key has no value unless the file gives one."""


_RUN = Key("run", "bool", "TRUE")
_API = Key("API")
_PHASE = (_API, _RUN)
_FIND = (
    Key("external-script"),
    Key("external-mpi-args", default=""),
    Key("external-extra-args", default=""),
    Key("nproc", "uint"),
    _RUN,
    Key("pfind-queue-length", "int", "10000"),
    Key("pfind-steal-next", "bool", "FALSE"),
    Key("pfind-parallelize-single-dir-access-using-hashing", "bool", "FALSE"),
)
_COLLECTIVE = Key("collective", "bool")
_VERBOSITY = Key("verbosity", "int")

SECTIONS: dict[str, tuple[Key, ...]] = {
    "global": (
        Key("datadir", default="./datafiles"),
        Key("timestamp-datadir", "bool", "TRUE"),
        Key("resultdir", default="./results"),
        Key("timestamp-resultdir", "bool", "TRUE"),
        Key("api", default="POSIX"),
        Key("drop-caches", "bool", "FALSE"),
        Key("drop-caches-cmd", default='sudo -n bash -c "echo 3 > /proc/sys/vm/drop_caches"'),
        Key("io-buffers-on-gpu", "bool", "FALSE"),
        Key("verbosity", "uint", "1"),
        Key("scc", "bool", "FALSE"),
        Key("dataPacketType", default="timestamp"),
    ),
    "debug": (Key("stonewall-time", "int", "300"), Key("pause-dir")),
    "ior-easy": (
        _API,
        Key("transferSize", default="2m"),
        Key("blockSize", default="9920000m"),
        Key("filePerProc", "bool", "TRUE"),
        Key("uniqueDir", "bool", "FALSE"),
        _RUN,
        _VERBOSITY,
    ),
    "ior-easy-write": _PHASE,
    "mdtest-easy": (_API, Key("n", "uint", "1000000"), _RUN),
    "mdtest-easy-write": _PHASE,
    "mdworkbench": (
        _API,
        Key("waitingTime", "float", "0.0"),
        Key("precreatePerSet", "uint"),
        Key("filesPerProc", "uint"),
        _RUN,
        _VERBOSITY,
    ),
    "mdworkbench-create": (_RUN,),
    "timestamp": (),
    "find-easy": _FIND,
    "ior-hard": (_API, Key("segmentCount", "int", "10000000"), _COLLECTIVE, _RUN, _VERBOSITY),
    "ior-hard-write": (_API, _COLLECTIVE, _RUN),
    "mdtest-hard": (_API, Key("n", "uint", "1000000"), Key("files-per-dir", "uint"), _RUN),
    "mdtest-hard-write": _PHASE,
    "find": _FIND,
    "find-hard": _FIND,
    "mdworkbench-bench": (_RUN,),
    "ior-easy-read": _PHASE,
    "mdtest-easy-stat": _PHASE,
    "ior-hard-read": (_API, _COLLECTIVE, _RUN),
    "mdtest-hard-stat": _PHASE,
    "mdworkbench-delete": (_RUN,),
    "mdtest-easy-delete": _PHASE,
    "mdtest-hard-read": _PHASE,
    "mdtest-hard-delete": _PHASE,
    "ior-rnd4K-easy-read": _PHASE,
}
"""In the order in which IO500 lists them."""
