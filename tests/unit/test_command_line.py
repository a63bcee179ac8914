"""Words are read by a command's options as its rules say, and what is wrong with them is one line with what to do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tonnage.cli.command import all_commands, spelled_out
from tonnage.cli.entry import parse_arguments
from tonnage.command_line import Command, HelpAsked, read, split_program
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_count

SHIP = Command(
    "ship",
    "load a ship",
    "Loads a ship.",
    (
        Option(("port",), "where", "PORT"),
        Option(("goods",), "what", "GOODS", optional=True, repeats=True),
        Option(("-n", "--number"), "how many", "N", parse=parse_count),
        Option(("-o", "--output"), "where to", "FILE"),
        Option(("--kind",), "which", choices=("bulk", "tank")),
        Option(("--with",), "company", "NAME", repeats=True),
        Option(("-v", "--verbose"), "say more"),
        Option(("-q",), "say less"),
        Option(("--secret",), "", "WORD", is_hidden=True),
    ),
    (),
    hints={"-t": "the tonnage is a number: -n"},
)
VALUES = ("a", "4", "-", "-5", "a b", "-a b", "x=y", "ü")


@pytest.mark.parametrize("words", [("-n", "4"), ("-n4",), ("-n=4",), ("--number", "4"), ("--number=4",), ("-vn4",)])
def test_a_value_may_follow_touch_or_come_after_an_equals_sign(words: tuple[str, ...]) -> None:
    assert read(SHIP, ("here", *words))["-n"] == 4


@given(some.lists(some.sampled_from(VALUES), min_size=1, max_size=4), some.data())
def test_words_are_in_their_order_wherever_options_stand(words: list[str], data: some.DataObject) -> None:
    words = [word for word in words if not word.startswith("-") or word == "-"] or ["x"]
    typed: list[str] = []
    asked: dict[str, Any] = {}
    for word in words:
        for name, key in data.draw(
            some.lists(some.sampled_from([("-o", "-o"), ("--output", "-o"), ("--with", "--with")]))
        ):
            value = data.draw(some.sampled_from(VALUES))
            typed += [name, value] if data.draw(some.booleans()) or name == "-o" else [f"{name}={value}"]
            asked[key] = (*asked.get(key, ()), value) if key == "--with" else value
        typed.append(word)
    assert read(SHIP, typed) == {**asked, "port": words[0]} | ({"goods": tuple(words[1:])} if words[1:] else {})


def test_what_stands_after_two_dashes_is_no_option() -> None:
    assert read(SHIP, ["-v", "--", "-n", "--"]) == {"-v": 1, "port": "-n", "goods": ("--",)}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "tonnage ship needs PORT; hint: write `tonnage ship [OPTION]... PORT [GOODS...]`"),
        (("-n",), "tonnage ship -n needs a value; hint: write -n N"),
        (("--kind",), "tonnage ship --kind needs a value; hint: write --kind bulk,tank"),
        (("--output", "-v"), "tonnage ship --output needs a value; hint: write --output=-v if that is it"),
        (("-o", "-v"), "tonnage ship -o needs a value; hint: write -o-v if that is it"),
        (("x", "-n0"), "-n/--number: '0' is not a whole number above 0; hint: write it like 8"),
        (("x", "--kind=boat"), "--kind: 'boat' is not known; hint: write one of bulk, tank"),
        (("x", "--verbose=2"), "tonnage ship --verbose takes no value; hint: write --verbose"),
        (("",), "PORT: an empty value is no value; hint: leave it out"),
        (("-n", "0", "--numbr=3"), "tonnage ship has no option --numbr; hint: did you mean --number?"),
        (("--numbr=3",), "tonnage ship has no option --numbr; hint: did you mean --number?"),
        (("--secre",), "tonnage ship has no option --secre; hint: see `tonnage ship --help`"),
        (("-vz",), "tonnage ship has no option -z; hint: see `tonnage ship --help`"),
        (("-0.5",), "tonnage ship has no option -0.5; hint: see `tonnage ship --help`"),
        (("-t5",), "tonnage ship has no option -t5; hint: the tonnage is a number: -n"),
    ],
)
def test_what_is_wrong_is_told_with_the_option_and_what_to_do(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(RequestError) as error:
        read(SHIP, words)
    assert str(error.value) == told


def test_a_word_that_may_be_left_out_takes_what_the_others_do_not_need() -> None:
    kind, files = Option(("kind",), "", "KIND", optional=True), Option(("files",), "", "FILE", repeats=True)
    either = Command("import", "", "", (kind, files), ())
    assert read(either, ["a"]) == {"files": ("a",)}
    assert read(either, ["a", "b", "c"]) == {"kind": "a", "files": ("b", "c")}
    with pytest.raises(
        RequestError, match=r"^tonnage where takes no further word 'b'; hint: see `tonnage where --help`$"
    ):
        read(Command("where", "", "", (kind,), ()), ["a", "b"])


def test_a_program_begins_where_the_options_end() -> None:
    runs = Command("run", "", "", SHIP.options[2:], (), program="COMMAND [WORD]...")
    assert split_program(runs, ["-vn", "4", "go", "-v"]) == (["-vn", "4"], ["go", "-v"])
    assert split_program(runs, ["-v", "--", "-go"]) == (["-v"], ["-go"])
    strict = Command("run", "", "", SHIP.options[2:], (), program="-- COMMAND [WORD]...")
    assert split_program(strict, ["-v", "--", "-go"]) == (["-v"], ["-go"])
    with pytest.raises(RequestError, match=r"^tonnage run takes no word 'go'; hint: write the program and its "):
        split_program(strict, ["-v", "go", "--wrong"])


@pytest.mark.parametrize("words", [("-h",), ("-v", "--help"), ("-vh",), ("-h", "--wrong")])
def test_help_is_asked_for_before_anything_else_is_needed(words: tuple[str, ...]) -> None:
    with pytest.raises(HelpAsked) as asked:
        read(SHIP, words)
    assert asked.value.command is SHIP


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "tonnage needs a command; hint: see `tonnage --help`"),
        (("stage",), "tonnage stage needs an action; hint: write one of run, start, status, "),
        (("stage", "statsu"), "tonnage stage has no action 'statsu'; hint: did you mean 'status'?"),
        (("stage", "xyzzy"), "tonnage stage has no action 'xyzzy'; hint: actions are run, start, "),
        (("xyzzy",), "there is no command 'xyzzy'; hint: commands are probe, run, "),
    ],
)
def test_a_missing_or_unknown_command_is_told_with_those_there_are(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(RequestError) as error:
        parse_arguments(words)
    assert str(error.value).startswith(told)


def test_no_command_has_two_options_of_one_name() -> None:
    commands = list(spelled_out(all_commands()))
    for command in commands:
        names = [name for option in command.options for name in option.names]
        assert len(names) == len(set(names)), command.name
        assert all(option.metavar for option in command.positionals), command.name
        # Which word is whose would not be clear.
        assert sum(option.repeats for option in command.positionals) <= 1, command.name
    assert len(commands) > 40
