"""The experiments' pages: every published table is in one, their generated parts are what the code writes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tonnage import published
from tonnage.published import EXPERIMENTS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "make"))

import experiment_pages as pages  # noqa: E402
import experiment_places as places  # noqa: E402
import experiments  # noqa: E402

PAGES = ROOT / "docs" / "experiments"
NAMES = list(dict.fromkeys(part.page for part in experiments.PARTS))


def read(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def test_every_published_file_is_printed_whole_in_a_page() -> None:
    files = {path.stem for path in Path(published.__file__).parent.glob("*.csv")}
    # Models of training and of caches, of which no experiment is.
    files -= {"mlperf-storage-training", "mlperf-storage-checkpoints", "mlperf-storage-kv-cache"}
    printed = {file: read(name) for name in NAMES for file in published.figures(name)}
    assert files and set(printed) == files
    for name in NAMES:
        for file, rows in published.figures(name).items():
            for row in rows:
                assert f"| {' | '.join(row.values())} |" in printed[file], f"{file}: {row} is not in {name}.md"


@pytest.mark.parametrize("name", NAMES)
def test_the_published_part_of_a_page_is_what_the_code_writes(name: str) -> None:
    assert pages.section_of(read(name), pages.AS_PRINTED) == pages.as_printed(name), (
        "run: python docs/make/experiments.py"
    )


def test_every_run_has_its_part_and_the_index_every_page() -> None:
    for part in experiments.PARTS:
        text = pages.section_of(read(part.page), part.name)
        assert text.startswith("**Run of "), part.name
        assert part.page in EXPERIMENTS
        assert (ROOT / "examples" / f"{part.example}.toml").is_file()
    index = read("README")
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "README"}
    assert all(f"({name}.md)" in index for name in NAMES)


def test_a_page_has_the_trap_ours_beside_the_published_figures_and_then_these_as_they_were_printed() -> None:
    for name in NAMES:
        page = read(name)
        trap = re.search(r"^## (The traps|Where the published figures mislead)$", page, re.MULTILINE)
        printed = page.index(pages.marks(pages.AS_PRINTED)[0])
        assert trap and trap.start() < printed and 0 < page.find("**Run of ") < printed, name
        assert page.count("this run") > 2, f"{name}: ours are not beside"


def test_every_run_can_be_made_by_itself_and_is_named_in_the_help() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "make" / "experiments.py", "--help"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    for part in experiments.PARTS:
        assert re.search(rf"^  {part.name} +docs/experiments/{part.page}\.md$", done.stdout, re.MULTILINE)
    assert len(done.stdout.splitlines()) < 30


def test_a_part_without_its_marks_is_refused_and_one_with_them_replaced_alone() -> None:
    begin, end = pages.marks("x")
    page = f"prose\n\n{begin}\n\nold\n\n{end}\n\nmore\n"
    assert pages.replaced(page, "x", "new") == page.replace("old", "new")
    for broken in ("prose", f"{end}\n{begin}", f"{begin}\n{begin}\n{end}"):
        with pytest.raises(ValueError, match="marks of 'x'"):
            pages.replaced(broken, "x", "new")


def test_a_bar_in_a_cell_ends_no_column() -> None:
    assert pages.table(("a", "b"), [("1|2", "3")]).splitlines()[-1] == "| 1\\|2 | 3 |"


def test_a_run_is_told_with_the_published_tables_and_ours_beside(tmp_path: Path) -> None:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    (part,) = (part for part in experiments.PARTS if part.name == "lcls-ffb")
    run, work = tmp_path / "run", tmp_path / "work"
    work.mkdir()
    places.model(places.RunRequest(ROOT / "examples" / "lcls-ffb.toml", 0.0001, run, work), "sim:knee=4")
    docs = tmp_path / "docs"
    shutil.copytree(PAGES, docs / "experiments", ignore=shutil.ignore_patterns("html"))
    before = read("lcls-ffb")
    experiments.write(part, run, docs, picture=False)
    page = (docs / "experiments" / "lcls-ffb.md").read_text(encoding="utf-8")
    told = pages.section_of(page, "lcls-ffb")
    assert page == pages.replaced(before, "lcls-ffb", told)
    assert told.startswith("**Run of ") and part.storage in told and "examples/lcls-ffb.toml" in told
    (readers,) = re.findall(r"^\| 8 \| 928 MB/s \| 950 MB/s \|.*$", told, re.MULTILINE)
    assert readers.count("|") == told.splitlines()[told.splitlines().index(readers)].count("|")
    assert "LCLS fast feedback: writers and OSTs" in told and "> " in told
    assert "Beside the published figures" in (docs / "experiments/html/lcls-ffb.html").read_text(encoding="utf-8")
