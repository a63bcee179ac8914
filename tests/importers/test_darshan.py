"""Darshan's logs against the programs that they are of, whose calls are known (``lab/darshan/known_io.c``)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tonnage.analysis import analyse
from tonnage.cli import main
from tonnage.demand.job_use import Bounds, FileSystemUse, SizeCount, Transfers
from tonnage.importers.darshan import read
from tonnage.importers.darshan_log import UnreadableLog, _counters, read_log
from tonnage.importers.darshan_trace import most_at_once, total_s, union
from tonnage.importers.darshan_use import use_of
from tonnage.importers.file_kinds import kinds_of
from tonnage.records import Run

from .darshan_logs import log, needs_darshan, use
from .import_command import codes, summary, take

MIB = 1 << 20
pytestmark = needs_darshan


def file_system_of(name: str) -> FileSystemUse:
    (found,) = use(name).file_systems
    return found


def both(name: str) -> tuple[Transfers, Transfers]:
    found = file_system_of(name)
    assert found.writes is not None and found.reads is not None
    return found.writes, found.reads


def test_files_of_their_own_have_the_calls_and_sizes_of_the_program() -> None:
    writes, reads = both("own")
    assert (writes.bytes, writes.operations) == (10 * MIB, 4 + 8 + 12 + 16)
    assert writes.common == (SizeCount(256 << 10, 40, files=4),)
    assert (reads.bytes, reads.operations) == (10 * MIB, 160 + 4), "each file is read to its end, which moves nothing"
    assert reads.common == (SizeCount(64 << 10, 160, files=4),)
    assert writes.bins[4] == 40 and sum(writes.bins) == 40
    assert reads.bins[3] == 160 and reads.bins[0] == 4


def test_each_rank_has_its_own_share_and_the_largest_is_the_imbalance() -> None:
    writes, _ = both("own")
    assert [(one.rank, one.bytes) for one in writes.each] == [(rank, (rank + 1) * MIB) for rank in range(4)]
    assert writes.imbalance == pytest.approx(4 / 2.5)
    assert writes.ranks == Bounds(4, 4)


def test_as_many_ranks_moved_bytes_as_did_so_at_once() -> None:
    """Of a record of all ranks together, without a heat map."""
    (found,) = use_of(replace(read_log(log("shared").read_bytes()), heat=())).file_systems
    assert found.writes is not None and found.writes.ranks.high == 4
    assert found.writes.ranks.low >= found.writes.at_once.low > 1


def test_names_and_files_are_counted() -> None:
    found = file_system_of("own")
    assert (found.metadata.opens, found.metadata.syncs) == (8, 4)
    assert (found.files, found.shared, found.only_read, found.only_written) == (4, 0, 0, 0)
    assert file_system_of("shared").shared == 1


def test_sequential_calls_are_those_after_the_first_of_a_file() -> None:
    writes, reads = both("own")
    assert writes.sequential == writes.consecutive == Bounds(36 / 40, 1.0)
    _, backwards = both("shared")
    assert backwards.consecutive == Bounds(0.0, pytest.approx(4 / 128)), "a shared file has a first call of each rank"
    assert backwards.order == "backward or again" and reads.order == "sequential"
    assert reads.sequential.low == pytest.approx(160 / 164)


def test_ranks_in_turn_are_one_at_once_and_ranks_together_are_bounded() -> None:
    turns = file_system_of("turns").writes
    assert turns is not None
    assert turns.at_once == Bounds(1, 1)
    assert turns.counted_by == "time stamps"
    assert turns.bursts == 4, "a rank each half second"
    writes, reads = both("shared")
    assert 1 <= writes.at_once.low <= writes.at_once.high == 4, "one record is of all ranks together"
    assert 1 <= reads.at_once.low <= reads.at_once.high == 4


def test_traced_calls_say_how_many_were_in_progress() -> None:
    writes, reads = both("shared-dxt")
    assert reads.counted_by == "DXT"
    assert reads.at_once.is_exact and reads.active_s.is_exact and reads.mean_at_once.is_exact
    assert 1 <= reads.at_once.low <= 4 and reads.ranks == writes.ranks == Bounds(4, 4)
    assert writes.common == (SizeCount(MIB, 32, files=1),) and reads.common == (SizeCount(4096, 128, files=1),)


def test_syncs_are_in_no_trace_so_that_writes_with_them_are_only_bounded() -> None:
    """The time of an fsync counts as time inside writes, and neither its start nor its end is in a log."""
    for name in ("own", "own-dxt", "shared", "shared-dxt"):
        (found,), job = use(name).file_systems, use(name)
        writes, _ = both(name)
        assert found.metadata.syncs == 4 and writes.counted_by == "time stamps"
        assert writes.active_s.high >= writes.busy_s / writes.at_once.high - 1e-9
        assert writes.active_s.high <= job.lasted_s + 1e-3
        assert writes.at_once.high == 4 or name == "own", "all of them may have synced at once"


def test_bounds_from_time_stamps_hold_what_the_traced_calls_of_the_same_log_say() -> None:
    """The same log, with its trace and as if it had none."""
    for name in ("own-dxt", "shared-dxt"):
        whole = read_log(log(name).read_bytes())
        (traced,), (stamped,) = use_of(whole).file_systems, use_of(replace(whole, calls=None)).file_systems
        known, bounded = traced.reads, stamped.reads
        assert known is not None and bounded is not None
        assert known.counted_by == "DXT" and bounded.counted_by == "time stamps"
        for figure in ("at_once", "active_s", "mean_at_once", "rate_bytes_per_s"):
            exact, found = getattr(known, figure), getattr(bounded, figure)
            # The counters round to microseconds what the trace does not.
            assert found.low * 0.99 <= exact.low <= found.high * 1.01, (name, figure)
        most, narrow = traced.writes, stamped.writes
        assert most is not None and narrow is not None
        assert narrow.at_once.low <= most.at_once.low <= most.at_once.high <= narrow.at_once.high


def test_pauses_between_bursts_are_seen_where_there_is_a_heat_map() -> None:
    writes = file_system_of("bursts").writes
    assert writes is not None and writes.bursts == 3
    assert sum(one.bytes for one in writes.heat) == 24 * MIB + 20 * 512 + 100 * 1000
    assert writes.bytes == 24 * MIB + 20 * 512 + 100 * 1000
    assert writes.operations == 24 + 20 + 100 and sum(writes.bins) == 44, "stdio's calls have no sizes"
    assert writes.common == (SizeCount(MIB, 24, files=1), SizeCount(512, 20, files=20))
    assert writes.active_s.high > 0.8 and writes.busy_s < writes.active_s.high
    assert file_system_of("bursts").files == 22


def test_a_partial_module_is_told_and_what_it_has_is_kept() -> None:
    used = use("bursts-partial")
    assert any("module POSIX is partial" in problem for problem in used.problems)
    (found,) = used.file_systems
    assert found.files == 6, "five of POSIX and one of stdio"


def test_a_trace_that_is_damaged_is_left_out_and_the_counters_stay() -> None:
    used = use("own-dxt-damaged")
    assert used.problems == ("module DXT_POSIX does not agree with its check sum; it is left out",)
    writes, reads = both("own-dxt-damaged")
    assert writes.counted_by == reads.counted_by == "time stamps"
    assert (writes.bytes, reads.bytes) == (10 * MIB, 10 * MIB)


@pytest.mark.parametrize("kept", [0, 400, 1500, 2000, 2300])
def test_a_log_that_is_cut_off_is_one_line_or_keeps_what_it_has(kept: int) -> None:
    found = read(log("own").read_bytes()[:kept], "cut.darshan")
    assert found.problems
    assert all("\n" not in problem for problem in found.problems)
    for phase in found.phases:
        assert phase.bytes <= 10 * MIB and phase.elapsed_ns > 0


def test_a_log_with_other_bytes_anywhere_never_ends_the_import() -> None:
    whole = log("shared").read_bytes()
    for at in range(400, len(whole), len(whole) // 3):
        found = read(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :], "odd.darshan")
        assert found.phases or found.problems


def test_what_is_no_log_and_what_is_older_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLog, match="no log of Darshan 3"):
        read_log(b"hello")
    with pytest.raises(UnreadableLog, match="logs of Darshan 2 are compressed"):
        read_log(b"\x1f\x8b" + bytes(200))
    text = tmp_path / "x.darshan"
    text.write_text("hello")
    assert main(["import", "darshan", str(text), "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


def test_without_pydarshan_the_reader_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A child whose search path has a package of that name that cannot be imported."""
    (tmp_path / "darshan").mkdir()
    (tmp_path / "darshan" / "__init__.py").write_text("raise ImportError('No module named darshan')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(part for part in sys.path if part)}")
    with pytest.raises(UnreadableLog, match=r"tonnage\[darshan\]"):
        read_log(log("own").read_bytes())


def test_the_kind_is_told_by_the_mark_of_the_header() -> None:
    assert kinds_of(log("own").read_bytes(), "anything") == ("darshan",)


def test_an_import_has_trials_of_writes_reads_and_names_with_what_counters_prove(tmp_path: Path) -> None:
    run = take("darshan", tmp_path / "run", log("own"))
    trials = {line["phase"]: line for line in run.trials()}
    assert set(trials) == {"write", "read", "metadata"}
    write = trials["write"]
    assert (write["bytes"], write["operations"], write["setting"]["tasks"]) == (10 * MIB, 40, 4)
    facts = write["facts"]
    assert (facts["size_100k_1m"], facts["ranks_low"], facts["ranks_high"], facts["traced"]) == (40, 4, 4, 0)
    assert facts["at_once_low"] >= 1 and facts["at_once_high"] <= 4
    assert facts["imbalance_thousandths"] == 1600
    assert (facts["sequential_millionths_low"], facts["sequential_millionths_high"]) == (900_000, 1_000_000)
    assert trials["metadata"]["operations"] == 8 and trials["metadata"]["facts"]["syncs"] == 4
    assert [task["bytes"] for task in run.tasks() if task["phase"] == "write"] == [MIB, 2 * MIB, 3 * MIB, 4 * MIB]
    assert "counted-calls" in codes(run)
    assert not codes(run) & {"straggler-task", "warm-up", "stall", "no-plateau"}
    assert not summary(run)["load_lines"], "an application is no sweep over tasks"
    assert main(["verify", str(run.path)]) == 0


def test_a_program_that_mostly_waits_for_names_is_told_so(tmp_path: Path) -> None:
    run = take("darshan", tmp_path / "run", log("own"))
    assert "name-calls" not in codes(run), "a fifth of the time inside calls"
    trials = run.path / "trials.jsonl"
    metadata, *_ = (line["facts"] for line in run.trials() if line["phase"] == "metadata")

    def told(busy_ns: int) -> str:
        before = f'"busy_ns":{metadata["busy_ns"]},"files"'
        text = trials.read_text().replace(" ", "")
        assert text.count(before) == 1
        trials.write_text(text.replace(before, f'"busy_ns":{busy_ns},"files"'))
        metadata["busy_ns"] = busy_ns
        return "".join(one.evidence for one in analyse(Run.open(run.path)).findings if one.code == "name-calls")

    assert "of the time inside calls, 2.50 ms for each of 8 opens and stats; 4 processes lasted" in told(20_000_000)
    assert told(200_000_000).endswith("ms, which is less: threads waited side by side, or the log's times are wrong")


def test_logs_of_two_runs_are_repetitions(tmp_path: Path) -> None:
    run = take("darshan", tmp_path / "run", log("shared"), log("shared-dxt"))
    assert [line["repetition"] for line in run.trials() if line["phase"] == "write"] == [0, 1]


def test_a_partial_log_is_imported_and_the_run_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = take("darshan", tmp_path / "run", log("bursts-partial"))
    assert "damaged-file" in codes(run)
    assert "module POSIX is partial" in capfd.readouterr().err


def test_intervals_that_only_touch_are_not_at_once() -> None:
    starts, ends = np.array([0.0, 1.0, 2.0, 2.5]), np.array([1.0, 2.0, 3.0, 2.75])
    assert most_at_once(starts, ends) == 2
    assert most_at_once(starts[:2], ends[:2]) == 1
    assert total_s(*union(starts, ends)) == 3.0
    assert total_s(*union(np.array([5.0, 0.0]), np.array([6.0, 1.0]))) == 2.0


def test_the_series_of_an_import_begins_with_its_phase_and_has_all_its_bytes(tmp_path: Path) -> None:
    run = take("darshan", tmp_path / "run", log("bursts"))
    (write,) = [line for line in run.trials() if line["phase"] == "write"]
    series = run.series(write["record"])
    assert series is not None and sum(series["bytes"]) == write["bytes"]
    assert min(series["start_ns"]) == 0 and all(
        begin < end for begin, end in zip(series["start_ns"], series["end_ns"], strict=True)
    )


def test_the_report_has_the_application_with_its_calls_on_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = take("darshan", tmp_path / "run", log("shared"))
    said = " ".join(capsys.readouterr().out.split())
    assert "Calls on /" in said and "Calls on names on /" in said and "1 – 4" in said
    assert main(["report", str(run.path)]) == 0
    page = (run.path / "report.html").read_text()
    assert "The application" in page and "Sizes of calls on /" in page


def test_a_variance_of_any_size_is_no_damage() -> None:
    """Of bytes it is of their squares: a record of ranks that moved unequal gigabytes has one above any time."""
    head = {"counters": ["POSIX_READS"], "times": ["POSIX_F_READ_TIME", "POSIX_F_VARIANCE_RANK_BYTES"]}
    ids, ranks, counts = np.array([7], np.uint64), np.array([-1]), np.array([[3]])
    kept, wild = _counters("POSIX", head, [ids, ranks, counts, np.array([[1.0, 1e20]])])
    assert wild == 0 and kept.counts["READS"].tolist() == [3]
    kept, wild = _counters("POSIX", head, [ids, ranks, counts, np.array([[1e20, 0.0]])])
    assert wild == 1 and not len(kept.ids)
