"""PBS by what it prints, and by stand-ins that run a program's words as PBS does."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest
from command_stand_ins import ODD, TELL, StandIns
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import JobRequest, SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers.pbs import Pbs, parse_hosts, parse_jobs, parse_queues
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_name

# Shapes of OpenPBS 19 to 22 as sites have published them.
JOBS = json.dumps(
    {
        "timestamp": 1664911413,
        "pbs_version": "22.05.11",
        "pbs_server": "pbs",
        "Jobs": {
            "12860476.pbs": {
                "Job_Name": "bwa", "Job_Owner": "rcs@login1.site", "job_state": "R", "queue": "workq",
                "exec_host": "rcss1/0*2+rcss2/1", "mtime": "Tue Oct  4 21:23:33 2022",
                "qtime": "Tue Oct  4 21:23:20 2022", "stime": "Tue Oct  4 21:23:33 2022",
                "Resource_List": {"ncpus": 4, "nodect": 2, "select": "2:ncpus=2"},
                "Variable_List": {"PBS_O_HOST": "login1", "TONNAGE_KEY": "abc-1", "TONNAGE_SERVER": "rcss1"},
            },
            "157[3].pbs": {
                "Job_Name": "many", "Job_Owner": "rcs@login1", "job_state": "Q", "queue": "workq",
                "comment": "Not Running: Insufficient amount of resource: ncpus", "qtime": "Tue Oct  4 21:23:20 2022",
                "Resource_List": {"ncpus": 1}, "Variable_List": {"PBS_O_HOST": "login1"},
            },
            "158.pbs": {
                "Job_Name": "held", "Job_Owner": "ann@login1", "job_state": "H", "queue": "workq",
                "Resource_List": {"ncpus": 1},
            },
            "159.pbs": {
                "Job_Name": "bad", "Job_Owner": "ann@login1", "job_state": "F", "queue": "workq", "Exit_status": 3,
                "mtime": "Tue Oct  4 21:24:33 2022", "Resource_List": {"ncpus": 1},
            },
        },
    }
)  # fmt: skip
QUEUES = """{
    "timestamp":1699637534,
    "pbs_version":"2022.1.1",
    "pbs_server":"pbs",
    "Queue":{
        "debug":{
            "queue_type":"Execution", "Priority":100, "total_jobs":32,
            "state_count":"Transit:0 Queued:17 Held:8 Waiting:0 Running:7 Exiting:0 Begun:0 ",
            "resources_available":{"ncpus":576, "nodect":16}, "enabled":"True", "started":"True"
        },
        "run_next":{
            "queue_type":"Execution", "total_jobs":0,
            "state_count":"Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Begun:0 ",
            "enabled":"False", "started":"False"
        }
    }
}
"""
HOSTS = """{
    "timestamp":1606173513, "pbs_version":"19.2.6", "pbs_server":"pbsserver",
    "nodes":{
        "hpcnode03":{"Mom":"hpcnode03", "ntype":"PBS", "state":"free", "pcpus":56,
            "resources_available":{"arch":"linux", "host":"hpcnode03", "ncpus":56},
            "resources_assigned":{"mem":"278921216kb", "ncpus":32}},
        "hpcnode04":{"state":"job-busy", "pcpus":8, "resources_assigned":{"ncpus":8}},
        "hpcnode05":{"state":"offline,down", "pcpus":8},
        "pbs":{"Error":"Unknown node "}
    }
}
"""


def request(tmp_path: Path, *argv: str, **changes: object) -> JobRequest:
    return JobRequest(argv=argv or ("true",), key="k-1", directory=str(tmp_path), **changes)  # type: ignore[arg-type]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    return StandIns(tmp_path, monkeypatch)


def test_jobs_are_read_with_key_server_hosts_and_times() -> None:
    running, waiting, held, failed = parse_jobs(JOBS)
    assert (running.job, running.state, running.user, running.from_host) == ("12860476.pbs", "running", "rcs", "login1")
    assert (running.hosts, running.slots, running.key, running.server) == (("rcss1", "rcss2"), 4, "abc-1", "rcss1")
    assert running.started_at_s is not None and running.submitted_at_s is not None
    assert running.started_at_s - running.submitted_at_s == 13
    assert running.ended_at_s is None
    assert (waiting.job, waiting.copy, waiting.state) == ("157[].pbs", 3, "pending")
    assert waiting.reason.startswith("Not Running")
    assert held.state == "suspended"
    assert (failed.state, failed.exit_status) == ("failed", 3)
    assert failed.ended_at_s is not None


@pytest.mark.parametrize(
    ("letters", "status", "state"),
    [
        ("QWTM", None, "pending"),
        ("HSU", None, "suspended"),
        ("RBE", None, "running"),
        ("FX", 0, "done"),
        ("FX", 3, "failed"),
        ("FX", 265, "cancelled"),
    ],
)
def test_a_letter_is_a_state_and_what_an_end_means_its_exit_status_says(
    letters: str, status: int | None, state: str
) -> None:
    for letter in letters:
        record = {"job_state": letter, "Exit_status": status, "comment": "why"}
        (job,) = parse_jobs(json.dumps({"Jobs": {"1.pbs": record}}))
        assert (job.state, job.exit_status) == (state, status)
        assert (job.reason == "why") == (state in ("pending", "suspended"))


def test_queues_and_hosts() -> None:
    assert [(queue.name, queue.open, queue.slots, queue.pending, queue.running) for queue in parse_queues(QUEUES)] == [
        ("debug", True, 576, 25, 7),
        ("run_next", False, None, 0, 0),
    ]
    assert [(host.name, host.up, host.slots, host.slots_used, host.reason) for host in parse_hosts(HOSTS)] == [
        ("hpcnode03", True, 56, 32, ""),
        ("hpcnode04", True, 8, 8, ""),
        ("hpcnode05", False, 8, 0, "offline,down"),
        ("pbs", False, 0, 0, "Unknown node"),
    ]


def test_no_jobs_and_no_json() -> None:
    assert parse_jobs('{"timestamp":1,"pbs_version":"22","pbs_server":"pbs"}') == []
    for text in (JOBS[:400], "[]", '{"Jobs": {"1.pbs": {"job_state": "?"}}}'):
        with pytest.raises(SchedulerError, match="qstat printed"):
            parse_jobs(text)


# qsub takes the program after -- as a list of words, and PBS starts it in the home directory.
QSUB = """
at = words.index("--")
subprocess.run(words[at + 1:], check=True, cwd="/", env=dict(os.environ, PBS_ARRAY_INDEX="3"))
print("157[].pbs" if "-J" in words else "157.pbs")
"""


@pytest.mark.parametrize("copies", [None, 5])
def test_words_and_directory_arrive_as_typed(tmp_path: Path, commands: StandIns, copies: int | None) -> None:
    commands.add("qsub", QSUB)
    told = str(tmp_path / "told.json")
    receipt = Pbs(timeout_s=20).submit(
        request(tmp_path, sys.executable, "-c", TELL.format(told), *ODD, numbers=upto(copies) if copies else ())
    )
    assert receipt.job == receipt.line == ("157[].pbs" if copies else "157.pbs")
    assert json.loads(Path(told).read_text()) == [list(ODD), str(tmp_path), "3" if copies else None]


def test_options_say_what_was_asked_for_and_nothing_stays_behind(tmp_path: Path, commands: StandIns) -> None:
    commands.prints("qsub", "157[].pbs\n")
    threads = threading.enumerate()
    asked = request(
        tmp_path, name="1 bwa", numbers=upto(50), cap=8, hosts=("rcss1", "rcss2"), queue="short", slots=2,
        licences=(("rcss1", 1),), server="rcss1", output="o.%I",
    )  # fmt: skip
    Pbs(timeout_s=20).submit(asked)
    (call,) = commands.calls
    assert call[: call.index("--")] == [
        "qsub", "-N", "t1_bwa", "-V", "-v", "TONNAGE_KEY=k-1,TONNAGE_SERVER=rcss1",
        "-l", "select=1:ncpus=2:host=rcss1", "-l", "rcss1=1", "-q", "short", "-J", "1-50%8",
        "-o", "o.^array_index^", "-j", "oe",
    ]  # fmt: skip
    assert not (Path.home() / ".psij" / "work" / "pbs").exists()
    assert threading.enumerate() == threads


def test_what_pbs_cannot_do_is_refused_before_anything_is_submitted(tmp_path: Path, commands: StandIns) -> None:
    commands.add("qsub", "sys.exit(9)")
    with pytest.raises(RequestError, match="no array of one"):
        Pbs(timeout_s=20).submit(request(tmp_path, numbers=upto(1)))
    with pytest.raises(RequestError, match="number into the name"):
        Pbs(timeout_s=20).submit(request(tmp_path, output="out.%J"))


def test_a_refusal_has_the_schedulers_words(tmp_path: Path, commands: StandIns) -> None:
    commands.add("qsub", "sys.exit('qsub: Unknown queue')")
    with pytest.raises(SchedulerError, match="refused: qsub failed with status 1: qsub: Unknown queue") as error:
        Pbs(timeout_s=20).submit(request(tmp_path, queue="nosuch"))
    assert not isinstance(error.value, SubmissionUnknown)
    assert error.value.exit_code == 2


def test_silence_leaves_it_open_whether_the_job_is_there(tmp_path: Path, commands: StandIns) -> None:
    commands.add("qsub", "import time; time.sleep(60)")
    with pytest.raises(SubmissionUnknown, match="did not answer within 1 s"):
        Pbs(timeout_s=1).submit(request(tmp_path))


def test_a_job_is_found_by_its_key_and_a_cap_is_changed(commands: StandIns) -> None:
    commands.prints("qstat", JOBS.replace("rcs@", f"{user_name()}@"))
    commands.prints("qalter", "")
    pbs = Pbs(timeout_s=20)
    found = pbs.find("abc-1")
    assert found is not None and found.job == "12860476.pbs"
    assert pbs.find("other") is None
    assert {job.user for job in pbs.jobs(user="ann")} == {"ann"}
    pbs.set_cap("157[].pbs", 4)
    assert commands.calls[-1] == ["qalter", "-Wmax_run_subjobs=4", "157[].pbs"]
