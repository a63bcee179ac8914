"""A front end's words are read as the original reads them, and what it cannot do is one line."""

from __future__ import annotations

from typing import Any

import pytest
from tonnage.command_line import HelpAsked, help_text
from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number, page, parse_arguments, size
from tonnage.compat.measure import ALONE, Ranks
from tonnage.errors import RequestError

FRONT = FrontEnd(
    "tool",
    "a tool",
    "What it is.",
    (
        Option(("-w", "--write"), "write"),
        Option(("-v",), "say more"),
        Option(("-b",), "block", "SIZE", 4096, parse=size()),
        Option(("-n",), "number", "N", parse=number(1)),
        Option(("--mode",), "mode", "WORD", choices=("fast", "slow")),
        Option(("-g",), "graphics", refused="there is no graphics card"),
    ),
    (("tonnage tool -w", "do it"),),
)


def parsed(*words: str) -> dict[str, Any]:
    return parse_arguments(FRONT, words)


@pytest.mark.parametrize("words", [("-b", "8k"), ("-b8k",), ("-b=8k",), ("-wb8k",), ("-wb", "8k"), ("-b", "1", "-b8K")])
def test_a_value_may_follow_touch_or_come_after_an_equals_sign(words: tuple[str, ...]) -> None:
    assert parsed(*words)["-b"] == 8192


def test_flags_are_counted_together_apart_and_under_each_name() -> None:
    assert parsed("-vwv", "-v")["-v"] == 3
    assert parsed("--write")["-w"] == 1
    assert parsed("-w=0")["-w"] == 0
    assert parsed() == {"-w": 0, "-v": 0, "-b": 4096, "-n": None, "--mode": None, "-g": 0}


def test_a_value_may_look_like_an_option_or_hold_an_equals_sign() -> None:
    free = FrontEnd("tool", "", "", (Option(("-d",), "directory", "DIR"),), ())
    assert parse_arguments(free, ["-d", "-x=1 y\n"])["-d"] == "-x=1 y\n"
    assert parse_arguments(free, ["-d/a=b"])["-d"] == "/a=b"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-q"], "tool has no option -q (in '-q'); hint: see `tonnage tool --help`"),
        (["-wq"], "tool has no option -q (in '-wq'); hint: see `tonnage tool --help`"),
        (["--quick"], "tool has no option '--quick'; hint: see `tonnage tool --help`"),
        (["file"], "tool takes no word 'file'; hint: see `tonnage tool --help`"),
        (["-"], "tool takes no word '-'; hint: see `tonnage tool --help`"),
        (["-b"], "tool -b needs a value; hint: write -b SIZE"),
        (["-b="], "tool -b: an empty value is no value; hint: leave it out"),
        (["-n", "0"], "tool -n: '0' is not a whole number from 1 on; hint: write it like 8"),
        (["-n", "9p9"], "tool -n: '9p9' is not a whole number from 1 on; hint: write it like 8"),
        (["--mode=x"], "tool --mode: 'x' is not known; hint: write one of fast, slow"),
        (["-w=x"], "tool -w=x: a flag takes a number; hint: write -w"),
        (["-g"], "tool -g: there is no graphics card; hint: leave it out"),
    ],
)
def test_what_cannot_be_read_is_one_line(words: list[str], message: str) -> None:
    with pytest.raises(RequestError) as error:
        parsed(*words)
    assert str(error.value) == message


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_is_asked_for_wherever_it_stands(word: str) -> None:
    with pytest.raises(HelpAsked):
        parsed("-w", word, "-b")


def test_help_and_page_name_every_option_and_what_is_refused() -> None:
    for text in (help_text(FRONT), page(FRONT)):
        assert all(name in text for option in FRONT.options for name in option.names)
        assert "there is no graphics card" in text and "tonnage tool -w" in text


def test_ranks_say_where_tasks_are_as_the_originals_count() -> None:
    several = Ranks(("a", "a", "b", "b"))
    assert (several.default, several.nodes(4), several.nodes(2), several.on_first(4)) == (4, 2, 1, 2)
    assert several.in_blocks and several.nodemap(3) == "110"
    in_turn = Ranks(("a", "b", "a"))
    assert not in_turn.in_blocks and in_turn.nodemap(3) == "101"
    assert (ALONE.default, ALONE.nodes(8), ALONE.on_first(8), ALONE.nodemap(2)) == (1, 1, 8, "11")
