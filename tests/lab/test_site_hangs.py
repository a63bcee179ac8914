"""A project on a server that does not answer holds nobody up."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultfs import Mounted, mounted, needs_fuse
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_state
from tonnage.placement.server_load_lines import all_lines, line_of
from tonnage.placement.site import Line, Server, load_site, read_site
from tonnage.records.load_line_files import KeptLine, keep_line

LINE = KeptLine(
    target="t", operation="read", access="sequential", transfer_size=1, tasks=8, low=7, high=9, plateau_bytes_per_s=1,
    single_bytes_per_s=1, measured_at_s=1.0, host="n1", run="/runs/1", servers=("a",),
)  # fmt: skip
PATIENCE_S = 10.0
"""Twice 2 s, and a busy machine."""


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mounted]:
    """A mount that holds a site file and load lines, and whose server was stopped."""
    needs_fuse()
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with mounted(tmp_path) as mount:
        (mount.path / "tonnage.toml").write_text('scheduler = "local"\n', encoding="utf-8")
        keep_line(mount.path, LINE)
        assert load_site(mount.path).scheduler == "local"
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            yield mount
        finally:
            os.kill(mount.pid, signal.SIGCONT)


def test_a_project_whose_server_does_not_answer_costs_its_file_and_two_seconds(dead: Mounted, tmp_path: Path) -> None:
    user = tmp_path / "XDG_CONFIG_HOME" / "tonnage" / "tonnage.toml"
    user.parent.mkdir(parents=True)
    user.write_text('scheduler = "pbs"\n', encoding="utf-8")
    (tmp_path / "link").symlink_to(dead.path)
    for directory in (dead.path / "deep", tmp_path / "link"):
        began = time.monotonic()
        loaded = read_site(directory)
        assert time.monotonic() - began < PATIENCE_S
        assert loaded.site.scheduler == "pbs"
        assert loaded.passed_over == (f"no project's site file was looked for: {directory} does not answer",)


def test_a_named_file_that_does_not_answer_is_one_clear_line(dead: Mounted) -> None:
    began = time.monotonic()
    with pytest.raises(RequestError, match=r"tonnage\.toml does not answer; hint: "):
        load_site(Path("/"), dead.path / "tonnage.toml")
    assert time.monotonic() - began < PATIENCE_S


def test_shared_load_lines_that_do_not_answer_leave_the_users_own_and_the_stated_one(dead: Mounted) -> None:
    server = Server(name="a", line=Line(tasks=5))
    site = load_site(Path("/")).model_copy(update={"server": (server,), "lines": str(dead.path)})
    began = time.monotonic()
    assert line_of(site, server, None) == server.line
    assert time.monotonic() - began < PATIENCE_S
    keep_line(user_state("lines"), LINE)
    assert line_of(site, server, None) == LINE
    assert all_lines(site)[1] == [f"{dead.path} does not answer"]
