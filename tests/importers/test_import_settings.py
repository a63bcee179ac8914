"""``tonnage import``: trials are repetitions of each other where all that they were asked for is the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.records import Run

from .import_command import RECORDED, codes, summary, take

IOR, FIO = RECORDED / "ior", RECORDED / "fio"


def points(run: Run, op: str) -> list[tuple[str, int]]:
    """Group and repetitions of each."""
    return sorted((point["group"], point["repetitions"]) for point in summary(run)["points"] if point["op"] == op)


def edited(path: Path, original: Path, *changes: tuple[str, str]) -> Path:
    """A copy with other words, each of which stood in the original."""
    text = original.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("names", "factor"),
    [
        (("4.1-mpiio.txt", "4.1-coll.txt"), "collective"),
        (("4.1-coll.txt", "4.1-hints.txt"), "hint_cb_buffer_size"),
        (("4.1-plain.txt", "4.1-Y.txt"), "sync"),
        (("4.1-plain.txt", "4.1-Y-json.txt"), "sync"),
    ],
)
def test_ior_with_an_option_is_another_trial_than_without_it(
    names: tuple[str, str], factor: str, tmp_path: Path
) -> None:
    run = take("ior", tmp_path / "run", *(IOR / name for name in names))
    (one, of_one), (other, of_other) = points(run, "write")
    assert (of_one, of_other) == (1, 1)
    assert one.startswith(f"{factor} ") and other.startswith(f"{factor} ")


@pytest.mark.parametrize(
    ("change", "factor"),
    [
        ((" -e -o", " -e -O checkpoint=1 -o"), "checkpoint"),
        ((" -F -w", " -F -a=POSIX -D 30 -w"), "deadlineForStonewalling"),
        ((" -F -w", " -Fgw"), "intraTestBarriers"),
        ((" -e -o", " -e --posix.lustre.stripecount=4 -o"), "posix.lustre.stripecount"),
        (("Machine             : Linux vm", "Machine             : Linux big"), "host"),
        (("xfersize            :", "stripe count        : 4\nxfersize            :"), "stripe_count"),
        ((" -e -o", " -e -z -z -o"), "randomOffset"),
    ],
)
def test_whatever_ior_states_as_an_option_keeps_trials_apart(
    change: tuple[str, str], factor: str, tmp_path: Path
) -> None:
    other = edited(tmp_path / "other.txt", IOR / "4.1-plain.txt", change)
    run = take("ior", tmp_path / "run", IOR / "4.1-plain.txt", other)
    assert [(group.split()[0], count) for group, count in points(run, "write")] == [(factor, 1)] * 2


@pytest.mark.parametrize(
    ("option", "is_another"),
    [("-c", True), ("-o", True), ("-j 4", True), ("-w", False), ("-n4k", False), ("-R", False)],
)
def test_whatever_iozone_states_as_an_option_keeps_trials_apart(option: str, is_another: bool, tmp_path: Path) -> None:
    original = RECORDED / "iozone/3.489-gap.txt"
    other = edited(tmp_path / "other.txt", original, ("used: iozone ", f"used: iozone {option} "))
    run = take("iozone", tmp_path / "run", original, other)
    assert {point["repetitions"] for point in summary(run)["points"]} == ({1} if is_another else {2})


def test_how_much_ior_prints_makes_no_other_trial(tmp_path: Path) -> None:
    """Three iterations without ``-v``, two with it, which stands among the options that IOR prints."""
    run = take("ior", tmp_path / "run", IOR / "4.1-quiet.txt", IOR / "4.1-verbose.txt")
    assert (points(run, "write"), points(run, "read")) == ([("", 5)], [("", 5)])


@pytest.mark.parametrize(
    "change", [(" -e -o", " -e -k -v -A 7 -G 99 -O summaryFile=/x -o"), (" -F -w -r -e", " -werF")]
)
def test_what_ior_prints_or_keeps_makes_no_other_trial(change: tuple[str, str], tmp_path: Path) -> None:
    other = edited(tmp_path / "other.txt", IOR / "4.1-plain.txt", change)
    run = take("ior", tmp_path / "run", IOR / "4.1-plain.txt", other)
    assert (points(run, "write"), points(run, "read")) == ([("", 2)], [("", 2)])


def test_tests_of_two_scripts_are_kept_apart_and_the_finding_says_so(tmp_path: Path) -> None:
    one = IOR / "script.txt"
    assert "kept-apart" not in codes(take("ior", tmp_path / "one", one))
    other = edited(tmp_path / "other.txt", one, ("0.002622", "0.002623"))
    run = take("ior", tmp_path / "run", one, other)
    assert "kept-apart" in codes(run)
    assert {count for _, count in points(run, "write")} == {1}
    assert {point["group"].partition(" ")[0] for point in summary(run)["points"]} == {"apart"}


def test_wrong_data_that_ior_warned_of_makes_its_trial_a_failed_one(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "err-corrupt-multirep.txt")
    assert [(line["status"], line["reason"]) for line in run.trials()] == [
        ("failed", "IOR said: Incorrect data on read (1 errors found)")
    ] * 2
    assert "trial-failed" in codes(run)
    written = "WARNING: Incorrect data on write (3 errors found).\n"
    row = next(line for line in (IOR / "4.1-plain.txt").read_text().splitlines(keepends=True) if line[:6] == "write ")
    other = edited(tmp_path / "other.txt", IOR / "4.1-plain.txt", (row, row + written))
    checked = take("ior", tmp_path / "checked", other).trials()
    assert [(line["phase"], line["status"]) for line in checked] == [("write", "failed"), ("read", "ok")]


def test_an_fsync_that_a_backend_has_not_is_no_durability(tmp_path: Path) -> None:
    said = "WARNING: fsync() not supported in selected backend. Using value of 0.\n"
    other = edited(tmp_path / "other.txt", IOR / "4.1-plain.txt", ("Results: \n", f"{said}Results: \n"))
    assert take("ior", tmp_path / "run", other).trials()[0]["durability"] == "none"
    assert take("ior", tmp_path / "plain", IOR / "4.1-plain.txt").trials()[0]["durability"] == "fsync"
    assert take("ior", tmp_path / "each", IOR / "4.1-Y.txt").trials()[0]["durability"] == "fsync-each"


def test_ior_inside_of_another_program_ends_with_its_last_row(tmp_path: Path) -> None:
    text = (IOR / "4.1-plain.txt").read_text()
    path = tmp_path / "ior-easy.txt"
    path.write_text(text[: text.index("\nSummary of all tests")])
    run = take("ior", tmp_path / "run", path)
    assert run.manifest["state"] == "complete" and "damaged-file" not in codes(run)
    # Without one of its rows it is damaged.
    path.write_text(text[: text.index("\nread ") + 1])
    assert "damaged-file" in codes(take("ior", tmp_path / "cut", path))


@pytest.mark.parametrize("time", ["-0.005962", "0.000000"])
def test_a_time_of_nothing_beside_a_rate_is_told_and_is_no_trial(
    time: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = edited(tmp_path / "other.txt", IOR / "4.1-plain.txt", ("0.005962", time))
    run = take("ior", tmp_path / "run", other)
    assert [line["phase"] for line in run.trials()] == ["read"]
    assert f"this result has a rate of 670.93 MiB/s beside a time of {time} s; left out" in capsys.readouterr().err
    assert "damaged-file" in codes(run)


def test_benches_of_rados_that_ran_unequally_long_are_no_repetitions(tmp_path: Path) -> None:
    original = RECORDED / "rados/16.2.txt"
    write = tmp_path / "write.txt"
    write.write_text(original.read_text()[: original.read_text().index("hints = 1", 9)])
    longer = edited(tmp_path / "longer.txt", write, ("for up to 3 seconds", "for up to 60 seconds"))
    again = edited(tmp_path / "again.txt", write, ("3.0342", "3.0343"))
    run = take("rados", tmp_path / "run", write, longer, again)
    assert points(run, "write") == [("seconds 3", 2), ("seconds 60", 1)]
    assert "kept-apart" not in codes(run)


def test_reads_of_rados_are_kept_apart_because_they_do_not_say_what_they_are(tmp_path: Path) -> None:
    one = RECORDED / "rados/write-seq.txt"
    other = edited(tmp_path / "other.txt", one, ("3.5181", "3.5182"))
    run = take("rados", tmp_path / "run", one, other)
    assert "kept-apart" in codes(run)
    assert [count for _, count in points(run, "read")] == [1, 1]
    assert [count for _, count in points(run, "write")] == [2]


@pytest.mark.parametrize(
    ("names", "op", "factor"),
    [
        (("3.33-plain.json", "3.33-end.json"), "write", "end_fsync"),
        (("3.33-rr.json", "3.33-zipf.json"), "read", "random_distribution"),
    ],
)
def test_fio_with_an_option_is_another_trial_than_without_it(
    names: tuple[str, str], op: str, factor: str, tmp_path: Path
) -> None:
    run = take("fio", tmp_path / "run", *(FIO / name for name in names))
    assert [(group.split()[0], count) for group, count in points(run, op)] == [(factor, 1)] * 2


@pytest.mark.parametrize("option", ["fsync", "rate_iops", "thinktime", "sync", "some_new_option"])
def test_whatever_fio_states_as_an_option_keeps_trials_apart(option: str, tmp_path: Path) -> None:
    plain = FIO / "3.33-plain.json"
    other = edited(tmp_path / "other.json", plain, ('"rw" : "write"', f'"rw" : "write", "{option}" : "16"'))
    run = take("fio", tmp_path / "run", plain, other)
    factor = {"sync": "open_sync"}.get(option, option)
    assert [(factor in group, count) for group, count in points(run, "write")] == [(True, 1)] * 2


def test_equal_jobs_that_ran_at_once_are_tasks_of_one_trial_and_those_in_turn_are_repetitions(tmp_path: Path) -> None:
    once = take("fio", tmp_path / "once", FIO / "3.33-ab.json")
    assert [(line["setting"]["tasks"], line["bytes"]) for line in once.trials()] == [(2, 2 * 2**20)]
    turn = take("fio", tmp_path / "turn", FIO / "3.33-a-then-b.json")
    assert [(line["setting"]["tasks"], line["repetition"]) for line in turn.trials()] == [(1, 0), (1, 1)]


def test_unequal_jobs_that_ran_at_once_say_what_was_beside_them(tmp_path: Path) -> None:
    path = edited(tmp_path / "both.json", FIO / "3.33-ab.json", ('"name" : "b"', '"name" : "b", "thinktime" : "500"'))
    run = take("fio", tmp_path / "run", path, FIO / "3.33-plain.json")
    assert {line["setting"]["tasks"] for line in run.trials()} == {1}
    assert [count for _, count in points(run, "write")] == [1, 1, 1]
    besides = [line["setting"]["beside"] for line in run.trials()]
    assert besides[0].startswith("b bs=64k") and besides[1].startswith("a bs=64k") and besides[2] is None
    assert "side-by-side" in codes(run)


def test_what_fio_did_to_make_writes_durable_is_what_it_was_asked_to(tmp_path: Path) -> None:
    plain = FIO / "3.33-plain.json"
    for number, (option, durability) in enumerate(
        {"fsync_on_close": "fsync", "fdatasync": "fsync-each", "fsync": "fsync-each", "bssplit": "none"}.items()
    ):
        other = edited(tmp_path / f"{number}.json", plain, ('"rw" : "write"', f'"rw" : "write", "{option}" : "1"'))
        assert take("fio", tmp_path / option, other).trials()[0]["durability"] == durability


def test_bytes_of_fio_beside_no_time_are_told_and_are_no_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FIO / "3.33-plain.json").read_text()
    line = next(line for line in text.splitlines() if '"runtime"' in line and not line.endswith(": 0,"))
    path = edited(tmp_path / "none.json", FIO / "3.33-plain.json", (line, line.partition(":")[0] + ": 0,"))
    run = take("fio", tmp_path / "run", FIO / "3.33-rr.json", path)
    assert [line["phase"] for line in run.trials()] == ["read"]
    assert "write of job a states bytes beside a time of 0 ms; left out" in capsys.readouterr().err


def test_compare_names_options_that_differ_and_has_no_verdict_of_one_repetition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(take("ior", tmp_path / name, IOR / f"4.1-{name}.txt").path) for name in ("mpiio", "coll")]
    capsys.readouterr()
    assert main(["compare", *runs, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert {cell["verdict"] for cell in found["cells"]} == {"too few to tell"}
    assert ("workload.collective", None, 1) in [(one["key"], one["base"], one["other"]) for one in found["differences"]]


def test_a_history_keeps_runs_with_an_option_apart_from_those_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(take("ior", tmp_path / name, IOR / f"4.1-{name}.txt").path) for name in ("mpiio", "coll", "hints")]
    capsys.readouterr()
    assert main(["history", *runs, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["history"]["series"]
    assert len([row for row in rows if row["op"] == "write"]) == 3


@pytest.mark.parametrize(("change", "factor"), [('"-w" "--limitwrite" "9m"', "options"), ('"-w" "--nolive"', None)])
def test_whatever_elbencho_states_as_an_option_keeps_trials_apart(
    change: str, factor: str | None, tmp_path: Path
) -> None:
    original = RECORDED / "elbencho/elbencho.csv"
    other = edited(tmp_path / "other.csv", original, ('"-w"', change))
    run = take("elbencho", tmp_path / "run", original, other)
    expected = [(factor, 1)] * 2 if factor else [("", 2)]
    assert [(group.partition(" ")[0], count) for group, count in points(run, "write")] == expected


def test_no_curve_goes_through_trials_of_unequal_options(tmp_path: Path) -> None:
    """Two tasks without collective transfers and four with them; and four without, of smaller blocks each."""
    more = (
        ("tasks               : 2", "tasks               : 4"),
        ("clients per node    : 2", "clients per node    : 4"),
    )
    unlike = edited(tmp_path / "unlike.txt", IOR / "4.1-coll.txt", *more)
    run = take("ior", tmp_path / "unlike", IOR / "4.1-mpiio.txt", unlike)
    assert [group for group, _ in points(run, "write")] == ["collective 1", "collective –"]
    smaller = ("blocksize           : 1 MiB", "blocksize           : 524288 bytes")
    alike = edited(
        tmp_path / "alike.txt", IOR / "4.1-mpiio.txt", *more, smaller, ("  1024.00    64.00", "  512.00     64.00")
    )
    run = take("ior", tmp_path / "alike", IOR / "4.1-mpiio.txt", alike)
    assert [group for group, _ in points(run, "write")] == ["", ""]
