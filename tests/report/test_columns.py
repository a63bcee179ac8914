"""Tables fit the terminal, whatever a name in them holds, and lose none of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from rich.cells import cell_len
from tonnage.cli import main
from tonnage.printable_text import one_line
from tonnage.report.columns import fitting_blocks, laid_out
from tonnage.report.figures.figure import Table, text_column

WIDTH = 80
NAMES = {
    "long": "x" * 200,
    "words": "write, storage a very long name of a storage that somebody gave to it, transfer_size 64KiB, 8 tasks",
    "path": "/scratch/project_2001234/some/where/far/below/in/a/tree/20261121T101500Z-probe-1f2e3d4c/run",
    "cjk": "漢字" * 40,
    "combining": "e\u0301" * 120,
    "override": "abc\u202edef" * 20,
    "controls": "\x1b[2J\x07\r\n\t" * 12,
    "zero width": "a\u200bb\u200d" * 30,
    "emoji": "👩\u200d🚀" * 25,
    "empty": "",
}


def drawn(table: Table, width: int = WIDTH) -> list[str]:
    return [line for block in fitting_blocks(table, width) for line in laid_out(block)]


@pytest.mark.parametrize("width", [40, 80, 133])
@pytest.mark.parametrize("name", NAMES)
def test_a_table_fits_and_its_figures_are_whole(name: str, width: int) -> None:
    figures = [f"{number}.5 GB/s" for number in range(8)]
    table = Table.of((text_column("what"), *(f"column {n}" for n in range(8))), ((NAMES[name], *figures),) * 2)
    lines = drawn(table, width)
    assert max(map(cell_len, lines)) <= width
    assert all(sign.isprintable() for line in lines for sign in line)
    text = "\n".join(lines)
    assert all(text.count(figure) == 2 for figure in figures)
    first = fitting_blocks(Table(table.columns, table.rows[:1]), width)[0]
    told = "".join(row[0] for row in first.rows).replace(" ", "")
    assert told == one_line(NAMES[name]).replace(" ", ""), "nothing of a name is lost"


def test_random_names_in_any_column_fit() -> None:
    draw = random.Random(11)
    signs = "ab /,漢e\u0301\u202e\u200b\x1b👩"
    for _ in range(200):
        columns = draw.randrange(1, 7)
        named = tuple(text_column("".join(draw.choices(signs, k=draw.randrange(1, 60)))) for _ in range(columns))
        rows = tuple(
            tuple("".join(draw.choices(signs, k=draw.randrange(90))) for _ in range(columns)) for _ in range(3)
        )
        assert max(map(cell_len, drawn(Table.of(named, rows)))) <= WIDTH


def run_of(directory: Path, target: str, name: str) -> str:
    file = directory / f"{name}.toml"
    workload = "漢字漢字漢字漢字 e\u0301e\u0301 \u202e so on and so on and so on and so on"
    table = 'op = "write"\ntasks = [1, 2, 4]\nblock_size = "8MiB"\n'
    file.write_text(
        f'target = "{target}"\nseed = 1\n[repeat]\ncount = 3\n'
        f"[[workload]]\nname = '{workload}'\n{table}[[workload]]\nname = 'b'\n{table}",
        encoding="utf-8",
    )
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return str(directory / name)


def test_the_tables_of_every_answer_fit_a_terminal_of_eighty_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    long = ",".join(["sim:knee=2", "plateau=2GB/s", "noise=3%", "cache=1TiB", "jitter=10%", "name=a-name-that-is-long"])
    run_of(tmp_path, long, "one"), run_of(tmp_path, long.replace("2GB/s", "1GB/s"), "other")
    # A path is not broken, whatever its length: it is to be copied.
    monkeypatch.chdir(tmp_path)
    one, other = "one", "other"
    for words in (
        ["report", "-v", one],
        ["compare", one, other],
        ["history", one, other],
        ["crossover", one, other, "--shared", other],
        ["project", one, "--tasks", "16"],
    ):
        capsys.readouterr()
        assert main(words) == 0, words
        lines = capsys.readouterr().out.splitlines()
        # A row has two columns or more; sentences and titles have none, and may wrap.
        rows = [line for line in lines if "  " in line.strip()]
        assert rows and max(map(cell_len, rows)) <= WIDTH, "\n".join(rows)
        assert all(sign.isprintable() for line in lines for sign in line)
