"""Jobs of every kind whose I/O is known (``lab/darshan/known_io.c``): each figure against the program."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tonnage.demand.job_use import Bounds, FileSystemUse
from tonnage.demand.profile import profile_of
from tonnage.demand.replay import replay_of
from tonnage.errors import RequestError
from tonnage.importers.darshan_log import read_log
from tonnage.importers.darshan_use import use_of

from .darshan_logs import log, needs_darshan, use

MIB = 1 << 20
pytestmark = needs_darshan


def file_system_of(name: str) -> FileSystemUse:
    (found,) = use(name).file_systems
    return found


def orders_by_file(name: str) -> dict[str, str]:
    """Of the reads of each file, as if the job had read it alone."""
    whole = read_log(log(name).read_bytes())
    found = {}
    for key, path in whole.names.items():
        if path.startswith("/mnt/data/"):
            alone = whole.modules["POSIX"]
            on = alone.ids == key
            one = replace(
                alone, ids=alone.ids[on], ranks=alone.ranks[on],
                counts={name: column[on] for name, column in alone.counts.items()},
                times={name: column[on] for name, column in alone.times.items()},
            )  # fmt: skip
            (only,) = use_of(replace(whole, modules={"POSIX": one})).file_systems
            assert only.reads is not None and only.writes is not None and only.writes.order == "sequential"
            found[path.removeprefix("/mnt/data/")] = only.reads.order
    return found


def test_traced_calls_have_the_order_of_the_program() -> None:
    names = {"backward", "strided", "random", "again"}
    traced = read_log(log("orders-dxt").read_bytes())
    calls = traced.calls
    assert calls is not None
    found = {}
    for key, path in traced.names.items():
        if (name := path.rpartition("/")[2]) in names:
            from tonnage.importers.darshan_trace import order_of

            on = (calls.ids == key) & ~calls.wrote
            columns = (calls.ids, calls.ranks, calls.wrote, calls.offsets, calls.lengths, calls.start_s, calls.end_s)
            found[name] = order_of(type(calls)(*(column[on] for column in columns)))[0]
    assert found == {name: name for name in names}


def test_without_a_trace_the_counters_say_what_they_prove_of_it() -> None:
    assert orders_by_file("orders") == {
        "backward": "backward or again", "again": "backward or again", "strided": "forward", "random": "random",
    }  # fmt: skip


def test_a_backward_reader_is_no_sequential_one_in_its_campaign() -> None:
    for name, order, words in (
        ("shared-dxt", "backward", "towards the files' beginnings: here they are random"),
        ("shared", "backward or again", "or at the same places again: here they are random"),
    ):
        reads = file_system_of(name).reads
        assert reads is not None and reads.order == order
        made = replay_of(use(name), file_system_of(name), target="/x", sweep=False)
        assert 'op = "read"' in made.text and 'access = "random"' in made.text
        assert words in made.text.partition("name =")[0]


def test_a_call_that_took_half_a_second_has_no_peak_in_a_part_of_it() -> None:
    reads = file_system_of("slow-dxt").reads
    assert reads is not None and reads.peak is not None and (reads.bytes, reads.operations) == (65536, 1)
    assert reads.active_s.low == reads.active_s.high == pytest.approx(0.5, abs=0.1)
    assert reads.peak.bytes_per_s == pytest.approx(65536 / reads.active_s.high, rel=0.01)


def test_writes_and_reads_between_each_other_are_one_mix() -> None:
    found = file_system_of("mixed")
    assert found.writes is not None and found.reads is not None
    assert [(one.bytes, one.operations, one.order) for one in (found.writes, found.reads)] == [
        (2 * MIB, 32, "sequential")
    ] * 2
    made = replay_of(use("mixed"), found, target="/x", sweep=False).text
    assert 'op = "mixed"' in made and "read_percent = 50" in made


def test_calls_of_stdio_have_bytes_and_numbers_and_an_order_that_is_not_known() -> None:
    found = file_system_of("stdio")
    for moved in found.transfers:
        assert (moved.bytes, moved.operations, moved.files) == (100_000, 100, 1)
        assert moved.order == "not known" and moved.sequential == Bounds(0.0, 1.0) and not any(moved.bins)
    assert found.metadata.opens == 2
    made = replay_of(use("stdio"), found, target="/x", sweep=False)
    assert "in which order its reads went is not known: here they are sequential" in made.left_out


def test_a_job_without_files_asks_nothing() -> None:
    assert use("nothing").file_systems == ()
    with pytest.raises(RequestError, match="no file was opened"):
        profile_of([use("nothing")])


def test_each_file_counts_on_its_own_mount_point_also_by_a_name_with_dots() -> None:
    here, there = use("mounts").file_systems
    assert (here.mount, there.mount) == ("/", "/mnt/other"), "Darshan does not list the tmpfs at /mnt"
    assert here.writes is not None and there.writes is not None
    assert (here.writes.bytes, there.writes.bytes) == (MIB, 2 * MIB)
    assert (here.metadata.opens, there.metadata.opens) == (1, 1)
    assert [one.mount for one in profile_of([use("mounts")]).places] == ["/mnt/other", "/"]


def test_a_module_of_which_the_trace_cannot_be_true_is_told_once() -> None:
    told = [problem for problem in use("own-dxt-damaged").problems if "DXT_POSIX" in problem]
    assert told == ["module DXT_POSIX does not agree with its check sum; it is left out"]
    assert file_system_of("own-dxt-damaged").writes.heat, "what comes after it is read"
