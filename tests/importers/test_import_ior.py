"""``tonnage import ior``: recorded outputs of 4.1, and one in the form of 3.0.1."""

from __future__ import annotations

import gzip
import hashlib
import itertools
from pathlib import Path

import pytest
from tonnage.analysis import analyse
from tonnage.cli import main
from tonnage.report import phrases

from .import_command import RECORDED, codes, lines, rates, summary, take

IOR = RECORDED / "ior"
MIB = 2**20


def test_repetitions_of_the_text_become_trials_with_an_interval(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "ext4-fpp-wr-3reps.txt")
    stated = [1790.29, 1941.04, 1969.99]
    assert rates(run, "write") == pytest.approx([rate * MIB for rate in stated], rel=1e-5)
    write = next(point for point in summary(run)["points"] if point["op"] == "write")
    assert (write["tasks"], write["transfer_size"], write["repetitions"]) == (2, MIB, 3)
    assert write["low"] < write["median"] < write["high"]
    assert write["median"] == pytest.approx(1941.04 * MIB, rel=1e-5)
    assert {line["bytes"] for line in run.trials()} == {128 * MIB}
    assert {line["operations"] for line in run.trials()} == {128}


def test_what_the_text_does_not_say_is_unknown(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "ext4-fpp-wr-3reps.txt")
    write = run.trials()[0]
    assert (write["latency"], write["started"], write["cpu_user_ns"], write["last_start_ns"]) == (None,) * 4
    assert (write["durability"], write["direct"], write["setting"]["layout"]) == ("fsync", False, "file-per-task")
    read = run.trials()[1]
    assert (read["cache"]["state"], read["cache"]["device_bytes"]) == ("unknown", None)
    assert (run.manifest["seed"], run.manifest["cost"], run.manifest["load_before"]) == (None,) * 3


def test_the_original_is_kept_with_its_digest_and_the_line_of_each_trial(tmp_path: Path) -> None:
    original = IOR / "ext4-fpp-wr-3reps.txt"
    run = take("ior", tmp_path / "run", original)
    (told,) = run.manifest["imported"]["files"]
    assert (run.path / "originals" / told["kept"]).read_bytes() == original.read_bytes()
    assert told["sha256"] == hashlib.sha256(original.read_bytes()).hexdigest()
    for line in run.trials():
        assert lines(original)[line["origin"]["line"] - 1].startswith(line["phase"])


FORMS = (
    "ext4-csv.txt", "ext4-json.txt", "3.0.1.txt", "script.txt", "ext4-stonewall.txt", "2.10.3-fpp.txt",
    "2.10.3-stonewall.txt", "3.0.1-fpp.txt", "3.0.1-stonewall.txt", "3.2.1-json.txt", "3.3.0-json.txt",
    "3.3.0-stonewall.txt", "4.1-stonewall-json.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read_and_verified(name: str, tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / name)
    assert main(["verify", str(run.path)]) == 0
    assert not codes(run) & {"unit-mismatch", "damaged-file", "bytes-estimated"}


def test_a_stonewalled_json_moved_what_ior_warned_of_or_what_its_rate_says(tmp_path: Path) -> None:
    """Each task was asked for 1 GiB, and stopped after a second."""
    warned = take("ior", tmp_path / "warned", IOR / "4.1-stonewall-json.txt")
    assert [line["bytes"] for line in warned.trials()] == [1070530560]
    assert rates(warned, "write") == pytest.approx([1014.7022 * MIB], rel=1e-6)
    # A file of its own (summaryFile) has no warnings.
    run = take("ior", tmp_path / "alone", IOR / "4.1-stonewall.json")
    assert rates(run, "write") == pytest.approx([1714.9493 * MIB, 1945.6197 * MIB], rel=1e-6)
    assert "bytes-estimated" in codes(run)


def test_a_stonewalled_text_without_its_warnings_keeps_the_stated_rate(tmp_path: Path) -> None:
    path = tmp_path / "filtered.txt"
    path.write_text("".join(line for line in lines(IOR / "ext4-stonewall.txt") if not line.startswith("WARNING")))
    run, whole = take("ior", tmp_path / "run", path), take("ior", tmp_path / "whole", IOR / "ext4-stonewall.txt")
    assert rates(run, "write") == pytest.approx(rates(whole, "write"), rel=1e-4)
    assert "bytes-estimated" in codes(run) and "unit-mismatch" not in codes(run)


def test_json_and_csv_give_the_rates_they_state(tmp_path: Path) -> None:
    from_json = take("ior", tmp_path / "json", IOR / "ext4-json.txt")
    assert rates(from_json, "write") == pytest.approx([1753.9814 * MIB, 1855.8226 * MIB], rel=1e-7)
    whole = lines(IOR / "ext4-json.txt")
    assert all(
        line["origin"]["said"]["text"].split()[0] in whole[line["origin"]["line"] - 1] for line in from_json.trials()
    )
    from_csv = take("ior", tmp_path / "csv", IOR / "ext4-csv.txt")
    assert rates(from_csv, "read") == pytest.approx([17093.9890 * MIB, 16532.8400 * MIB], rel=1e-7)
    assert {line["bytes"] for line in from_csv.trials()} == {128 * MIB}


def test_version_3_counts_all_segments_and_keeps_no_removal(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "3.0.1.txt")
    assert [line["phase"] for line in run.trials()] == ["write", "read", "write", "read"]
    assert {line["bytes"] for line in run.trials()} == {64 * 2**30}
    assert run.trials()[0]["setting"]["tasks_per_node"] == 16
    assert run.manifest["imported"]["tools"][0]["version"] == "3.0.1"


def test_a_stonewalled_write_counts_what_was_really_moved(tmp_path: Path) -> None:
    (line,) = take("ior", tmp_path / "run", IOR / "ext4-stonewall.txt").trials()
    assert line["bytes"] == 824180736
    assert line["bandwidth_bytes_per_s"] == pytest.approx(575.27 * MIB, rel=1e-5)


def test_a_rate_in_the_wrong_unit_is_named_and_not_taken(tmp_path: Path) -> None:
    text = (IOR / "3.0.1.txt").read_text()
    path = tmp_path / "ior.txt"
    decimal = text.replace("write     2184.53 ", "write     2290.65 ").replace("write     2048.00", "write     2147.48")
    path.write_text(decimal)
    run = take("ior", tmp_path / "run", path)
    (found,) = [one for one in summary(run)["findings"] if one["code"] == "unit-mismatch"]
    assert "an MB and an MiB is 1.048576" in found["evidence"]
    assert "line 22" in found["evidence"]
    assert rates(run, "write") == pytest.approx([64 * 2**30 / 30.0, 64 * 2**30 / 32.0], rel=1e-3)


def test_a_file_cut_in_a_row_keeps_the_rows_before_it_and_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = lines(IOR / "ext4-fpp-wr-3reps.txt")
    path = tmp_path / "cut.txt"
    path.write_text("".join(whole[:39]) + whole[39][:40])
    run = take("ior", tmp_path / "run", path)
    assert len(run.trials()) == 3
    assert f"{path}, line 40: this result is cut off; left out" in capsys.readouterr().err
    assert run.manifest["state"] == "incomplete"
    told = str(phrases.state(analyse(run)))
    assert "imported files are missing or cannot be read" in told and "interrupted" not in told
    assert "damaged-file" in codes(run)


def test_a_summary_of_more_than_three_is_no_trial_and_of_three_it_gives_all_of_them(tmp_path: Path) -> None:
    whole = lines(IOR / "ext4-fpp-wr-3reps.txt")
    without_rows = [line for line in whole if not line.startswith(("write  ", "read  ")) or "POSIX" in line]
    path = tmp_path / "summary.txt"
    path.write_text("".join(without_rows))
    run = take("ior", tmp_path / "run", path)
    assert sorted(rates(run, "write")) == pytest.approx([1790.29 * MIB, 1941.04 * MIB, 1969.99 * MIB], rel=1e-4)
    assert "from-summary" in codes(run)
    path.write_text("".join(without_rows).replace("     2   2    3   1 ", "     2   2    5   1 "))
    assert main(["import", "ior", str(path), "--out", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


def test_equal_trials_of_two_files_are_repetitions(tmp_path: Path) -> None:
    one, other = IOR / "ext4-fpp-wr-3reps.txt", tmp_path / "other.txt"
    other.write_text(one.read_text().replace("1790.29", "1790.31"))
    run = take("ior", tmp_path / "run", one, other)
    assert [line["repetition"] for line in run.trials() if line["phase"] == "read"] == list(range(6))


def test_the_same_file_twice_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, copy = IOR / "ext4-fpp-wr-3reps.txt", tmp_path / "copy.txt"
    copy.write_bytes(one.read_bytes())
    packed, of_windows = tmp_path / "packed.txt.gz", tmp_path / "windows.txt"
    packed.write_bytes(gzip.compress(one.read_bytes()))
    of_windows.write_text(one.read_text(), encoding="utf-16", newline="\r\n")
    run = take("ior", tmp_path / "run", one, copy, one, packed, of_windows)
    assert [line["repetition"] for line in run.trials() if line["phase"] == "read"] == [0, 1, 2]
    assert [told["name"] for told in run.manifest["imported"]["files"]] == [str(one)]
    assert f"{copy} has the same as {one}, and counts once" in capsys.readouterr().err
    assert run.manifest["state"] == "complete"


def test_an_error_of_a_rank_among_the_options_is_told_and_is_no_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = lines(IOR / "4.1-plain.txt")
    at = whole.index("Options: \n") + 3
    error = 'ERROR: open64("/scratch/f.00000001", 0) failed: No such file or directory, (aiori-POSIX.c:690)\n'
    path = tmp_path / "failed.txt"
    path.write_text("".join([*whole[:at], error, *whole[at:]]))
    run = take("ior", tmp_path / "run", path)
    plain = take("ior", tmp_path / "plain", IOR / "4.1-plain.txt")
    assert [line["setting"] for line in run.trials()] == [line["setting"] for line in plain.trials()]
    assert f"line {at + 1}: IOR ended a test with an error: ERROR: open64(" in capsys.readouterr().err


@pytest.mark.parametrize("turns", ["rows of the first one stand in the second", "line by line"])
def test_outputs_written_into_each_other_are_refused(
    turns: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As two runs of one job do that append to one file."""
    one, other = lines(IOR / "ext4-fpp-wr-3reps.txt"), lines(IOR / "4.1-plain.txt")
    (first, one_rows), (second, other_rows) = (
        (each[:at], each[at:]) for each in (one, other) for at in [each.index("Results: \n") + 2]
    )
    path = tmp_path / "mixed.txt"
    path.write_text("".join([*first, *other]))
    assert take("ior", tmp_path / "cut off", path).trials()
    mixed = [*first, *second, *one_rows, *other_rows]
    if turns == "line by line":
        mixed = [line for pair in itertools.zip_longest(one, other, fillvalue="") for line in pair]
    path = tmp_path / "mixed.txt"
    path.write_text("".join(mixed))
    assert main(["import", "ior", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "outputs of several runs of IOR are mixed; hint: " in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"hello\n", bytes(range(256)) * 40, b'{"tests": [', b'{"tests": 7}\n'])
def test_what_is_no_output_of_ior_is_refused_in_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert main(["import", "ior", str(path), "--out", str(tmp_path / "run")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"tonnage: error: nothing to import: {path}, line ")


def test_a_directory_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert main(["import", "ior", str(IOR / "3.0.1.txt"), "--out", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
