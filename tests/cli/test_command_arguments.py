"""The one reader of words: each kind of mistake is told in one way by every command and every stand-in."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.cli.command import all_commands, spelled_out
from tonnage.cli.entry import parse
from tonnage.command_line import Command, HelpAsked, read, split_program
from tonnage.command_option import EMPTY, nearest
from tonnage.compat.front_end import parse_arguments
from tonnage.errors import RequestError

COMMANDS = [command for command in spelled_out(all_commands()) if not command.actions]
by_name = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


def refusal(command: Command, *words: str) -> str:
    """What it says to them."""
    with pytest.raises(RequestError) as told:
        split_program(command, words)
        read(command, words)
    return str(told.value)


@by_name
@pytest.mark.parametrize("word", ["-h=x", "--help=x", "--help="])
def test_help_takes_no_value_that_another_flag_would_not(command: Command, word: str) -> None:
    name, _, text = word.partition("=")
    told = f"{name}={text}: a flag takes a number" if command.verbatim else f"{name} takes no value; hint: write {name}"
    if any(name in option.names for option in command.options):
        return
    assert told in refusal(command, word)
    for asked in (name, f"{name}=1") if command.verbatim else (name,):
        with pytest.raises(HelpAsked):
            read(command, [asked])


@by_name
def test_an_empty_value_is_told_in_one_way(command: Command) -> None:
    for option in command.options:
        if option.positional or option.is_flag:
            continue
        for words in ([option.names[0], ""], [f"{option.names[0]}="]):
            with pytest.raises(RequestError, match=EMPTY):
                read(command, words)


@by_name
def test_an_empty_word_is_told_in_the_same_way(command: Command) -> None:
    if command.program:
        with pytest.raises(RequestError, match=EMPTY):
            split_program(command, ["--", ""])
    else:
        needed = sum(not option.optional for option in command.positionals)
        assert EMPTY in refusal(command, *[""] * max(needed, 1))


@by_name
def test_a_surplus_word_is_no_option(command: Command) -> None:
    if command.program or any(option.repeats for option in command.positionals):
        pytest.skip("it takes any number")
    count = len(command.positionals)
    told = refusal(command, *["1"] * count, "surplus")
    assert f"{command.calls} takes no {'further ' * bool(count)}word 'surplus'; hint: " in told


@pytest.mark.parametrize("name", ["ior", "mdtest"])
def test_the_readers_of_ior_and_mdtest_know_no_dashes_alone(name: str) -> None:
    (command,) = (command for command in COMMANDS if command.name == name)
    assert f"{name} has no option '--'; hint: " in refusal(command, "--")


@pytest.mark.parametrize("name", ["sob", "spectral_wait"])
def test_dashes_alone_end_the_options_elsewhere(name: str) -> None:
    (command,) = (command for command in COMMANDS if command.name == name)
    assert read(command, ["--"]) == {}
    assert f"{name} takes no word '-w'; hint: " in refusal(command, "--", "-w")


@pytest.mark.parametrize("words", [[""], ["", "probe"], ["stage", ""]])
def test_a_command_and_an_action_are_not_empty(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(words)
    assert EMPTY in capsys.readouterr().err


def test_only_what_is_near_is_suggested() -> None:
    names = ("--budget", "--max-tasks", "--out", "--queue", "--resume", "--load-line")
    for typed, meant in (("--bidget", "--budget"), ("--quue", "--queue"), ("--max-task", "--max-tasks")):
        assert nearest(typed, names, "no") == f"did you mean {meant}?"
    for typed in ("--output", "--size", "--quick", "--load", "--x", "--tasks"):
        assert nearest(typed, names, "no") == "no"


ODD = ["", "-", "--", "=", "-=", "--=", "é", "\udcff", "\x1b[31m", "a\nb", "x" * 5000, "9" * 5000, "-1", "1e999", "nan"]
ODD += [
    "0x10",
    "١٢",
    "../..",
    "/",
    "~",
    "*",
    "%s",
    "{}",
    "'",
    '"',
    "\\",
    "inf",
    "-0",
    "1,,2",
    "[",
    "]",
    "a[1-",
    "null:",
]
ODD += ["--help=", "-hx", "sim:", "s3://", "file:///", "no-such"]


def odd_lines(seed: int) -> Iterator[tuple[Command, list[str]]]:
    """A command, and words that somebody might type at it."""
    chance = random.Random(seed)
    for _ in range(25):
        command = chance.choice(COMMANDS)
        names = [name for option in command.options if not option.positional for name in option.names] or ["-x"]
        words = []
        for _ in range(chance.randrange(1, 5)):
            name, value = chance.choice(names), chance.choice(ODD)
            spelled = [name, value], [f"{name}={value}"], [name + value], [value], [name[:-1]], [name * 2]
            words += chance.choice(spelled)
        yield command, words


@pytest.mark.parametrize("seed", range(40))
def test_no_words_end_a_reader_in_anything_but_one_line(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chdir(tmp_path):
        for command, words in odd_lines(seed):
            try:
                if command.verbatim:
                    parse_arguments(command, words)  # type: ignore[arg-type]
                else:
                    parse([*command.name.split(), *words])
            except RequestError as error:
                assert str(error).count("; hint: ") == 1, (words, error)
            except HelpAsked:
                pass
            except SystemExit as ended:
                said = capsys.readouterr().err
                assert ended.code == 0 or (ended.code == 2 and said.count("\n") == 1), (words, said)
    assert not list(tmp_path.iterdir())


def test_a_line_break_in_a_word_forges_no_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["cancel", "7\ntonnage: forged"], ["submit", "--dry-run", "x\ntonnage: error: forged"]):
        main(words)
        said = capsys.readouterr()
        assert not [
            row
            for row in (said.out + said.err).splitlines()
            if row.startswith(("tonnage: forged", "tonnage: error: forged"))
        ]


@pytest.mark.parametrize("words", [["--space", "1MiB"], ["--direct", "yes"]])
def test_a_dry_run_refuses_what_the_search_would(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        for more in (["--dry-run"], ["--no-report", "--no-keep", "--out", f"{place}/run"]):
            assert main(["probe", *words, *more, place]) == 2
            assert capsys.readouterr().err.count("\n") == 1
        assert not list(Path(place).iterdir())
