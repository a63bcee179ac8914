"""A program whose I/O a run can measure, and one whose copies tell whether they ran beside each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_WRITES = """\
import os, threading
data = os.urandom(1 << 20)
def write(number):
    with open(f"out.{os.getpid()}.{number}", "wb", buffering=0) as file:
        for _ in range(24):
            file.write(data)
            os.fsync(file.fileno())
    os.unlink(file.name)
threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
"""
_MEETS = """\
import glob, os, sys, time
begin, wanted = time.monotonic(), int(sys.argv[1])
open("began." + os.environ.get("TONNAGE_COPY", str(os.getpid())), "w").close()
while len(glob.glob("began.*")) < wanted:
    assert time.monotonic() < begin + 120, "nobody else ran meanwhile"
    time.sleep(0.01)
while sys.argv[2:] and not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
print(begin, time.monotonic(), flush=True)
"""


def campaign(home: Path, data: Path) -> Path:
    """A campaign that measures a program of four threads that write at once and wait for the storage of ``data``."""
    program = data / "writes.py"
    program.write_text(_WRITES)
    argv = json.dumps([sys.executable, "-I", "-S", str(program)])
    file = home / "c.toml"
    file.write_text(
        f'target = "{data}"\n[repeat]\ncount = 1\n[workload]\nkind = "command"\ncopies = 2\ntasks = 1\nargv = {argv}\n'
    )
    return file


def meets(wanted: int, *until: str) -> list[str]:
    """A copy that ends when so many have begun, itself among them, and the file ``until`` is there, and prints when it
    began and ended, by one clock of this host: with 2 the first ends only if another runs beside it."""
    return [sys.executable, "-I", "-S", "-c", _MEETS, str(wanted), *until]


def most_at_once(spans: list[tuple[float, ...]]) -> int:
    """How many copies ran at the same time, of (begin, end)."""
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)
