"""A mover and nothing else in a process, for tests that kill it: ``python -I -S bare_mover.py NATIVE OPTIONS``.

``NATIVE`` is the file of the native module, ``OPTIONS`` one of the mover's options as JSON. It watches until its
standard input ends, drains, prints its status as one line of JSON, and ends with 0 where everything found is safe and
with 1 otherwise. Each line that it reads before that is a wait as ``tonnage stage wait`` does it, for at most so many
seconds, and is answered by the status.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path


def main() -> int:
    loader = ExtensionFileLoader("_native", sys.argv[1])
    spec = spec_from_loader("_native", loader)
    assert spec
    native = module_from_spec(spec)
    loader.exec_module(native)
    mover = native.Mover(Path(sys.argv[2]).read_text(encoding="utf-8"))
    mover.start()
    for line in sys.stdin:
        asked, until = mover.rescan(), time.monotonic() + float(line)
        while time.monotonic() < until:
            status = mover.status()
            if status["scans"] >= asked and not status["queued"]["files"]:
                break
            time.sleep(0.01)
        print(json.dumps(mover.status()), flush=True)
    mover.drain()
    mover.wait(3600.0)
    status = mover.status()
    print(json.dumps(status), flush=True)
    return int(status["progress"] != "finished" or status["failed"]["files"] > 0)


if __name__ == "__main__":
    sys.exit(main())
