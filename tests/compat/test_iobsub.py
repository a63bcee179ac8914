"""iobsub's published session, through the local scheduler; and words that begin where the program does."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from tonnage.cluster.schedulers.local import Local
from tonnage.command_line import HelpAsked, split_program
from tonnage.compat.iobsub.command import NOT_FOUND
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.errors import RequestError
from waiting import wait_until

from .iobsub_calls import said

LIMIT_S = 60.0


def content(file: Path) -> str:
    """What is in a file once a job has written it."""
    wait_until(lambda: file.exists() and file.read_text(), f"{file} is written")
    return file.read_text()


@pytest.mark.usefixtures("here")
def test_a_quiet_interactive_job_prints_what_the_program_prints(capfd: pytest.CaptureFixture[str]) -> None:
    assert said("-q", "-I", "uname", "-n") == (0, [], "")
    assert capfd.readouterr().out.strip() == platform.node()


def test_a_batch_job_is_announced_with_its_server_and_the_schedulers_receipt(here: Path) -> None:
    code, lines, _ = said("uname", "-a")
    assert code == 0
    assert lines == [
        f"Submitting job to run on fileserver {platform.node()}",
        "Job <1> is submitted to queue <local>.",
    ]
    assert platform.node() in content(here / "tonnage-1.out")


def test_a_script_here_runs_with_its_output_in_a_file(here: Path) -> None:
    script = here / "go.sh"
    script.write_text("#!/bin/sh\necho went with $#\n")
    script.chmod(0o755)
    assert said("-o", "out.dat", "go.sh", "-I", "a b")[0] == 0
    assert content(here / "out.dat") == "went with 2\n"


@pytest.mark.usefixtures("here")
def test_the_status_of_the_program_is_that_of_the_command() -> None:
    assert said("-q", "-I", "sh", "-c", "exit 7")[0] == 7
    assert said("-q", "-K", "sh", "-c", "exit 5")[::2] == (5, "")


@pytest.mark.usefixtures("here")
def test_the_last_line_tells_how_a_job_failed_that_was_waited_for() -> None:
    code, _, complaint = said("-K", "sh", "-c", "exit 5")
    assert (code, complaint) == (5, "iobsub: job 1 ended with 5: `tonnage jobs -d` lists it\n")
    assert said("-K", "true")[2] == ""


def test_no_file_server_is_said_in_its_words(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/proc")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here))
    code, lines, complaint = said("uname", "-a")
    assert (code, lines) == (1, [])
    assert complaint.splitlines()[0] == NOT_FOUND


def test_a_word_after_q_that_is_a_queue_is_the_queue_and_it_is_said(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, lines, note = said("-q", "local", "-I", "uname", "-n")
    assert (code, lines) == (0, [f"Submitting job to run on fileserver {platform.node()}"])
    assert note.startswith("iobsub: note: -q local is taken as the queue local;") and note.count("\n") == 1
    assert capfd.readouterr().out.strip() == platform.node()
    assert said("-q", "-q", "local", "-I", "true")[:2] == (0, []), "quiet, and a queue"
    # A program of that name is a program where nothing else can be meant.
    (here / "local").write_text("#!/bin/sh\nexit 9\n")
    (here / "local").chmod(0o755)
    assert said("-q", "--", "./local")[:2] == (0, [])
    assert said("-q", "-I", "local")[0] == 9
    assert said("-q", "-I", "--", "local")[0] == 9


@pytest.mark.usefixtures("here")
def test_a_word_after_q_that_is_no_queue_is_the_published_programs() -> None:
    assert said("-q", "uname", "-a") == (0, [], "")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("-q", "mm", "-I", "hostname"), "no program 'mm' on PATH or here, .* there is no queue 'mm'"),
        (("mm",), "no program 'mm' on PATH or here; hint"),
    ],
)
def test_a_program_that_is_nowhere_is_refused_and_nothing_is_submitted(words: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        said(*words)
    assert Local(timeout_s=10).jobs(ended=True) == []


def test_a_disk_of_this_host_is_no_file_server_unless_anywhere_will_do(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here))
    (here / "tonnage.toml").write_text('scheduler = "local"\n')
    code, lines, complaint = said("uname", "-a")
    assert (code, lines) == (1, [])
    assert complaint.splitlines()[0] == NOT_FOUND
    assert "own storage" in complaint and "--anywhere" in complaint.splitlines()[1]
    assert Local(timeout_s=10).jobs(ended=True) == []
    assert said("--anywhere", "-q", "-I", "sh", "-c", "exit 4")[0] == 4


@pytest.mark.parametrize(
    ("words", "options", "program"),
    [
        (("uname", "-a"), [], ["uname", "-a"]),
        (("-q", "-I", "uname", "-a"), ["-q", "-I"], ["uname", "-a"]),
        (("-o", "out.dat", "go.sh"), ["-o", "out.dat"], ["go.sh"]),
        (("-oout.dat", "-n2", "go.sh", "-o"), ["-oout.dat", "-n2"], ["go.sh", "-o"]),
        (("-qI", "--", "-odd"), ["-qI"], ["-odd"]),
        (("-q", "-", "x"), ["-q"], ["-", "x"]),
        ((), [], []),
    ],
)
def test_options_end_where_the_program_begins(words: tuple[str, ...], options: list[str], program: list[str]) -> None:
    assert split_program(IOBSUB, words) == (options, program)


@pytest.mark.parametrize(
    "words",
    [
        ("-oo", "old.out", "./prog"), ("-eo", "old.out", "./prog"), ("-is", "in", "./prog"), ("-outdir", "/tmp", "p"),
        ("-Jd", "words", "./prog"), ("-ul", "./prog"), ("-eptl", "1:00", "./prog"), ("-app", "fluent", "./prog"),
        ("-rn", "./prog"), ("-We", "5", "./prog"), ("-wa", "URG", "./prog"), ("-mig", "5", "./prog"), ("-Ne", "p"),
        ("-Ep", "after", "./prog"), ("-oo=old.out", "./prog"), ("-q", "-oo", "old.out", "./prog"), ("-XF", "./prog"),
    ],
)  # fmt: skip
def test_another_option_of_bsub_is_refused_by_its_name_and_read_as_no_other(words: tuple[str, ...]) -> None:
    option = words[words[0] == "-q"].partition("=")[0]
    with pytest.raises(RequestError, match=f"^iobsub does not take the option {option}; hint: "):
        split_program(IOBSUB, words)


EMPTY = ("-w", "-W", "-b", "-P", "-J", "-o", "-e", "-i", "-M", "-R", "-u", "-m", "-cwd", "--queue")
"""Options whose value a script may have lost."""


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words, complaint in (
        ((), "no program to run"),
        (("-q",), "no program to run"),
        (("-y", "uname"), "has no option -y"),
        (("-Is", "-o", "out", "uname"), "has this terminal"),
        (("-n", "0", "uname"), "whole number from 1"),
        (("-o",), "needs a value"),
        *(((option, "", "true"), f"iobsub {option}: an empty value is no value; hint: ") for option in EMPTY),
    ):
        with pytest.raises(RequestError, match=complaint):
            said(*words)
    with pytest.raises(HelpAsked):
        split_program(IOBSUB, ["--help"])
    assert capsys.readouterr().out == ""
