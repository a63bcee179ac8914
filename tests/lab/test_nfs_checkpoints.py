"""Checkpoints on an NFS export without a mount: each way of working, with a program's snapshots and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nfs as lab
import pytest
from hosts import Hosts
from tonnage.records import Run

LIMIT_S = 120.0


def run(site: Hosts, server: lab.Server, directory: Path, work: str) -> subprocess.CompletedProcess[str]:
    file = directory / "campaign.toml"
    file.write_text(f'target = "{server.uri}"\n[repeat]\ncount = 1\n[workload]\nkind = "checkpoint"\n{work}\n')
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = (sys.executable, "-m", "tonnage.cli", "run", file, "--out", directory / "run", "--no-report")
    return site["client"].run(*words, environment=environment, check=False, timeout_s=LIMIT_S)


def test_rounds_are_written_saved_by_a_program_read_back_and_removed_in_each_way(
    site: Hosts, server: lab.Server, tmp_path: Path
) -> None:
    saved, before = tmp_path / "saved", server.names()
    saved.mkdir()
    kept = f"{saved}/{{round}}-{{task}}"
    work = (
        'snapshot = ["none", "command"]\ncoordination = ["together", "each"]\nqueue_depth = [1, 4]\ntasks = 2\n'
        # The server's own files are not this host's: what a site's program would do there is not what is tested.
        f'snapshot_command = ["mkdir", "{kept}"]\nremove_command = ["rmdir", "{kept}"]\n'
        'transfer_size = "64KiB"\ntransfers = 8\nverify = true'
    )
    done = run(site, server, tmp_path, work)
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = [line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure"]
    assert len(lines) == 2 * 2 * 2 * 3 and {line["status"] for line in lines} == {"ok"}
    for line in lines:
        setting = line["setting"]
        if line["phase"] == "restart":
            assert line["verify"] == {"checked_bytes": 1 << 20, "damaged_operations": 0, "first_damage": []}
        if line["phase"] == "checkpoint":
            each = 2 if setting["coordination"] == "each" else 1
            taken = 3 * each if setting["snapshot"] == "command" else 0
            assert (line["bytes"], line["checkpoint"]["snapshot"]["count"]) == (3 << 20, taken)
    assert server.names() == before and list(saved.iterdir()) == []


@pytest.mark.parametrize("means", ["auto", "rados", "cephfs", "btrfs", "reflink"])
def test_snapshots_that_an_export_lacks_are_one_line_and_exit_2(
    site: Hosts, server: lab.Server, tmp_path: Path, means: str
) -> None:
    before = server.names()
    done = run(site, server, tmp_path, f'snapshot = "{means}"\ntasks = 1')
    assert done.returncode == 2 and done.stderr.count("\n") == 1, (done.returncode, done.stderr)
    assert "has no snapshots" in done.stderr and "hint: " in done.stderr and "command or none" in done.stderr
    assert not (tmp_path / "run").exists() and server.names() == before
