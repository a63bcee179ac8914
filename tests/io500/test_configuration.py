"""A configuration of IO500 is read as its own program reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.io500.config import listed_keys, parse_config, read_config
from tonnage.io500.phase_commands import STEPS, RepetitionPaths, steps_of

RECORDED = Path(__file__).parent / "recorded"
STAMP = "2026.11.26-19.40.00"
PLACE = RepetitionPaths(f"./data/{STAMP}", f"./results/{STAMP}", STAMP)


def test_every_key_is_there_with_its_default() -> None:
    assert listed_keys().strip() == (RECORDED / "list.ini").read_text().strip()


def test_the_hash_over_a_configuration_is_the_original_s() -> None:
    assert f"{read_config(str(RECORDED / 'config.ini')).hash:X}" == "A8990A94"


def test_each_phase_is_the_command_line_that_the_original_made() -> None:
    config = read_config(str(RECORDED / "config.ini"))
    told = re.findall(
        r"^\[(\S+)\]\nt_start.*\nexe +=\s\./(\S+) (.*)$", (RECORDED / "result.txt").read_text(), re.MULTILINE
    )
    assert [name for name, _, _ in told] == [step.name for step in steps_of("standard") if step.name != "timestamp"]
    for name, program, words in told:
        step = next(step for step in STEPS if step.name == name)
        assert step.program == {"pfind": "find"}.get(program, program)
        # How the search of the original steals work is its own affair.
        assert sorted(step.words(config, PLACE)) == sorted(words.removesuffix(" -C -q 10000").split()), name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[ior-esy]\n", "x.ini:1: IO500 has no section [ior-esy]; hint: did you mean ior-easy?"),
        ("[ior-easy]\nblocksize=1m\nblockSiz = 1m\n", "x.ini:3: [ior-easy] has no key 'blockSiz'; hint: did you mean"),
        ("[mdtest-easy]\nn = many\n", "x.ini:2: [mdtest-easy] n is a whole number from 0 on, not 'many'"),
        ("[find]\nrun = yes\n", "x.ini:2: [find] run is TRUE or FALSE, not 'yes'; hint: write run = TRUE"),
        ("datadir = x\n", "x.ini:1: datadir stands before any section; hint: put [global] above it"),
        ("[global]\nwhat\n", "x.ini:2: 'what' is no section and no key; hint:"),
    ],
)
def test_what_it_cannot_read_is_told_by_its_line(text: str, told: str) -> None:
    with pytest.raises(RequestError, match=re.escape(told)):
        parse_config(text, "x.ini")


def test_comments_cases_and_empty_values_are_read_as_the_original_does() -> None:
    text = (
        "# a\n[Global] ; b\nDATADIR = /x/y # c\nverbosity =\n\n[ior-easy-write]\nAPI = POSIX --posix.odirect\nrun = 1\n"
    )
    config = parse_config(text, "x.ini")
    assert config.text("global", "datadir") == "/x/y"
    assert config.text("global", "verbosity") == "1"
    words = next(step for step in STEPS if step.name == "ior-easy-write").words(config, PLACE)
    at = words.index("-a")
    assert words[at : at + 3] == ["-a", "POSIX", "--posix.odirect"]


def test_a_phase_runs_where_neither_it_nor_its_pair_is_switched_off() -> None:
    config = parse_config("[ior-hard]\nrun = FALSE\n[find]\nrun = false\n[mdtest-easy-stat]\nrun = 0\n", "x.ini")
    off = {step.name for step in steps_of("standard") if not step.is_on(config)}
    assert off == {"ior-hard-write", "ior-hard-read", "find", "mdtest-easy-stat"}
