"""The lab's own Slurm: it runs jobs, and leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from slurm import Host, Slurm
from waiting import wait_until

HOSTS = (Host(name="a1"), Host(name="a2"), Host(name="f1", slots=2))
LIMIT_S = 20.0


def _processes_of(conf: Path) -> list[str]:
    """Command lines of those that were started for this cluster."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            environment = (place / "environ").read_bytes()
            command = (place / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if str(conf.parent).encode() in environment:
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_a_job_runs_on_the_host_of_its_partition(slurm: Callable[..., Slurm], tmp_path: Path) -> None:
    cluster = slurm(HOSTS, {"compute": ["a1", "a2"], "storage": ["f1"]}, licences={"wan": 10})
    out = tmp_path / "out"
    cluster.ask("sbatch", "--partition=storage", f"--output={out}", "--wrap", "echo on $SLURMD_NODENAME")
    wait_until(lambda: out.exists() and out.read_text() == "on f1\n")


_KILLED = """
import sys; sys.path.insert(0, {lab!r})
from slurm import Host, slurm
with slurm([Host(name="a1")]) as cluster:
    cluster.ask("sbatch", "--output=/dev/null", "--wrap", "setsid sleep 600 & exec sleep 601")
    print(cluster.conf, flush=True)
    sys.stdin.read()
"""


def test_nothing_is_left_of_it_when_the_one_who_started_it_is_killed(slurm: Callable[..., Slurm]) -> None:
    slurm([Host(name="x")])  # skips where there is no Slurm
    program = _KILLED.format(lab=str(Path(__file__).resolve().parents[2] / "lab"))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        conf = Path(process.stdout.readline().strip())
        wait_until(lambda: sum("sleep 60" in command for command in _processes_of(conf)) == 2)
        process.kill()
    wait_until(lambda: not _processes_of(conf) and not conf.parent.exists())
