"""Runs one program for a process that may itself be killed. Run as a script, with nothing of Tonnage.

``supervisor.py DESCRIPTOR PROGRAM WORD…``. Its standard input connects it with the process that started it: a byte
there asks the program to end, the end of it ends the program and all that it started. It tells on the descriptor:
``started PID``, or ``refused ERRNO``; then ``ended STATUS``, where 128 + n stands for signal n.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GRACE_S = 5.0
"""A program that is not gone so long after SIGKILL is held by the kernel, and left behind."""
_LOOK_S = 0.005


def main() -> None:
    tell = int(sys.argv[1])
    libc = ctypes.CDLL(None)
    # What the program leaves behind comes to this process, which knows it then.
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        program = subprocess.Popen(
            sys.argv[2:],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
    except OSError as error:
        os.write(tell, b"refused %d\n" % (error.errno or 0))
        return
    os.write(tell, b"started %d\n" % program.pid)
    while program.poll() is None:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 1 << 12)
        if 0 in ready:
            if not os.read(0, 1):
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGTERM)
    status = _end(program)
    if status is not None:
        os.write(tell, b"ended %d\n" % (128 - status if status < 0 else status))


def _end(program: subprocess.Popen[bytes]) -> int | None:
    """Kills whatever is left of it; its own status, None where it does not go."""
    until_s = time.monotonic() + _GRACE_S
    status = program.poll()
    if status is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    while (children := _children()) and time.monotonic() < until_s:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status = program.poll()
        if status is not None:
            # Orphans that this process has adopted: no other process collects them.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        time.sleep(_LOOK_S)
    if status is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = program.wait(max(0.0, until_s - time.monotonic()))
    return status


def _children() -> list[int]:
    """Those of this process; empty also where the kernel keeps no such list: its group is all that is known then."""
    with contextlib.suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    return []


if __name__ == "__main__":
    main()
