"""Where the experiments are run for their pages: the hosts, devices and storages of ``lab/``, each for one run.

Every function leaves a whole run directory at ``run.out`` and nothing else, and raises Impossible where this machine
lacks what it needs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab"))

import nextflow  # noqa: E402
import small_site  # noqa: E402
import two_sites  # noqa: E402
from ceph import ceph  # noqa: E402
from impossible import Impossible  # noqa: E402
from throttled import GIB, terminated_as_exit, throttled  # noqa: E402

__all__ = [
    "Failed", "Impossible", "RunRequest", "ceph_pool", "model", "one_server", "several_devices", "snapshot_model",
    "terminated_as_exit", "two_countries", "two_tiers",
]  # fmt: skip

DEVICE_BYTES_PER_S = 100_000_000
DEVICES = 8
SITE = small_site.Plan(
    nodes=1, node_slots=50, link_bytes_per_s=20_000_000, device_bytes_per_s=60_000_000, latency_us=4000
)
CEPH_PART = {
    "count = 10": "count = 3",
    "tasks = [1, 2, 4, 8, 16, 32]": "tasks = [1, 2, 4]",
    "transfers = [1, 10, 100]": "transfers = [100]",
}
"""What of the example is not done on an OSD in memory: the rest is more bytes than that holds."""
PATIENCE_S = 3600.0


class Failed(Exception):
    """A run was begun and did not end well; the text is what it said."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to be made."""

    example: Path
    scale: float
    out: Path
    """The run directory, which is not there yet."""
    scratch: Path
    """A directory of its own, which goes away afterwards."""

    def arguments(self, *more: str | Path, out: Path | None = None) -> list[str]:
        """Returns the arguments of ``tonnage``."""
        return ["run", "--no-report", "--scale", f"{self.scale:g}", "--out", str(out or self.out), *map(str, more)]


def model(run: RunRequest, target: str | None = None) -> None:
    """On the simulator: no storage is touched. ``target``: the model, where the example does not name one."""
    _here(run.arguments(*(["--target", target] if target else []), run.example), run.scratch)


def snapshot_model(run: RunRequest) -> None:
    """A snapshot that takes a second, between rates that scatter by 30 %."""
    _here(
        run.arguments("--target", "sim:snapshot=1s,noise=30%", _changed(run, {"count = 10": "count = 4"})),
        run.scratch,
    )


def several_devices(run: RunRequest) -> None:
    """Makes a file system for each storage target, on devices of one known speed."""
    with contextlib.ExitStack() as stack:
        size = max(GIB, int(run.scale * 32 * 8 * GIB * 3 / 2))
        made = [stack.enter_context(throttled(bytes_per_s=DEVICE_BYTES_PER_S, size=size)) for _ in range(DEVICES)]
        targets = ", ".join(f'"{device.path}"' for device in made)
        _here(run.arguments(_changed(run, {'target = "."': f"target = [{targets}]"})), run.scratch)


def two_tiers(run: RunRequest) -> None:
    """Makes the fast tier on a device in memory without a limit, the slow one on a device of known speed."""
    size = max(GIB, int(run.scale * 16 * 19200 * (1 << 20) * 4))
    with throttled(size=size) as fast, throttled(bytes_per_s=DEVICE_BYTES_PER_S, size=size) as slow:
        (run.scratch / "nvme").symlink_to(fast.path)
        (run.scratch / "pfs").symlink_to(slow.path)
        _here(run.arguments(run.example), run.scratch)


def ceph_pool(run: RunRequest) -> None:
    """Runs a part of the example on a real Ceph whose OSDs keep their objects in memory."""
    (run.scratch / "ceph").mkdir()
    example = _changed(run, CEPH_PART)
    with ceph(run.scratch / "ceph", size=4 * GIB) as cluster:
        pool = f"rados://{cluster.pool('tonnage')}?conf={cluster.conf}"
        _here(run.arguments("--target", pool, example), run.scratch)


def one_server(run: RunRequest) -> None:
    """From a compute node whose files are at a server behind a slow link; the load line is measured beside the data."""
    out = Path("/run/site/run")
    with small_site.site(SITE) as lab:
        search = ("--op", "read", "--transfer", "128KiB", "--budget", "30s", "--space", "256MiB", "--no-report")
        _in_lab(lab, "rcss1", "probe", *search, "--out", "/run/site/probe", small_site.SCRATCH)
        words = run.arguments("--target", small_site.SCRATCH, run.example, out=out)
        _in_lab(lab, "node1", *words)
        shutil.copytree(lab.hosts.site / "run", run.out)


def two_countries(run: RunRequest) -> None:
    """Starts six hosts at two sites, a link of 1 Gbit/s between them, Slurm's partitions and Nextflow."""
    try:
        program = nextflow.program()
    except nextflow.Impossible as error:
        raise Impossible(str(error)) from None
    with two_sites.two_sites() as lab:
        head, files = lab.hosts["head"], two_sites.FILES
        head.run("cp", "-r", ROOT / "lab/workflows", files)
        words = run.arguments("--target", files, run.example, out=files / "run")
        path = f"PATH={program.parent}:{lab.environment['PATH']}"
        argv = ("env", path, sys.executable, "-m", "tonnage.cli", *words)
        _ended_well(lab.run(*argv, directory=files, check=False, timeout_s=PATIENCE_S))
        shutil.copytree(head.path(files / "run"), run.out)


def _changed(run: RunRequest, changes: dict[str, str]) -> Path:
    """The example with some of its values replaced."""
    text = run.example.read_text(encoding="utf-8")
    for before, after in changes.items():
        if text.count(before) != 1:
            raise ValueError(f"{before!r} is not in {run.example.name} once")
        text = text.replace(before, after)
    changed = run.scratch / run.example.name
    changed.write_text(text, encoding="utf-8")
    return changed


def _here(words: list[str], directory: Path) -> None:
    argv = [sys.executable, "-m", "tonnage.cli", *words]
    python_path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": python_path, "NO_COLOR": "1"}
    done = subprocess.run(
        argv, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    _ended_well(done)


def _in_lab(lab: small_site.Site, host: str, *words: str | Path) -> None:
    _ended_well(lab.tonnage(*words, host=host, check=False, timeout_s=PATIENCE_S))


def _ended_well(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        raise Failed(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")
