"""The iperf3 part of ``examples/knox-epouta.toml``, small, by jobs of a scheduler on the hosts of both sites."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

import pytest
from hosts import counted_early
from impossible import skipped_where_impossible
from two_sites import FILES, Plan, TwoSites, two_sites

pytestmark = pytest.mark.alone("rates of links")

LINK_BYTES_PER_S = 12_500_000
CAMPAIGN = """
target = "."
published = "knox-epouta-iperf3"
[repeat]
count = 1
[job]
on = "slurm"
partition = "all"
[[workload]]
name = "three-pairs"
kind = "network"
hosts = ["compute1", "compute2", "compute3", "epouta1", "epouta2", "epouta3"]
pairs = "each"
streams = 2
direction = "receive"
at_once = true
duration = "4s"
carries = ["far"]
[[workload]]
name = "far"
op = "write"
tasks = 3
hosts = ["compute1", "epouta1", "epouta2"]
transfer_size = "1MiB"
block_size = "2MiB"
direct = "no"
"""


@pytest.fixture(scope="module")
def sites() -> Iterator[TwoSites]:
    with skipped_where_impossible(), two_sites(Plan(link_bytes_per_s=LINK_BYTES_PER_S)) as whole:
        yield whole


def test_links_and_a_storage_are_measured_by_jobs_on_the_hosts_that_are_named(sites: TwoSites) -> None:
    files = sites.hosts["head"].path(FILES)
    (files / "links.toml").write_text(CAMPAIGN, encoding="utf-8")
    argv = ["env", f"PATH={os.environ['PATH']}:/usr/sbin", "COLUMNS=200", sys.executable, "-m", "tonnage.cli"]
    words = ["run", "--target", FILES, "--out", FILES / "links", FILES / "links.toml"]
    done = sites.run(*argv, *words, directory=FILES, timeout_s=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (files / "links" / "trials.jsonl").read_text().splitlines()]
    link = next(line for line in lines if line["phase"] == "network")
    # A busy machine lets less through the link than its rate; tests/lab/test_network.py compares with its counters.
    assert 0.5 <= link["bandwidth_bytes_per_s"] / LINK_BYTES_PER_S <= 1.0 + counted_early(link["network"])
    ends = [(flow["sender"], flow["receiver"]) for flow in link["network"]["flows"]]
    assert ends == [(f"epouta{number}", f"compute{number}") for number in (1, 2, 3)]
    assert "3 pairs at once with 2 streams each carry" in done.stdout
    assert "iperf3 between Knox and ePouta" in done.stdout and "Ceiling, link three pairs: " in done.stdout
