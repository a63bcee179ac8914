"""Starts a process of its own for a mover, which outlives the one that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

from tonnage.staging.mover_plan import StagePlan

LOG = "mover.log"
"""In the state directory: what the process says."""


@dataclass(frozen=True, slots=True)
class Launched:
    """What the new process said: its first line, or why it gave up."""

    code: int | None
    """None: it runs."""
    said: str
    complaint: str


def launch(module: str, plan: StagePlan) -> Launched:
    """Runs ``python -m module``, a session of its own, with the plan on stdin, until it says that it answers."""
    isolated = ["-I"] if sys.flags.isolated else []
    child = subprocess.Popen(
        [sys.executable, *isolated, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        assert child.stdin and child.stdout and child.stderr
        with child.stdin:
            child.stdin.write(plan.model_dump_json(by_alias=True))
        # It closes both when it runs, and when it ends: either way this returns.
        said, complaint = child.stdout.read(), child.stderr.read()
        return Launched(None if said else child.wait(), said, complaint)
    except BaseException:
        child.terminate()
        raise


def detach(plan: StagePlan, first_line: str) -> None:
    """In the new process, once the mover answers: reports that, and redirects its output to its log."""
    log = os.open(plan.state / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    sys.stdout.write(f"{first_line}\n")
    sys.stdout.flush()
    for descriptor, stream in ((null, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, stream)
    os.chdir("/")
