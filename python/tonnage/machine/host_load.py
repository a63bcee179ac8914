"""How busy the host is: load averages and pressure, before and after a run."""

from __future__ import annotations

import os
from pathlib import Path

from tonnage.machine.fact_types import HostLoad


def load() -> HostLoad:
    """``load_1min``, ``load_5min``, ``load_15min``; ``pressure``: resource → {``some_avg10``, …} in per cent of time.

    Pressure is ``None`` where the kernel keeps no pressure stall information.
    """
    one, five, fifteen = os.getloadavg()
    pressure = {}
    for resource in ("cpu", "io", "memory"):
        try:
            pressure[resource] = parse_pressure(Path("/proc/pressure", resource).read_text(encoding="ascii"))
        except OSError:
            continue
    return {"load_1min": one, "load_5min": five, "load_15min": fifteen, "pressure": pressure or None}


def parse_pressure(text: str) -> dict[str, float]:
    """The averages of one file below /proc/pressure: ``some avg10=0.12 …`` becomes ``{"some_avg10": 0.12, …}``."""
    found = {}
    for line in text.splitlines():
        kind, *fields = line.split()
        for field in fields:
            name, _, value = field.partition("=")
            if name.startswith("avg"):
                found[f"{kind}_{name}"] = float(value)
    return found
