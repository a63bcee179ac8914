"""What would spoil a measurement, from what hosts tell; and the telling, by real far ends on this host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tonnage.cluster.host_group import Answer
from tonnage.cluster.remote.client import RemoteHostGroup, here
from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor.host_checks import examine
from tonnage.placement.doctor.host_facts import ONE_BY_ONE, Host, HostGroupFacts, Link, gather_host_facts

GIB = 1 << 30
FACTS: dict[str, Any] = {
    "kernel": "6.1.0", "python": "3.11.2", "cpus_allowed": 64, "cpu_model": "EPYC", "memory_bytes": 256 * GIB,
    "available_bytes": 200 * GIB, "swap_bytes": 8 * GIB, "swap_used_bytes": 0, "load_1min": 0.3, "pressure": None,
    "governors": ["performance"], "boost": True, "open_files": 65_536, "io_uring": True, "not_io_uring": None,
    "io_uring_disabled": 0, "cache_settings": {"vm.dirty_ratio": 20}, "tools": ["iperf3"],
}  # fmt: skip
PATH: dict[str, Any] = {
    "path": "/scratch", "problem": None, "is_directory": True, "mount_point": "/scratch", "file_system": "nfs4",
    "device": "fs1:/scratch", "options": "rw,vers=4.2,clientaddr=10.0.0.1", "identity": "nfs:fs1:/scratch",
    "free_bytes": 900 * GIB, "size_bytes": 1000 * GIB, "writable": True, "not_writable": None, "direct": True,
    "not_direct": None,
}  # fmt: skip


def host(name: str, *, ahead_s: float = 0.0, storage: int = 0, path: Any = None, **facts: Any) -> Host:
    return Host(
        name=name,
        facts={**FACTS, "hostname": name, **facts},
        clock_ahead_ns=round(ahead_s * 1e9),
        clock_uncertainty_ns=100_000,
        path={**PATH, **(path or {})},
        storage=storage,
    )


def link(sender: str, receiver: str, bytes_per_s: int) -> Link:
    told = {
        "address": receiver,
        "round_trip_ns": 1,
        "median_round_trip_ns": 1,
        "bytes": bytes_per_s,
        "elapsed_ns": 10**9,
    }
    return Link(sender=sender, receiver=receiver, told=told)


def found(*hosts: Host, links: tuple[Link, ...] = ()) -> list[Complaint]:
    return examine(HostGroupFacts(hosts=hosts, target="/scratch", links=links))


def test_hosts_that_are_alike_have_nothing_said_of_them() -> None:
    links = (link("a", "b", 10**9), link("b", "c", 900 * 10**6), link("c", "a", 10**9))
    # Each client has an address of its own, and firmware takes some of the memory.
    other = host("b", path={"options": "clientaddr=10.0.0.2,vers=4.2,rw"}, memory_bytes=255 * GIB)
    assert found(host("a"), other, host("c"), links=links) == []


@pytest.mark.parametrize(
    ("code", "wrong", "said", "facts"),
    [
        ("clock-off", True, "3.000 s (give or take 0.000 s) ahead of", {"ahead_s": 3.0}),
        ("clock-off", False, "0.500 s (give or take 0.000 s) behind", {"ahead_s": -0.5}),
        ("other-load", False, "40.0 processes ran or waited in the last minute, on 64 CPUs", {"load_1min": 40.0}),
        ("io-pressure", False, "waited for io in 30 %", {"pressure": {"io": {"some_avg10": 30.0}}}),
        ("memory-short", False, "only 12 GiB of 256 GiB", {"available_bytes": 12 * GIB}),
        ("swap-in-use", False, "4 GiB are in swap", {"swap_used_bytes": 4 * GIB}),
        ("governor", False, "governor powersave, schedutil", {"governors": ["performance", "powersave", "schedutil"]}),
        ("few-files", False, "may have 1024 files open", {"open_files": 1024}),
        ("no-io-uring", False, "kernel.io_uring_disabled = 2", {"io_uring": False, "io_uring_disabled": 2}),
        (
            "no-io-uring",
            False,
            "Operation not permitted",
            {"io_uring": False, "not_io_uring": "Operation not permitted"},
        ),
        ("no-tool", False, "iperf3 is not installed", {"tools": []}),
        ("target-missing", True, "No such file", {"path": {"problem": "No such file", "is_directory": False}}),
        ("target-missing", True, "/scratch is no directory", {"path": {"is_directory": False}}),
        ("target-read-only", True, "Read-only", {"path": {"writable": False, "not_writable": "Read-only file system"}}),
        ("little-space", False, "only 1 GiB free", {"path": {"free_bytes": GIB}}),
        ("no-direct", False, "no O_DIRECT: Invalid", {"path": {"direct": False, "not_direct": "Invalid argument"}}),
    ],
)
def test_what_is_wrong_with_a_host_is_said_of_it_alone(
    code: str, wrong: bool, said: str, facts: dict[str, Any]
) -> None:
    (complaint,) = found(host("a"), host("b", **facts), host("c"))
    assert (complaint.code, complaint.wrong, complaint.where) == (code, wrong, "b")
    assert said in complaint.what and complaint.hint


@pytest.mark.parametrize(
    ("code", "said", "facts"),
    [
        ("other-kernel", "kernels differ: 6.1.0 on a, c; 5.14 on b", {"kernel": "5.14"}),
        ("other-python", "3.9.1 on b", {"python": "3.9.1"}),
        ("other-cpus", "64 × EPYC on a, c; 32 × EPYC on b", {"cpus_allowed": 32}),
        ("other-memory", "256 GiB on a, c; 512 GiB on b", {"memory_bytes": 512 * GIB}),
        ("other-cache-limits", "vm.dirty_ratio differ: 20 on a, c; 5 on b", {"cache_settings": {"vm.dirty_ratio": 5}}),
        ("other-cache-limits", "20 on a, c; none on b", {"cache_settings": {}}),
        ("other-boost", "keep to their nominal rate on b", {"boost": False}),
    ],
)  # fmt: skip
def test_where_hosts_are_not_alike_all_of_them_are_told(code: str, said: str, facts: dict[str, Any]) -> None:
    (complaint,) = found(host("a"), host("b", **facts), host("c"))
    assert complaint.code == code and said in complaint.what and complaint.where is None and not complaint.wrong


def test_a_host_that_does_not_answer_is_told_and_left_out_of_the_rest() -> None:
    dead = Host(name="b", problem="ssh failed with status 255: Permission denied; hint: add a key")
    (complaint,) = found(host("a"), dead)
    assert str(complaint) == "b: ssh failed with status 255: Permission denied; hint: add a key"
    assert complaint.wrong and complaint.code == "unreachable"


def test_a_target_that_is_not_one_is_wrong_and_one_each_is_not() -> None:
    local = {"file_system": "xfs", "device": "/dev/nvme0n1"}
    (wrong,) = found(host("a"), host("b"), host("c", storage=1, path=local))
    assert wrong.code == "other-storage" and wrong.wrong
    assert "a, b: nfs4 of fs1:/scratch at /scratch; c: xfs of /dev/nvme0n1" in wrong.what
    (note,) = found(host("a", storage=0, path=local), host("b", storage=1, path=local))
    assert note.code == "own-storage" and not note.wrong


def test_options_that_differ_are_told_without_those_that_do_not() -> None:
    soft = host("b", path={"options": "rw,vers=3,soft,clientaddr=10.0.0.2"})
    (complaint,) = found(host("a"), soft, host("c"))
    assert complaint.code == "other-options" and complaint.wrong
    assert complaint.what.endswith("different options: vers=4.2 on a, c; soft,vers=3 on b")


def test_links_that_are_none_and_links_that_are_slow_are_told_with_both_ends() -> None:
    links = (link("a", "b", 10**9), link("b", "c", 4 * 10**8), link("c", "a", 10**9))
    (slow,) = found(host("a"), host("b"), host("c"), links=links)
    assert (slow.code, slow.where, slow.wrong) == ("slow-link", "b → c", False)
    assert slow.what.startswith("400 MB/s in a short transfer, where 1 GB/s is the median")
    (none,) = found(host("a"), host("b"), links=(Link(sender="a", receiver="b", problem="no connection to port 7"),))
    assert (none.code, none.where, none.wrong) == ("no-link", "a → b", True)


def test_what_is_so_on_several_hosts_is_one_line() -> None:
    (complaint,) = found(host("a", open_files=256), host("b", open_files=256))
    assert complaint.where == "a, b"


OFF_S = 5
_OFF = f"""import sys, time
sys.stdin.readline()
real = time.time_ns
time.time_ns = lambda: real() - {OFF_S} * 10**9
from tonnage.cli import main
sys.exit(main(["agent"]))"""


def test_looking_asks_each_host_and_measures_its_clock(tmp_path: Path) -> None:
    ways = {
        "here": here("", 1),
        "late": [sys.executable, "-c", _OFF],
        "dead": [sys.executable, "-I", "-c", "raise SystemExit('no way')"],
    }
    with RemoteHostGroup(list(ways), ways.__getitem__) as host_group:
        party = gather_host_facts(host_group, host_group.hosts, str(tmp_path))
    first, late, dead = party.hosts
    assert dead.problem and "no way" in dead.problem and dead.path is None and not dead.facts
    assert (
        first.clock_ahead_ns is not None and late.clock_ahead_ns is not None and late.clock_uncertainty_ns is not None
    )
    assert abs(first.clock_ahead_ns) < 10**9
    assert abs(late.clock_ahead_ns + OFF_S * 10**9) <= late.clock_uncertainty_ns
    assert first.storage == late.storage == 0 and first.path and first.path["writable"]
    assert [(one.sender, one.receiver, one.problem) for one in party.links] == [
        ("here", "late", None),
        ("late", "here", None),
    ]
    assert all(one.bytes_per_s and one.told["round_trip_ns"] > 0 for one in party.links)
    assert {"unreachable", "same-host", "clock-off"} <= {one.code for one in examine(party)}
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_is_nowhere_is_said_of_every_host(tmp_path: Path) -> None:
    with RemoteHostGroup(["a", "b"], lambda _: here("", 1)) as host_group:
        party = gather_host_facts(host_group, ["a", "b", "c"], str(tmp_path / "nowhere"))
    missing = [one for one in examine(party) if one.code == "target-missing"]
    assert [one.where for one in missing] == ["a, b"]
    assert (party.hosts[2].problem or "").startswith("nothing was started on it, but on a, b; hint: ")


def test_many_hosts_are_named_as_schedulers_do_and_their_links_tried_in_three_rounds() -> None:
    count = ONE_BY_ONE + 3
    with RemoteHostGroup([f"node{number:02}" for number in range(1, count + 1)], lambda _: here("", 1)) as host_group:
        party = gather_host_facts(host_group, host_group.hosts)
    assert not party.links[0].problem and len(party.links) == count
    assert [(one.sender, one.receiver, one.problem) for one in party.links] == [
        (sender, receiver, None)
        for sender, receiver in zip(host_group.hosts, [*host_group.hosts[1:], "node01"], strict=True)
    ]
    same = next(one for one in examine(party) if one.code == "same-host")
    assert same.what.startswith("node[01-19] are one host, ")


class _Lame:
    """A host group of which some hosts fail at some services."""

    def __init__(self, host_group: RemoteHostGroup, fails: set[tuple[str, str]]) -> None:
        self.hosts, self._host_group, self._fails = host_group.hosts, host_group, fails

    def ask(self, service: str, arguments: Any, *, timeout_s: float) -> dict[str, Answer]:
        well = {host: given for host, given in arguments.items() if (host, service) not in self._fails}
        told = self._host_group.ask(service, well, timeout_s=timeout_s)
        return {host: told.get(host, Answer(problem=f"{service} went wrong")) for host in arguments}


@pytest.mark.parametrize(
    ("fails", "storages", "silent"),
    [
        ({("b", "sees-mark")}, [0, None, 0], ["b"]),
        ({("a", "leave-mark")}, [None, 1, 1], ["a"]),
        ({("a", "remove-mark")}, [0, 0, 0], []),
        ({("b", "path-facts")}, [0, None, 0], ["b"]),
    ],
)
def test_a_host_that_fails_at_a_step_is_no_other_storage_and_the_mark_goes_all_the_same(
    tmp_path: Path, fails: set[tuple[str, str]], storages: list[int | None], silent: list[str]
) -> None:
    with RemoteHostGroup(["a", "b", "c"], lambda _: here("", 1)) as host_group:
        party = gather_host_facts(_Lame(host_group, fails), host_group.hosts, str(tmp_path))
    assert [host.storage for host in party.hosts] == storages
    complaints = examine(party)
    assert [one.where for one in complaints if one.code == "target-silent"] == silent
    assert not [one for one in complaints if one.code in ("other-storage", "own-storage")]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("service", ["link-listen", "link-try", "wall-clock"])
def test_a_host_that_fails_at_its_links_or_its_clock_has_that_told_and_the_others_are_looked_at(service: str) -> None:
    with RemoteHostGroup(["a", "b", "c"], lambda _: here("", 1)) as host_group:
        party = gather_host_facts(_Lame(host_group, {("b", service)}), host_group.hosts)
    if service == "wall-clock":
        assert party.hosts[1].problem == "wall-clock went wrong"
        assert [(one.sender, one.receiver, one.problem) for one in party.links] == [("a", "c", None), ("c", "a", None)]
    else:
        (bad,) = [one for one in party.links if one.problem]
        assert "b" in (bad.sender, bad.receiver) and f"{service} went wrong" in (bad.problem or "")
        assert "no-link" in {one.code for one in examine(party)}
