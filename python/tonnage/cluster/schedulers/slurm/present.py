"""Whether this host belongs to a Slurm: its commands alone do not say so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tonnage.cluster.scheduler import SchedulerError
from tonnage.machine.tool import ToolError, ToolSilent, ask

_USUAL = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")
"""Of packages, and where slurmd keeps the one that it was sent."""
_BESIDE = ("etc/slurm.conf", "etc/slurm/slurm.conf")
"""Of what was built for a prefix of its own, below it."""
_UNREACHED = ("contact slurm controller", "Socket timed out")
"""In Slurm's words for a controller that it was told of and that does not answer."""


def is_configured(*, timeout_s: float) -> bool:
    """Whether ``sbatch`` is installed and finds a configuration. SchedulerError where that cannot be told.

    Only where no file is in the usual places is ``sinfo`` asked: a host may be told of its controller by the name
    service alone.
    """
    program = shutil.which("sbatch")
    if program is None:
        return False
    if "SLURM_CONF" in os.environ:
        return True
    prefix = Path(program).resolve().parent.parent
    if any(file.exists() for file in (*map(Path, _USUAL), *(prefix / file for file in _BESIDE))):
        return True
    try:
        ask(["sinfo", "--noheader"], timeout_s=timeout_s)
    except ToolSilent as error:
        # A site whose Slurm hangs is no site without one: its jobs do not run here instead.
        raise SchedulerError(
            f"whether this host belongs to a Slurm is not known: {error}; hint: name another with --scheduler"
        ) from None
    except ToolError as error:
        return any(words in error.said for words in _UNREACHED)
    return True
