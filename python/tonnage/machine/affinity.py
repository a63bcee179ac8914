"""Which CPUs this process may use, and which take the interrupts of the device under test.

A binding (taskset, an MPI launcher, a cgroup) that keeps the tasks away from the CPUs that handle the device's
interrupts makes every completion cross CPUs or nodes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tonnage.machine.mounts import mount_of

_SYS, _PROC = Path("/sys"), Path("/proc")


def cpu_affinity() -> list[int]:
    """The CPUs on which this process may run."""
    return sorted(os.sched_getaffinity(0))


def interrupt_cpus(path: str | os.PathLike[str]) -> list[int] | None:
    """The CPUs that take the interrupts of the device that holds ``path``; None where that is unknown (a network or
    memory file system, a device without interrupts of its own, a kernel that does not say)."""
    try:
        device = Path(path).stat().st_dev
        if os.major(device) == 0 and (mount := mount_of(path)) and mount.device.startswith("/dev/"):
            # Btrfs and overlays have a number of their own; the mount names the device.
            device = Path(mount.device).stat().st_rdev
    except OSError:
        return None
    return device_interrupt_cpus(os.major(device), os.minor(device))


def device_interrupt_cpus(major: int, minor: int, *, sys: Path = _SYS, proc: Path = _PROC) -> list[int] | None:
    """Returns the same for a block device. ``sys`` and ``proc`` are where those file systems are; tests give recorded
    ones."""
    names = {name for disk in _disks(sys / "dev/block" / f"{major}:{minor}", sys) for name in _driver_names(disk)}
    cpus: set[int] = set()
    for number, words in _interrupts(proc):
        if any(_belongs(word, name) for word in words for name in names):
            cpus.update(_takers(proc / "irq" / number))
    return sorted(cpus) or None


def _disks(entry: Path, sys: Path) -> list[Path]:
    """The whole disks below a block device: of a partition its disk, of a mapped or striped device its members'."""
    real = Path(os.path.realpath(entry))
    if not real.is_dir():
        return []
    members = sorted((real / "slaves").iterdir()) if (real / "slaves").is_dir() else []
    if members:
        return [disk for member in members for disk in _disks(member, sys)]
    return [real.parent if (real / "partition").exists() else real]


def _driver_names(disk: Path) -> list[str]:
    """What the interrupts of a disk are called in /proc/interrupts: ``nvme0``, ``virtio3``, or its host's driver."""
    names = []
    if match := re.match(r"(nvme[0-9]+)(?:c[0-9]+)?n[0-9]+$", disk.name):
        names.append(match[1])
    device = os.path.realpath(disk / "device")
    if match := re.search(r"/(virtio[0-9]+)(?:/|$)", device):
        names.append(match[1])
    if match := re.search(r"/(?:ata|host)[0-9]+/", device):
        # A SCSI or ATA disk shares its host's interrupts, which carry the name of the host's driver.
        driver = Path(device[: match.start()]) / "driver"
        if driver.exists():
            names.append(Path(os.path.realpath(driver)).name)
    return names


def _interrupts(proc: Path) -> list[tuple[str, list[str]]]:
    """Number and words of each numbered line of /proc/interrupts, without the counts."""
    try:
        text = (proc / "interrupts").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        if match := re.match(r"\s*([0-9]+):((?:\s+[0-9]+)+)\s+(.*)$", line):
            found.append((match[1], re.split(r"[\s,]+", match[3])))
    return found


def _belongs(word: str, name: str) -> bool:
    """Whether an interrupt's name is the device's: ``nvme0q3``, ``virtio2-req.0``, ``ahci[0000:00:1f.2]``."""
    # Queue 0 of an NVMe device takes its administration, and virtio's config interrupt no request.
    if not word.startswith(name) or word in (f"{name}q0", f"{name}-config"):
        return False
    rest = word[len(name) :]
    return not rest or re.match(r"q[0-9]|[-\[]", rest) is not None


def _takers(irq: Path) -> list[int]:
    """The CPUs that an interrupt goes to now, else those that it may go to."""
    for name in ("effective_affinity_list", "smp_affinity_list"):
        try:
            cpus = parse_cpu_list((irq / name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        if cpus:
            return cpus
    return []


def parse_cpu_list(text: str) -> list[int]:
    """``0-2,5`` as the kernel writes it."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus
