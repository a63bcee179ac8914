"""What ``tonnage.cluster.scheduler`` promises of every scheduler, one suite for all: the local one, a real Slurm, and
LSF, PBS and Flux by commands that print what theirs print and run the jobs here."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm as lab
from command_stand_ins import ODD, TELL, StandIns
from local_spool import own_local
from stand_in_site import SITES, install
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import Job, JobRequest, Scheduler, SchedulerError
from tonnage.cluster.schedulers import scheduler as by_name
from tonnage.machine.user_state import user_name
from waiting import wait_until

NAMES = ("local", "slurm", *SITES)
RUNS_ARRAYS = ("local", "slurm")
LIMIT_S = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm | str]:
    """A real Slurm of one host, or why there is none."""
    with ExitStack() as stack:
        try:
            found: lab.Slurm | str = stack.enter_context(
                lab.slurm((lab.Host(name="here", slots=4),), {"all": ["here"]})
            )
        except lab.Impossible as error:
            found = str(error)
        yield found


@dataclass(frozen=True)
class Site:
    """A scheduler, and a directory for its jobs."""

    name: str
    scheduler: Scheduler
    work: Path

    def submit(self, *argv: str, key: str, **rest: object) -> str:
        request = JobRequest(argv=argv, key=key, directory=str(self.work), output="out", **rest)  # type: ignore[arg-type]
        return self.scheduler.submit(request).job

    def of(self, job: str, *, ended: bool = True) -> list[Job]:
        return [line for line in self.scheduler.jobs(ended=ended) if line.job == job]

    def ended(self, job: str) -> Job:
        """A job that is no array, once it has ended."""
        wait_until(lambda: not running(self.of(job)))
        (line,) = self.of(job)
        return line


@pytest.fixture(params=NAMES)
def site(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: lab.Slurm | str
) -> Iterator[Site]:
    name, work = str(request.param), tmp_path / "with a blank"
    work.mkdir()
    # Stand-ins run a job where its submitter is.
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as stack:
        if name == "local":
            found: Scheduler = stack.enter_context(own_local())
        elif name == "slurm":
            if isinstance(cluster, str):
                pytest.skip(cluster)
            monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
            found = by_name("slurm", timeout_s=20)
        else:
            install(StandIns(tmp_path, monkeypatch), name, tmp_path / "site", user_name())
            monkeypatch.setenv("FLUX_URI", "local:///nowhere")
            found = by_name(name, timeout_s=20)
        yield Site(name, found, work)
        for job in {line.job for line in running(found.jobs())}:
            with suppress(SchedulerError):
                found.cancel(job)
        wait_until(lambda: not running(found.jobs()))


def running(lines: list[Job]) -> list[Job]:
    """Those that have not ended."""
    return [line for line in lines if line.state in ("pending", "running")]


def test_it_is_known_by_its_name_and_present(site: Site) -> None:
    assert site.scheduler.name == site.name
    assert site.scheduler.present()


def test_words_arrive_as_they_were_typed_and_the_job_is_done(site: Site) -> None:
    told = site.work / "told.json"
    done = site.ended(site.submit(sys.executable, "-c", TELL.format(str(told)), *ODD, key="words"))
    assert (done.state, done.exit_status or 0, done.key) == ("done", 0, "words")
    words, directory, _ = json.loads(told.read_text())
    # LSF's and Flux's stand-ins run a job where its submitter is.
    assert (words, directory) == (list(ODD), str(site.work) if site.name in RUNS_ARRAYS else directory)


def test_what_a_program_prints_and_how_it_ends_is_kept(site: Site) -> None:
    done = site.ended(site.submit("sh", "-c", "echo said; echo wrong >&2; exit 3", key="ends"))
    assert (done.state, done.exit_status) == ("failed", 3)
    if site.name in RUNS_ARRAYS:
        assert sorted((site.work / "out").read_text().splitlines()) == ["said", "wrong"]


def test_a_job_is_found_by_its_key_while_it_runs_and_after(site: Site) -> None:
    go = site.work.parent / "go"
    job = site.submit("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done", key="found")
    wait_until(lambda: [line for line in site.of(job) if line.state == "running"])
    running = site.scheduler.find("found")
    assert running is not None and running.job == job
    assert site.scheduler.find("another") is None
    go.touch()
    site.ended(job)
    after = site.scheduler.find("found")
    assert after is not None and after.job == job


def test_a_running_job_is_told_with_its_user_queue_and_host(site: Site) -> None:
    job = site.submit("sleep", "600", key="told")
    wait_until(lambda: [line for line in site.of(job, ended=False) if line.state == "running"])
    (line,) = site.of(job, ended=False)
    assert line.user == user_name()
    assert line.queue in {queue.name for queue in site.scheduler.queues()} | {""}
    known = {host.name for host in site.scheduler.hosts() if host.up}
    assert line.hosts and set(line.hosts) <= known
    assert job in {line.job for line in site.scheduler.jobs(user=user_name())}
    site.scheduler.cancel(job)
    assert site.ended(job).state in ("cancelled", "failed")


def test_a_cancelled_job_takes_all_that_it_started_with_it(site: Site) -> None:
    file = site.work.parent / "pid"
    job = site.submit("sh", "-c", f"sleep 600 & echo $! >{file}.new; mv {file}.new {file}; wait", key="ends")
    wait_until(file.exists)
    child = int(file.read_text())
    site.scheduler.cancel(job)
    assert site.ended(job).state in ("cancelled", "failed")
    wait_until(lambda: not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2])


def test_copies_have_their_numbers_and_run_no_more_at_once_than_the_cap(site: Site) -> None:
    if site.name not in RUNS_ARRAYS:
        pytest.skip(f"the stand-in for {site.name} runs no arrays; what it is asked is in tests/cluster")
    job = site.submit("sh", "-c", "sleep 0.3; echo $TONNAGE_COPY >>../copies", key="many", numbers=upto(5), cap=2)
    most = 0
    while waiting := site.of(job, ended=False):
        most = max(most, sum(line.state == "running" for line in waiting))
        time.sleep(0.02)
    assert most <= 2
    assert sorted((site.work.parent / "copies").read_text().split()) == ["1", "2", "3", "4", "5"]
    assert {(line.copy, line.state) for line in site.of(job)} == {(copy, "done") for copy in range(1, 6)}


def test_a_job_that_is_not_there_cannot_be_cancelled(site: Site) -> None:
    with pytest.raises(SchedulerError):
        site.scheduler.cancel("987654")


def test_asking_leaves_nothing_in_the_working_directory(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = site.work.parent / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    asked = (site.scheduler.hosts(), site.scheduler.queues(), site.scheduler.jobs(ended=True))
    assert asked[0] and site.scheduler.find("none") is None
    assert not any(empty.iterdir())
