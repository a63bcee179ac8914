"""How a process comes to a host: argument lists, each of which starts ``sh -s`` there with our pipes.

The program and its words go over the pipe as the first line that this shell reads, quoted as POSIX says. So no login
shell interprets them: ssh hands its words to the user's login shell, whichever that is.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from pathlib import Path

import tonnage
from tonnage.errors import RequestError

_HOST = re.compile(r"(?:[\w.-]+@)?[\w\[][\w.:\[\]%-]*", re.ASCII)


def here(_host: str, _start_s: float) -> list[str]:
    """Connects to this host itself."""
    return ["sh", "-s"]


def ssh(host: str, start_s: float) -> list[str]:
    """``[USER@]HOST``, which must let this user in without a question. This host needs no ssh."""
    if host in (platform.node(), "localhost"):
        return here(host, start_s)
    options = ["-T", "-x", "-a", "-oBatchMode=yes", f"-oConnectTimeout={max(1, round(start_s))}"]
    # A host that is cut off is noticed after 30 s.
    alive = ["-oServerAliveInterval=10", "-oServerAliveCountMax=3"]
    return ["ssh", *options, *alive, "--", host, "exec sh -s"]


def srun(host: str, start_s: float, queue: str | None = None) -> list[str]:
    """A step of the job around us, or a job of its own where there is none, in this queue: one task, which shares what
    others have."""
    step = ["srun", f"--nodelist={host}", "--nodes=1", "--ntasks=1", "--job-name=tonnage-agent", "--mpi=none"]
    alone = [f"--immediate={max(1, round(start_s))}", *([] if queue is None else [f"--partition={queue}"])]
    inside = ["--overlap"] if in_a_job() else alone
    return [*step, *inside, "--cpu-bind=none", "--quiet", "sh", "-s"]


def in_a_job() -> bool:
    """Whether this process runs inside a Slurm job."""
    return "SLURM_JOB_ID" in os.environ


def check(host: str) -> str:
    """The host's name; RequestError where it can be none."""
    if not _HOST.fullmatch(host):
        raise RequestError(f"{host!r} is no host's name; hint: write HOST or USER@HOST, several with commas between")
    return host


def first_line() -> bytes:
    """For the shell: this very Python and package where the host has them, else the ``tonnage`` of its ``PATH``."""
    package = Path(tonnage.__file__).resolve().parent
    isolated = ["-I"] if sys.flags.isolated else []
    words = [sys.executable, *isolated, "-m", "tonnage.cli", "agent"]
    if not isolated and (path := os.environ.get("PYTHONPATH")):
        absolute = os.pathsep.join(str(Path(entry).absolute()) for entry in path.split(os.pathsep) if entry)
        words = ["env", f"PYTHONPATH={absolute}", *words]
    program, directory = shlex.quote(sys.executable), shlex.quote(str(package))
    return os.fsencode(f"[ -x {program} ] && [ -d {directory} ] && exec {shlex.join(words)}; exec tonnage agent\n")
