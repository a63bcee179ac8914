"""One mover in a process of its own, for the stage benches: prints one line of JSON about itself.

``python bench/stage_driver.py drain|scan OPTIONS``: carries everything there is; or only finds it, with copying paused.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

# The checkout's own package, wherever the interpreter comes from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tonnage import _native


def cpu_ns() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def main() -> int:
    what, options = sys.argv[1:]
    Path(json.loads(options)["state"]).mkdir(exist_ok=True)
    rss_before, cpu, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, cpu_ns(), time.monotonic_ns()
    mover = _native.Mover(options)
    mover.start()
    if what == "drain":
        mover.drain()
        while not mover.wait(1.0):
            pass
    else:
        while mover.status()["scans"] == 0:
            time.sleep(0.002)
    elapsed = time.monotonic_ns() - began
    status = mover.status()
    said = {
        "elapsed_ns": elapsed,
        "cpu_ns": cpu_ns() - cpu,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rss_before_bytes": rss_before * 1024,
        "status": status,
    }
    print(json.dumps(said))
    if what == "drain":
        left = status["queued"]["files"] + status["failed"]["files"]
        return 0 if status["progress"] == "finished" and left == 0 else 1
    mover.stop(0)
    mover.wait(60.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
