"""What is known of load lines when servers hold the data together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.cluster.scheduler import Job
from tonnage.placement.capacity import PATTERN, capacities
from tonnage.placement.cluster_snapshot import ClusterSnapshot, placements_of
from tonnage.placement.server_load_lines import line_directories, lines_of_servers
from tonnage.placement.site import Line, Policy, Server, Site
from tonnage.placement.submission_ledger import Ledger
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine, keep_line

PAIR = (
    Server(name="oss1", line=Line(tasks=6, plateau=10**9)),
    Server(name="oss2", line=Line(tasks=4, plateau=10**9)),
)
SPREAD = Located(path="/scratch", mount=None, target="lustre:scratch", servers=("oss1", "oss2"), striped=True)
MEASURED = KeptLine(
    target="lustre:scratch",
    operation="read",
    access="sequential",
    transfer_size=1 << 20,
    tasks=17,
    low=16,
    high=18,
    plateau_bytes_per_s=4 * 10**9,
    single_bytes_per_s=3 * 10**8,
    measured_at_s=1e6,
    host="c1",
    run="/r",
    servers=("oss1", "oss2"),
)


@pytest.fixture(autouse=True)
def _own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_each_server_has_its_own_line_where_the_data_is_not_spread() -> None:
    found = lines_of_servers(Site(server=PAIR), PAIR, replace(SPREAD, striped=False))
    assert [line.tasks for line in found.values() if line] == [6, 4]


def test_servers_that_carry_the_data_together_have_the_sum_of_what_is_stated() -> None:
    found = lines_of_servers(Site(server=PAIR), PAIR, SPREAD)
    assert found["oss1"] == found["oss2"] == Line(tasks=10, plateau=2 * 10**9)


def test_a_line_measured_on_the_whole_comes_before_that() -> None:
    site = Site(server=PAIR)
    keep_line(line_directories(site)[0], MEASURED)
    assert set(lines_of_servers(site, PAIR, SPREAD).values()) == {MEASURED}


def test_a_set_of_which_one_line_is_not_known_has_none() -> None:
    unknown = (PAIR[0], Server(name="oss2"))
    assert set(lines_of_servers(Site(server=unknown), unknown, SPREAD).values()) == {None}


def test_what_holders_of_the_same_data_carry_is_told_of_each_and_of_a_set_together(tmp_path: Path) -> None:
    jobs = [Job(job="1", server="oss1", state="running", count=2), Job(job="2", server="oss2", state="running")]
    world, ledger, policy = ClusterSnapshot(now_s=2e6, jobs=jobs), Ledger(tmp_path), Policy()
    ledger.intend("k1", 1.0, {"target": SPREAD.target, "pattern": PATTERN, "server": "oss1", "line": 5})
    for striped, expected in (
        (False, {"oss1": (6, 2, 5), "oss2": (4, 1, None)}),
        (True, dict.fromkeys(SPREAD.servers, (10, 3, 5))),
    ):
        located = replace(SPREAD, striped=striped)
        found = capacities(PAIR, located, world, lines_of_servers(Site(server=PAIR), PAIR, located), ledger, policy)
        assert {name: (one.tasks, one.promised, one.kept) for name, one in found.items()} == expected
        assert found["oss2"].servers == (SPREAD.servers if striped else ("oss2",))


def test_what_runs_is_known_however_long_ago_it_was_submitted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for at_s, key in ((1.0, "old-and-runs"), (2.0, "old-and-gone"), (100.0, "new")):
        ledger.intend(key, at_s, {"io_share": 0.2})
    jobs = [Job(job="1", key="old-and-runs"), Job(job="2", key="of-another-user"), Job(job="3")]
    assert [entry.key for entry in placements_of(ledger, jobs, since_s=50.0)] == ["old-and-runs", "new"]
    assert [entry.key for entry in placements_of(ledger, None, since_s=50.0)] == ["new"]
