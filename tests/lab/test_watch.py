"""``tonnage watch`` on a real Slurm with jobs of two users: both are named, and it is said where Slurm hides others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from slurm import Host, Slurm
from tonnage.cluster.scheduler import JobRequest
from tonnage.cluster.schedulers import scheduler
from tonnage.machine.user_state import user_name
from waiting import wait_until

LIMIT_S = 120.0
COMMAND = [sys.executable, "-m", "tonnage.cli"]
OTHER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SITE = """
scheduler = "slurm"
[[server]]
name = "rcss1"
hosts = ["fs1"]
line = { tasks = 2 }
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: jobs of another user")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tonnage.toml").write_text(SITE)
    return tmp_path


def jobs_of_two(project: Path) -> None:
    """Two of this user's, two of another's, on the host beside the server."""
    cluster = scheduler("slurm")
    for number in range(2):
        request = JobRequest(
            argv=("/bin/sleep", "600"), key=f"mine{number}", directory=str(project), output="/dev/null", name="align"
        )
        cluster.submit(request)
    for _ in range(2):
        subprocess.run(
            [*OTHER, "sbatch", "--job-name=bwa", "--output=/dev/null", "--chdir=/", "--wrap=sleep 600"],
            check=True, capture_output=True, timeout=LIMIT_S,
        )  # fmt: skip
    wait_until(lambda: sum(job.state == "running" for job in cluster.jobs()) == 4)


@contextmanager
def watching() -> Iterator[subprocess.Popen[str]]:
    words = [*COMMAND, "watch", "--json", "--every", "300ms"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_the_jobs_of_both_users_are_named_when_a_server_passes_its_line_and_stand_in_the_history(
    slurm: Callable[..., Slurm], project: Path
) -> None:
    slurm((Host(name="fs1", slots=8),))
    with watching() as process:
        assert process.stdout is not None
        jobs_of_two(project)
        began = json.loads(process.stdout.readline())
        assert began["event"] == "began" and began["load"] > 2 and began["only_own"] is False
        wait_until(lambda: " 4 jobs: " in once())
        assert "nobody 2 tasks (bwa)" in once() and f"{user_name()} 2 tasks (align)" in once()
        subprocess.run(["scancel", "--user=nobody"], check=True, timeout=LIMIT_S)
        ended = json.loads(process.stdout.readline())
        assert (ended["event"], ended["load"], [one["user"] for one in ended["users"]]) == ("ended", 2, [user_name()])
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=LIMIT_S) == 0
    done = subprocess.run(
        [*COMMAND, "history", "--servers", "--json"], capture_output=True, check=True, timeout=LIMIT_S
    )
    (server,) = json.loads(done.stdout)["servers"]
    # Slurm starts jobs one after the other: whoever came last may have come after the looks that began it.
    assert {one["user"] for one in server["users"]} >= {one["user"] for one in began["users"]}
    assert {one["user"] for one in server["users"]} <= {"nobody", user_name()}


def once() -> str:
    """What one look says."""
    done = subprocess.run([*COMMAND, "watch", "--once"], capture_output=True, text=True, check=True, timeout=LIMIT_S)
    return done.stdout


def test_where_slurm_hides_others_jobs_it_is_said_that_only_yours_are_known(
    slurm: Callable[..., Slurm], project: Path
) -> None:
    slurm((Host(name="fs1", slots=8),), settings={"PrivateData": "jobs"})
    jobs_of_two(project)
    assert scheduler("slurm").hides_others() is False  # root sees all  # type: ignore[attr-defined]
    asked = (
        "import json; from tonnage.cluster.schedulers import scheduler as s; cluster = s('slurm'); "
        "print(json.dumps([cluster.hides_others(), [job.name for job in cluster.jobs()]]))"
    )
    done = subprocess.run(
        [*OTHER, sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=LIMIT_S, cwd="/"
    )
    assert json.loads(done.stdout) == [True, ["bwa", "bwa"]]
