"""What takes colours and movements of the cursor: a terminal that somebody sits before, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest
from tonnage.cli.output_stream import is_plain
from tonnage.cli.terminal import rich_console

LAUNCHERS = {
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
    "MPICH": {"PMI_RANK": "0", "PMI_SIZE": "2"},
    "Flux": {"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "2"},
}
SRUN = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}


@pytest.fixture
def pty(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """A terminal."""
    for name in [*os.environ]:
        if name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS") or name.startswith(("OMPI", "PMI", "SLURM", "FLUX")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm-256color")
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_s_pseudo_terminal_is_no_terminal(
    pty: TextIO, launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_plain(pty) and rich_console(pty).color_system
    for name, value in LAUNCHERS[launcher].items():
        monkeypatch.setenv(name, value)
    assert is_plain(pty)
    console = rich_console(pty)
    assert not console.is_terminal and console.color_system is None


def test_the_terminal_that_a_user_asked_srun_for_is_one(pty: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SRUN.items():
        monkeypatch.setenv(name, value)
    assert not is_plain(pty)


def test_what_is_behind_a_pipe_gets_no_colours_though_the_environment_forces_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    with (tmp_path / "log").open("w") as stream:
        console = rich_console(stream)
        console.print("said", style="bold red")
    assert not console.is_terminal and console.width == 80
    assert (tmp_path / "log").read_text() == "said\n"
