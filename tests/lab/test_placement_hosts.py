"""The hosts of a lab: links of known rate, one volume that all of them see, and nothing left whatever ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from glusterfs import Volume, volume
from hosts import clean, ended, hosts, wait_for
from impossible import skipped_where_impossible

pytestmark = pytest.mark.alone("rates of a link and of a device")

LAB = Path(__file__).resolve().parents[2] / "lab"
LINK_BYTES_PER_S = 20_000_000
DEVICE_BYTES_PER_S = 60_000_000
SIZE = 20_000_000


@pytest.fixture(scope="module")
def scratch() -> Iterator[Volume]:
    """Three hosts, of which ``rcss1`` serves the volume."""
    with (
        skipped_where_impossible(),
        hosts(["rcss1", "node1", "node2"], link_bytes_per_s=LINK_BYTES_PER_S) as site,
        volume(site, ("rcss1",), bytes_per_s=DEVICE_BYTES_PER_S) as whole,
    ):
        yield whole


def test_a_host_has_its_own_name_processes_and_run_directory(scratch: Volume) -> None:
    one, other = scratch.hosts["node1"], scratch.hosts["node2"]
    assert one.run("hostname").stdout == "node1\n"
    one.path("/run/mine").write_text("1")
    assert not other.path("/run/mine").exists()
    assert not Path("/run/mine").exists()
    numbers = one.run("ls", "/proc").stdout.split()
    assert str(os.getpid()) not in numbers
    assert one.run("getent", "hosts", "rcss1").stdout.split() == [scratch.hosts["rcss1"].address, "rcss1"]


def read_s(scratch: Volume, host: str) -> float:
    scratch.forget()
    began = time.monotonic()
    scratch.hosts[host].run("dd", f"if={scratch.path}/data", "of=/dev/null", "bs=1M", "status=none")
    return time.monotonic() - began


def test_far_reads_at_the_rate_of_the_link_and_near_at_that_of_the_device(scratch: Volume) -> None:
    scratch.hosts["node1"].run("dd", "if=/dev/urandom", f"of={scratch.path}/data", "bs=1M", "count=20", "status=none")
    far, near = read_s(scratch, "node2"), read_s(scratch, "rcss1")
    # The link lets a burst of some 100 ms through and the device one of up to 200; a busy machine only makes it slower.
    assert far > 0.8 * SIZE / LINK_BYTES_PER_S
    assert near > 0.4 * SIZE / DEVICE_BYTES_PER_S
    assert near < far


KILLED = """
import os, sys, signal
from hosts import hosts
from glusterfs import volume
with (
    hosts(["a", "b"], link_bytes_per_s=10_000_000) as site,
    volume(site, ("a",), name=f"left{os.getpid()}", bytes_per_s=10_000_000) as whole,
):
    pids = [site.switch, *(host.pid for host in site.values()), *(client.pid for client in whole.clients.values())]
    print(*pids, whole.bricks[0].daemon.pid, whole.bricks[0].device.device, flush=True)
    if sys.argv[1] == "fail":
        raise RuntimeError("as asked")
    signal.pause()
"""


def spaces() -> set[str]:
    """Network and mount namespaces that some process is in."""
    found = set()
    for link in [*Path("/proc").glob("[0-9]*/ns/net"), *Path("/proc").glob("[0-9]*/ns/mnt")]:
        try:
            found.add(os.readlink(link))  # noqa: PTH115 - it is no path
        except OSError:
            continue
    return found


def backing(device: str) -> str:
    file = Path(f"/sys/block/{Path(device).name}/loop/backing_file")
    return file.read_text().strip() if file.exists() else ""


@pytest.mark.parametrize("how", ["kill", "terminate", "fail"])
def test_nothing_is_left_of_a_lab_that_was_killed_or_failed(scratch: Volume, how: str) -> None:
    assert scratch.hosts  # where hosts can be made at all
    words = [sys.executable, "-c", KILLED, how]
    with subprocess.Popen(
        words, cwd=LAB, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."}
    ) as process:
        assert process.stdout and process.stderr
        said = process.stdout.readline().split()
        assert said, process.stderr.read()
        *pids, device = said
        image = f"left{process.pid}-0.image"
        if how != "fail":
            inside = {os.readlink(f"/proc/{pids[0]}/ns/{kind}") for kind in ("net", "mnt")}  # noqa: PTH115
            assert inside <= spaces()
            assert image in backing(device)
            process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        process.wait(60)
        wait_for(lambda: all(ended(int(pid)) for pid in pids), "all processes of the lab end")
        if how != "fail":
            wait_for(lambda: not inside & spaces(), "its namespaces end")
    wait_for(lambda: image not in backing(device), "its loop device is free")
    clean()
    number = f"7:{Path(device).name.removeprefix('loop')}"
    limits = (scratch.bricks[0].device.group / "blkio.throttle.read_bps_device").read_text()
    # Somebody else may have the device by now, with a limit of his own.
    assert f"{number} 10000000\n" not in limits
