"""LSF's load table of file servers: its columns, its words, and a live one of this host."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.compat.front_end import Voice
from tonnage.compat.lsload.command import run, table
from tonnage.compat.lsload.indices import LONG, SHORT, status
from tonnage.compat.lsload.resource_requirement import parse
from tonnage.errors import RequestError
from tonnage.placement.indices.reading import Host, Reading
from tonnage.placement.server_load import LoadRow

READING = Reading(
    server="rcss1", source="proc", at_s=0.0, ut_permille=54, bio_per_s=176.9, bio_bytes_per_s=5_242_880,
    rpc_per_s=272.5, pressure_permille=0, cpus=8,
)  # fmt: skip
ROW = LoadRow(server="rcss1", reading=READING, age_s=1.0, stale=False, running=3, waiting=0, line=8)


def test_the_columns_are_lsfs_with_those_that_the_site_added() -> None:
    heading, line = table([ROW], LONG, wide=False).splitlines()
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
    heading, _ = table([ROW], SHORT, wide=False).splitlines()
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
        (replace(ROW, others=4), "ok"),
        (replace(ROW, others=5), "busy"),
        (replace(ROW, running=None), "ok"),
        (replace(ROW, stale=True), "-ok"),
        (replace(ROW, reading=None, age_s=None, stale=True), "unavail"),
    ],
)
def test_the_status_is_in_lsfs_words(row: LoadRow, word: str) -> None:
    assert status(row) == word


def test_a_long_name_is_whole_where_asked_for() -> None:
    row = replace(ROW, server="a-file-server-of-a-long-name")
    assert row.server not in table([row], LONG, wide=False)
    assert table([row], LONG, wide=True).splitlines()[1].startswith(f"{row.server} ")


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


def row(name: str, *, ut: int | None = 54, mem_mb: int | None = 4000, queue: float = 1.0) -> LoadRow:
    host = Host(run_15s=queue, memory_free_bytes=None if mem_mb is None else mem_mb << 20)
    return replace(ROW, server=name, reading=replace(READING, server=name, ut_permille=ut, host=host))


ROWS = [row("a", mem_mb=100), row("b", ut=900, queue=0.5), row("c", mem_mb=None), row("d", mem_mb=9000, queue=4.0)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "bacd"),
        ("select[mem > 500]", "bd"),
        ("mem > 500", "bd"),
        ("mem > 500 order[ut]", "db"),
        ("order[-mem]", "abdc"),
        ("order[mem]", "dbac"),
        ("ut < 0.5 && r15s * 2 <= 2", "ac"),
        ("!defined(mem) || mem / 2 >= 2000", "bcd"),
        ("!(ut < 0.5)", "b"),
        ("hname == 'a' || hname == d", "ad"),
        ("status != ok", ""),
        ("type == any && ncpus == 8", "bacd"),
        ("1 - 1 / 0", ""),
        ("swap > 1", ""),
    ],
)
def test_a_requirement_chooses_and_orders(text: str, names: str) -> None:
    assert "".join(one.server for one in parse(text).apply(ROWS)) == names


@pytest.mark.parametrize(
    "text",
    [
        "foo > 1", "mem >", "mem > > 1", "(mem > 1", "mem > 1)", "ut < 50",
        "select[mem > 1] rusage[mem=1]", "order[foo]",
        "select[mem > 1", "mem $ 1", "type == LINUX", "status", "select[mem>1] select[mem>2]", "mem < 1 select[mem>2]",
        "(" * 60 + "1" + ")" * 60, "1" + "+1" * 300, "1" * 5000, "order[ut:]",
    ],
)  # fmt: skip
def test_a_requirement_that_is_not_understood_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(text)
    assert "hint: " in str(caught.value) and "\n" not in str(caught.value)


def test_this_hosts_indices_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tonnage.toml").write_text(
        'scheduler = "local"\n[[server]]\nname = "here"\nindices = "proc:"\nslots = 4\nlicence = "io"\n'
        "line = { tasks = 3 }\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    heading, line = said("-l")[1].splitlines()
    found = dict(zip(heading.split(), line.split(), strict=True))
    assert all(found[name] != "-" for name in ("r15s", "r1m", "r15m", "ut", "pg", "tmp", "swp", "mem"))
    heading, line = said("-I", "r1m:mem", "-N", "-n", "1")[1].splitlines()
    assert heading.split() == ["HOST_NAME", "status", "r1m", "mem"] and line.split()[3][-1] in "MGT"
    assert said("-R", "mem < 0") == (1, "", "lsload: no server satisfies the resource requirement\n")
    heading, tasks, licences = (one.split() for one in said("-s")[1].splitlines())
    assert (heading, licences) == (["RESOURCE", "VALUE", "LOCATION"], ["io", "4", "here"])
    # What else waits for a storage of this host takes of the line.
    assert (tasks[0], tasks[2]) == ("tasks", "here") and 0 <= int(tasks[1]) <= 3
    assert len(said("-s", "io")[1].splitlines()) == 2
    for words in (("-N", "-E"), ("-I", "nothing"), ("-s", "nothing"), ("-n", "0")):
        with pytest.raises(RequestError, match="hint"):
            said(*words)
