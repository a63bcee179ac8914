"""What a run says of its links: flows, fairness, and the link as a bound of what crosses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis import Analysis, analyse
from tonnage.analysis.links import jain
from tonnage.campaign.campaign_file import parse_campaign
from tonnage.campaign.execute.network_flows import Flow, result_of
from tonnage.importers.iperf3 import Interval, Report, Way
from tonnage.records import Run, RunWriter, event_lines, task_lines, trial_line, verify_files

SECOND, MB = 10**9, 10**6
LINK = 125 * MB
PAIRS = [("e1", "c1"), ("e2", "c2"), ("e3", "c3")]
PUBLISHED = (275 * MB // 8, 281 * MB // 8, 452 * MB // 8)
"""Bytes per second of the three pairs of the Knox-ePouta experiment."""


class Recorded:
    """A run directory that is filled with trials whose figures are known."""

    def __init__(self, path: Path, file_system: str = "nfs4", published: str | None = None) -> None:
        pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
        target = {"name": "/mnt", "kind": "posix", "file_system": file_system, "memory_backed": False}
        manifest = {"state": "complete", "seed": 1, "target": target, "ceilings": [], "campaign": {}}
        manifest["campaign"] = {"published": published}
        self.writer = RunWriter.create(path, manifest)
        self.trial = 0

    def _append(self, setting: dict[str, Any], phase: str, result: dict[str, Any], hosts: list[str]) -> None:
        line = trial_line(
            trial=self.trial, setting=setting, phase=phase, repetition=self.trial, block=0, started="", result=result
        )
        self.writer.append_trial(line, task_lines(line, result, hosts), event_lines(line, result))
        self.trial += 1

    def network(self, pairs: list[tuple[str, str]], rates: tuple[int, ...], *, late_s: int = 0, **text: Any) -> None:
        """Pairs at once, each at its rate for ten seconds; the last one begins ``late_s`` later."""
        words = "".join(f"{key} = {value}\n" for key, value in text.items())
        listed = [list(pair) for pair in pairs]
        (setting,) = parse_campaign(
            f'target = "null:"\n[workload]\nkind = "network"\npairs = {listed}\nat_once = true\n{words}', "n.toml"
        ).settings()
        flows = [
            _flow(*(pair[::-1] if setting.direction == "receive" else pair), rate, late_s if pair == pairs[-1] else 0)
            for pair, rate in zip(pairs, rates, strict=True)
        ]
        result, rows = result_of(flows)
        self.writer.write_series(self.trial, "network", rows)
        self._append(setting.as_dict(), "network", result, [flow.sender for flow in flows])

    def storage(self, op: str, workload: str, rates: dict[str, int]) -> None:
        """A task on each of these hosts, each at its rate for a second."""
        flow = [_flow(host, host, rate, 0, seconds=1) for host, rate in rates.items()]
        result, _ = result_of(flow)
        del result["network"]
        result["tasks"] = [{**task, "operations": 1} for task in result["tasks"]]
        setting = {"kind": "stream", "workload": workload, "op": op, "tasks": len(rates), "transfer_size": MB}
        self._append(setting, op, result, list(rates))

    def analysed(self) -> Analysis:
        return analyse(Run.open(self.writer.path))


def _flow(sender: str, receiver: str, rate: int, late_s: int, *, seconds: int = 10) -> Flow:
    intervals = tuple(Interval(n * SECOND, (n + 1) * SECOND, rate) for n in range(seconds))
    way = Way(True, rate * seconds, seconds * SECOND, intervals, 7, None)
    report = Report(None, "3.12", 1, 0.2, "cubic", {})
    return Flow(sender, receiver, way, replace(way, sender=False), report, report, late_s * SECOND, 1000)


def codes(analysis: Analysis) -> dict[str, str]:
    return {found.code: found.evidence for found in analysis.findings}


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "run")


ONE = {"direction": '"send"', "streams": 1, "name": '"wan"'}
BACK = ONE | {"direction": '"receive"'}


def test_three_pairs_at_once_have_a_sum_shares_and_a_fairness(recorded: Recorded) -> None:
    recorded.network(PAIRS, PUBLISHED, **ONE)
    analysis = recorded.analysed()
    (link,) = analysis.links
    assert link.point.median == sum(PUBLISHED) == 126 * MB
    assert [round(flow.window_bytes_per_s / link.point.median, 2) for flow in link.flows] == [0.27, 0.28, 0.45]
    assert link.fairness == pytest.approx(jain(PUBLISHED)) == pytest.approx(0.943, abs=0.001)
    assert verify_files(Run.open(recorded.writer.path)) == []
    assert "rates-not-additive" not in codes(analysis)


def test_a_pair_that_came_late_is_told_where_rates_were_added_up(recorded: Recorded) -> None:
    recorded.network(PAIRS[:2], (LINK // 2, LINK // 2), **ONE)
    assert "rates-not-additive" not in codes(recorded.analysed())
    flows = [_flow("e1", "c1", LINK, 0), _flow("e2", "c2", LINK // 2, 0)]
    slow = tuple(
        replace(each, bytes=LINK // 2) if each.start_ns >= 4 * SECOND else each for each in flows[0].received.intervals
    )
    flows[0] = replace(
        flows[0], received=replace(flows[0].received, intervals=slow, bytes=sum(each.bytes for each in slow))
    )
    flows[1] = replace(flows[1], start_ns=4 * SECOND)
    result, rows = result_of(flows)
    recorded.writer.write_series(1, "network", rows)
    setting = dict(Run.open(recorded.writer.path).trials()[0]["setting"], streams=2)
    recorded._append(setting, "network", result, ["e1", "e2"])
    told = codes(recorded.analysed())["rates-not-additive"]
    assert "add up to 1.2 Gbit/s, and while all ran it was 1 Gbit/s: the sum is 20 % above" in told


def test_hosts_with_unlike_iperf3_are_told_and_alike_ones_are_not(recorded: Recorded) -> None:
    recorded.network(PAIRS[:1], (LINK,), **ONE)
    assert "iperf3-versions" not in codes(recorded.analysed())
    flow = _flow("e1", "c1", LINK, 0)
    result, rows = result_of([replace(flow, receiver_report=replace(flow.receiver_report, version="3.17"))])
    recorded.writer.write_series(recorded.trial, "network", rows)
    recorded._append(Run.open(recorded.writer.path).trials()[0]["setting"], "network", result, ["e1"])
    told = codes(recorded.analysed())["iperf3-versions"]
    assert told.startswith("the hosts have 2 versions of iperf3: 3.12 on ") and told.endswith("; 3.17 on c1")


def test_jains_index_is_one_for_equals_and_one_nth_for_a_monopoly() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([9, 0, 0]) == pytest.approx(1 / 3)
    assert jain([0, 0]) == 1


def test_a_figure_at_the_link_is_told_to_be_the_links(recorded: Recorded) -> None:
    recorded.network(PAIRS[:1], (LINK,), **ONE)
    recorded.storage("write", "copy", {"e1": 118 * MB})
    analysis = recorded.analysed()
    assert "118 MB/s of e1 are 94 % of the 125 MB/s (1 Gbit/s) of the link wan" in codes(analysis)["link-limited"]
    assert [(entry["name"], entry["bytes_per_s"]) for entry in analysis.ceilings] == [("link-wan", LINK)]


def test_a_read_above_the_link_is_flagged_by_the_way_back(recorded: Recorded) -> None:
    recorded.network(PAIRS[:1], (LINK,), **ONE)
    recorded.network(PAIRS[:1], (LINK // 2,), **BACK)
    recorded.storage("read", "copy", {"e1": 3000 * MB})
    told = codes(recorded.analysed())["above-ceiling"]
    assert "tasks on e1 moved 3 GB/s, above the 62.5 MB/s that the link wan carried" in told


def test_bytes_of_hosts_on_the_storages_side_do_not_cross(recorded: Recorded) -> None:
    recorded.network(PAIRS[:1], (LINK,), **ONE)
    recorded.storage("write", "near", {"c1": 900 * MB})
    recorded.storage("write", "mixed", {"c1": 900 * MB, "e1": 40 * MB})
    assert not {"above-ceiling", "link-limited"} & codes(recorded.analysed()).keys()


def test_hosts_with_a_link_each_may_have_the_sum_and_hosts_that_share_one_may_not(recorded: Recorded) -> None:
    for pair in PAIRS[:2]:
        recorded.network([pair], (LINK,), **ONE)
    recorded.storage("write", "copy", {"e1": LINK, "e2": LINK})
    assert "above-ceiling" not in codes(recorded.analysed())
    recorded.network(PAIRS, (LINK // 3,) * 3, **ONE)
    assert "tasks on e1, e2 moved 250 MB/s" in codes(recorded.analysed())["above-ceiling"]


def test_a_local_file_system_is_compared_only_where_the_campaign_says_so(tmp_path: Path) -> None:
    for number, (carries, flagged) in enumerate(((None, False), (["copy"], True), (["other"], False))):
        recorded = Recorded(tmp_path / str(number), file_system="ext4")
        recorded.network(PAIRS[:1], (LINK,), **ONE, **({"carries": carries} if carries else {}))
        recorded.storage("write", "copy", {"e1": 300 * MB})
        assert ("above-ceiling" in codes(recorded.analysed())) is flagged


def test_a_loopback_is_no_link(recorded: Recorded) -> None:
    recorded.network([("e1", "e1")], (LINK,), **ONE)
    recorded.storage("write", "copy", {"e1": 900 * MB})
    analysis = recorded.analysed()
    assert not analysis.ceilings and "above-ceiling" not in codes(analysis)


def test_the_report_has_the_matrix_and_the_published_pairs_beside(tmp_path: Path) -> None:
    from tonnage.report.page_data import Source
    from tonnage.report.published import comparisons as published
    from tonnage.report.sections import links

    recorded = Recorded(tmp_path / "run", published="knox-epouta-iperf3")
    recorded.network(PAIRS, PUBLISHED, **ONE | {"name": '"three-pairs"'})
    recorded.network(PAIRS[:1], (LINK,), **ONE | {"name": '"three-pairs"'})
    recorded.network([("compute2", "compute1")], (100 * MB,), **ONE | {"name": '"ten-streams"', "streams": 10})
    analysis = recorded.analysed()
    (comparison,) = published.comparisons(analysis)
    rows = comparison.table.rows
    assert ("three pairs at once", "this run", "all", "together", "1", "1.01 Gbit/s (126 MB/s)", "100 %") in rows
    alone = ("three pairs, one at a time", "this run", "e1", "c1", "1", "1 Gbit/s (125 MB/s)", "100 %")
    inside = ("ten streams inside one site", "this run", "compute2", "compute1", "10", "0.8 Gbit/s (100 MB/s)", "100 %")
    assert alone in rows and inside in rows
    assert ("three pairs at once", "published", "epouta3", "compute3", "1", "447 Mbit/s (55.9 MB/s)", "–") in rows
    (exhibit,) = links.exhibits(analysis, Source.of(Run.open(recorded.writer.path)))
    labels = {variant.label for variant in exhibit.variants if variant.label.startswith("three-pairs")}
    assert labels == {f"three-pairs, 1 stream, {how}" for how in ("each pair alone", "all pairs at once")}
    matrix, over_time = next(variant.figures for variant in exhibit.variants if "at once" in variant.label)
    assert matrix.table.headings == ("from \\ to", "c1", "c2", "c3")
    assert matrix.table.rows[2] == ("e3", "", "", "452 Mbit/s (56.5 MB/s)")
    assert [trace["name"] for trace in over_time.traces] == ["e1 to c1", "e2 to c2", "e3 to c3"]
    assert over_time.traces[2]["y"] == pytest.approx([452.0] * 10)
    assert "3 pairs at once with 1 stream each carry 1.01 Gbit/s (126 MB/s) together" in exhibit.introduction
    assert "they share one link" in exhibit.introduction
