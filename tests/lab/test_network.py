"""iperf3 between hosts of two sites with a link of known rate: what it carries, who gets how much, and who is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import Hosts, counted_early, hosts, wait_for
from impossible import skipped_where_impossible
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.execute.network import between_hosts
from tonnage.campaign.execute.network_flows import result_of
from tonnage.campaign.kinds.network import NetworkSetting
from tonnage.cluster.remote.client import RemoteHostGroup
from tonnage.errors import MeasurementError
from tonnage.records.lines import totals_of

LINK_BYTES_PER_S = 12_500_000
"""100 Mbit/s."""
AT_LEAST = 0.5
"""Of the link, on a machine that does other things as well: what it lets through there is less than its rate."""
KNOX, EPOUTA = ("compute1", "compute2", "compute3"), ("epouta1", "epouta2", "epouta3")

pytestmark = [
    pytest.mark.alone("rates of links"),
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed"),
]


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    with skipped_where_impossible(), hosts({"knox": KNOX, "epouta": EPOUTA}) as every:
        every.limit_between(LINK_BYTES_PER_S)
        yield every


@pytest.fixture
def host_group(site: Hosts) -> Iterator[RemoteHostGroup]:
    """A process on each host, as ssh would bring it there."""
    with RemoteHostGroup([*KNOX, *EPOUTA], lambda host: site[host].command_line(["sh", "-s"])) as host_group:
        assert not host_group.problems
        yield host_group


def setting(text: str) -> NetworkSetting:
    campaign = parse_campaign(f'target = "null:"\n[workload]\nkind = "network"\n{text}', "lab.toml")
    (found,) = campaign.settings()
    assert isinstance(found, NetworkSetting)
    return found


def measure_trial(host_group: RemoteHostGroup, text: str) -> tuple[dict, dict]:
    """The totals of a trial, and what it says of its flows."""
    flows = between_hosts(host_group, setting('duration = "4s"\n' + text), False)
    assert flows is not None
    result, _ = result_of(flows)
    return totals_of(result["tasks"]), result["network"]


def iperf3_on(site: Hosts, name: str) -> list[int]:
    """Processes of iperf3 on a host, by their numbers outside."""

    there = Path(f"/proc/{site[name].pid}/ns/net").readlink()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # Processes come and go while one looks.
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().strip() == "iperf3" and (process / "ns/net").readlink() == there:
                found.append(int(process.name))
    return found


ALONE = 'pairs = [["epouta1", "compute1"]]\n'
THREE = 'pairs = [["epouta1", "compute1"], ["epouta2", "compute2"], ["epouta3", "compute3"]]\nat_once = true\n'


@pytest.mark.parametrize("streams", [1, 10])
@pytest.mark.parametrize("direction", ["send", "receive"])
def test_one_pair_fills_the_link_and_no_more(
    site: Hosts, host_group: RemoteHostGroup, streams: int, direction: str
) -> None:
    before = site.carried_between()
    total, network = measure_trial(host_group, f'{ALONE}streams = {streams}\ndirection = "{direction}"\nomit = "0s"\n')
    assert_all_is_counted(site, before, total, up=direction == "send")
    (flow,) = network["flows"]
    assert AT_LEAST <= total["bandwidth_bytes_per_s"] / LINK_BYTES_PER_S <= 1.0 + counted_early(network)
    ends = ("epouta1", "compute1")
    assert (flow["sender"], flow["receiver"]) == (ends if direction == "send" else ends[::-1])


def assert_all_is_counted(site: Hosts, before: tuple[int, int], total: dict, *, up: bool) -> None:
    """What arrived is what the cable has carried by its own counters, but for headers and what was under way at the
    end."""
    carried = site.carried_between()[up] - before[up]
    assert 0.9 <= total["bytes"] / carried <= 1.0


def test_three_pairs_at_once_share_the_link_and_their_sum_is_the_link(host_group: RemoteHostGroup) -> None:
    total, network = measure_trial(host_group, THREE + 'streams = 1\ndirection = "send"\n')
    assert AT_LEAST <= total["bandwidth_bytes_per_s"] / LINK_BYTES_PER_S <= 1.0 + counted_early(network)
    assert [flow["sender"] for flow in network["flows"]] == list(EPOUTA)
    assert all(0 < flow["bandwidth_bytes_per_s"] < LINK_BYTES_PER_S for flow in network["flows"])


def test_both_ways_have_a_link_each(host_group: RemoteHostGroup) -> None:
    total, network = measure_trial(host_group, ALONE + 'streams = 2\ndirection = "both"\n')
    # The two need not end at the same moment, so what a bucket lets through at once is seen here.
    assert 1.0 < total["bandwidth_bytes_per_s"] / LINK_BYTES_PER_S <= 2.04 + 2 * counted_early(network)
    assert [flow["sender"] for flow in network["flows"]] == ["epouta1", "compute1"]


def test_inside_a_site_no_link_is_in_the_way(host_group: RemoteHostGroup) -> None:
    total, _ = measure_trial(host_group, 'pairs = [["compute1", "compute2"]]\nstreams = 1\ndirection = "send"\n')
    assert total["bandwidth_bytes_per_s"] > 5 * LINK_BYTES_PER_S


def under_way(host_group: RemoteHostGroup) -> tuple[threading.Thread, list[str]]:
    """A trial of three pairs for a minute, and what it will say when it fails."""
    said: list[str] = []

    def run() -> None:
        try:
            between_hosts(host_group, setting(THREE + 'streams = 1\ndirection = "send"\nduration = "60s"\n'), False)
        except MeasurementError as error:
            said.append(str(error))

    trial = threading.Thread(target=run)
    trial.start()
    return trial, said


def test_a_server_that_is_killed_ends_all_pairs_in_time_and_is_named(site: Hosts, host_group: RemoteHostGroup) -> None:
    trial, said = under_way(host_group)
    wait_for(lambda: bool(iperf3_on(site, "epouta2")), "a client runs")
    time_began = time.monotonic()
    for pid in iperf3_on(site, "compute2"):
        os.kill(pid, signal.SIGKILL)
    trial.join(40)
    assert not trial.is_alive() and time.monotonic() - time_began < 30
    assert said and said[0].startswith("epouta2 to compute2: ")
    assert not any(iperf3_on(site, name) for name in (*KNOX, *EPOUTA))


def test_a_port_that_is_taken_on_one_host_is_passed_over(site: Hosts, host_group: RemoteHostGroup) -> None:
    squatter = site["compute1"].daemon("iperf3", "--server", "--port", "5201")
    try:
        listening = ["ss", "--listening", "--tcp", "--numeric", "--no-header", "sport = :5201"]
        wait_for(lambda: bool(site["compute1"].run(*listening).stdout), "the port is taken")
        total, _ = measure_trial(host_group, ALONE + 'streams = 1\ndirection = "send"\nomit = "0s"\n')
        assert total["bytes"] > 0
        assert squatter.running()
    finally:
        squatter.end()


def test_a_host_that_goes_is_named_and_the_others_are_left_clean(site: Hosts, host_group: RemoteHostGroup) -> None:
    trial, said = under_way(host_group)
    wait_for(lambda: bool(iperf3_on(site, "epouta3")), "a client runs")
    os.kill(site["epouta3"].pid, signal.SIGKILL)
    trial.join(60)
    assert not trial.is_alive()
    assert said and "epouta3" in said[0]
    left = (*KNOX, "epouta1", "epouta2")
    wait_for(lambda: not any(iperf3_on(site, name) for name in left), "all iperf3 end")
