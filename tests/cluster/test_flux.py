"""Flux by what it prints, and by a stand-in for its command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_stand_ins import ODD, TELL, StandIns
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import JobRequest, SchedulerError
from tonnage.cluster.schedulers.flux import Flux, parse_hosts, parse_jobs, parse_queues
from tonnage.errors import RequestError

# As flux-core 0.89 prints a job that runs and one that waits.
RUNNING = (
    '{"t_depend": 1791485339.3604915, "t_run": 1791485339.3808882, "duration": 0.0, "expiration": 9223372036.0, '
    '"name": "sleep.tonnage-abc-1@rcss1", "cwd": "/scratch/f", "ntasks": 1, "ncores": 10, "nnodes": 1, '
    '"ranks": "0", "nodelist": "rcss[1-2]", "id": 91088924704768, "t_submit": 1791485339.3489497, "state": "RUN", '
    '"username": "fluxuser", "userid": 1002, "status": "RUN", "dependencies": [], "jobid": "\\u0192iFkbMhFM", '
    '"annotations": {"sched": {"selection_type": "immediate"}}, "exception": {"occurred": false}}'
)
WAITING = (
    '{"t_depend": 1791485339.840517, "duration": 0.0, "name": "sh", "cwd": "/scratch/f", "ntasks": 1, "nnodes": 1, '
    '"id": 91096977768448, "t_submit": 1791485339.8290055, "state": "SCHED", "username": "fluxuser", "userid": 1002, '
    '"status": "SCHED", "dependencies": [], "jobid": "\\u0192iFxrykWs", "annotations": {}, '
    '"exception": {"occurred": false}}'
)


def request(tmp_path: Path, *argv: str, **changes: object) -> JobRequest:
    return JobRequest(argv=argv or ("true",), key="k-1", directory=str(tmp_path), **changes)  # type: ignore[arg-type]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    return StandIns(tmp_path, monkeypatch)


def test_jobs_are_read() -> None:
    running, waiting = parse_jobs(f'{{"jobs": [{RUNNING}, {WAITING}]}}')
    assert (running.job, running.name, running.key, running.server) == ("ƒiFkbMhFM", "sleep", "abc-1", "rcss1")
    assert (running.state, running.hosts, running.slots) == ("running", ("rcss1", "rcss2"), 10)
    assert running.started_at_s == 1791485339.3808882
    assert (waiting.state, waiting.key, waiting.hosts) == ("pending", None, ())
    assert parse_jobs(WAITING) == [waiting]
    with pytest.raises(SchedulerError, match="no list of jobs"):
        parse_jobs(RUNNING[:50])


def test_a_job_that_ended_has_its_result() -> None:
    over = json.loads(RUNNING) | {"state": "INACTIVE", "result": "FAILED", "returncode": 3, "t_cleanup": 1791485340.5}
    (job,) = parse_jobs(json.dumps({"jobs": [over]}))
    assert (job.state, job.exit_status, job.ended_at_s) == ("failed", 3, 1791485340.5)


def test_queues_and_hosts() -> None:
    assert [(queue.name, queue.open) for queue in parse_queues("debug|True|True\nbatch|✔|✗\n\n")] == [
        ("debug", True),
        ("batch", False),
    ]
    hosts = {host.name: host for host in parse_hosts("free|12|n[01-03]\nallocated|4|n03\ndown|4|n04\n")}
    assert {name: (host.up, host.slots, host.slots_used) for name, host in hosts.items()} == {
        "n01": (True, 4, 0),
        "n02": (True, 4, 0),
        "n03": (True, 8, 4),
        "n04": (False, 4, 0),
    }


def test_words_and_options_arrive_as_typed(tmp_path: Path, commands: StandIns) -> None:
    told = str(tmp_path / "told.json")
    commands.add("flux", 'subprocess.run(words[words.index("--") + 1:], check=True)\nprint("ƒiFkbMhFM")')
    asked = request(
        tmp_path, sys.executable, "-c", TELL.format(told), *ODD, hosts=("rcss1", "rcss2"), server="rcss1", slots=2,
        queue="short", output="o.%J",
    )  # fmt: skip
    receipt = Flux(timeout_s=20).submit(asked)
    assert receipt.job == receipt.line == "ƒiFkbMhFM"
    assert json.loads(Path(told).read_text())[0] == list(ODD)
    (call,) = commands.calls
    assert call[: call.index("--")] == [
        "flux", "submit", "--job-name=tonnage.tonnage-k-1@rcss1", f"--cwd={tmp_path}", "-n1", "-c2", "--queue=short",
        "--requires=host:rcss1 or host:rcss2", "--output=o.{{id}}",
    ]  # fmt: skip


def test_what_flux_cannot_do_is_refused_before_anything_is_submitted(tmp_path: Path, commands: StandIns) -> None:
    commands.add("flux", "sys.exit(9)")
    with pytest.raises(RequestError, match="no limit for the copies"):
        Flux(timeout_s=20).submit(request(tmp_path, numbers=upto(50), cap=8))
    with pytest.raises(RequestError, match=r"replaces \{cc\}"):
        Flux(timeout_s=20).submit(request(tmp_path, "echo", "{cc}", numbers=upto(50)))
    with pytest.raises(SchedulerError, match=r"^flux failed with status 9$"):
        Flux(timeout_s=20).submit(request(tmp_path, numbers=upto(50), cap=50))
