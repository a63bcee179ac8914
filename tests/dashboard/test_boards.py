"""Tables beside the runs: the file servers of a site, and this user's drains."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import live_page
import pytest
from tonnage.cli.commands.serve import drains_board, servers_board
from tonnage.cluster.scheduler import Job
from tonnage.cluster.schedulers.local import Local
from tonnage.dashboard.pages import Board, Row, Table
from tonnage.dashboard.run_list import Runs
from tonnage.dashboard.topic_store import TopicStore
from tonnage.dashboard.updates import UpdateLoop
from tonnage.errors import RequestError, TonnageError

EMPTY: dict[str, list[Any]] = {"rows": []}
Serving = Callable[..., live_page.Served]

SITE = """\
scheduler = "local"
[[server]]
name = "fs1"
indices = "http://127.0.0.1:9/metrics"
"""


def test_the_servers_of_a_site_are_a_board_and_one_that_does_not_answer_is_told(tmp_path: Path) -> None:
    (tmp_path / "tonnage.toml").write_text(SITE)
    board = servers_board(tmp_path, None)
    assert board is not None
    table = board.ask()
    assert [row.cells[0] for row in table.rows] == ["fs1"]
    assert len(table.rows[0].cells) == len(board.columns)
    assert table.rows[0].kind == "dim" and any(note.startswith("fs1: ") for note in table.notes)


def test_without_a_server_there_is_no_board_and_a_wrong_site_file_is_refused(tmp_path: Path) -> None:
    assert servers_board(tmp_path, None) is None
    (tmp_path / "tonnage.toml").write_text("[[server]]\nname = 1\n")
    with pytest.raises(RequestError, match=r"tonnage\.toml"):
        servers_board(tmp_path, None)


def test_a_drain_is_a_row_with_its_queue(tmp_path: Path, serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    source, to, runs = (tmp_path / name for name in ("local", "pfs", "runs"))
    for place in (source, to, runs):
        place.mkdir()
    (source / "one.dat").write_bytes(b"x" * 1000)
    command = [*live_page.COMMAND, "stage", "start", "--from", str(source), "--to", str(to), "--name", "drained"]
    live_page.subprocess.run(
        command, env=live_page.environment(), check=True, capture_output=True, timeout=live_page.LIMIT_S
    )
    try:
        with live_page.Viewer(serving(runs).port) as viewer:
            found = viewer.until(
                lambda seen: any(
                    row["cells"][3].startswith("1 file") for row in seen.get("drains", {"rows": []})["rows"]
                )
            )
        row = next(row for row in found[-1][2]["rows"] if row["cells"][0] == "drained")
        assert row["cells"][1:3] == [str(source), str(to)]
        assert row["share"] == 1.0 and row["cells"][4].startswith("0 files")
        assert len(row["cells"]) == len(drains_board().columns)
    finally:
        live_page.subprocess.run(
            [*live_page.COMMAND, "stage", "stop", "--name", "drained"],
            env=live_page.environment(), check=True, capture_output=True, timeout=live_page.LIMIT_S,
        )  # fmt: skip


def test_a_board_that_cannot_be_asked_says_why_and_the_rest_goes_on(tmp_path: Path) -> None:
    asked: list[int] = []

    def fails() -> Table:
        raise TonnageError("no answer; hint: ask later")

    def counts() -> Table:
        asked.append(1)
        return Table((Row((str(len(asked)),)),))

    async def look() -> tuple[dict[str, object], dict[str, object]]:
        boards = [Board("broken", "Broken", ("x",), "", fails, 0.01), Board("well", "Well", ("x",), "", counts, 0.01)]
        topics = TopicStore()
        keeper = UpdateLoop(Runs([tmp_path]), boards, topics)
        work = asyncio.create_task(keeper.work())
        with keeper.viewer(None) as wanted:
            while len(asked) < 5:
                await topics.wait(5)
            found = {topic: json.loads(data) for _, topic, data in topics.since(0, wanted)}
        await asyncio.sleep(0.1)
        before = len(asked)
        await asyncio.sleep(0.1)
        assert len(asked) == before, "nobody looks, and it goes on asking"
        work.cancel()
        return found["broken"], found["well"]

    broken, well = asyncio.run(look())
    assert broken == {"rows": [], "notes": ["no answer; hint: ask later"]}
    assert well["rows"]


def test_a_server_above_its_line_says_since_when_and_whose_jobs_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tonnage.toml").write_text('scheduler = "local"\n[[server]]\nname = "fs1"\nline = { tasks = 2 }\n')
    running: list[Job] = []
    monkeypatch.setattr(Local, "jobs", lambda _self, **_: running)
    # Each look has a list of jobs of its own.
    monkeypatch.setattr("tonnage.cli.commands.serve._SERVERS_S", 0.0)
    board = servers_board(tmp_path, None)
    assert board is not None
    (row,) = board.ask().rows
    assert row.details == () and row.kind == "dim"
    running.append(Job(job="7", user="an\x1b[2Jn", name="align", server="fs1", state="running", count=3))
    board.ask()
    (row,) = board.ask().rows
    since, whose = row.details
    assert since.startswith("Above its load line since 20") and row.kind == "bad"
    assert whose == "1 job: an\\x1b[2Jn 3 tasks (align); the scheduler tells of yours alone."
    running.clear()
    board.ask()
    assert board.ask().rows[0].details == ()
