"""sob's command lines run as they were published, at sizes that fit, and its lines can be read as before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tonnage.campaign.scratch import RunScratch
from tonnage.cli.entry import run_command
from tonnage.compat.front_end import parse_arguments
from tonnage.compat.sob.command import campaign_of
from tonnage.compat.sob.options import SOB

LINE = re.compile(r"(Wrote|Read|Random read) (\d+\.\d{3}) MB in (\d+\.\d{3}) s for (\d+\.\d{3}) MB/s, (\d+) files")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TONNAGE_OUT", str(tmp_path / "run"))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[list[tuple[str, ...]], str]:
    """The lines of sob on stdout, each in its parts, and what was told on stderr."""
    assert run_command(["sob", *words]) == code
    out, err = capsys.readouterr()
    found = [LINE.fullmatch(line) for line in out.splitlines()]
    assert all(found), out
    return [match.groups() for match in found if match], err


def test_a_file_is_written_and_read_and_nothing_of_it_stays(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, err = said(capsys, "-rw", "-b", "128k", "-s", "16m")
    assert [(word, mib, files) for word, mib, _, _, files in lines] == [
        ("Wrote", "16.000", "1"),
        ("Read", "16.000", "1"),
    ]
    assert {path.name for path in place.iterdir()} == {"run"}
    assert "finding mb-is-mib" in err and str(place / "run") in err


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the files in each of the run's directories, as they are when the run ends."""
    seen: list[list[str]] = []
    leave = RunScratch.leave

    def look(scratch: RunScratch, *, well: bool) -> None:
        if not seen:
            seen.extend(sorted(path.name for path in place.glob("data.*")) for place in scratch.directories)
        leave(scratch, well=well)

    monkeypatch.setattr(RunScratch, "leave", look)
    return seen


@pytest.mark.parametrize(
    ("files", "each", "spread"), [(12, 5, [5, 5, 2]), (10, 5, [5, 5]), (3, 5, [3]), (3, 1, [1, 1, 1])]
)
def test_so_many_files_are_in_each_directory(
    capsys: pytest.CaptureFixture[str], found: list[list[str]], files: int, each: int, spread: list[int]
) -> None:
    words = ("-b", "4k", "-s", "8k", "-n", str(files), "-o", str(each))
    lines, _ = said(capsys, "-rw", "-R", "9", *words)
    assert [(word, files) for word, *_, files in lines] == [
        ("Wrote", str(files)), ("Read", str(files)), ("Random read", str(files)),
    ]  # fmt: skip
    assert [len(names) for names in found] == spread
    assert [name for names in found for name in names] == [f"data.{number:08d}" for number in range(files)]


def test_more_directories_than_can_be_held_open_are_refused(
    monkeypatch: pytest.MonkeyPatch, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    assert run_command(["sob", "-w", "-s", "64k", "-n", "3000", "-o", "2"]) == 2
    assert capsys.readouterr().err == (
        "tonnage: error: sob -o makes 1500 directories, and the limit of open files allows 64; "
        "hint: use -o 47 or more, or raise it (ulimit -n)\n"
    )
    assert not list(place.iterdir())


def test_many_files_are_written_one_after_the_other(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = said(capsys, "-w", "-b", "64k", "-s", "1m", "-n", "12", "-o", "5")
    assert [(word, mib, files) for word, mib, _, _, files in lines] == [("Wrote", "12.000", "12")]
    assert {path.name for path in place.iterdir()} == {"run"}
    trial = json.loads((place / "run/trials.jsonl").read_text())
    assert (trial["bytes"], trial["operations"], trial["setting"]["tasks"]) == (12 << 20, 192, 1)


def test_the_rate_is_that_of_the_bytes_and_the_time_without_the_fsync(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ((_, mib, seconds, rate, _),), _ = said(capsys, "-w", "-b", "1m", "-s", "64m")
    task = json.loads((place / "run/tasks.jsonl").read_text())
    timed_ns = task["end_ns"] - task["start_ns"] - task["sync_ns"]
    assert seconds == f"{timed_ns / 1e9:.3f}"
    assert rate == f"{float(mib) * 1e9 / timed_ns:.3f}"


@pytest.mark.parametrize(("reads", "files"), [(40, 3), (100, 1)])
def test_random_reads_have_a_line_of_their_own(
    place: Path, capsys: pytest.CaptureFixture[str], reads: int, files: int
) -> None:
    lines, _ = said(capsys, "-w", "-R", str(reads), "-n", str(files), "-s", "1m", "-b", "64k")
    assert [(word, mib) for word, mib, *_ in lines] == [
        ("Wrote", f"{files}.000"),
        ("Random read", f"{reads / 16:.3f}"),
    ]
    last = json.loads((place / "run/trials.jsonl").read_text().splitlines()[-1])
    assert last["operations"] == reads


def test_files_that_are_only_read_are_laid_out_without_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = said(capsys, "-r", "-b", "1m", "-s", "4m", "-n", "2")
    assert [(word, mib, files) for word, mib, _, _, files in lines] == [("Read", "8.000", "2")]


def test_a_read_from_memory_is_called_that(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, "-rw", "-b", "1m", "-s", "4m")
    assert "sob: finding cache-read: Read: 0% of its bytes came from a device" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "sob was not told what to do; hint: add -w, -r, -rw or -R N"),
        (["-rw"], "sob was not told how large a file is; hint: add -s 1g"),
        (["-w", "-s", "10m", "-b", "3m"], "sob -s 10MiB is not a whole number of blocks of 3MiB; hint: use 9MiB"),
        (["-w", "-s", "1k", "-b", "4k"], "sob -s 1KiB is not a whole number of blocks of 4KiB; hint: use 4KiB"),
        (["-w", "-s", "1k", "-b", "0"], "sob -b: '0' is not a size above 0; hint: write it like 64k"),
        (["-w", "-s", "0"], "sob -s: '0' is not a size above 0; hint: write it like 64k"),
        (["-w", "-n", "0"], "sob -n: '0' is not a whole number from 1 on; hint: write it like 8"),
        (["-R"], "sob -R needs a value; hint: write -R N"),
        (["-x"], "sob has no option -x (in '-x'); hint: see `tonnage sob --help`"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert run_command(["sob", *words]) == 2
    assert capsys.readouterr() == ("", f"tonnage: error: {message}\n")
    assert not list(place.iterdir())


def test_a_file_larger_than_the_disk_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sob", "-w", "-b", "1g", "-s", "900000g"]) == 2
    assert "tonnage: error: the files need" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "-rw -b 8m -s 10g",
        "-w -b 64k -s 1m -n 500 -o 50",
        "-w -R 5000 -n 50 -s 128m -b 64k",
        "-rw -b 128k -s 1g",
    ],
)
def test_the_published_command_lines_are_understood(line: str) -> None:
    asked = parse_arguments(SOB, line.split())
    ops = [work["op"] for work in campaign_of(asked)["workloads"]]
    assert ops == ["write"] + ["read"] * bool(asked["-r"] or asked["-R"])


def test_help_says_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sob", "-w", "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: tonnage sob") and "Random read" in out
