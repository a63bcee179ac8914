"""The Slurm back end against a real Slurm: what a user typed arrives, and no job is there twice."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm as lab
from impossible import skipped_where_impossible
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import Job, JobRequest, SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers.slurm import Slurm
from waiting import wait_until

HOSTS = (
    lab.Host(name="a1"),
    lab.Host(name="a2"),
    lab.Host(name="f1", slots=2, features=("f1", "beside")),
    lab.Host(name="g1", slots=2),
    lab.Host(name="g2", slots=2),
)
QUEUES = {"all": ["a1", "a2", "f1", "g1", "g2"], "storage": ["f1"]}
LIMIT_S = 30.0
SHOW = """\
import json, os, sys
words = [os.fsencode(word).hex() for word in sys.argv[1:]]
names = ("TONNAGE_COPY", "LC_ALL", "SLURMD_NODENAME")
print(json.dumps([words, os.getcwd(), *map(os.environ.get, names)]))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm]:
    with (
        skipped_where_impossible(),
        lab.slurm(HOSTS, QUEUES, licences={"wan": 2}, settings={"MessageTimeout": 2}) as found,
    ):
        yield found


@pytest.fixture
def slurm(cluster: lab.Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    scheduler = Slurm(timeout_s=10.0)
    yield scheduler
    for job in {job.job for job in scheduler.jobs()}:
        scheduler.cancel(job)
    wait_until(lambda: not scheduler.jobs())


def request(work: Path, *argv: str, key: str, **rest: object) -> JobRequest:
    return JobRequest(argv=argv, key=key, directory=str(work), **rest)  # type: ignore[arg-type]


def of(scheduler: Slurm, number: str, *, ended: bool = True) -> list[Job]:
    return [job for job in scheduler.jobs(ended=ended) if job.job == number]


def ended(scheduler: Slurm, number: str) -> list[Job]:
    wait_until(lambda: not of(scheduler, number, ended=False))
    return of(scheduler, number)


def test_every_word_arrives_as_it_was_typed(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    words = [
        "a b",
        "two\nlines",
        "$HOME",
        "*",
        "%j %J",
        "--help",
        "-x",
        "",
        "`id`",
        "'\"\\",
        "a;b",
        "ü",
        "\udcff\udcfe",
    ]
    work = tmp_path / "with blank and %A"
    work.mkdir()
    job = slurm.submit(request(work, sys.executable, "-c", SHOW, *words, key="words", output="out %J %I %d"))
    assert job.line == f"Submitted batch job {job.job}"
    assert [one.state for one in ended(slurm, job.job)] == ["done"]
    seen, directory, copy, locale, _ = json.loads((work / f"out {job.job} 0 %d").read_text())
    assert [os.fsdecode(bytes.fromhex(word)) for word in seen] == words
    assert (directory, copy, locale) == (str(work), None, "de_DE.UTF-8")


def test_copies_run_no_more_at_once_than_the_cap_and_know_their_number(slurm: Slurm, tmp_path: Path) -> None:
    job = slurm.submit(
        request(tmp_path, "sh", "-c", "sleep 1; echo $TONNAGE_COPY", key="many", numbers=upto(6), cap=2, output="c%I")
    )
    most = 0
    while waiting := of(slurm, job.job, ended=False):
        most = max(most, sum(one.state == "running" for one in waiting))
        assert sum(one.count for one in waiting) <= 6
        time.sleep(0.05)
    assert most == 2
    assert sorted((tmp_path / f"c{copy}").read_text() for copy in range(1, 7)) == [f"{copy}\n" for copy in range(1, 7)]
    assert sorted(one.copy or 0 for one in of(slurm, job.job)) == [1, 2, 3, 4, 5, 6]


def test_the_cap_can_rise_while_some_copies_have_ended(slurm: Slurm, tmp_path: Path) -> None:
    go = tmp_path / "go"
    program = ("sh", "-c", f'[ "$TONNAGE_COPY" = 1 ] || while [ ! -e {go} ]; do sleep 0.05; done')
    job = slurm.submit(request(tmp_path, *program, key="rise", numbers=upto(5), cap=1))

    def running() -> list[int | None]:
        return [one.copy for one in of(slurm, job.job, ended=False) if one.state == "running"]

    def limits() -> set[int | None]:
        return {one.cap for one in of(slurm, job.job, ended=False) if one.state == "pending" and one.count > 1}

    wait_until(lambda: running() == [2])
    assert limits() == {1}
    slurm.set_cap(job.job, 2)
    wait_until(lambda: sorted(map(str, running())) == ["2", "3"])
    assert limits() == {2}, "as it is now"
    slurm.set_cap(job.job, 3)
    wait_until(lambda: sorted(map(str, running())) == ["2", "3", "4"])
    go.touch()
    assert {one.state for one in ended(slurm, job.job)} == {"done"}


def test_a_pinned_job_of_several_hosts_runs_on_one_of_them(slurm: Slurm, tmp_path: Path) -> None:
    names = set()
    for number in range(3):
        job = slurm.submit(request(tmp_path, "true", key=f"pin{number}", hosts=("g2", "g1"), slots=2))
        names |= {host for one in ended(slurm, job.job) for host in one.hosts}
        assert len(of(slurm, job.job)[0].hosts) == 1
    assert names <= {"g1", "g2"}


@pytest.mark.parametrize("host", ["f1", "g2"])
def test_a_wish_is_met_where_there_is_room_and_costs_no_waiting(slurm: Slurm, tmp_path: Path, host: str) -> None:
    """``f1`` has its name as a feature, ``g2`` has not."""
    go = tmp_path / "go"
    program = ("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done")
    wish = {"hosts": (host,), "prefer": True}
    first = slurm.submit(request(tmp_path, *program, key=f"{host}-1", slots=2, **wish))
    wait_until(lambda: of(slurm, first.job)[0].state == "running")
    second = slurm.submit(request(tmp_path, *program, key=f"{host}-2", slots=2, **wish))
    wait_until(lambda: of(slurm, second.job)[0].state == "running")
    go.touch()
    assert ended(slurm, first.job)[0].hosts == (host,)
    assert ended(slurm, second.job)[0].hosts not in ((), (host,))


def test_a_job_is_told_with_what_it_was_given(slurm: Slurm, tmp_path: Path) -> None:
    given = {
        "name": "odd\nname|x",
        "server": "rcss1:/export",
        "queue": "storage",
        "slots": 2,
        "licences": (("wan", 1),),
    }
    job = slurm.submit(request(tmp_path, "sh", "-c", "exit 3", key="told", **given))
    (one,) = ended(slurm, job.job)
    assert (one.name, one.key, one.server) == ("odd\nname|x", "told", "rcss1:/export")
    assert (one.queue, one.hosts, one.slots) == ("storage", ("f1",), 2)
    assert (one.state, one.exit_status, one.reason) == ("failed", 3, "NonZeroExitCode")
    assert one.submitted_at_s and one.started_at_s and one.ended_at_s
    assert one.submitted_at_s <= one.started_at_s <= one.ended_at_s
    assert slurm.find("told") == job
    assert slurm.find("another") is None


def test_what_slurm_refuses_is_said_in_its_words_and_nothing_is_there(slurm: Slurm, tmp_path: Path) -> None:
    for rest, words in (
        ({"queue": "nope"}, "invalid partition specified: nope"),
        ({"hosts": ("zz",)}, "Invalid node name specified"),
        ({"hosts": ("zz", "a1")}, "knows no host 'zz'"),
        ({"queue": "storage", "hosts": ("a1",)}, "Requested node configuration is not available"),
        ({"licences": (("gold", 1),)}, "Invalid license specification"),
        ({"numbers": upto(100_000)}, "MaxArraySize"),
    ):
        with pytest.raises(SchedulerError, match=words) as refusal:
            slurm.submit(request(tmp_path, "true", key="refused", **rest))
        assert not isinstance(refusal.value, SubmissionUnknown)
        assert refusal.value.exit_code == (2 if "queue" in rest and "hosts" not in rest else 1)
        assert slurm.find("refused") is None
    with pytest.raises(SchedulerError, match="Invalid job id"):
        slurm.cancel("999999")


def test_a_controller_that_hangs_is_not_waited_for_and_the_job_is_there_once(
    cluster: lab.Slurm, slurm: Slurm, tmp_path: Path
) -> None:
    impatient = Slurm(timeout_s=0.7)
    with cluster.suspended():
        began = time.monotonic()
        with pytest.raises(SubmissionUnknown, match="did not answer within"):
            impatient.submit(request(tmp_path, "true", key="lost"))
        for ask in (impatient.queues, impatient.jobs, lambda: impatient.find("lost")):
            with pytest.raises(SchedulerError, match="did not answer within"):
                ask()
        assert time.monotonic() - began < 6
    wait_until(lambda: slurm.find("lost"))
    assert sum(job.key == "lost" for job in slurm.jobs(ended=True)) == 1


def test_a_controller_that_is_down_is_said_to_be_and_nothing_is_there(
    cluster: lab.Slurm, slurm: Slurm, tmp_path: Path
) -> None:
    cluster.stop("slurmctld")
    try:
        with pytest.raises(SchedulerError, match=r"connect failure.*hint: .*scontrol ping") as refusal:
            slurm.submit(request(tmp_path, "true", key="down"))
        assert not isinstance(refusal.value, SubmissionUnknown)
    finally:
        cluster.start("slurmctld")
        cluster.wait_ready()
    assert slurm.find("down") is None


def test_a_submission_takes_no_longer_than_sbatch_itself(slurm: Slurm, tmp_path: Path) -> None:
    alone_s, ours_s = [], []
    for number in range(15):
        one = request(tmp_path, "true", key=f"quick{number}", hosts=("a1",), output="/dev/null")
        began = time.perf_counter()
        subprocess.run(slurm.command(one), capture_output=True, check=True, timeout=LIMIT_S)
        between = time.perf_counter()
        slurm.submit(one)
        alone_s.append(between - began)
        ours_s.append(time.perf_counter() - between)
    assert statistics.median(ours_s) < statistics.median(alone_s) + 0.02


def test_queues_and_hosts_are_those_of_the_site(cluster: lab.Slurm, slurm: Slurm) -> None:
    queues = {queue.name: queue for queue in slurm.queues()}
    assert {name: queue.hosts for name, queue in queues.items()} == {
        "all": ("a1", "a2", "f1", "g1", "g2"),
        "storage": ("f1",),
    }
    assert (queues["all"].default, queues["storage"].default, queues["all"].slots) == (True, False, 14)
    cluster.ask("scontrol", "update", "NodeName=g1", "State=DRAIN", "Reason=disk full")
    hosts = {host.name: host for host in slurm.hosts()}
    cluster.ask("scontrol", "update", "NodeName=g1", "State=RESUME")
    assert (hosts["a1"].up, hosts["a1"].slots, hosts["a1"].slots_used) == (True, 4, 0)
    assert not hosts["g1"].up and "disk full" in hosts["g1"].reason


def test_a_cancelled_job_is_gone_with_its_copies(slurm: Slurm, tmp_path: Path) -> None:
    job = slurm.submit(request(tmp_path, "sleep", "60", key="gone", numbers=upto(30), cap=3))
    wait_until(lambda: any(one.state == "running" for one in of(slurm, job.job)))
    slurm.cancel(job.job)
    assert {one.state for one in ended(slurm, job.job)} == {"cancelled"}


_INTERACTIVE = """\
import sys
from tonnage.cluster.scheduler import JobRequest
from tonnage.cluster.schedulers.slurm import Slurm
argv = tuple(sys.argv[2:])
sys.exit(Slurm(timeout_s=10).interactive(JobRequest(argv=argv, key=sys.argv[1], directory="/", slots=2)))
"""


def _interactive(key: str, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _INTERACTIVE, key, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.usefixtures("slurm")
def test_an_interactive_job_has_this_input_output_and_status() -> None:
    with _interactive("in", "sh", "-c", "cat; echo $SLURM_CPUS_PER_TASK; echo oops >&2; exit 7") as process:
        out, err = process.communicate("hello $HOME\n", timeout=LIMIT_S)
    assert (out, process.returncode) == ("hello $HOME\n2\n", 7)
    assert "oops" in err


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_interactive_program(number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    program = f"trap 'sleep 0.5; echo had {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    with _interactive(f"signal-{name}", "sh", "-c", program) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert (out, process.returncode) == (f"had {name}\n", 9)
