"""``tonnage jobs`` and ``tonnage queues``: LSF's columns, whatever a scheduler says."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from local_spool import own_local, request
from tonnage.cli.commands import jobs, queues
from tonnage.cli.entry import run_command
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import Job, Queue
from waiting import wait_until

AT_S = time.mktime((2012, 3, 9, 7, 5, 0, 0, 0, -1))
WHOLE = Job(
    job="3734", name="go.sh", user="ann", state="running", queue="normal", from_host="login1", hosts=("rcss1",),
    server="rcss1", submitted_at_s=AT_S,
)  # fmt: skip


def table(*found: Job) -> list[list[str]]:
    """The rows without their headings, in words."""
    return [line.split() for line in jobs.text(found).splitlines()[1:]]


def test_a_job_has_the_columns_of_bjobs() -> None:
    assert jobs.text([WHOLE]).splitlines() == [
        "JOBID  USER  STAT  QUEUE   FROM_HOST  EXEC_HOST  JOB_NAME  SUBMIT_TIME   SERVER  REASON",
        "3734   ann   RUN   normal  login1     rcss1      go.sh     Mar  9 07:05  rcss1",
    ]


def test_what_is_not_known_is_a_dash() -> None:
    assert table(Job(job="7")) == [["7", "-", "UNKWN", "-", "-", "-", "-", "-", "-"]]


def test_copies_and_slots_are_written_as_lsf_writes_several_of_one() -> None:
    (row,) = table(Job(job="7", name="align", state="pending", count=42))
    assert row[6] == "42*align"
    (row,) = table(Job(job="7", name="align", copy=3, state="running", hosts=("a",), slots=4))
    assert (row[5], row[6]) == ("4*a", "align[3]")
    (row,) = table(Job(job="7", state="running", hosts=("a", "b"), slots=4))
    assert row[5] == "a:b"


@pytest.mark.parametrize(
    ("state", "word"),
    [("pending", "PEND"), ("suspended", "SUSP"), ("done", "DONE"), ("failed", "EXIT"), ("cancelled", "EXIT")],
)
def test_states_have_lsfs_words(state: str, word: str) -> None:
    assert table(Job(job="7", state=state))[0][2] == word  # type: ignore[arg-type]


def test_a_name_cannot_move_the_cursor() -> None:
    (row,) = table(Job(job="7", name="a\x1b[2J\n\udcff"))
    assert row[6] == "a?[2J??"


def test_a_queue_has_the_columns_of_bqueues() -> None:
    hosts = tuple(f"n{number}" for number in range(1, 9))
    found = [
        Queue(name="normal", default=True, hosts=hosts, slots=16, pending=100, running=7),
        Queue(name="storage", open=False),
    ]
    assert queues.text(found).splitlines() == [
        "QUEUE_NAME  STATUS  MAX  NJOBS  PEND  RUN  HOSTS",
        "normal*     Open     16    107   100    7  n1,n2,n3,n4,n5,n6 and 2 more",
        "storage     Closed    -      0     0    0  -",
    ]


def test_the_commands_tell_of_the_local_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> str:
        assert run_command([*words, "--scheduler", "local"]) == 0
        return capsys.readouterr().out

    with own_local() as local:
        assert run_command(["jobs", "--scheduler", "local"]) == 0
        assert capsys.readouterr() == ("", "No unfinished job found\n")
        local.submit(request("sleep", "600", key="k", directory=tmp_path, numbers=upto(5), cap=1, server="fs1"))
        wait_until(lambda: "running" in {job.state for job in local.jobs()})
        states = [line.split()[2] for line in said("jobs").splitlines()]
        assert states == ["STAT", "RUN", "PEND"]
        told = json.loads(said("jobs", "--json"))
        assert told["scheduler"] == "local"
        assert [(job["state"], job["count"], job["server"]) for job in told["jobs"]] == [
            ("running", 1, "fs1"),
            ("pending", 4, "fs1"),
        ]
        assert said("jobs", "-u", "nobody") == ""
        (queue,) = json.loads(said("queues", "--json"))["queues"]
        assert (queue["name"], queue["pending"], queue["running"]) == ("local", 4, 1)
        local.cancel("1")
        wait_until(lambda: not local.jobs())
        assert said("jobs") == ""
        assert {line.split()[2] for line in said("jobs", "-d").splitlines()[1:]} == {"EXIT"}
        assert said("jobs", "-u", "all", "--done").count("EXIT") == 2
