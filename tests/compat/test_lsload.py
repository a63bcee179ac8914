"""LSF's load table of file servers: its columns, its words, and a live one of this host."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.compat.lsload.front import run, status, table
from tonnage.compat.shared import Voice
from tonnage.errors import RequestError
from tonnage.placement.indices import Reading
from tonnage.placement.load import Row

READING = Reading(
    server="rcss1", source="proc", at_s=0.0, ut_permille=54, bio_per_s=176.9, bio_bytes_per_s=5_242_880,
    rpc_per_s=272.5, pressure_permille=0, cpus=8,
)  # fmt: skip
ROW = Row(server="rcss1", reading=READING, age_s=1.0, stale=False, running=3, waiting=0, line=8)


def test_the_columns_are_lsfs_with_those_that_the_site_added() -> None:
    heading, line = table([ROW], long=True, wide=False).splitlines()
    found = dict(zip(heading.split(), line.split(), strict=True))
    assert heading.split() == [
        "HOST_NAME",
        "status",
        "r15s",
        "r1m",
        "r15m",
        "ut",
        "pg",
        "io",
        "ls",
        "it",
        "tmp",
        "swp",
        "mem",
        "bio",
        "rpc",
    ]
    assert {name: cell for name, cell in found.items() if cell != "-"} == {
        "HOST_NAME": "rcss1",
        "status": "ok",
        "ut": "5%",
        "io": "5120",
        "bio": "176.9",
        "rpc": "272.5",
    }
    # Right under their headings, as scripts that cut columns expect.
    assert line.index("272.5") + len("272.5") == heading.index("rpc") + len("rpc")


def test_the_short_table_leaves_out_what_lsf_leaves_out() -> None:
    heading, _ = table([ROW], long=False, wide=False).splitlines()
    assert heading.split() == [
        "HOST_NAME",
        "status",
        "r15s",
        "r1m",
        "r15m",
        "ut",
        "pg",
        "ls",
        "it",
        "tmp",
        "swp",
        "mem",
    ]


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (ROW, "ok"),
        (replace(ROW, running=8), "busy"),
        (replace(ROW, running=None), "ok"),
        (replace(ROW, stale=True), "-ok"),
        (replace(ROW, reading=None, age_s=None, stale=True), "unavail"),
    ],
)
def test_the_status_is_in_lsfs_words(row: Row, word: str) -> None:
    assert status(row) == word


def test_a_long_name_is_whole_where_asked_for() -> None:
    row = replace(ROW, server="a-file-server-of-a-long-name")
    assert row.server not in table([row], long=True, wide=False)
    assert table([row], long=True, wide=True).splitlines()[1].startswith(f"{row.server} ")


def said(*words: str) -> tuple[int, str, str]:
    voice = Voice(io.StringIO(), io.StringIO())
    code = run(words, voice)
    assert isinstance(voice.out, io.StringIO) and isinstance(voice.err, io.StringIO)
    return code, voice.out.getvalue(), voice.err.getvalue()


def test_this_host_is_looked_at_and_a_server_without_indices_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tonnage.toml").write_text(
        'scheduler = "local"\n[[server]]\nname = "here"\nindices = "proc:"\n[[server]]\nname = "there"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, out, complaints = said("-l")
    assert code == 0
    _, here, there = out.splitlines()
    assert here.split()[:2] == ["here", "ok"]
    assert here.split()[5].endswith("%")
    assert there.split()[1] == "unavail"
    assert "there: the site file does not say where its indices are read" in complaints
    assert len(said("-l", "here")[1].splitlines()) == 2
    assert said("there")[0] == 1
    with pytest.raises(RequestError, match="no file server 'nowhere'"):
        said("-l", "nowhere")
