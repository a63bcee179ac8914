"""The report of checkpoints: seconds in words, pictures and tables, published figures, and what carried the data."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import report_sample as sample
from rich.console import Console
from tonnage.analysis import Analysis, analyse
from tonnage.analysis.compare.normalise import Basis
from tonnage.records import Run, RunWriter, event_lines, task_lines
from tonnage.report.page import render
from tonnage.report.page_data import Source
from tonnage.report.published import ceph_snapshots as published_snapshots
from tonnage.report.published import comparisons as published
from tonnage.report.sections import snapshots
from tonnage.report.terminal import print_summary

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from checkpoint_lines import lines

MIB = 1 << 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A second a snapshot, noise of 30 %, on a storage of 220 MB/s."""
    draw = np.random.default_rng(4)

    def time_ns(means: str, tasks: int, _transfer: int, block: int, _repetition: int) -> int:
        base = 2e7 + tasks * block / min(0.06 * tasks, 0.22)
        noise = np.exp(0.3 * draw.standard_normal(2) - 0.045)
        return round(base * noise[0] + (1e9 * noise[1] if means != "none" else 0))

    path = tmp_path_factory.mktemp("snapshots") / "run"
    campaign = {"published": "ceph-snapshots", "normalise": {"disks": 10, "link_bytes_per_s": 125_000_000}}
    writer = RunWriter.create(path, sample.manifest(campaign=campaign, seed=5))
    number = 0
    for transfer in (4096, MIB):
        for line, result in lines(time_ns, tasks=(1, 4, 32), transfer=transfer, repetitions=4):
            line |= {"trial": number, "record": f"{number:04d}-checkpoint"}
            writer.append_trial(line, task_lines(line, result, ["a"] * len(result["tasks"])), event_lines(line, result))
            number += 1
    return Run.open(path)


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return analyse(run)


@pytest.fixture(scope="module")
def said(analysis: Analysis) -> str:
    out = io.StringIO()
    print_summary(analysis, Console(file=out, width=200), None)
    return out.getvalue()


def test_the_terminal_ends_with_seconds_then_shares_then_what_changes(said: str) -> None:
    cost, share, call, *changes = said.splitlines()[-5:]
    assert cost.startswith("Each snapshot (btrfs) adds") and "95 % interval" in cost
    assert "times a round of 4 KiB by 1 task" in share and "by itself" in call
    assert [change.strip().partition(" (")[0] for change in changes] == [
        "No change shown with the number of tasks",
        "No change shown with the size of a round",
    ]
    assert "What a snapshot costs: btrfs" in said


def test_the_page_begins_with_the_same(analysis: Analysis, run: Run) -> None:
    page = render(analysis, Source.of(run))
    answer = page[page.index('<section id="answer"') : page.index("</section>")]
    assert "The answer" in answer and "Each snapshot (btrfs) adds" in answer and "No change shown with" in answer
    assert "No load line was looked for" not in answer


def test_each_transfer_size_has_two_lines_for_each_number_of_tasks_and_a_floor(analysis: Analysis, run: Run) -> None:
    (exhibit,) = snapshots.exhibits(analysis, Source.of(run))
    assert [variant.label for variant in exhibit.variants] == ["btrfs, transfers of 4 KiB", "btrfs, transfers of 1 MiB"]
    against_bytes, by_tasks = exhibit.variants[0].figures
    assert len(against_bytes.traces) == 2 * 3
    for without, with_ in zip(against_bytes.traces[::2], against_bytes.traces[1::2], strict=True):
        assert without["x"] == with_["x"]
        assert all(more > less for less, more in zip(without["y"], with_["y"], strict=True))
    low, high = against_bytes.layout["shapes"][0]["y0"], against_bytes.layout["shapes"][0]["y1"]
    assert low < 1e9 < high
    assert [trace["name"] for trace in by_tasks.traces] == ["transfers of 4 KiB", "transfers of 1 MiB"]
    for trace in (*against_bytes.traces, *by_tasks.traces):
        assert all("<br>record 00" in text for text in trace["text"])
    # Settings, and all of them together.
    assert len(against_bytes.table.rows) == len(analysis.snapshots[0].rounds) + 1


def test_the_published_tables_have_theirs_and_ours(analysis: Analysis) -> None:
    rates, costs, divided = published.comparisons(analysis)
    assert rates.table.rows[0][:4] == ("write", "4 KiB", "published", "1.66 MB/s")
    assert {row[2] for row in rates.table.rows} == {"published", "this run"}
    assert {row[0] for row in rates.table.rows} >= {"write", "write with snapshot", "read"}
    assert len(costs.table.rows) == 18
    assert any("not much impact" in note for note in costs.notes)
    assert any("arithmetic means of rates" in note for note in divided.notes)


def test_the_published_cost_is_a_second_and_no_change_is_shown() -> None:
    found = published_snapshots.published_cost()
    assert found.from_scatter and 0.7e9 < found.cost.low_ns < found.cost.high_ns < 1.2e9
    told = " ".join(snapshots.cost_sentences(found))
    assert "nothing was repeated" in told and "No change shown with the number of tasks" in told


def test_a_gigabit_is_not_taken_for_a_gigabyte_nor_infiniband_for_it(analysis: Analysis) -> None:
    table = published.comparisons(analysis)[-1].table
    rows = {row[0]: row for row in table.rows}
    assert rows["Ceph, best write"][-3:] == ("10", "23.0 MB/s", "184 %")
    assert rows["DAOS fast-forward Q5, lola"][-3:] == ("50", "73.4 MB/s", "–")


def test_this_run_is_divided_by_what_its_own_campaign_says_carried_it(analysis: Analysis) -> None:
    def ours(found: Analysis) -> dict[str, tuple[str, ...]]:
        rows = published.comparisons(found)[-1].table.rows
        return {row[0]: row[1:] for row in rows if row[0].startswith("this run")}

    (name, (network, whole, disks, each, of_link)) = next(iter(ours(analysis).items()))
    assert name == "this run, best write" and (network, disks) == ("1 Gbit/s (125 MB/s)", "10")
    assert float(whole.split()[0]) == pytest.approx(10 * float(each.split()[0]), rel=0.01)
    assert float(of_link.split()[0]) == pytest.approx(float(whole.split()[0]) / 1.25, rel=0.01)
    bare = ours(replace(analysis, bases=(), divided=()))
    assert bare[name] == ("–", whole, "–", "–", "–")
    of_osds = ours(replace(analysis, bases=(Basis("OSD", 3, None),)))[name]
    assert of_osds[2] == "3 OSDs" and float(whole.split()[0]) == pytest.approx(
        3 * float(of_osds[3].split()[0]), rel=0.01
    )


def test_a_run_of_smaller_rounds_says_that_nothing_of_it_stands_beside(analysis: Analysis) -> None:
    small = replace(analysis, points=tuple(p for p in analysis.points if p.setting["block_size"] < 100 * 4096))
    rates, _, divided = published.comparisons(small)
    assert any("no round of 100 transfers" in note for note in rates.notes)
    assert {row[2] for row in rates.table.rows} == {"published"}
    assert not [row for row in divided.table.rows if row[0].startswith("this run")]
    assert not any("no round of 100 transfers" in note for note in published.comparisons(analysis)[0].notes)


def test_the_best_of_the_run_stands_divided_by_disks_and_link_with_what_is_too_much(said: str) -> None:
    head, row = said[said.index("Divided by what carried it") :].splitlines()[1:3]
    assert "a disk (of 10 disks)" in head and "of a link of 1 Gbit/s (125 MB/s)" in head
    assert "checkpoint" in row and row.rstrip().endswith("%")
    assert "More than a link of 1 Gbit/s (125 MB/s) carries" in said


def test_the_page_holds_section_and_tables(analysis: Analysis, run: Run) -> None:
    page = render(analysis, Source.of(run))
    for title in ("What a snapshot costs", "Divided by what carried it", "Checkpoints on Ceph: seconds"):
        assert title in page


@pytest.mark.parametrize(
    ("share", "told"), [(3.79, "3.8 times"), (0.88, "88 %"), (-0.19, "−19 %"), (0.004, "0.4 %"), (-4, "−4.0 times")]
)
def test_shares_of_a_round_are_read_at_a_glance(share: float, told: str) -> None:
    assert snapshots.round_share(share) == told
