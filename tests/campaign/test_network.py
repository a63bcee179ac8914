"""The campaign kind ``network``: its pairs, settings, what it refuses, and the window in which flows are counted."""

from __future__ import annotations

import json
import platform

import pytest
from tonnage.campaign.campaign_file import build_campaign, parse_campaign
from tonnage.campaign.execute.network_flows import Flow, began, result_of
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.model import Campaign
from tonnage.campaign.plan import check, make_plan
from tonnage.errors import MeasurementError, RequestError
from tonnage.importers.iperf3 import Interval, Report, Way
from tonnage.records.lines import totals_of

SECOND = 10**9
MB = 10**6


def network(text: str = "", target: str = "null:") -> Campaign:
    return parse_campaign(f'target = "{target}"\n[workload]\nkind = "network"\n{text}', "c.toml")


def refusal(text: str, target: str = "null:") -> str:
    with pytest.raises(RequestError) as caught:
        campaign = network(text, target)
        check(campaign, make_plan(campaign))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def pairs(text: str) -> list[tuple[str, ...]]:
    return [setting.pairs for setting in network(f'direction = "send"\nstreams = 1\n{text}').settings()]


def test_every_two_hosts_are_a_pair_and_each_pair_is_a_trial() -> None:
    assert pairs('hosts = ["a", "b", "c"]\n') == [("a:b",), ("a:c",), ("b:c",)]


def test_each_host_of_the_first_half_meets_one_of_the_second() -> None:
    hosts = 'hosts = ["c1", "c2", "c3", "e1", "e2", "e3"]\npairs = "each"\n'
    assert pairs(hosts + "at_once = true\n") == [("c1:e1", "c2:e2", "c3:e3")]
    assert pairs(hosts) == [("c1:e1",), ("c2:e2",), ("c3:e3",)]


def test_alone_and_at_once_are_values_of_a_factor() -> None:
    found = pairs('pairs = [["a", "b"], ["b", "a"]]\nat_once = [false, true]\n')
    assert found == [("a:b",), ("b:a",), ("a:b", "b:a")]


def test_a_host_by_itself_is_a_pair_with_itself() -> None:
    here = platform.node()
    assert pairs("") == [(f"{here}:{here}",)]


def test_both_ways_at_once_are_two_flows_of_a_pair() -> None:
    one, both = network('hosts = ["a", "b"]\nstreams = 4\ndirection = ["send", "both"]\n').settings()
    assert (one.tasks, both.tasks) == (1, 2)


def test_scale_shortens_a_trial_in_whole_seconds_and_leaves_the_warm_up() -> None:
    campaign = network('duration = "60s"\nomit = "2s"\n').model_copy(update={"scale": 0.05})
    assert {(s.duration_ns, s.omit_ns, s.time_ns_most) for s in campaign.settings()} == {
        (3 * SECOND, 2 * SECOND, 5 * SECOND)
    }
    shortest = campaign.model_copy(update={"scale": 1e-6}).settings()
    assert shortest[0].duration_ns == SECOND


def test_a_setting_comes_back_from_its_line_and_a_campaign_from_its_manifest() -> None:
    campaign = network(
        'pairs = [["a", "b"]]\nlimit = "10MB/s"\naddresses = { b = "10.0.0.2" }\n'
        'carries = ["write"]\nports = [6000, 6010]\n'
    )
    for setting in campaign.settings():
        assert setting_of(json.loads(json.dumps(setting.as_dict()))) == setting
    stored = json.loads(json.dumps(campaign.model_dump(mode="json")))
    assert build_campaign(stored, "manifest.json", stored=True).settings() == campaign.settings()


def test_what_cannot_work_is_refused_in_one_line() -> None:
    assert "iperf3 counts duration in whole seconds; hint" in refusal('duration = "1500ms"\n')
    assert "iperf3 counts omit in whole seconds" in refusal('omit = "1ms"\n')
    assert "ports 6000 to 5000 are none; hint" in refusal("ports = [6000, 5000]\n")
    assert "tasks_per_node" in refusal("tasks_per_node = 2\n")
    assert "3 hosts do not make pairs; hint" in refusal('hosts = ["a", "b", "c"]\npairs = "each"\n')
    assert "'c' is in a pair and not in hosts" in refusal('hosts = ["a", "b"]\npairs = [["a", "c"]]\n')
    assert "name the hosts" in refusal('partition = "mm"\n')
    assert "network measures real links" in refusal("", "sim:knee=4")
    assert "c.toml" in refusal('pairs = [["a", "-rf"]]\n')
    assert "c.toml" in refusal('addresses = { a = "-x" }\n')


def test_hosts_that_are_not_named_are_those_of_the_run_and_the_manifest_says_which() -> None:
    placed = network("streams = 1\ndirection = 'send'\n").on_hosts(lambda: ["h1", "h2"])
    assert [setting.pairs for setting in placed.settings()] == [("h1:h2",)]
    assert placed.model_dump(mode="json")["workloads"][0]["hosts"] == [["h1", "h2"]]


def test_a_pair_with_a_host_that_the_run_does_not_have_is_a_wrong_request() -> None:
    with pytest.raises(RequestError, match="h9 is no host of this run, which has h1, h2; hint"):
        network('pairs = [["h1", "h9"]]\n').on_hosts(lambda: ["h1", "h2"])
    with pytest.raises(RequestError, match="3 hosts do not make pairs"):
        network('pairs = "each"\n').on_hosts(lambda: ["h1", "h2", "h3"])


def flow(start_s: float, rates_mb: list[int], *, uncertainty_ns: int = 0) -> Flow:
    """A flow that began then, with so many MB in each of its seconds."""
    intervals = tuple(
        Interval(second * SECOND, (second + 1) * SECOND, moved * MB) for second, moved in enumerate(rates_mb)
    )
    way = Way(False, sum(rates_mb) * MB, len(rates_mb) * SECOND, intervals, None, None)
    report = Report(None, "3.12", 1, 0.1, "cubic", {"forward": way})
    return Flow("a", "b", way, way, report, report, int(start_s * SECOND), uncertainty_ns)


def test_flows_that_shared_a_link_are_counted_while_all_of_them_ran() -> None:
    # Alone at its beginning and its end, each has the whole link of 100 MB/s: own rates add up to more than there is.
    result, rows = result_of([flow(0, [100, 50, 50, 50]), flow(1, [50, 50, 50, 100])])
    total = totals_of(result["tasks"])
    assert (total["first_start_ns"], total["last_done_ns"]) == (SECOND, 4 * SECOND)
    assert total["bandwidth_bytes_per_s"] == 100 * MB
    assert result["network"]["sum_of_own_bytes_per_s"] == 125 * MB
    assert [one["window_bytes"] for one in result["network"]["flows"]] == [150 * MB, 150 * MB]
    assert sum(row[3] for row in rows) == total["bytes"]
    assert (min(row[0] for row in rows), max(row[1] for row in rows)) == (0, 3 * SECOND)


def test_an_interval_on_the_edge_of_the_window_counts_in_proportion() -> None:
    result, _ = result_of([flow(0, [100, 100]), flow(0.25, [40, 40])])
    assert [task["bytes"] for task in result["tasks"]] == [175 * MB, 70 * MB]


def test_flows_that_did_not_run_together_have_no_sum() -> None:
    with pytest.raises(MeasurementError, match="did not run at the same time"):
        result_of([flow(0, [1, 1]), flow(2, [1, 1])])


def test_a_second_in_which_nothing_arrives_is_a_stall() -> None:
    result, _ = result_of([flow(3, [10, 0, 0, 10])])
    assert result["events"] == [{"time_ns": 4 * SECOND, "kind": "stall", "task": 0, "duration_ns": 2 * SECOND}]


def test_when_a_test_began_is_known_to_what_its_process_leaves_open() -> None:
    # Alive for 5.4 s, of which 1 s warm-up and 4 s measured: it began between 1.0 s and 1.4 s.
    start, uncertainty = began((0, 5_400_000_000), SECOND, 4 * SECOND, 1000)
    assert (start, uncertainty) == (1_200_000_000, 200_001_000)
