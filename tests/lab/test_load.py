"""``tonnage load`` as a user types it: a real node_exporter, a real Slurm with jobs, a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import load_index_sources
import pytest
from impossible import skipped_where_impossible
from slurm import Host, Slurm
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import JobRequest, Scheduler
from tonnage.cluster.schedulers import scheduler
from waiting import wait_until

LIMIT_S = 30.0
LOAD = [sys.executable, "-m", "tonnage.cli", "load"]


@pytest.fixture
def exporter() -> Iterator[str]:
    """The address of a real node_exporter."""
    with ExitStack() as stack, skipped_where_impossible():
        yield stack.enter_context(load_index_sources.node_exporter())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with nobody's state or site file but its own."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def site(project: Path, *servers: dict[str, Any], scheduler: str = "slurm") -> None:
    lines = [f"scheduler = {json.dumps(scheduler)}"]
    for server in servers:
        lines += ["[[server]]", *(f"{key} = {json.dumps(value)}" for key, value in server.items() if key != "line")]
        lines += [f"line = {{ tasks = {server['line']} }}"] if "line" in server else []
    (project / "tonnage.toml").write_text("\n".join(lines) + "\n")


def load(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LOAD, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)


def submit(cluster: Scheduler, directory: Path, key: str, **more: Any) -> str:
    request = JobRequest(argv=("/bin/sleep", "600"), key=key, directory=str(directory), output="/dev/null", **more)
    return cluster.submit(request).job


def test_running_and_waiting_jobs_and_the_head_room_are_those_of_a_real_scheduler(
    slurm: Callable[..., Slurm], exporter: str, project: Path
) -> None:
    slurm((Host(name="fs1", slots=2), Host(name="n1", slots=2)), {"storage": ["fs1"], "compute": ["n1"]})
    site(
        project,
        {"name": "rcss1", "hosts": ["fs1"], "queue": "storage", "indices": exporter, "line": 8},
        {"name": "rcss2", "hosts": ["n1"], "indices": "proc:"},
    )
    cluster = scheduler("slurm")
    jobs = [submit(cluster, project, "array", server="rcss1", queue="storage", hosts=("fs1",), numbers=upto(5))]
    try:
        wait_until(lambda: sum(job.state == "running" for job in cluster.jobs()) == 2)
        jobs.append(submit(cluster, project, "other", queue="compute"))
        wait_until(lambda: sum(job.state == "running" for job in cluster.jobs()) == 3)
        said = load("--json")
        assert said.returncode == 0, said.stderr
        first, second = json.loads(said.stdout)["servers"]
        assert (first["running"], first["waiting"], first["line"], first["head_room"]) == (2, 3, 8, 6)
        # Nobody told Slurm whose data the other job uses: it counts beside the server on whose host it runs.
        assert (second["running"], second["waiting"], second["line"], second["head_room"]) == (1, 0, None, None)
        for told in (first, second):
            assert told["problem"] is None and not told["stale"] and told["age_s"] < 10
            assert 0 <= told["ut_permille"] <= 1000 and told["bio_per_s"] is not None
        plain = load("rcss1")
        head, row = plain.stdout.splitlines()
        assert head.split()[0] == "SERVER" and row.split()[0] == "rcss1" and row.split()[5:9] == ["2", "3", "8", "6"]
    finally:
        for job in jobs:
            cluster.cancel(job)


def test_a_server_that_is_down_is_one_line_and_the_others_are_there(exporter: str, project: Path) -> None:
    site(project, {"name": "good", "indices": exporter}, {"name": "bad", "indices": "http://127.0.0.1:9/metrics"})
    said = load()
    assert said.returncode == 0
    assert "tonnage: bad: 127.0.0.1:9 cannot be reached: Connection refused\n" in said.stderr
    assert len(said.stdout.splitlines()) == 3


def test_where_no_index_can_be_read_it_fails_and_still_shows_the_table(project: Path) -> None:
    site(project, {"name": "bad", "indices": "http://127.0.0.1:9/metrics"}, {"name": "mute"})
    said = load()
    assert said.returncode == 1 and len(said.stdout.splitlines()) == 3
    assert said.stderr.splitlines()[-1].startswith("tonnage: error: no index of any server could be read; hint: ")


def test_a_scheduler_that_does_not_answer_is_a_note_and_no_failure(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = project / "tools"
    tools.mkdir()
    (tools / "squeue").write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact controller' >&2\nexit 1\n")
    (tools / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    site(project, {"name": "rcss1", "indices": "proc:", "line": 4})
    said = load("--json")
    told = json.loads(said.stdout)
    assert said.returncode == 0 and told["servers"][0]["running"] is None and told["servers"][0]["head_room"] is None
    assert len(told["notes"]) == 1 and "Unable to contact controller" in told["notes"][0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nosuch"], "there is no file server 'nosuch'; hint: the site file has rcss1"),
        (["--every", "soon"], "is not a time"),
        (["--metrics", "99999"], "is not a port"),
        (["--site", "absent.toml"], "absent.toml"),
    ],
)
def test_a_wrong_request_is_one_line(project: Path, words: list[str], expected: str) -> None:
    site(project, {"name": "rcss1", "indices": "proc:"})
    said = load(*words)
    assert said.returncode == 2 and expected in said.stderr and len(said.stderr.splitlines()) == 1


def test_without_a_site_file_it_says_what_to_write(project: Path) -> None:
    said = load()
    assert said.returncode == 2 and "no file server is known; hint:" in said.stderr and project.exists()


def test_watching_as_json_is_an_object_a_line_until_ctrl_c(project: Path) -> None:
    site(project, {"name": "rcss1", "indices": "proc:"})
    with subprocess.Popen(
        [*LOAD, "--watch", "--json", "--every", "300ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        told = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0 and rest[1] == ""
    times_s = [one["at_s"] for one in told]
    assert times_s == sorted(times_s) and len(set(times_s)) == 3


def test_prometheus_reads_what_is_served_until_ctrl_c(project: Path, exporter: str) -> None:
    site(project, {"name": "rcss1", "indices": exporter, "line": 4})
    with subprocess.Popen(
        [*LOAD, "--metrics", "0", "--every", "300ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        address = process.stderr.readline().split()[-1]

        def scraped() -> str:
            with urllib.request.urlopen(address, timeout=10) as answer:
                text: str = answer.read().decode()
                return text

        wait_until(lambda: 'tonnage_server_cpu_ratio{server="rcss1"}' in scraped())
        assert 'tonnage_server_load_line_tasks{server="rcss1"} 4.0' in scraped()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


def test_a_terminal_shows_the_table_in_place_and_gets_its_cursor_back(project: Path) -> None:
    site(project, {"name": "rcss1", "indices": "proc:", "line": 4})
    child, terminal = pty.fork()
    if child == 0:
        plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        os.execve(sys.executable, [*LOAD, "--watch", "--every", "200ms"], {**plain, "TERM": "xterm", "COLUMNS": "120"})
    seen = _read(terminal, lambda text: text.count("SERVER") >= 3)
    os.kill(child, signal.SIGINT)
    seen += _read(terminal, lambda _text: False)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, seen
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    assert "HEAD-ROOM" in text and "rcss1" in text and "Traceback" not in text
    assert "\x1b[1A" in seen and seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")


def _read(terminal: int, enough: Callable[[str], bool]) -> str:
    seen, end_s = "", time.monotonic() + LIMIT_S
    with suppress(OSError):  # the other end was closed
        while not enough(seen) and select.select([terminal], [], [], max(0.0, end_s - time.monotonic()))[0]:
            part = os.read(terminal, 65536)
            if not part:
                break
            seen += part.decode(errors="replace")
    return seen
