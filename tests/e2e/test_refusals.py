"""What cannot be done is told in one line, with an exit code, and leaves nothing."""

from __future__ import annotations

import subprocess

import pytest

from .shell import LAUNCHER, Shell


def test_a_file_name_with_a_newline_is_refused_by_a_directive_of_ior(shell: Shell) -> None:
    said = shell("ior", "-O", "summaryFile=a\nb/s", "-b", "64k", "-t", "64k", "-o", shell.data / "f", check=2)
    assert said.err.count("\n") == 1 and "line break" in said.err
    assert not (shell.home / "a").exists() and shell.runs == []


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("explain",), ("ior", "--help")])
def test_help_that_cannot_be_written_is_told_in_one_line(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run([LAUNCHER, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    told = "tonnage: error: standard output cannot be written: No space left on device; hint: "
    assert done.stderr.startswith(told) and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "model", ["stall-every=1ns,stall=1000h", "stall-every=1ns,stall=1s", "stall-every=1ms,stall=1h"]
)
def test_a_model_that_does_nothing_but_stall_is_refused(shell: Shell, model: str) -> None:
    said = shell("probe", "--budget", "4s", f"sim:{model}", check=2)
    assert said.err.count("\n") == 1 and "stall" in said.err
    assert shell.runs == []


def test_a_report_that_is_not_drawn_is_an_error(shell: Shell) -> None:
    shell("run", shell.write("c.toml", 'target = "null:"\n[workload]\nblock_size = "1MiB"\n'), "--no-report")
    (run,) = shell.runs
    (run / "report.html").write_text("my own page")
    said = shell("report", run, check=1)
    assert "report.html" in said.err
    assert (run / "report.html").read_text() == "my own page"


def test_a_run_whose_report_cannot_be_written_ends_with_code_1_and_its_result(shell: Shell) -> None:
    file = shell.write("c.toml", 'target = "null:"\n[workload]\nblock_size = "1MiB"\n')
    small = ["prlimit", "--fsize=500000"]  # a report has the library of charts
    done = subprocess.run(
        [*small, LAUNCHER, "run", file], cwd=shell.home, capture_output=True, text=True, env=shell.environment(),
        check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "tasks" in done.stdout, done
    assert "tonnage: no report: cannot write it into " in done.stderr and "File too large" in done.stderr
