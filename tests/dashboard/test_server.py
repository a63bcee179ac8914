"""The server as a user starts it: what it tells, to how many, to whom not, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import live_page
import pytest
from waiting import wait_until

Serving = Callable[..., live_page.Served]


def test_it_lists_runs_that_have_ended_with_state_load_line_and_findings(runs: Path, serving: Serving) -> None:
    served = serving(runs)
    assert served.host == "127.0.0.1"
    rows = {row["name"]: row for row in served.rows()}
    assert rows.keys() == {"base", "other"}
    assert (rows["base"]["state"], rows["base"]["underWay"]) == ("complete", False)
    assert rows["base"]["lines"][0].startswith("write: ") and "GB/s" in rows["base"]["lines"][0]
    assert isinstance(rows["base"]["findings"], list)


def test_a_run_under_way_is_told_with_phase_progress_series_heat_and_findings(tmp_path: Path, serving: Serving) -> None:
    # A phase tells of itself each second: one of a second would be seen by chance.
    process = live_page.campaign(tmp_path, limit="3s")
    try:
        served = serving(tmp_path)
        name = wait_until(lambda: [row for row in served.rows() if row["underWay"]], "a run under way")[0]["id"]
        with live_page.Viewer(served.port, name) as viewer:
            found = viewer.until(
                lambda seen: (
                    seen.keys() >= {"run", "course", "heat", "judged"}
                    and seen["heat"] is not None
                    and seen["run"]["speed"]
                    and seen["run"]["latest"]
                    and any(trace["name"].startswith("now: ") for trace in seen["course"][0]["traces"])
                )
            )
        latest = {topic: value for _, topic, value in found}
        assert latest["run"]["state"] == "running"
        assert "write, " in latest["run"]["phase"] and latest["run"]["trials"].endswith("of 120")
        assert 0 <= latest["run"]["share"] < 1 and "left at most" in latest["run"]["times"]
        assert latest["run"]["latest"][0][0].endswith("-write")
        assert latest["judged"]["problem"] is None
    finally:
        assert live_page.end(process) == 130
    with live_page.Viewer(served.port) as viewer:
        viewer.until(lambda seen: any(row["state"] == "interrupted" for row in seen.get("ended", {"runs": []})["runs"]))


def test_the_heat_map_grows_inside_a_phase(tmp_path: Path, serving: Serving) -> None:
    """A phase may last for hours: its latency is seen before it ends."""
    process = live_page.campaign(tmp_path, limit="300s", count=1)
    try:
        served = serving(tmp_path)
        name = wait_until(lambda: [row for row in served.rows() if row["underWay"]], "a run under way")[0]["id"]
        ends: list[float] = []
        shares: list[float] = []
        until_s = time.monotonic() + live_page.LIMIT_S
        with live_page.Viewer(served.port, name) as viewer:
            for _, topic, value in viewer.events():
                if topic == "run":
                    assert value["latest"] == [] and time.monotonic() < until_s, f"seen so far: {ends}"
                    # None until the first phase has told how far it is.
                    shares += [value["share"]] if value["share"] is not None else []
                if topic == "heat" and value is not None:
                    ends.append(value["traces"][0]["x"][-1])
                    assert value["caption"].endswith("by latency: write now.")
                if len(ends) == 3:
                    break
        assert ends == sorted(set(ends)) and ends[-1] - ends[0] > 1.5
        assert shares[0] < shares[-1] < 0.5
    finally:
        live_page.end(process)


def test_who_comes_back_gets_only_what_is_new_and_after_a_new_start_everything(runs: Path, serving: Serving) -> None:
    served = serving(runs, "--port", "0")
    whole = lambda seen: {"underway", "ended", "drains"} <= seen.keys()  # noqa: E731
    with live_page.Viewer(served.port) as viewer:
        last = viewer.until(whole)[-1][0]
    with live_page.Viewer(served.port, last=last) as viewer:
        (runs / "third").mkdir()
        try:
            (runs / "third" / "manifest.json").write_text("{}")
            first = next(viewer.events())
        finally:
            (runs / "third" / "manifest.json").unlink()
            (runs / "third").rmdir()
    assert first[1] == "ended"
    assert "third" in [row["name"] for row in first[2]["runs"]]
    served.end()
    again = serving(runs, "--port", str(served.port))
    with live_page.Viewer(again.port, last=last) as viewer:
        assert {topic for _, topic, _ in viewer.until(whole)} >= {"underway", "ended"}


def _measures(seen: dict[str, Any]) -> bool:
    """Whether a run is told to be under way, with its speed."""
    return any(row["speed"] for row in seen.get("underway", []))


def test_fifty_viewers_are_all_told(tmp_path: Path, serving: Serving) -> None:
    served = serving(tmp_path)
    process = live_page.campaign(tmp_path, count=30)
    try:
        viewers = [live_page.Viewer(served.port) for _ in range(50)]
        with ThreadPoolExecutor(50) as pool:
            told = list(pool.map(lambda one: one.until(_measures), viewers))
        assert len(told) == 50
        for viewer in viewers:
            viewer.close()
        assert served.get("/").status == 200
    finally:
        live_page.end(process)


def test_a_viewer_that_does_not_read_does_not_keep_the_others_from_it(tmp_path: Path, serving: Serving) -> None:
    served = serving(tmp_path)
    process = live_page.campaign(tmp_path, count=30)
    try:
        sleepers = [live_page.Viewer(served.port) for _ in range(5)]
        with live_page.Viewer(served.port) as viewer:
            events = viewer.events()
            seen = [next(events) for _ in range(8)]
        assert len({identifier for identifier, _, _ in seen}) == 8
        for sleeper in sleepers:
            sleeper.close()
    finally:
        live_page.end(process)


def test_a_run_whose_process_died_is_told_so(tmp_path: Path, serving: Serving) -> None:
    process = live_page.campaign(tmp_path)
    progress = tmp_path / "live" / "progress.json"
    wait_until(progress.exists, "a sign of life")
    process.kill()
    process.wait()
    served = serving(tmp_path)
    assert [(row["state"], row["underWay"]) for row in served.rows()] == [("ended-without-summary", False)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("watched", [False, True])
def test_a_signal_ends_it_cleanly_and_at_once(
    runs: Path, serving: Serving, number: signal.Signals, watched: bool
) -> None:
    served = serving(runs)
    viewers = [live_page.Viewer(served.port) for _ in range(3)] if watched else []
    for viewer in viewers:
        next(viewer.events())
    began_s = time.monotonic()
    code, said = served.end(number)
    assert (code, said.count("\n")) == (0, 1), said
    assert time.monotonic() - began_s < 30
    for viewer in viewers:
        list(viewer.events())
        viewer.close()


def test_nothing_is_written_into_the_runs(runs: Path, serving: Serving) -> None:
    before = sorted(str(path) for path in runs.rglob("*"))
    served = serving(runs)
    name = served.identifier("base")
    assert served.get(f"/report/{name}").status == 200
    assert served.get(f"/compare/{name}/{served.identifier('other')}").status == 200
    with live_page.Viewer(served.port, name) as viewer:
        viewer.until(lambda seen: "judged" in seen)
    assert sorted(str(path) for path in runs.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere is not a directory"),
        (["--port", "99999"], "is not a port"),
        (["--host", "no such host"], "cannot listen on no such host"),
        (["--host", "203.0.113.7"], "cannot listen on 203.0.113.7"),
    ],
)
def test_a_wrong_request_is_one_line(tmp_path: Path, words: list[str], says: str) -> None:
    done = subprocess.run(
        [*live_page.COMMAND, "serve", *words],
        env=live_page.environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=live_page.LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert says in done.stderr and "hint: " in done.stderr


def test_a_port_that_is_taken_is_told(runs: Path, serving: Serving) -> None:
    served = serving(runs)
    with pytest.raises(AssertionError, match=f"cannot listen on 127.0.0.1, port {served.port}: Address already in use"):
        serving(runs, "--port", str(served.port))


def test_without_a_viewer_it_does_nothing(runs: Path, serving: Serving) -> None:
    served = serving(runs)
    stat = Path(f"/proc/{served.process.pid}/stat")
    ticks = lambda: sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))  # noqa: E731
    served.rows()
    wait_until(lambda: ticks() == (time.sleep(1.0), ticks())[1], "a second without work")
    assert os.sysconf("SC_CLK_TCK") >= 100
