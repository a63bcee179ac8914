"""LSF and Openlava by what they print, and by stand-ins for their commands that do with a line what theirs do."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from command_stand_ins import ODD, TELL, StandIns
from hypothesis import given
from hypothesis import strategies as st
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import JobRequest, SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers.lsf import Lsf, parse_columns, parse_hosts, parse_json, parse_queues
from tonnage.machine.user_state import user_name

# The shapes are those of the command reference of LSF 10.1 and of Openlava 2.2.
BJOBS_JSON = """{
  "COMMAND":"bjobs",
  "JOBS":3,
  "RECORDS":[
    {"JOBID":"3734","JOBINDEX":"0","USER":"rcs","STAT":"RUN","QUEUE":"normal","FROM_HOST":"login1",
     "EXEC_HOST":"4*rcss1:rcss2","JOB_NAME":"bwa","JOB_DESCRIPTION":"tonnage key=abc-1 server=rcss1","SLOTS":"5",
     "EXIT_CODE":"","SUBMIT_TIME":"Nov  3 10:12","START_TIME":"Nov  3 10:13","FINISH_TIME":"Nov  3 11:13 E",
     "PEND_REASON":""},
    {"JOBID":"3735","JOBINDEX":"7","USER":"rcs","STAT":"PEND","QUEUE":"normal","FROM_HOST":"login1","EXEC_HOST":"",
     "JOB_NAME":"many[7]","JOB_DESCRIPTION":"","SLOTS":"1","EXIT_CODE":"","SUBMIT_TIME":"Nov  3 10:12",
     "START_TIME":"","FINISH_TIME":"","PEND_REASON":"Not enough job slot(s)"},
    {"JOBID":"3736","JOBINDEX":"0","USER":"ann","STAT":"EXIT","QUEUE":"short","FROM_HOST":"login1",
     "EXEC_HOST":"rcss1","JOB_NAME":"a b","JOB_DESCRIPTION":"mine","SLOTS":"1","EXIT_CODE":"3",
     "SUBMIT_TIME":"Nov  3 10:12","START_TIME":"Nov  3 10:13","FINISH_TIME":"Nov  3 10:14 L","PEND_REASON":""}
  ]
}
"""
BJOBS = """JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME
3734    rcs     RUN   normal     login1.site rcss1       bwa.tonnage-abc-1 Nov  3 10:12
3735    rcs     PEND  normal     login1      -           many.tonnage-k2[7] Nov  3 10:12
3736    ann     RUN   short      login1      2*node03:node04 /bin/sleep 60 Nov  3 10:12
3737    ann     PEND  short      login1                  waits      Nov  3 10:12
"""
BQUEUES = """QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP
owners           43  Open:Active       -    6    -    -     0     0     0     0
normal           30  Open:Active      96    -    -    -   100    40    60     0
night            1   Open:Inact        -    -    -    -     2     2     0     0
"""
BHOSTS = """HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
rcss1              ok              -         8      3      3      0      0      0
rcss2              closed          -         8      8      8      0      0      0
rcss3              closed_Adm      -         8      0      0      0      0      0
node03             unavail         -         4      0      0      0      0      0
"""


def test_jobs_of_lsf_are_read_with_key_server_and_times() -> None:
    running, pending, ended = parse_json(BJOBS_JSON)
    assert (running.job, running.state, running.hosts, running.slots) == ("3734", "running", ("rcss1", "rcss2"), 5)
    assert (running.key, running.server) == ("abc-1", "rcss1")
    assert running.started_at_s is not None and running.submitted_at_s is not None
    assert running.started_at_s - running.submitted_at_s == 60
    assert running.ended_at_s is None, "an expected end is no end"
    assert (pending.copy, pending.name, pending.state, pending.reason) == (
        7,
        "many",
        "pending",
        "Not enough job slot(s)",
    )
    assert ended.ended_at_s is not None
    assert (ended.state, ended.exit_status, ended.key, ended.name) == ("failed", 3, None, "a b")


def test_a_time_without_a_year_is_not_in_the_future() -> None:
    assert all(job.submitted_at_s < time.time() + 86_400 for job in parse_json(BJOBS_JSON) if job.submitted_at_s)


def test_jobs_of_openlava_are_read_by_their_columns() -> None:
    bwa, many, sleep, waits = parse_columns(BJOBS)
    assert (bwa.name, bwa.key, bwa.hosts, bwa.copy) == ("bwa", "abc-1", ("rcss1",), None)
    assert (many.name, many.key, many.copy) == ("many", "k2", 7)
    assert (sleep.name, sleep.key, sleep.hosts) == ("/bin/sleep 60", None, ("node03", "node04"))
    assert (waits.name, waits.hosts, waits.state) == ("waits", (), "pending")


def test_queues_and_hosts() -> None:
    assert [(queue.name, queue.open, queue.slots, queue.pending, queue.running) for queue in parse_queues(BQUEUES)] == [
        ("owners", True, None, 0, 0),
        ("normal", True, 96, 40, 60),
        ("night", False, None, 2, 0),
    ]
    assert [(host.name, host.up, host.slots, host.slots_used, host.reason) for host in parse_hosts(BHOSTS)] == [
        ("rcss1", True, 8, 3, ""),
        ("rcss2", True, 8, 8, ""),
        ("rcss3", False, 8, 0, "closed_Adm"),
        ("node03", False, 4, 0, "unavail"),
    ]


@given(st.text(max_size=300))
def test_no_output_is_a_traceback(text: str) -> None:
    for parse in (parse_columns, parse_queues, parse_hosts, lambda said: parse_columns("JOBID\n" + said), parse_json):
        try:
            parse(text)
        except SchedulerError:
            assert text.strip()


def test_a_list_of_jobs_that_is_cut_short_is_said() -> None:
    with pytest.raises(SchedulerError, match="no list of jobs"):
        parse_json(BJOBS_JSON[:300])


# bsub joins its words with blanks and has a shell read the line: so does the stand-in.
BSUB = """
if words == ["-V"]:
    sys.exit(print({version!r}, file=sys.stderr))
{behaviour}
at = 0
while words[at].startswith("-"):
    at += 2
subprocess.run(" ".join(words[at:]), shell=True, check=True, env=dict(os.environ, LSB_JOBINDEX="3"))
print("Job <3734> is submitted to default queue <normal>.")
"""


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    return StandIns(tmp_path, monkeypatch)


def bsub(commands: StandIns, *, version: str = "IBM Spectrum LSF 10.1.0.12", behaviour: str = "") -> None:
    commands.add("bsub", BSUB.format(version=version, behaviour=behaviour))


def options(commands: StandIns) -> list[str]:
    """Those of the last call, in pairs, without the line that is run."""
    words = commands.calls[-1][1:]
    end = next(at for at in range(0, len(words), 2) if not words[at].startswith("-"))
    return words[:end]


def request(tmp_path: Path, *argv: str, **changes: object) -> JobRequest:
    return JobRequest(argv=argv or ("true",), key="k-1", directory=str(tmp_path), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("copies", [None, 5])
def test_words_arrive_as_typed(tmp_path: Path, commands: StandIns, copies: int | None) -> None:
    bsub(commands)
    told = str(tmp_path / "told.json")
    receipt = Lsf(timeout_s=20).submit(
        request(tmp_path, sys.executable, "-c", TELL.format(told), *ODD, numbers=upto(copies) if copies else ())
    )
    assert receipt.line == "Job <3734> is submitted to default queue <normal>."
    assert receipt.job == "3734"
    assert json.loads(Path(told).read_text()) == [list(ODD), str(tmp_path), "3" if copies else None]


def test_options_say_what_was_asked_for(tmp_path: Path, commands: StandIns) -> None:
    bsub(commands)
    asked = request(
        tmp_path, name="many[1]", numbers=upto(50), cap=8, hosts=("rcss1", "rcss2"), queue="short", slots=2,
        licences=(("rcss1", 1),), server="rcss1", output="o.%J.%I",
    )  # fmt: skip
    Lsf(timeout_s=20).submit(asked)
    assert options(commands) == [
        "-J", "many_1_[1-50]%8", "-Jd", "tonnage key=k-1 server=rcss1", "-q", "short", "-m", "rcss1 rcss2", "-n", "2",
         "-R", "span[hosts=1]", "-R", "rusage[rcss1=1]", "-o", "o.%J.%I",
    ]  # fmt: skip


def test_hosts_that_are_a_wish_come_with_others(tmp_path: Path, commands: StandIns) -> None:
    bsub(commands)
    Lsf(timeout_s=20).submit(request(tmp_path, hosts=("rcss1", "rcss2"), prefer=True))
    assert options(commands)[-1] == "rcss1+2 rcss2+1 others"


def test_openlava_gets_the_key_in_the_name(tmp_path: Path, commands: StandIns) -> None:
    bsub(commands, version="Openlava project 2.2, Jul 29 2013")
    Lsf(timeout_s=20).submit(request(tmp_path, name="bwa"))
    assert options(commands) == ["-J", "bwa.tonnage-k-1"]


def test_a_refusal_has_the_schedulers_words(tmp_path: Path, commands: StandIns) -> None:
    bsub(commands, behaviour="sys.exit('nosuch: No such queue. Job not submitted.')")
    with pytest.raises(
        SchedulerError, match=r"refused: bsub failed .*: nosuch: No such queue\. Job not submitted\."
    ) as error:
        Lsf(timeout_s=20).submit(request(tmp_path, queue="nosuch"))
    assert not isinstance(error.value, SubmissionUnknown)
    assert error.value.exit_code == 2


def test_silence_leaves_it_open_whether_the_job_is_there(tmp_path: Path, commands: StandIns) -> None:
    bsub(commands, behaviour="import time; time.sleep(60)")
    with pytest.raises(SubmissionUnknown, match="did not answer within 1 s"):
        Lsf(timeout_s=1).submit(request(tmp_path))


def test_no_jobs_are_no_failure(commands: StandIns) -> None:
    bsub(commands)
    commands.add("bjobs", "print('No unfinished job found', file=sys.stderr); sys.exit(255)")
    assert Lsf(timeout_s=20).jobs() == []


def test_a_job_is_found_by_its_key(commands: StandIns) -> None:
    bsub(commands)
    commands.prints("bjobs", BJOBS_JSON.replace('"rcs"', f'"{user_name()}"'))
    found = Lsf(timeout_s=20).find("abc-1")
    assert found is not None and (found.job, found.line) == ("3734", "Job <3734> is submitted to queue <normal>.")
    assert Lsf(timeout_s=20).find("other") is None
