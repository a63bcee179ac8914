"""Rows of ``tonnage load``: readings, jobs and lines of each server in one place, and what is not known said so."""

from __future__ import annotations

import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
import tonnage
from prometheus_client.parser import text_string_to_metric_families
from tonnage.cli import main
from tonnage.cli.commands.load import HEADINGS, cells, drawn, problems, text
from tonnage.cluster.scheduler import Job
from tonnage.errors import RequestError
from tonnage.metrics_endpoint import Endpoint
from tonnage.placement.indices.reading import Reading
from tonnage.placement.server_load import LoadRow, load_rows
from tonnage.placement.server_metrics import LoadCollector, load_metric_names
from tonnage.placement.site import Server, Site

PAGE = Path(__file__).resolve().parents[2] / "docs" / "placement.md"
NOW_S = 1_795_294_120.0
SITE = Site(
    server=(
        Server(name="rcss1", aliases=("10.0.0.1",), hosts=("fs1", "fs1b"), queue="storage", indices="proc:"),
        Server(name="rcss2", hosts=("fs2",), indices="ssh:fs2"),
        Server(name="rcss3", hosts=("fs3",)),
    )
)
READING = Reading(
    server="rcss1", source="proc", at_s=NOW_S - 2, ut_permille=254, bio_per_s=1234.5, bio_bytes_per_s=5_000_000,
    rpc_per_s=None, pressure_permille=1000, cpus=8,
)  # fmt: skip


def row(jobs: list[Job] | None = None, reading: Reading | None = READING, line: int | None = None) -> LoadRow:
    readings = {} if reading is None else {"rcss1": reading}
    return load_rows(SITE, readings, jobs, {} if line is None else {"rcss1": line}, now_s=NOW_S)[0]


def job(number: int, **more: object) -> Job:
    return Job(job=str(number), **{"state": "running", **more})  # type: ignore[arg-type]


def test_jobs_are_counted_at_the_server_that_they_were_placed_by() -> None:
    jobs = [
        job(1, server="rcss1", hosts=("far",)),
        job(2, server="10.0.0.1", hosts=("fs2",)),
        job(3, server="rcss1", state="suspended", hosts=("fs1",)),
        job(4, server="rcss1", state="pending", count=37),
        job(5, server="rcss1", state="done", hosts=("fs1",)),
        job(6, server="elsewhere", hosts=("fs1",)),
    ]
    found = load_rows(SITE, {}, jobs, {}, now_s=NOW_S)
    assert [(one.running, one.waiting) for one in found] == [(3, 37), (0, 0), (0, 0)]


def test_jobs_of_others_count_where_they_run_and_where_they_wait() -> None:
    jobs = [
        job(1, hosts=("fs1", "fs1b")),
        job(2, hosts=("fs2.cluster.example",)),
        job(3, state="pending", queue="storage", count=4),
        job(4, state="pending", queue="short"),
        job(5, hosts=("node7",)),
    ]
    found = load_rows(SITE, {}, jobs, {}, now_s=NOW_S)
    assert [(one.running, one.waiting) for one in found] == [(1, 4), (1, 0), (0, 0)]


def test_the_head_room_is_the_line_less_what_runs_and_unknown_where_either_is() -> None:
    three = [job(1, server="rcss1", count=3)]
    assert row(three, line=8).head_room == 5
    assert row(three, line=2).head_room == -1
    assert row(three).head_room is None
    assert row(None, line=8).head_room is None and row(None, line=8).running is None


def test_what_is_left_is_the_line_less_what_is_promised_and_unknown_where_either_is() -> None:
    found = load_rows(SITE, {}, [], {"rcss1": 8, "rcss2": 1}, now_s=NOW_S, promised={"rcss1": 2.5, "rcss2": 3.0})
    assert [(one.promised, one.left) for one in found] == [(2.5, 5.5), (3.0, -2.0), (0.0, None)]
    assert [cells(one)[-4:-1] for one in found] == [["2.5", "-", "5.5"], ["3", "-", "-2"], ["0", "-", "-"]]
    assert row(None, line=8).left is None


def test_what_others_use_by_the_indices_is_not_left_and_is_shown_beside_it() -> None:
    lines, promised = {"rcss1": 8, "rcss2": 8}, {"rcss1": 2.5}
    found = load_rows(SITE, {}, [], lines, now_s=NOW_S, promised=promised, others={"rcss1": 3, "rcss2": None})
    assert [(one.others, one.left) for one in found] == [(3, 2.5), (None, 8.0), (None, None)]
    assert cells(found[0])[-4:-1] == ["2.5", "3", "2.5"]


def test_an_old_reading_is_stale_and_one_without_figures_has_no_age() -> None:
    assert not row().stale and row().age_s == 2
    old = row(reading=replace(READING, at_s=NOW_S - 31, problem="it did not answer within 30 ms"))
    assert old.stale and old.age_s == 31
    nothing = row(reading=Reading(server="rcss1", source="ssh", at_s=NOW_S, problem="fs1: refused"))
    assert nothing.stale and nothing.age_s is None


def test_a_server_without_indices_is_shown_and_says_why_it_has_none() -> None:
    found = load_rows(SITE, {}, [], {}, now_s=NOW_S)[2]
    assert found.stale and "does not say where its indices are read" in (found.problem or "")


def test_one_server_alone_still_knows_the_jobs_of_the_others() -> None:
    (found,) = load_rows(SITE, {}, [job(1, server="rcss1")], {}, now_s=NOW_S, only=["rcss2"])
    assert found.server == "rcss2" and found.running == 0


def test_the_text_has_a_line_a_server_under_its_headings() -> None:
    found = load_rows(SITE, {"rcss1": READING}, [job(1, server="rcss1")], {"rcss1": 8}, now_s=NOW_S)
    head, first, *rest = text(found).splitlines()
    assert head.split() == list(HEADINGS) and len(rest) == 2
    assert first.split() == ["rcss1", "25%", "1,234/s", "-", "100%", "1", "0", "8", "7", "-", "-", "-", "2s"]
    assert rest[0].split() == ["rcss2", "-", "-", "-", "-", "0", "0", "-", "-", "-", "-", "-", "-"]


def test_what_is_stale_says_so_in_the_text() -> None:
    old = row(reading=replace(READING, at_s=NOW_S - 95, problem="fs1:9100 cannot be reached: Connection refused"))
    assert cells(old)[-1] == "95s stale"
    assert problems([old]) == ["rcss1: fs1:9100 cannot be reached: Connection refused"]


@pytest.mark.parametrize("width", [200, 80, 60])
def test_the_terminals_table_has_the_same_cells_however_narrow_it_is(width: int) -> None:
    from rich.console import Console

    console = Console(width=width, force_terminal=True, color_system=None)
    old = row([job(1, server="rcss1")], reading=replace(READING, at_s=NOW_S - 95), line=1)
    with console.capture() as captured:
        console.print(drawn([old], ["a note"], width))
    said = captured.get()
    assert all(len(line.rstrip()) <= width for line in said.splitlines()) and "…" not in said
    assert all(cell in said for cell in (*HEADINGS, *cells(old), "a note"))


def scraped(found: list[LoadRow]) -> dict[tuple[str, str], float]:
    endpoint = Endpoint(0)
    endpoint.serve_from(LoadCollector(lambda: found))
    try:
        with urllib.request.urlopen(endpoint.address, timeout=10) as answer:
            said = answer.read().decode()
    finally:
        endpoint.close()
    families = list(text_string_to_metric_families(said))
    assert [family.name for family in families] == load_metric_names()
    return {(sample.name, sample.labels["server"]): sample.value for family in families for sample in family.samples}


def test_a_scrape_has_every_figure_of_every_server() -> None:
    reading = replace(READING, rpc_per_s=70.0)
    jobs, promised = [job(1, server="rcss1")], {"rcss1": 2.5}
    found = scraped(
        load_rows(SITE, {"rcss1": reading}, jobs, {"rcss1": 8}, now_s=NOW_S, promised=promised, others={"rcss1": 2})
    )
    assert {name for name, server in found if server == "rcss1"} == set(load_metric_names())
    assert found["tonnage_server_cpu_ratio", "rcss1"] == pytest.approx(0.254)
    assert found["tonnage_server_bytes_per_second", "rcss1"] == 5_000_000
    assert found["tonnage_server_head_room_tasks", "rcss1"] == 7
    assert found["tonnage_server_other_tasks", "rcss1"] == 2
    assert found["tonnage_server_left_tasks", "rcss1"] == 3.5
    assert found["tonnage_server_index_stale", "rcss1"] == 0 and found["tonnage_server_index_stale", "rcss3"] == 1
    assert ("tonnage_server_cpu_ratio", "rcss2") not in found


def test_a_stale_index_is_no_sample_for_anybody_to_trust() -> None:
    found = scraped([row([], reading=replace(READING, at_s=NOW_S - 31), line=8)])
    assert ("tonnage_server_cpu_ratio", "rcss1") not in found
    assert ("tonnage_server_io_pressure_ratio", "rcss1") not in found
    assert (
        found["tonnage_server_index_age_seconds", "rcss1"] == 31 and found["tonnage_server_index_stale", "rcss1"] == 1
    )
    assert found["tonnage_server_running_tasks", "rcss1"] == 0


def test_every_name_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert not [name for name in load_metric_names() if f"`{name}`" not in page]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_site_file_without_indices_is_a_wrong_request_and_a_server_that_is_silent_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = tmp_path / "tonnage.toml"
    site.write_text('[[server]]\nname = "fs1"\nhosts = ["fs1"]\n')
    assert main(["load", "--site", str(site), *words]) == 2
    assert "tonnage: error: the site file does not say where its indices are read; hint" in capsys.readouterr().err
    with pytest.raises(RequestError, match="does not say where its indices are read"):
        tonnage.load(site=str(site))
    site.write_text('[[server]]\nname = "fs1"\nhosts = ["fs1"]\nindices = "http://127.0.0.1:1/metrics"\n')
    assert main(["load", "--site", str(site), *words]) == 1
    assert "no index of any server could be read" in capsys.readouterr().err
