"""Makes the logs of ``tests/importers/recorded/darshan`` anew: ``python lab/darshan/record_logs.py DIRECTORY``.

It wants root, Open MPI with its compiler, and Darshan's runtime twice (docs/lab.md has the recipe): ``DARSHAN`` without
MPI, and ``DARSHAN_MPI``, each the file ``libdarshan.so``. Programs run in a mount and name space of their own, so that
a log names no path and no host of the machine: its storage is a tmpfs at /mnt, which Darshan takes for the file system
above it, and an ext4 at /mnt/other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("known_io.c")
RANKS = 4
LOGS = {
    "bursts": ("DARSHAN", "bursts", {}),
    "bursts-partial": ("DARSHAN", "bursts", {"MAX_RECORDS": "5 POSIX"}),
    "mixed": ("DARSHAN", "mixed", {}),
    "mounts": ("DARSHAN", "mounts", {}),
    "nothing": ("DARSHAN", "nothing", {}),
    "orders": ("DARSHAN", "orders", {}),
    "orders-dxt": ("DARSHAN", "orders", {"MOD_ENABLE": "DXT_POSIX"}),
    "own": ("DARSHAN_MPI", "own", {}),
    "own-dxt": ("DARSHAN_MPI", "own", {"MOD_ENABLE": "DXT_POSIX"}),
    "shared": ("DARSHAN_MPI", "shared", {}),
    "shared-dxt": ("DARSHAN_MPI", "shared", {"MOD_ENABLE": "DXT_POSIX"}),
    "slow-dxt": ("DARSHAN", "slow", {"MOD_ENABLE": "DXT_POSIX"}),
    "stdio": ("DARSHAN", "stdio", {}),
    "turns": ("DARSHAN_MPI", "turns", {}),
}
"""Name of a log: runtime, program and Darshan's own settings."""
_INSIDE = """
set -eu
hostname node1
mount -t tmpfs -o size=256m scratch /mnt
mkdir /mnt/data /mnt/log /mnt/other
truncate -s 16m /mnt/image
mkfs.ext4 -q /mnt/image
mount -o loop /mnt/image /mnt/other
cp "$1" /mnt/known_io
cd /mnt
shift
"$@"
cp /mnt/log/*.darshan "$KEPT"
"""


def record(name: str, place: Path, program: Path) -> None:
    """Runs one program under Darshan and keeps its log."""
    runtime, mode, settings = LOGS[name]
    rules = place / "darshan.conf"
    rules.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    kept = place / name
    kept.mkdir()
    preload = f"LD_PRELOAD={os.environ[runtime]}"
    variables = [preload, "DARSHAN_LOGPATH=/mnt/log", f"DARSHAN_CONFIG_PATH={rules}", "DARSHAN_MMAP_LOGPATH=/mnt/log"]
    argv = ["env", *variables, "DARSHAN_ENABLE_NONMPI=1", "/mnt/known_io", mode, "/mnt/data"]
    if runtime == "DARSHAN_MPI":
        forwarded = [word for variable in variables for word in ("-x", variable)]
        mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(RANKS), *forwarded]
        argv = [*mpi, "/mnt/known_io", mode, "/mnt/data"]
    inside = ["unshare", "--mount", "--uts", "sh", "-c", _INSIDE, "sh", str(program), *argv]
    subprocess.run(inside, check=True, env={**os.environ, "KEPT": str(kept)})
    (log,) = kept.iterdir()
    shutil.copyfile(log, Path(sys.argv[1]) / f"{name}.darshan")


def main() -> None:
    """Records all logs."""
    with tempfile.TemporaryDirectory() as place:
        plain, mpi = Path(place) / "known_io", Path(place) / "known_io_mpi"
        subprocess.run(["cc", "-O1", "-o", plain, SOURCE], check=True)
        subprocess.run(["mpicc", "-O1", "-DMPI", "-o", mpi, SOURCE], check=True)
        for name, (runtime, *_) in LOGS.items():
            record(name, Path(place), mpi if runtime == "DARSHAN_MPI" else plain)


if __name__ == "__main__":
    main()
