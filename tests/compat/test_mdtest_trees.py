"""Which trees mdtest's options make, and what is done in them in which order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tonnage.compat.front_end import parse_arguments
from tonnage.compat.mdtest.options import MDTEST
from tonnage.compat.mdtest.request import understand
from tonnage.compat.measure import Ranks
from tonnage.records import Run

from .mdtest_calls import Mdtest, lines_of


def counts_of(run: Path) -> dict[str, int]:
    return {line["phase"]: line["operations"] for line in lines_of(run)}


def test_items_of_several_directories_are_made_in_each_and_all_are_counted(
    mdtest: Mdtest, data: Path, tmp_path: Path
) -> None:
    words = ("--tasks", "2", "-F", "-n", "12", "-I", "4", "-w", "1k", "-G", "3")
    said = mdtest("-C", *words)
    assert "\n2 tasks, 24 files\n" in said.out
    holding = {path.parent for path in data.rglob("f.*") if path.is_file()}
    assert len(holding) == 3 and {len(list(place.glob("f.*"))) for place in holding} == {8}
    (tree,) = [line for line in lines_of(tmp_path / "run-0") if line["phase"] == "make-tree"]
    assert said.mean["Tree creation"] == pytest.approx(1e9 / tree["elapsed_ns"], abs=0.001)
    found = re.search(
        r"finding one-tree-counted: Tree creation counts one of 3 directories; all of them, and the one that they are "
        r"in, were made at (\d+\.\d{3}) ops/sec",
        said.err,
    )
    assert found and float(found[1]) == pytest.approx(4e9 / tree["elapsed_ns"], abs=0.001)
    mdtest("-T", "-E", "-X", "-e", "1k", "-r", *words)
    assert counts_of(tmp_path / "run-1") == {"stat": 24, "read": 24, "remove": 24, "remove-tree": 4}
    assert not list(data.iterdir())


def test_as_many_items_as_one_directory_has_make_one(mdtest: Mdtest, tmp_path: Path) -> None:
    assert "one-tree-counted" not in mdtest("-F", "-n", "6", "-I", "6").err
    assert counts_of(tmp_path / "run-0")["make-tree"] == 1


def test_without_items_the_tree_alone_is_made_and_removed(mdtest: Mdtest, data: Path, tmp_path: Path) -> None:
    said = mdtest("-z", "2", "-b", "3")
    assert "\n1 tasks, 0 files/directories\n" in said.out
    assert {name for name, value in said.mean.items() if value} == {"Tree creation", "Tree removal"}
    assert counts_of(tmp_path / "run-0") == {"make-tree": 13, "remove-tree": 13}
    mdtest("-z", "1", "-b", "5", "-C", "-D")
    assert [path.name for path in data.iterdir()] == ["test-dir.0-0"]
    assert mdtest("-z", "1", "-b", "5", "-r", "-D").mean["Tree removal"] > 0 and not list(data.iterdir())


def test_iterations_that_create_and_keep_have_a_tree_each(mdtest: Mdtest, data: Path, tmp_path: Path) -> None:
    words = ("-F", "-n", "4", "-w", "100", "-G", "1", "-i", "3")
    made = mdtest("-C", *words)
    assert "(of 3 iterations)" in made.out and min(made.rows["File creation"][:3]) > 0
    assert sorted(path.name for path in data.iterdir()) == ["test-dir.0-0", "test-dir.1-0", "test-dir.2-0"]
    assert sorted(path.name for path in (tmp_path / "run-0").iterdir()) == [f"iteration-{at}" for at in range(3)]
    again = mdtest("-C", *words, code=2)
    assert again.err.count("\n") == 1 and "test-dir.1-0 is there already; hint: remove it with -i 2 -r" in again.err
    read = mdtest("-E", "-X", "-e", "100", *words)
    assert min(read.rows["File read"][:3]) > 0
    more = mdtest("-T", *words[:-1], "4", code=2)
    assert more.err == (
        f"tonnage: error: mdtest -i: there is no {data}/test-dir.3-0; hint: create it with -i 4 -C first\n"
    )
    assert min(mdtest("-r", *words).rows["File removal"][:3]) > 0 and not list(data.iterdir())


def test_each_operation_of_the_last_of_several_kept_iterations_is_in_the_files(mdtest: Mdtest, tmp_path: Path) -> None:
    mdtest("-C", "-F", "-n", "7", "-i", "2", f"--savePerOpDataCSV={tmp_path}/op")
    rows = (tmp_path / "op-File creation-00000.csv").read_text().splitlines()[1:]
    run = Run.open(tmp_path / "run-0/iteration-1")
    (create,) = [line for line in run.trials() if line["phase"] == "create"]
    columns = run.operations(create["record"])
    assert columns and [float(row.split(",")[1]) for row in rows] == pytest.approx(
        [latency / 1e9 for latency in columns["latency_ns"]], rel=1e-6
    )


def test_a_random_order_is_not_that_of_the_removal(mdtest: Mdtest, tmp_path: Path) -> None:
    said = mdtest("-n", "20", "-R", "--tasks", "2", "-N", "1")
    orders = {line["phase"]: line["setting"]["order"] for line in lines_of(tmp_path / "run-0")}
    assert orders == {
        "make-tree": "random", "make-directory": "random", "stat-directory": "random", "rename-directory": "creation",
        "remove-directory": "creation", "create": "random", "stat": "random", "read": "random", "remove": "creation",
        "remove-tree": "creation",
    }  # fmt: skip
    assert min(said.mean.values()) > 0


def test_an_empty_file_is_not_synced(mdtest: Mdtest, tmp_path: Path) -> None:
    """As with mdtest, whose fsync follows a write."""
    for number, words in enumerate((["-y"], ["-y", "-w", "1"])):
        mdtest("-F", "-n", "20", "-C", "-r", *words)
        (create,) = [line for line in lines_of(tmp_path / f"run-{number}") if line["phase"] == "create"]
        assert create["durability"] == ("none", "fsync-each")[number]


@pytest.mark.parametrize(
    ("hosts", "shift"),
    [(("a", "a", "b", "b"), 4), (("a", "b", "a", "b"), 2), (("a", "a"), 2), ((), 2)],
)
def test_a_shift_goes_over_nodes_that_have_a_block_of_tasks(hosts: tuple[str, ...], shift: int) -> None:
    words = ["-n", "10", "-N", "2", "--tasks", str(len(hosts) or 4)]
    assert understand(parse_arguments(MDTEST, words), tuple(words), Ranks(hosts)).shift == shift
