"""The files that options name for results: made new, or replaced where they are such results; no others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tonnage.cli.entry import run_command

from .ior_calls import Ior, refused

USER = b"a file of the user's\n"
IOR = ("-a", "POSIX", "-t", "64k", "-b", "64k", "-w", "-r")
OUTPUTS: dict[str, tuple[tuple[str, ...], str]] = {
    "summaryFile": ((), "{}"),
    "saveRankPerformanceDetailsCSV": ((), "{}"),
    "savePerOpDataCSV": ((), "{}-0-00000.csv"),
    "stoneWallingStatusFile": (("-k", "-D", "30", "-O", "stoneWallingWearOut=1"), "{}"),
}
"""Directive → the words that it needs, the name of its file."""


def link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def dangling(place: Path, victim: Path) -> None:
    place.symlink_to(victim.with_name("nowhere"))


def second_name(place: Path, victim: Path) -> None:
    os.link(victim, place)


def foreign(place: Path, _victim: Path) -> None:
    place.write_bytes(USER)


def fifo(place: Path, _victim: Path) -> None:
    os.mkfifo(place)


def directory(place: Path, _victim: Path) -> None:
    place.mkdir()


def number_and_text(place: Path, _victim: Path) -> None:
    place.write_bytes(b"7\nand what I noted beside it\n")


def table_and_text(place: Path, _victim: Path) -> None:
    place.write_bytes(b"time,runtime,tp\n1.0,my notes,2\n")


def read_only_number(place: Path, _victim: Path) -> None:
    place.write_bytes(b"7\n")
    place.chmod(0o444)


def read_only_and_empty(place: Path, _victim: Path) -> None:
    place.touch(0o444)


TAKEN = (
    read_only_number, read_only_and_empty, link, dangling, second_name, foreign, fifo, directory, number_and_text,
    table_and_text,
)  # fmt: skip


def listing(home: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in sorted(home.rglob("*")):
        info = path.lstat()
        found[str(path)] = (info.st_ino, info.st_mode, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    made = tmp_path / "victim"
    made.write_bytes(USER)
    return made


@pytest.mark.parametrize("directive", OUTPUTS)
@pytest.mark.parametrize("take", TAKEN)
def test_what_is_not_such_an_output_is_refused_by_ior_and_stays(
    ior: Ior, tmp_path: Path, data: Path, victim: Path, directive: str, take: Callable[[Path, Path], None]
) -> None:
    more, name = OUTPUTS[directive]
    take(tmp_path / name.format("out"), victim)
    before = listing(tmp_path)
    said = refused(ior, *IOR, *more, "-o", str(data / "f"), "-O", f"{directive}={tmp_path / 'out'}")
    assert directive in said and "; hint: " in said, said
    assert listing(tmp_path) == before


@pytest.mark.parametrize("directive", OUTPUTS)
def test_an_output_of_an_earlier_run_is_replaced_and_so_is_an_empty_file(
    ior: Ior, tmp_path: Path, data: Path, directive: str
) -> None:
    more, name = OUTPUTS[directive]
    file = tmp_path / name.format("out")
    file.touch(0o600)
    words = (*IOR, *more, "-o", str(data / "f"), "-O", f"{directive}={tmp_path / 'out'}")
    assert ior(*words).code == 0
    first = file.read_bytes()
    assert first
    assert ior(*words).code == 0
    assert file.read_bytes() and file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [file.name]


@pytest.mark.parametrize("form", ["default", "CSV", "JSON"])
def test_a_summary_of_each_form_is_replaced_by_one_of_another(ior: Ior, tmp_path: Path, form: str) -> None:
    file = tmp_path / "summary"
    words = ("-a", "DUMMY", "-t", "64k", "-b", "64k", "-N", "2", "-vvv")
    for turn in (form, "default", form):
        assert ior(*words, "-O", f"summaryFormat={turn},summaryFile={file}").code == 0


WORDS = {
    "plain": (),
    "verbose": ("-vvvv",),
    "debug": ("-vvv", "-O", "summaryAlways=1"),
    "walls": ("-vv", "-D", "1", "-O", "stoneWallingWearOut=1,minTimeDuration=0"),
    "order": ("-C", "-Q", "1", "-F"),
    "random": ("-Z", "-F", "-i", "2"),
    "memory": ("-M", "1m"),
    "checked": ("-W", "-R"),
}


@pytest.mark.parametrize("words", WORDS)
def test_a_summary_of_any_options_is_replaced_and_one_with_a_line_of_the_users_is_not(
    ior: Ior, tmp_path: Path, data: Path, words: str
) -> None:
    file = tmp_path / "summary"
    whole = ("-t", "64k", "-b", "64k", "-N", "2", "-w", "-r", *WORDS[words], "-o", str(data / "f"))
    for form in ("default", "JSON", "CSV", "default"):
        told = ior("-a", "POSIX", *whole, "-O", f"summaryFormat={form},summaryFile={file}")
        assert told.code in (0, 1) and "not a summary" not in told.err, told
    lines = file.read_bytes().splitlines(keepends=True)
    for at in (1, len(lines) // 2, len(lines) - 1, len(lines)):
        file.write_bytes(b"".join([*lines[:at], b"Dear diary: not all was well.\n", *lines[at:]]))
        before = file.read_bytes()
        refused(ior, "-a", "POSIX", *whole, "-O", f"summaryFile={file}")
        assert file.read_bytes() == before


def test_a_summary_in_json_with_anything_of_the_users_in_it_is_refused(ior: Ior, tmp_path: Path) -> None:
    file = tmp_path / "summary"
    words = ("-a", "DUMMY", "-t", "64k", "-b", "64k", "-w", "-O", f"summaryFormat=JSON,summaryFile={file}")
    assert ior(*words).code == 0
    text = file.read_text()
    made = []
    for path in ((), ("tests", 0), ("tests", 0, "Results", 0), ("tests", 0, "Options"), ("summary", 0), ("tonnage", 0)):
        whole = json.loads(text)
        inner = whole
        for key in path:
            inner = inner[key]
        inner["diary"] = "all was well"
        made.append(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    made += [text + "all was well\n", text.replace('"Began"', '"Began": "my words", "Began"')]
    for other in made:
        file.write_text(other)
        refused(ior, *words)
        assert file.read_text() == other


def test_a_table_with_a_line_that_begins_like_its_head_is_refused(ior: Ior, tmp_path: Path) -> None:
    file = tmp_path / "summary"
    words = ("-a", "DUMMY", "-t", "64k", "-b", "64k", "-w", "-O", f"summaryFormat=CSV,summaryFile={file}")
    assert ior(*words).code == 0
    file.write_text(file.read_text() + "access, as I noted, was slow\n")
    refused(ior, *words)


@pytest.mark.parametrize("directive", OUTPUTS)
def test_an_output_that_is_the_file_that_is_measured_is_refused_however_it_is_spelled(
    ior: Ior, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, directive: str
) -> None:
    more, name = OUTPUTS[directive]
    (tmp_path / "also").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    measured = name.format(data / "f")
    for place in (f"{data}/f", "data/f", f"{data}/./f", f"{data}/../data/f", f"{tmp_path}/also/f"):
        before = listing(tmp_path)
        said = refused(ior, *IOR, *more, "-o", measured, "-O", f"{directive}={place}")
        assert "hint: " in said, said
        assert listing(tmp_path) == before


def test_a_link_to_the_output_is_not_measured(ior: Ior, tmp_path: Path, data: Path) -> None:
    (data / "f").symlink_to(tmp_path / "out")
    refused(ior, *IOR, "-o", str(data / "f"), "-O", f"summaryFile={tmp_path / 'out'}")
    assert not (tmp_path / "out").exists()


def test_a_file_of_one_task_is_not_the_output_of_another(ior: Ior, data: Path) -> None:
    words = (*IOR, "-F", "-N", "2", "-i", "2", "-m", "-o", str(data / "f"))
    refused(ior, *words, "-O", f"summaryFile={data / 'f.00000001.1'}")
    assert list(data.iterdir()) == []


def test_two_outputs_of_one_command_are_not_one_file(ior: Ior, tmp_path: Path, data: Path) -> None:
    both = f"summaryFile={tmp_path / 'out'},saveRankPerformanceDetailsCSV={tmp_path / 'data' / '..' / 'out'}"
    refused(ior, *IOR, "-o", str(data / "f"), "-O", both)
    assert not (tmp_path / "out").exists()


def test_a_file_that_comes_while_ior_measures_stays_and_the_exit_code_is_1(
    ior: Ior, tmp_path: Path, data: Path, victim: Path
) -> None:
    """The trial's hook is the user's own, and comes between the look and the writing."""
    ranks = tmp_path / "ranks"
    import tonnage.compat.ior.command as command

    whole = command.run_campaign

    def beside(*words: object, **more: object) -> object:
        outcome = whole(*words, **more)  # type: ignore[arg-type]
        ranks.symlink_to(victim)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run_campaign", beside)
        said = ior(*IOR, "-o", str(data / "f"), "-O", f"saveRankPerformanceDetailsCSV={ranks}")
    assert said.code == 1 and str(ranks) in said.err, said
    assert ranks.is_symlink() and victim.read_bytes() == USER


def replaced(place: Path) -> None:
    other = place.with_name("other")
    other.write_bytes(USER)
    other.replace(place)


def appended(place: Path) -> None:
    with place.open("ab") as file:
        file.write(USER)


def overwritten(place: Path) -> None:
    with place.open("r+b") as file:
        file.write(b"MY")


def cut(place: Path) -> None:
    os.truncate(place, 3)


def removed(place: Path) -> None:
    place.unlink()


def directory_swapped(place: Path) -> None:
    place.parent.rename(place.parent.with_name("moved"))
    place.parent.mkdir()
    place.write_bytes(USER)


@pytest.mark.parametrize("form", ["default", "CSV"])
@pytest.mark.parametrize("change", [replaced, appended, overwritten, cut, removed, directory_swapped])
def test_a_summary_that_somebody_changes_while_ior_measures_stays_as_it_is_and_the_rest_is_on_stdout(
    ior: Ior, tmp_path: Path, data: Path, change: Callable[[Path], None], form: str
) -> None:
    import tonnage.compat.ior.command as command

    whole = command.run_campaign
    file = tmp_path / "room" / "summary"
    file.parent.mkdir()
    kept = []

    def beside(*words: object, **more: object) -> object:
        outcome = whole(*words, **more)  # type: ignore[arg-type]
        change(file)
        kept.append(file.read_bytes() if file.exists() else None)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run_campaign", beside)
        said = ior(*IOR, "-o", str(data / "f"), "-O", f"summaryFormat={form},summaryFile={file}")
    assert said.code == 1 and str(file) in said.err, said
    assert (file.read_bytes() if file.exists() else None) == kept[0]
    assert ("Summary of all tests:" if form == "default" else "access,bw(MiB/s)") in said.out
    assert "write" in said.out


def test_a_test_that_is_refused_later_leaves_the_old_summary(ior: Ior, tmp_path: Path, data: Path) -> None:
    words = ("-a", "POSIX", "-t", "64k", "-b", "64k", "-O", f"summaryFile={tmp_path / 'out'}", "-o", str(data / "f"))
    assert ior(*words).code == 0
    before = (tmp_path / "out").read_bytes()
    refused(ior, *words, "-r")
    assert (tmp_path / "out").read_bytes() == before


MDTEST: dict[str, tuple[tuple[str, ...], str]] = {
    "-x": (("-F", "-C", "-W", "30"), "{}"),
    "--saveRankPerformanceDetails": (("-F",), "{}"),
    "--savePerOpDataCSV": (("-F",), "{}-File creation-00000.csv"),
}


@pytest.mark.parametrize("option", MDTEST)
@pytest.mark.parametrize("take", TAKEN)
def test_what_is_not_such_an_output_is_refused_by_mdtest_and_stays(
    tmp_path: Path, data: Path, victim: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], option: str, take: Callable[[Path, Path], None],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    more, name = MDTEST[option]
    take(tmp_path / name.format("out"), victim)
    before = listing(tmp_path)
    given = [option, str(tmp_path / "out")] if option == "-x" else [f"{option}={tmp_path / 'out'}"]
    assert run_command(["mdtest", "-d", str(data), "-n", "10", *more, *given]) == 2
    said = capsys.readouterr().err
    assert option in said and "; hint: " in said, said
    assert listing(tmp_path) == before


@pytest.mark.parametrize("option", MDTEST)
def test_an_output_of_an_earlier_mdtest_is_replaced(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    more, name = MDTEST[option]
    given = [option, str(tmp_path / "out")] if option == "-x" else [f"{option}={tmp_path / 'out'}"]
    for turn in range(2):
        words = ["mdtest", "-d", str(data / str(turn)), "-n", "10", *more, *given]
        assert run_command(words) == 0, capsys.readouterr()
        assert (tmp_path / name.format("out")).read_bytes()
