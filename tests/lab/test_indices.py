"""Indices of real sources: Debian's prometheus-node-exporter, and a real sshd on the loopback interface."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import load_index_sources
import proc_files
import pytest
from impossible import skipped_where_impossible
from tonnage.placement.indices.index_reader import Cache, fresh_indices, read_indices
from tonnage.placement.indices.reading import Reading
from tonnage.placement.site import Policy, Server

S = 10**9
LIMIT_S = 20.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def exporter() -> Iterator[Callable[..., str]]:
    """Starts node_exporters; skips the test with the reason where none can run."""
    with ExitStack() as stack:

        def start(*words: str) -> str:
            with skipped_where_impossible():
                return stack.enter_context(load_index_sources.node_exporter(*words))

        yield start


def fresh(address: str) -> Reading:
    return fresh_indices([Server(name="rcss1", indices=address)], wait_ns=5 * S)["rcss1"]


def test_node_exporter_of_this_host_tells_what_its_own_files_tell(exporter: Callable[..., str]) -> None:
    servers = [Server(name="far", indices=exporter()), Server(name="near", indices="proc:")]
    fresh_indices(servers, wait_ns=5 * S)
    time.sleep(1)
    found = fresh_indices(servers, wait_ns=5 * S)
    far, near = found["far"], found["near"]
    assert far.problem is None and near.problem is None and far.source == "node_exporter"
    assert far.cpus == near.cpus == os.cpu_count()
    assert abs((far.ut_permille or 0) - (near.ut_permille or 0)) < 250
    assert far.pressure_permille is not None and far.bio_per_s is not None
    assert abs(far.clock_ahead_s or 9) < 2


def test_an_nfs_servers_calls_and_disks_are_counted_as_its_kernel_counts_them(
    exporter: Callable[..., str], tmp_path: Path
) -> None:
    procfs = tmp_path / "proc"
    before = proc_files.Server()
    before.write(procfs)
    address = exporter(f"--path.procfs={procfs}")
    read_indices([Server(name="rcss1", indices=address)], Policy(), now_s=time.time(), wait_ns=5 * S)
    first = Cache().get("rcss1", address).counters
    assert first is not None and first.rpcs == before.rpcs and first.cpus == 2
    time.sleep(0.5)
    replace(
        before, rpcs=19_128, reads=1100, bytes=before.bytes + 512 * 2000, busy_s=1001, idle_s=8003, waiting_s=30.25
    ).write(procfs)
    told = read_indices([Server(name="rcss1", indices=address)], Policy(), now_s=time.time(), wait_ns=5 * S)["rcss1"]
    second = Cache().get("rcss1", address).counters
    assert second is not None
    elapsed_s = second.clock_s - first.clock_s
    assert told.problem is None and told.ut_permille == 250
    assert told.rpc_per_s == pytest.approx(500 / elapsed_s)
    # sda and nvme0n1, without partitions, mapper, RAID, loop and memory.
    assert told.bio_per_s == pytest.approx(200 / elapsed_s)
    assert told.bio_bytes_per_s == pytest.approx(2 * 512 * 2000 / elapsed_s, abs=1)
    assert told.pressure_permille == pytest.approx(250 / elapsed_s, abs=1)


def test_a_restarted_server_is_known_as_one(exporter: Callable[..., str], tmp_path: Path) -> None:
    procfs = tmp_path / "proc"
    proc_files.Server().write(procfs)
    address = exporter(f"--path.procfs={procfs}")
    server = [Server(name="rcss1", indices=address)]
    read_indices(server, Policy(), now_s=time.time(), wait_ns=5 * S)
    time.sleep(0.3)
    proc_files.Server(busy_s=9000, idle_s=90_000, rpcs=999_999, booted_s=1_795_290_000).write(procfs)
    told = read_indices(server, Policy(), now_s=time.time(), wait_ns=5 * S)["rcss1"]
    assert told.ut_permille is None and told.rpc_per_s is None and told.problem


def test_an_exporter_without_what_is_needed_is_told_as_that(exporter: Callable[..., str]) -> None:
    told = fresh(exporter("--collector.disable-defaults", "--collector.loadavg"))
    assert told.problem and "its collectors cpu, stat and time must be on" in told.problem


@pytest.mark.usefixtures("ssh")
def test_a_server_is_read_over_ssh_by_what_its_kernel_prints() -> None:
    told, here = fresh("ssh:fileserver"), fresh("proc:")
    assert told.problem is None and told.source == "ssh"
    assert told.cpus == here.cpus and told.ut_permille is not None and told.bio_per_s is not None
    # This kernel serves no NFS: that its file is missing is no failure.
    assert (told.rpc_per_s is None) == (not Path("/proc/net/rpc/nfsd").exists())


@pytest.mark.usefixtures("ssh")
def test_a_decision_does_not_wait_for_ssh_and_the_next_one_has_its_answer() -> None:
    server = [Server(name="rcss1", indices="ssh:fileserver")]
    began_s = time.monotonic()
    first = read_indices(server, Policy(), now_s=time.time(), wait_ns=30 * 10**6)["rcss1"]
    assert time.monotonic() - began_s < 1 and first.problem == "it was asked, and has not answered yet"
    end_s = time.monotonic() + LIMIT_S
    while (kept := Cache().get("rcss1", "ssh:fileserver").reading) is None or kept.ut_permille is None:
        assert time.monotonic() < end_s, f"no answer came: {kept}"
        time.sleep(0.05)
    assert read_indices(server, Policy(), now_s=time.time(), wait_ns=30 * 10**6)["rcss1"] == kept


def test_a_key_that_is_not_let_in_is_told_in_sshs_words(ssh: Path) -> None:
    (ssh / "key.pub").write_text("")
    told = fresh("ssh:fileserver")
    assert told.problem and told.problem.startswith("fileserver: ssh failed with status 255: ")
    assert "Permission denied" in told.problem


def test_a_server_whose_key_changed_is_not_believed(ssh: Path) -> None:
    (ssh / "known_hosts").write_text(f"fileserver {(ssh / 'key.pub').read_text() or 'ssh-ed25519 AAAA'}")
    told = fresh("ssh:fileserver")
    assert told.problem and told.ut_permille is None
