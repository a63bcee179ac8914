"""A path that somebody names on a command line, whose server has died: it is named, and the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultfs import Mounted, mounted, needs_fuse

LIMIT_S = 60.0
"""Some times 2 s, and a busy machine: without an answer it would be for ever."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Mounted]:
    needs_fuse()
    with mounted(tmp_path) as mount:
        (mount.path / "dir").mkdir()
        yield mount


def said(mount: Mounted, home: Path, *words: str, path: str = "") -> tuple[int, str]:
    """Exit code, and all that is printed in a directory of this host, while the mount's server is stopped."""
    here = home / "here"
    here.mkdir()
    (here / "link").symlink_to(mount.path / "dir" / "prog")
    environment = {**os.environ, "PATH": f"{path}{os.environ.get('PATH', os.defpath)}"}
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        environment[name] = str(home / name)
    with subprocess.Popen(
        [sys.executable, "-m", "tonnage.cli", *words],
        cwd=here, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            with mount.stopped():
                found, _ = process.communicate(timeout=LIMIT_S)
            return process.returncode, found
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


SUBMIT = ("submit", "--scheduler", "local", "--anywhere", "--dry-run")


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        ((*SUBMIT, "--profile", "{dir}", "true"), 2, "--profile: {dir} did not answer within 2 s; hint: "),
        ((*SUBMIT, "--profile", "../mount/dir", "true"), 2, "--profile: ../mount/dir did not answer within 2 s"),
        ((*SUBMIT, "--site", "{dir}/site.toml", "true"), 2, "{dir}/site.toml does not answer; hint: "),
        ((*SUBMIT, "{dir}/prog"), 0, "note: {dir}/prog did not answer within 2 s; it is submitted all the same"),
        ((*SUBMIT, "./link"), 0, "note: ./link did not answer within 2 s; it is submitted all the same"),
        ((*SUBMIT, "../mount/dir/prog"), 0, "note: ../mount/dir/prog did not answer within 2 s; it is submitted"),
        ((*SUBMIT, "--path", "{dir}", "true"), 0, "{dir} did not answer within 2 s: the mount table alone"),
        (("iobsub", "-cwd", "{dir}", "true"), 2, "iobsub -cwd: '{dir}' did not answer within 2 s; hint: "),
    ],
)
def test_a_path_that_does_not_answer_is_named(
    place: Mounted, tmp_path: Path, words: tuple[str, ...], code: int, what: str
) -> None:
    directory = str(place.path / "dir")
    found, text = said(place, tmp_path, *(word.replace("{dir}", directory) for word in words))
    assert found == code, text
    assert what.replace("{dir}", directory) in text and "Traceback" not in text


def test_a_directory_of_path_that_does_not_answer_is_not_taken_for_the_working_directory(
    place: Mounted, tmp_path: Path
) -> None:
    found, text = said(place, tmp_path, *SUBMIT, "true", path=f"{place.path / 'dir'}:")
    assert found == 0, text
    assert "a directory of PATH, where true may be, did not answer within 2 s" in text
    assert f"{tmp_path / 'here'} did not answer" not in text
