"""What iperf3 says with ``--json``, read: reports recorded from real runs of 3.12, whole and cut short."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.importers.iperf3 import NoReport, RoundTrip, read

RECORDED = Path(__file__).parent / "recorded" / "iperf3"
MS = 1_000_000


def text(name: str) -> str:
    return (RECORDED / f"{name}.json").read_text()


def test_both_ends_of_one_way_agree_on_the_bytes_and_only_the_sender_knows_retransmits() -> None:
    client, server = read(text("send.client")), read(text("send.server"))
    assert set(client.ways) == set(server.ways) == {"forward"}
    sent, received = client.ways["forward"], server.ways["forward"]
    assert (sent.sender, received.sender) == (True, False)
    assert sent.bytes == received.bytes == sum(each.bytes for each in received.intervals) == 149946368
    assert (sent.retransmits, received.retransmits) == (0, None)
    assert sent.round_trip == RoundTrip(87_000, 113_500, 142_000)
    assert received.round_trip is None
    assert (client.version, client.streams, client.congestion) == ("3.12", 2, "bbr")


def test_the_warm_up_is_not_counted_and_time_begins_after_it() -> None:
    intervals = read(text("send.server")).ways["forward"].intervals
    assert len(intervals) == 3
    assert intervals[0].start_ns < MS
    assert abs(intervals[-1].end_ns - 3000 * MS) < MS


def test_time_that_goes_on_after_the_warm_up_is_moved_back() -> None:
    said = json.loads(text("send.server"))
    for each in said["intervals"][1:]:
        each["sum"]["start"] += 1.0
        each["sum"]["end"] += 1.0
    moved = read(json.dumps(said)).ways["forward"].intervals
    assert moved[0].start_ns == 0
    assert abs(moved[-1].end_ns - 3000 * MS) < MS


def test_an_interval_that_began_before_the_warm_up_ended_counts_from_its_end() -> None:
    """iperf3 3.12 on a busy machine: the first measured interval is told as from 0.519 s to 0.500 s, 1.019 s long."""
    way = read(text("straddling.client")).ways["backward"]
    assert (way.intervals[0].start_ns, way.intervals[0].end_ns) == (0, 500_122_000)
    assert way.intervals[-1].end_ns == way.elapsed_ns == 3_980_819_000
    assert sum(each.bytes for each in way.intervals) == way.bytes


def test_two_ticks_that_fell_together_are_one_interval() -> None:
    """As iperf3 3.12 reported at the end of a warm-up: nothing for half a second, then all of it in a millisecond."""
    said = json.loads(text("send.server"))
    first = said["intervals"][1]
    early, late = copy.deepcopy(first), copy.deepcopy(first)
    tick = first["sum"]["end"] - 0.001
    early["sum"] |= {"end": tick, "seconds": tick, "bytes": 0}
    late["sum"] |= {"start": tick, "seconds": 0.001}
    plain = read(json.dumps(said)).ways["forward"].intervals
    said["intervals"][1:2] = [early, late]
    assert read(json.dumps(said)).ways["forward"].intervals == plain
    last = copy.deepcopy(said["intervals"][-1])
    last["sum"] |= {"start": last["sum"]["end"], "end": last["sum"]["end"] + 0.002, "seconds": 0.002, "bytes": 7}
    said["intervals"].append(last)
    joined = read(json.dumps(said)).ways["forward"].intervals
    assert joined[:-1] == plain[:-1] and joined[-1].bytes == plain[-1].bytes + 7


def test_the_other_way_is_told_from_this_one() -> None:
    client, server = read(text("receive.client")), read(text("receive.server"))
    assert set(client.ways) == set(server.ways) == {"backward"}
    assert (client.ways["backward"].sender, server.ways["backward"].sender) == (False, True)
    trip = server.ways["backward"].round_trip
    assert trip is not None and (trip.min_ns, trip.max_ns) == (55_000, 176_000)
    assert client.ways["backward"].round_trip is None


def test_both_ways_at_once_are_two_ways_with_a_sender_each() -> None:
    client, server = read(text("both.client")), read(text("both.server"))
    for way, sender in (("forward", client), ("backward", server)):
        other = server if sender is client else client
        assert sender.ways[way].sender and not other.ways[way].sender
        assert sender.ways[way].bytes == other.ways[way].bytes == 149946368
        assert sender.ways[way].retransmits == 2
        assert sender.ways[way].round_trip is not None and other.ways[way].round_trip is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused.client", "unable to connect to server: Connection refused"),
        ("killed-server.client", "control socket has closed unexpectedly"),
        ("killed-client.server", "the client has unexpectedly closed the connection"),
    ],
)
def test_a_test_that_failed_says_why_and_has_no_way(name: str, words: str) -> None:
    report = read(text(name))
    assert report.error == words
    assert not report.ways


@pytest.mark.parametrize("said", ["", "iperf3: error", "[]", "{}", '{"start": {}}', '{"start": 1}', "[" * 100_000])
def test_what_is_no_report_is_refused(said: str) -> None:
    with pytest.raises(NoReport):
        read(said)


def test_a_report_without_intervals_is_refused() -> None:
    said = json.loads(text("send.client"))
    said["intervals"] = []
    with pytest.raises(NoReport, match="not whole"):
        read(json.dumps(said))


@given(st.integers(0, 5000), st.sampled_from(["send.client", "both.server", "killed-server.client"]))
def test_a_report_that_was_cut_is_refused_and_nothing_else(cut: int, name: str) -> None:
    whole = text(name).rstrip()
    with pytest.raises(NoReport):
        read(whole[: min(cut, len(whole) - 1)])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["start", "end", "intervals", "error"]), _JSON)
def test_any_part_may_be_anything(key: str, value: object) -> None:
    said = json.loads(text("both.client"))
    said[key] = value
    with contextlib.suppress(NoReport):
        read(json.dumps(said))
