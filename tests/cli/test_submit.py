"""``tonnage submit``'s words: its own options, then the program's, exactly as typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from tonnage.cli.commands.submit import COMMAND as SUBMIT
from tonnage.cli.commands.submit import request_of
from tonnage.cli.entry import parse, run_command
from tonnage.cluster.array_numbers import spelled
from tonnage.cluster.job_terms import Dependency, Mail, Terms
from tonnage.command_line import split_program
from tonnage.errors import RequestError
from tonnage.placement.submit_request import SubmitRequest

FLAGS = [option.names for option in SUBMIT.options if option.is_flag]
VALUED = [name for option in SUBMIT.options if not option.is_flag for name in option.names]
WORDS = some.text(some.characters(exclude_characters="\0"), max_size=12)
"""Any word, surrogates of odd bytes among them."""


def parsed_request(*words: str) -> SubmitRequest:
    return request_of(parse(["submit", *words]))


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["uname", "-a"], ["uname", "-a"]),
        (["-I", "uname", "-a"], ["uname", "-a"]),
        (["-o", "out.dat", "go.sh"], ["go.sh"]),
        (["-oout.dat", "go.sh"], ["go.sh"]),
        (["--output=out.dat", "go.sh", "--output=x"], ["go.sh", "--output=x"]),
        (["-n4", "mpi", "-n", "8"], ["mpi", "-n", "8"]),
        (["--", "-odd-", "-I"], ["-odd-", "-I"]),
        (["-I", "--", "--dry-run"], ["--dry-run"]),
        (["echo", "--", "x"], ["echo", "--", "x"]),
        (["--cap", "auto", "--copies", "5", "a"], ["a"]),
        (["-J", "-"], None),
        (["-", "x"], ["-", "x"]),
        (["echo", ""], ["echo", ""]),
        (["-J", "name with blanks", "a\nb", "$x", "*"], ["a\nb", "$x", "*"]),
    ],
)
def test_options_come_before_the_program_and_its_words_are_its_own(words: list[str], program: list[str] | None) -> None:
    if program is None:
        with pytest.raises((RequestError, SystemExit)):
            parsed_request(*words)
    else:
        assert list(parsed_request(*words).argv) == program


@pytest.mark.parametrize(
    ("words", "page"),
    [(["where", "a", "b"], "where"), (["jobs", "-x"], "jobs"), (["stage", "wait", "--x"], "stage wait")],
)
def test_a_word_too_many_is_told_with_the_page_of_its_command(
    words: list[str], page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        parse(words)
    assert left.value.code == 2
    assert capsys.readouterr().err.endswith(f"; hint: see `tonnage {page} --help`\n")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["load", "--every", "1s"], "--every is for looking more than once"),
        (["submit", "--scheduler", "lsf", "true"], "lsf is not set up on this host"),
        (["jobs", "--scheduler", "lsf"], "lsf is not set up on this host"),
        (["queues", "--scheduler", "lsf"], "lsf is not set up on this host"),
        (["submit", "--scheduler", "local", "-q", "nope", "true"], "there is no queue nope"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(
    words: list[str],
    wrong: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    assert run_command(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tonnage: error: {wrong}") and "; hint: " in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--time-limit", "5m"], "the local scheduler knows no time limits; hint: leave that out"),
        (["-I", "--gpus", "1"], "the local scheduler knows no GPUs; hint: leave that out"),
        (["--scheduler-options=--nice=5"], "the local scheduler knows no options of its own; hint: leave that out"),
        (["-q", "nope"], "there is no queue nope; hint: the local scheduler has one, local"),
    ],
)
def test_what_the_scheduler_cannot_do_is_refused_before_anything_is_said_or_written(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    assert run_command(["submit", "--scheduler", "local", "--anywhere", *words, "true"]) == 2
    assert capsys.readouterr() == ("", f"tonnage: error: {told}\n")
    assert [file for file in tmp_path.rglob("submissions.jsonl") if file.stat().st_size] == []
    assert list(tmp_path.glob("XDG_STATE_HOME/tonnage/local/*/jobs/*")) == []


def test_the_schedulers_own_options_may_begin_with_a_dash_and_be_several_words() -> None:
    found = parsed_request("--scheduler-options=--nice=5 --comment='a b'", "--scheduler-options", "-C fast", "go", "-x")
    assert (found.terms.words, found.argv) == (("--nice=5", "--comment=a b", "-C", "fast"), ("go", "-x"))
    found = parsed_request(
        *("--time-limit", "90s", "--account", "p", "--memory", "2GiB", "--gpus", "2", "--exclusive", "--input", "i"),
        *("--dependency", "afterok:7?after:8", "--mail", "end,begin", "--mail-to", "ann@site", "go"),
    )
    assert found.input == "i"
    assert found.terms == Terms(
        time_limit_s=90,
        account="p",
        memory_bytes=2 << 30,
        gpus=2,
        exclusive=True,
        dependency=Dependency((("afterok", "7"), ("after", "8")), any_of=True),
        mail=Mail(("begin", "end"), "ann@site"),
    )


@given(some.lists(WORDS, min_size=1, max_size=8))
def test_every_word_after_two_dashes_is_the_programs(words: list[str]) -> None:
    assume(words[:1] != [""])  # no program has an empty name
    own, program = split_program(SUBMIT, ["-I", "-q", "short", "--", *words])
    assert (own, program) == (["-I", "-q", "short"], words)


@given(some.lists(some.sampled_from([*FLAGS, *((name, "value") for name in VALUED)]), max_size=6), some.lists(WORDS))
def test_whatever_the_options_the_program_begins_where_they_end(
    options: list[tuple[str, ...]], rest: list[str]
) -> None:
    own = [word for option in options for word in ((option[0],) if option in FLAGS else option)]
    assert split_program(SUBMIT, [*own, "program", *rest]) == (own, ["program", *rest])


def test_what_is_typed_reaches_the_wish() -> None:
    found = parsed_request(
        *("-q", "short", "-o", "o", "-e", "e", "-n", "2", "-J", "align", "--copies", "50", "--cap", "8"),
        *("--path", "/data", "--io-share", "30%", "--anywhere", "--key", "k.1", "--scheduler", "local"),
        *("--local-wait", "5m", "--site", "s.toml", "go", "-x"),
    )
    assert (found.queue, found.output, found.error, found.slots, found.name) == ("short", "o", "e", 2, "align")
    assert (found.copies, found.cap, found.path, found.io_share, found.anywhere) == (50, 8, "/data", 0.3, True)
    assert (found.key, found.scheduler, found.local_wait_ns) == ("k.1", "local", 300 * 10**9)
    assert str(found.site_file) == "s.toml" and found.argv == ("go", "-x")


@pytest.mark.parametrize(
    ("text", "spelling", "cap"),
    [("50", "1-50", "auto"), ("50%8", "1-50", 8), ("7,9", "7,9", "auto"), ("1-4,10-20:2%3", "1-4,10-20:2", 3)],
)
def test_copies_are_counted_or_named(text: str, spelling: str, cap: int | str) -> None:
    found = parsed_request("--copies", text, "go")
    assert (spelled(found.numbers), found.cap) == (spelling, cap)


def test_what_is_not_typed_is_left_to_the_site() -> None:
    found = parsed_request("go")
    assert (found.queue, found.copies, found.cap, found.slots, found.local_wait_ns) == (None, None, "auto", 1, None)
    assert re.fullmatch("[0-9a-f]{16}", found.key) and parsed_request("go").key != found.key


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "there is no command"),
        (["--"], "there is no command"),
        (["--cap", "4", "go"], "add --copies"),
        (["-I", "--copies", "3", "go"], "leave --copies"),
        (["--copies", "1-9%2", "--cap", "4", "go"], "say the same thing"),
        (["-I", "-o", "x", "go"], "leave --output"),
        (["-I", "-e", "x", "go"], "leave --error"),
        (["-I", "--key", "k", "go"], "leave --key"),
        (["-I", "--json", "go"], "leave --json"),
        (["-I", "--input", "x", "go"], "leave --input"),
        (["--mail-to", "ann@site", "go"], "add --mail"),
        (["--memory", "0", "go"], "is no memory"),
        (["--transfer", "0", "go"], "--transfer=0 moves nothing; hint: "),
        (["--profile", "r", "--io-share", "1", "go"], "give one of them"),
        (["go", "a\0b"], "NUL"),
    ],
)
def test_contradictions_are_one_clear_line(words: list[str], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        parsed_request(*words)


@pytest.mark.parametrize(
    "words",
    [
        ["--copies", "0", "go"],
        ["--cap", "many", "--copies", "4", "go"],
        ["--key", "a b", "go"],
        ["--io-share", "2", "go"],
        ["--local-wait", "soon", "go"],
        ["--scheduler", "cron", "go"],
        ["--strange", "go"],
        ["-q"],
    ],
)
def test_values_that_are_none_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed_request(*words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("tonnage: error: ") and len(said.splitlines()) == 1
