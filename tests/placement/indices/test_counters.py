"""Counters are read alike from every source, and rates are taken only where they can be."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proc_files import Server, scrape
from tonnage.placement.indices import kernel_files, node_exporter
from tonnage.placement.indices.reading import Counters, comparable, counted, reading_between

AT_S = 1_795_294_120.0


def looked(server: Server, at_s: float = AT_S) -> Counters:
    return kernel_files.parse(server.files(), at_s)


def later(server: Server, seconds: float, **more: float) -> Server:
    return replace(server, uptime_s=server.uptime_s + seconds, **more)


def test_the_kernels_files_and_node_exporter_tell_the_same() -> None:
    server = Server()
    files, scraped = looked(server), node_exporter.parse(scrape(server, AT_S), AT_S)
    for name in ("cpus", "cpu_busy_s", "cpu_all_s", "disks", "rpcs", "io_waiting_s", "booted_s", "at_s"):
        assert getattr(files, name) == getattr(scraped, name), name
    assert files.cpus == 2 and files.cpu_busy_s == 1000 and files.cpu_all_s == 10_000
    assert files.disks["sda"] == (1500, 512 * 4000) and files.rpcs == 18628
    assert files.io_waiting_permille == 125 and scraped.io_waiting_permille is None
    assert files.wall_s == scraped.wall_s == AT_S


def test_the_cache_gives_back_what_it_was_given() -> None:
    assert Counters.from_dict(asdict(looked(Server()))) == looked(Server())


def test_rates_are_those_of_the_time_between() -> None:
    before = Server()
    after = later(before, 10, busy_s=1005, idle_s=8010, iowait_s=1005, reads=1300, writes=600, bytes=512 * 24_000,
                  rpcs=19_128, waiting_s=34.0, avg10=40)  # fmt: skip
    found = reading_between("s", "proc", looked(before), looked(after, AT_S + 10))
    assert found.problem is None and found.at_s == AT_S + 10 and found.cpus == 2
    assert found.ut_permille == 250  # 5 s of 20 CPU seconds; those that waited for I/O were idle
    assert found.bio_per_s == 2 * 40 and found.bio_bytes_per_s == 2 * 512 * 2000  # sda and nvme0n1
    assert found.rpc_per_s == 50
    assert found.pressure_permille == 400  # the kernel's own average
    scraped = [node_exporter.parse(scrape(one, AT_S + gap), AT_S + gap) for one, gap in ((before, 0), (after, 10))]
    assert reading_between("s", "node_exporter", *scraped) == replace(
        found, source="node_exporter", clock_ahead_s=0.0, pressure_permille=400
    )


def test_a_first_look_has_no_rates_and_says_why() -> None:
    found = reading_between("s", "proc", None, looked(Server()))
    assert (found.ut_permille, found.bio_per_s, found.rpc_per_s) == (None, None, None)
    assert found.pressure_permille == 125 and found.cpus == 2
    assert found.problem == "its counters were read once so far, and a rate needs two looks"


@pytest.mark.parametrize(
    ("seconds", "more"),
    [
        (0.1, {}),
        (3600.0, {}),
        (10.0, {"booted_s": 1_795_289_500}),
        (-4000.0, {"booted_s": 1_795_294_000}),
        (-5.0, {}),
    ],
    ids=["too near", "too far", "started again", "started again, counters behind", "back in time"],
)
def test_looks_that_cannot_be_compared_make_no_rate(seconds: float, more: dict[str, float]) -> None:
    before, after = looked(Server()), looked(later(Server(), seconds, **more), AT_S + abs(seconds))
    assert not comparable(before, after)
    assert reading_between("s", "proc", before, after).ut_permille is None


def test_a_clock_that_jumped_between_the_looks_makes_no_rate_and_one_that_is_wrong_all_along_does() -> None:
    busier = later(Server(), 10, busy_s=1010, idle_s=8010)
    jumped = [
        node_exporter.parse(scrape(Server(), AT_S), AT_S),
        node_exporter.parse(scrape(busier, AT_S + 70), AT_S + 10),
    ]
    assert reading_between("s", "node_exporter", *jumped).ut_permille is None
    ahead = [
        node_exporter.parse(scrape(one, AT_S + gap + 3600), AT_S + gap) for one, gap in ((Server(), 0), (busier, 10))
    ]
    found = reading_between("s", "node_exporter", *ahead)
    assert found.ut_permille == 500 and found.clock_ahead_s == 3600 and found.at_s == AT_S + 10


def test_a_counter_that_was_set_back_is_unknown_and_the_others_are_not() -> None:
    after = later(Server(), 10, busy_s=1010, rpcs=5, reads=1)
    found = reading_between("s", "proc", looked(Server()), looked(after, AT_S + 10))
    assert found.rpc_per_s is None and found.bio_per_s is None and found.bio_bytes_per_s is None
    assert found.ut_permille == 1000


def test_what_a_server_does_not_tell_is_unknown_not_nothing() -> None:
    bare = Server(rpcs=None, waiting_s=None, disks=())
    found = reading_between("s", "proc", looked(bare), looked(later(bare, 10, idle_s=8020), AT_S + 10))
    assert found.ut_permille == 0
    assert (found.rpc_per_s, found.bio_per_s, found.pressure_permille) == (None, None, None)


def test_a_disk_that_came_between_the_looks_does_not_bring_its_history() -> None:
    more = later(Server(), 10, reads=1010, idle_s=8020)
    more.disks += ("sdb",)
    found = reading_between("s", "proc", looked(Server()), looked(more, AT_S + 10))
    assert found.bio_per_s == 2


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("sda sda1 sda15 sdb", "sda sdb"),
        ("nvme0n1 nvme0n1p1 nvme1n1 nvme0c0n1", "nvme0n1 nvme1n1"),
        ("vda vda1 dm-0 dm-1 md0 loop3 zram0 ram0 sr0 zd16 drbd1 bcache0", "vda"),
        ("xvda1 xvdb", "xvda1 xvdb"),
        ("rbd0 rbd0p1 nbd3 mmcblk0 mmcblk0p2", "rbd0 nbd3 mmcblk0"),
        ("loop7", "loop7"),
        ("dm-0 dm-1", "dm-0 dm-1"),
        ("", ""),
    ],
)
def test_only_whole_devices_count(listed: str, expected: str) -> None:
    assert counted(listed.split()) == set(expected.split())


@pytest.mark.parametrize("missing", ["uptime", "stat"])
def test_a_proc_without_its_basics_is_refused(missing: str) -> None:
    with pytest.raises((KeyError, ValueError, IndexError)):
        looked(Server(missing={missing}))


@pytest.mark.parametrize("said", ["NaN", "+Inf", "-Inf", "-1", "1e308"])
@pytest.mark.parametrize(
    "name",
    ["node_pressure_io_waiting_seconds_total", "node_load1", "node_memory_MemAvailable_bytes", "node_vmstat_pswpin"],
)
def test_a_sample_that_is_no_count_is_as_if_it_were_not_there(name: str, said: str) -> None:
    text, lines = scrape(Server(), AT_S), []
    for line in text.splitlines():
        lines.append(f"{name} {said}" if line.startswith(f"{name} ") else line)
    without = [line for line in text.splitlines() if not line.startswith(f"{name} ")]
    assert f"{name} {said}" in lines
    assert node_exporter.parse("\n".join(lines), AT_S) == node_exporter.parse("\n".join(without), AT_S)


def test_a_clock_that_is_no_number_is_refused_and_no_kept_look_has_one() -> None:
    text = re.sub(r"node_time_seconds .*", "node_time_seconds NaN", scrape(Server(), AT_S))
    with pytest.raises((KeyError, ValueError)):
        node_exporter.parse(text, AT_S)
    kept = asdict(node_exporter.parse(scrape(Server(), AT_S), AT_S))
    for name in ("clock_s", "io_waiting_s"):
        with pytest.raises(ValueError):
            Counters.from_dict({**kept, name: math.nan})


@given(st.text() | st.from_regex(r"(node_(cpu|disk|time|boot)\w*(\{[^\n]*\})? [\dA-Za-z+.-]+\n)+"))
def test_no_text_breaks_the_reader_of_a_scrape(text: str) -> None:
    try:
        found = node_exporter.parse(text, AT_S)
    except (KeyError, ValueError, OverflowError):
        return
    assert found.cpus >= 1 and not math.isnan(found.clock_s)


@given(st.dictionaries(st.sampled_from(kernel_files.FILES), st.text()))
def test_no_text_breaks_the_reader_of_the_kernels_files(files: dict[str, str]) -> None:
    try:
        kernel_files.parse({**Server().files(), **files}, AT_S)
    except (KeyError, ValueError, IndexError):
        return


def test_what_a_host_tells_of_the_moment_is_the_same_from_both_sources() -> None:
    files, scraped = looked(Server()), node_exporter.parse(scrape(Server(), AT_S), AT_S)
    assert files.host == scraped.host
    assert files.host.run_15s == 3 and (files.host.run_1m, files.host.run_15m) == (0.52, 0.75)
    assert (files.host.memory_free_bytes, files.host.swap_free_bytes) == (4000 * 1024, 2000 * 1024)
    assert files.paged == scraped.paged == 80
    after = later(Server(), 10, paged=90, idle_s=8020)
    assert reading_between("s", "proc", looked(Server()), looked(after, AT_S + 10)).pages_per_s == 10


def test_logins_idle_time_and_room_are_those_of_who_and_df() -> None:
    who = (
        "ann      pts/0        2026-11-24 00:10 00:12        1234 (login1)\n"
        "bob      tty1         Nov 24 00:26   old         77\nann      pts/1  2026-11-24 00:11 01:30  9 (x)\n"
    )
    df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 60 40 60% /tmp\n"
    found = kernel_files.parse(Server().files() | {"who": who, "df": df, "utmp": f"{AT_S:.0f}\n"}, AT_S).host
    assert (found.logins, found.idle_s, found.tmp_free_bytes) == (3, 12 * 60, 40 * 1024)
    nobody = kernel_files.parse(Server().files() | {"who": "", "utmp": f"{AT_S - 300:.0f}\n"}, AT_S).host
    assert (nobody.logins, nobody.idle_s) == (0, 300)


def test_the_run_queue_of_15_s_forgets() -> None:
    before = looked(Server())
    soon, late = looked(Server(), AT_S + 15), looked(Server(), AT_S + 600)
    busy = replace(before, host=replace(before.host, run_15s=30.0))
    assert soon.after(busy).host.run_15s == pytest.approx(3 + 27 / math.e)
    assert late.after(busy).host.run_15s == pytest.approx(3)


def test_the_command_that_ssh_runs_tells_the_same_as_this_hosts_own_files() -> None:
    said = subprocess.run(["sh", "-c", kernel_files._COMMAND], capture_output=True, text=True, check=True).stdout
    found, own = kernel_files.parse_printed(said, AT_S), kernel_files.read_counters("/proc", 5.0)
    assert (found.cpus, found.booted_s) == (own.cpus, own.booted_s)
    for name in ("run_15s", "run_1m", "logins", "tmp_free_bytes", "swap_free_bytes", "memory_free_bytes"):
        assert (getattr(found.host, name) is None) == (getattr(own.host, name) is None), name
    assert found.host.tmp_free_bytes is not None
