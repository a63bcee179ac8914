"""The two sites of the lab: a link between them, partitions that fill in order, one file system, MPI over six hosts."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hosts import Daemon, wait_for
from impossible import skipped_where_impossible
from two_sites import COMPUTE, FILES, PARTITIONS, Plan, TwoSites, two_sites

pytestmark = pytest.mark.alone("rates of links")

LINK_BYTES_PER_S = 12_500_000
PORT_BYTES_PER_S = 50_000_000


@pytest.fixture(scope="module")
def sites() -> Iterator[TwoSites]:
    """Both, with ports that are faster than the link."""
    if not shutil.which("iperf3"):
        pytest.skip("iperf3 is not installed")
    with (
        skipped_where_impossible(),
        two_sites(Plan(link_bytes_per_s=LINK_BYTES_PER_S, port_bytes_per_s=PORT_BYTES_PER_S)) as whole,
    ):
        yield whole


def listening(sites: TwoSites, host: str) -> Daemon:
    server = sites.hosts[host].daemon("iperf3", "--server", "--one-off", "--forceflush")
    wait_for(lambda: "Server listening" in server.output_end(), f"iperf3 listens on {host}")
    return server


def received_bytes_per_s(sites: TwoSites, pairs: list[tuple[str, str]]) -> list[float]:
    """What each receiver got from its sender in 3 s, all pairs at once."""
    servers = [listening(sites, receiver) for _, receiver in pairs]
    clients = [
        subprocess.Popen(
            sites.hosts[sender].command_line(["iperf3", "--client", receiver, "--time", "3", "--omit", "1", "--json"]),
            stdout=subprocess.PIPE,
            text=True,
        )
        for sender, receiver in pairs
    ]
    said = [json.loads(client.communicate(timeout=30)[0]) for client in clients]
    for server in servers:
        server.wait()
    return [one["end"]["sum_received"]["bits_per_second"] / 8 for one in said]


@pytest.mark.parametrize("pairs", [[("compute1", "epouta1")], [("epouta2", "compute1"), ("epouta3", "compute3")]])
def test_what_goes_between_the_sites_shares_the_rate_of_the_link(sites: TwoSites, pairs: list[tuple[str, str]]) -> None:
    total = sum(received_bytes_per_s(sites, pairs))
    assert 0.9 * LINK_BYTES_PER_S < total <= LINK_BYTES_PER_S


def test_inside_a_site_only_ports_limit(sites: TwoSites) -> None:
    (rate,) = received_bytes_per_s(sites, [("epouta1", "epouta2")])
    assert 1.5 * LINK_BYTES_PER_S < rate <= PORT_BYTES_PER_S


@pytest.mark.parametrize("partition", PARTITIONS)
def test_jobs_of_one_host_fill_a_partition_in_its_order(sites: TwoSites, partition: str) -> None:
    sites.wait_idle()
    words = ["sbatch", "--parsable", f"--partition={partition}", "--nodes=1", "--exclusive", "--output=/dev/null"]
    jobs = [
        sites.run(*words, directory=FILES, text="#!/bin/sh\nsleep 60\n").stdout.strip() for _ in PARTITIONS[partition]
    ]

    def taken() -> list[str]:
        said = sites.run("squeue", "--noheader", "--sort=i", "--states=running", "--format=%N").stdout
        return said.split()

    try:
        wait_for(lambda: len(taken()) == len(jobs), "all jobs run")
        assert tuple(taken()) == PARTITIONS[partition]
    finally:
        sites.run("scancel", *jobs)


def test_a_job_larger_than_the_preferred_hosts_gets_the_partition_as_it_is(sites: TwoSites) -> None:
    sites.wait_idle()
    said = sites.run("srun", "--partition=epouta1-mm2", "--nodes=3", "--ntasks-per-node=2", "hostname").stdout
    assert sorted(said.split()) == sorted(PARTITIONS["epouta1-mm2"] * 2)


def test_a_job_larger_than_its_partition_is_refused_at_once(sites: TwoSites) -> None:
    done = sites.run("srun", "--partition=mm", "--nodes=6", "hostname", check=False)
    assert (done.returncode, "Node count specification invalid" in done.stderr) == (1, True), done.stderr


def test_tasks_keep_the_order_of_a_list_of_hosts(sites: TwoSites) -> None:
    order = ["epouta3", "compute1", "epouta1"]
    (sites.hosts["head"].path(FILES) / "order").write_text("\n".join(order) + "\n")
    words = ["srun", "--partition=all", "--ntasks=3", "--distribution=arbitrary", "--nodelist=./order", "--label"]
    said = sites.run(*words, "hostname", directory=FILES).stdout
    assert [line.split(": ")[1] for line in sorted(said.splitlines())] == order


def test_a_file_written_on_one_host_is_read_on_all(sites: TwoSites) -> None:
    sites.hosts["epouta3"].run("sh", "-c", f"echo from epouta3 >{FILES}/greeting")
    for name, host in sites.hosts.items():
        assert host.run("cat", FILES / "greeting").stdout == "from epouta3\n", name
        assert host.run("stat", "--file-system", "--format=%T", FILES).stdout == "fuseblk\n"


def test_a_host_has_its_own_tmp_and_shared_memory(sites: TwoSites) -> None:
    for directory in ("/tmp", "/dev/shm"):
        sites.hosts["compute1"].run("touch", f"{directory}/mine")
        assert sites.hosts["compute2"].run("test", "-e", f"{directory}/mine", check=False).returncode == 1


STARTS = 3
HELLO = """
import socket
from mpi4py import MPI
world = MPI.COMM_WORLD
said = world.gather(f"{world.rank} {socket.gethostname()}")
if world.rank == 0:
    print(*said, sep="\\n")
"""


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_mpi_under_srun_reaches_all_six_hosts(sites: TwoSites) -> None:
    sites.wait_idle()
    words = ["srun", "--partition=all", "--nodes=6", "--ntasks=12", "--ntasks-per-node=2", "--mpi=pmix"]
    argv = [*words, "env", "MPI4PY_MPIABI=openmpi", sys.executable, "-c", HELLO]
    # On a busy machine about one start of 30 ends in MPI_Init, where Open MPI 4.1.4's TCP calls a receiver that is not
    # registered yet (a call of address 0 below opal_progress): a fault of its own, and no finding about the sites.
    for _ in range(STARTS):
        done = sites.run(*argv, directory=FILES, check=False)
        if "Segmentation fault" not in done.stderr:
            break
    assert done.stdout.splitlines() == [f"{rank} {COMPUTE[rank // 2]}" for rank in range(12)], done.stderr
