"""The local scheduler: words arrive as typed, nothing runs beyond its slots, every end is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local_spool import ended, kill_spooler, lines_of, processes_of, request, spool_of
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers import scheduler
from tonnage.cluster.schedulers.local import Local, spooler_contact
from tonnage.cluster.schedulers.local import spool as spool_page
from tonnage.cluster.schedulers.local.rows import WHOLE
from tonnage.cluster.schedulers.local.streams import file_name
from tonnage.processes import Process
from waiting import wait_until

PRINT = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get('A_WORD')]))"


def shell(script: str, *words: str) -> tuple[str, ...]:
    """A program that a test can write in a line."""
    return ("sh", "-c", script, "sh", *words)


def test_words_environment_and_directory_arrive_as_they_were(
    local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["a b", "", "new\nline", "$HOME", "`id`", "*", "%J %I %", "--", "-n", "'\"\\", "é", os.fsdecode(b"\xff")]
    monkeypatch.setenv("A_WORD", "of the environment\n")
    job = local.submit(request(sys.executable, "-c", PRINT, *words, key="k", directory=tmp_path)).job
    assert ended(local, job).state == "done"
    said, directory, word = json.loads((tmp_path / f"tonnage-{job}.out").read_text())
    assert (said, directory, word) == (words, str(tmp_path), "of the environment\n")


def test_the_receipt_names_the_job_and_the_key_finds_it(local: Local, tmp_path: Path) -> None:
    receipt = local.submit(request("true", key="k.1", directory=tmp_path))
    assert receipt.line == f"Job <{receipt.job}> is submitted to queue <local>."
    assert local.find("k.1") == receipt
    ended(local, receipt.job)
    assert local.find("k.1") == receipt
    assert local.find("..") is None


def test_a_second_submission_of_a_key_adds_nothing(local: Local, tmp_path: Path) -> None:
    wanted = request(*shell("echo once >> ran"), key="k", directory=tmp_path)
    assert {local.submit(wanted).job for _ in range(3)} == {"1"}
    ended(local, "1")
    assert local.submit(wanted).job == "1"
    assert (tmp_path / "ran").read_text() == "once\n"


def test_the_status_is_the_programs(local: Local, tmp_path: Path) -> None:
    first = local.submit(request(*shell("exit 7"), key="a", directory=tmp_path)).job
    second = local.submit(request(*shell("kill -9 $$"), key="b", directory=tmp_path)).job
    assert (ended(local, first).state, ended(local, first).exit_status) == ("failed", 7)
    assert (ended(local, second).state, ended(local, second).exit_status) == ("failed", 128 + 9)


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [("no-such-program", 127, "No such file"), ("./plain", 126, "Permission denied"), ("./text", 126, "format")],
)
def test_a_program_that_cannot_be_run_is_said_in_its_output_too(
    local: Local, tmp_path: Path, program: str, status: int, words: str
) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "text").write_text("x")
    (tmp_path / "text").chmod(0o755)
    job = local.submit(request(program, key="k", directory=tmp_path, output="out")).job
    end = ended(local, job)
    assert (end.state, end.exit_status) == ("failed", status)
    assert words in end.reason
    assert f"{program} cannot be run" in (tmp_path / "out").read_text()


def test_a_directory_that_is_gone_fails_the_job_and_names_it(local: Local, tmp_path: Path) -> None:
    job = local.submit(request("true", key="k", directory=tmp_path / "gone", output=str(tmp_path / "out"))).job
    assert str(tmp_path / "gone") in ended(local, job).reason


def test_output_and_errors_go_to_the_files_asked_for(local: Local, tmp_path: Path) -> None:
    both, apart = shell("echo out; echo err >&2"), shell("echo out $TONNAGE_COPY; echo err >&2")
    one = local.submit(request(*both, key="a", directory=tmp_path, output="%J-100%.txt")).job
    many = local.submit(
        request(*apart, key="b", directory=tmp_path, numbers=upto(2), output="o.%I", error="e.%J.%I")
    ).job
    local.submit(request(*shell("echo $TONNAGE_COPY"), key="c", directory=tmp_path, numbers=upto(3), output="all"))
    usual = local.submit(request("true", key="d", directory=tmp_path, numbers=upto(1))).job
    wait_until(lambda: not local.jobs())
    assert (tmp_path / f"{one}-100%.txt").read_text() == "out\nerr\n"
    assert [(tmp_path / f"o.{copy}").read_text() for copy in (1, 2)] == ["out 1\n", "out 2\n"]
    assert (tmp_path / f"e.{many}.2").read_text() == "err\n"
    assert sorted((tmp_path / "all").read_text().split()) == ["1", "2", "3"]
    assert (tmp_path / f"tonnage-{usual}_1.out").exists()


def test_a_pattern_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    wanted = request("true", key="k", directory=tmp_path)
    assert file_name("%%J-%I%x%J%", wanted, 12, 3) == tmp_path / "%12-3%x12%"


def most_at_once(log: Path) -> int:
    """Of a file to which every copy adds ``+`` when it starts and ``-`` when it ends."""
    now = most = 0
    for sign in log.read_text().split():
        now += 1 if sign == "+" else -1
        most = max(most, now)
    return most


IN_AND_OUT = "echo + >> log; sleep 0.05; echo - >> log"


def test_no_more_copies_run_at_once_than_the_cap(local: Local, tmp_path: Path) -> None:
    local.submit(request(*shell(IN_AND_OUT), key="k", directory=tmp_path, numbers=upto(6), cap=1))
    wait_until(lambda: not local.jobs())
    assert most_at_once(tmp_path / "log") == 1
    assert len(lines_of(local, "1")) == 6


def test_no_more_run_at_once_than_there_are_licences(local: Local, tmp_path: Path) -> None:
    for key in "abcd":
        local.submit(
            request(
                *shell(IN_AND_OUT), key=key, directory=tmp_path, licences=(("fs1", 1),), licence_totals=(("fs1", 1),)
            )
        )
    wait_until(lambda: not local.jobs())
    assert most_at_once(tmp_path / "log") == 1


def test_no_more_run_at_once_than_there_are_slots(local: Local, tmp_path: Path) -> None:
    local.submit(request(*shell(IN_AND_OUT), key="k", directory=tmp_path, numbers=upto(8)))
    (host,) = local.hosts()
    assert host.slots == len(os.sched_getaffinity(0))
    wait_until(lambda: not local.jobs())
    assert most_at_once(tmp_path / "log") <= host.slots


def full(local: Local, directory: Path) -> str:
    """A job that takes every slot until it is cancelled; it runs."""
    slots = local.hosts()[0].slots
    job = local.submit(request("sleep", "600", key="full", directory=directory, slots=slots)).job
    wait_until(lambda: [line.state for line in lines_of(local, job)] == ["running"])
    return job


def test_what_waits_says_why(local: Local, tmp_path: Path) -> None:
    blocker = full(local, tmp_path)
    job = local.submit(request("true", key="k", directory=tmp_path, numbers=upto(5), name="align", server="fs1")).job
    (line,) = lines_of(local, job)
    assert (line.state, line.count, line.copy) == ("pending", 5, None)
    assert line.reason == "waits for 1 free slot"
    assert (line.name, line.server, line.key) == ("align", "fs1", "k")
    (queue,) = local.queues()
    assert (queue.name, queue.pending, queue.running) == ("local", 5, 1)
    assert local.hosts()[0].slots_used == local.hosts()[0].slots
    local.cancel(blocker)


def test_a_waiting_job_that_is_cancelled_never_runs(local: Local, tmp_path: Path) -> None:
    blocker = full(local, tmp_path)
    job = local.submit(request(*shell("echo ran > ran"), key="k", directory=tmp_path)).job
    local.cancel(job)
    assert ended(local, job).state == "cancelled"
    local.cancel(blocker)
    assert ended(local, blocker).state == "cancelled"
    assert not (tmp_path / "ran").exists()
    with pytest.raises(SchedulerError, match="ended already"):
        local.cancel(job)
    for number in ("99", "9" * 40):
        with pytest.raises(SchedulerError, match=f"there is no job {number}"):
            local.cancel(number)


def test_cancelling_ends_all_that_the_program_started(local: Local, tmp_path: Path) -> None:
    job = local.submit(request(*shell("sleep 600 & echo $! > child; wait"), key="k", directory=tmp_path)).job
    wait_until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    local.cancel(job)
    assert ended(local, job).state == "cancelled"
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: Process.of(child) is None, "the child's end")


def daemon(file: str, then: str = "exec sleep 600") -> str:
    """Lines of a shell that leave a process of a session of its own, whose parent ends, and wait for its number."""
    inner = f"echo $$ >{file}.new; mv {file}.new {file}; {then}"
    return f"(setsid sh -c '{inner}' &); while [ ! -e {file} ]; do sleep 0.01; done; "


def pid_in(file: Path) -> int:
    """What is written there, once it is."""
    wait_until(file.exists, f"{file.name}")
    return int(file.read_text())


def test_cancelling_ends_what_made_a_session_of_its_own(local: Local, tmp_path: Path) -> None:
    script = (
        daemon("a") + daemon("b", '(setsid sh -c "echo \\$\\$ >c; exec sleep 600" &); exec sleep 600') + "sleep 600"
    )
    job = local.submit(request(*shell(script), key="k", directory=tmp_path)).job
    left = [pid_in(tmp_path / name) for name in "abc"]
    local.cancel(job)
    assert ended(local, job).state == "cancelled"
    assert [Process.of(pid) for pid in left] == [None] * 3, "gone before the job is told to have ended"


@pytest.mark.slow
def test_what_ignores_sigterm_in_a_session_of_its_own_is_killed_after_a_while(local: Local, tmp_path: Path) -> None:
    script = daemon("a", 'trap "" TERM; while :; do sleep 0.1; done')
    job = local.submit(request(*shell(script + "sleep 600"), key="k", directory=tmp_path)).job
    left = pid_in(tmp_path / "a")
    before_s = time.monotonic()
    local.cancel(job)
    assert ended(local, job).state == "cancelled"
    assert time.monotonic() - before_s > 4
    assert Process.of(left) is None


def test_what_a_program_leaves_behind_when_it_ends_by_itself_goes_on(local: Local, tmp_path: Path) -> None:
    job = local.submit(request(*shell(daemon("a") + "exit 3"), key="k", directory=tmp_path)).job
    assert (ended(local, job).state, ended(local, job).exit_status) == ("failed", 3)
    left = pid_in(tmp_path / "a")
    assert Process.of(left) is not None
    os.kill(left, signal.SIGKILL)


def test_each_process_of_a_cancelled_job_gets_one_sigterm(local: Local, tmp_path: Path) -> None:
    count = 'trap "echo x >>terms" TERM; while [ ! -e go ]; do sleep 0.01; done'
    script = daemon("a", count) + "trap 'echo x >>terms' TERM; echo >on; while [ ! -e go ]; do sleep 0.01; done; exit 7"
    job = local.submit(request(*shell(script), key="k", directory=tmp_path)).job
    wait_until((tmp_path / "on").exists)
    local.cancel(job)
    wait_until(lambda: (tmp_path / "terms").exists() and (tmp_path / "terms").read_text() == "x\nx\n", "both signals")
    (tmp_path / "go").touch()
    assert ended(local, job).state == "cancelled"
    assert (tmp_path / "terms").read_text() == "x\nx\n"


@pytest.mark.slow
def test_a_program_that_ignores_sigterm_is_killed_after_a_while(local: Local, tmp_path: Path) -> None:
    script = "trap '' TERM; echo > ready; while :; do sleep 0.1; done"
    job = local.submit(request(*shell(script), key="k", directory=tmp_path)).job
    wait_until(lambda: (tmp_path / "ready").exists())
    before_s = time.monotonic()
    local.cancel(job)
    end = ended(local, job)
    assert (end.state, end.exit_status) == ("cancelled", 128 + 9)
    assert time.monotonic() - before_s > 4


def test_a_cap_that_is_lowered_to_one_counts_for_those_that_wait(local: Local, tmp_path: Path) -> None:
    blocker = full(local, tmp_path)
    job = local.submit(request(*shell(IN_AND_OUT), key="k", directory=tmp_path, numbers=upto(6))).job
    local.set_cap(job, 1)
    local.cancel(blocker)
    wait_until(lambda: not local.jobs())
    assert most_at_once(tmp_path / "log") == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"queue": "short"}, "no queue short; hint: .* local"),
        ({"hosts": ("elsewhere",)}, "not on elsewhere"),
        ({"slots": 100_000}, "wants 100000 slots"),
        ({"licences": (("fs1", 1),)}, "how many licences fs1"),
        ({"licences": (("fs1", 3),), "licence_totals": (("fs1", 2),)}, "wants 3 licences fs1, and there are 2"),
    ],
)
def test_what_it_cannot_run_is_refused_with_one_line(
    local: Local, tmp_path: Path, wrong: dict[str, object], words: str
) -> None:
    with pytest.raises(SchedulerError, match=words):
        local.submit(request("true", key="k", directory=tmp_path, **wrong))
    assert local.find("k") is None


def test_hosts_may_name_this_one_or_be_a_wish(local: Local, tmp_path: Path) -> None:
    here = local.hosts()[0].name
    local.submit(request("true", key="a", directory=tmp_path, hosts=("elsewhere", here)))
    local.submit(request("true", key="b", directory=tmp_path, hosts=("elsewhere",), prefer=True))
    wait_until(lambda: not local.jobs())


def test_others_have_spools_of_their_own(local: Local, tmp_path: Path) -> None:
    job = local.submit(request("sleep", "600", key="k", directory=tmp_path)).job
    assert local.jobs(user="somebody-else") == []
    (line,) = local.jobs()
    assert [found.job for found in local.jobs(user=line.user)] == [job]


def test_what_ended_long_ago_is_not_listed_and_its_key_is_known(local: Local, tmp_path: Path) -> None:
    job = local.submit(request("true", key="k", directory=tmp_path)).job
    ended(local, job)
    wait_until(lambda: not spool_of(local).numbers(), "the job's end in the spool")
    with spool_of(local).change() as db:
        db.execute("update copy set ended_ns = ended_ns - 7200 * 1000000000 where job = ?", (job,))
    assert local.jobs(ended=True) == []
    assert local.find("k") is not None


def test_what_ended_very_long_ago_is_forgotten(local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in "abc":
        ended(local, local.submit(request("true", key=key, directory=tmp_path)).job)
    spool = spool_of(local)
    wait_until(lambda: not spool.numbers(), "the jobs' end in the spool")
    monkeypatch.setattr(spool_page, "REMEMBERED", 2)
    spool.forget()
    assert spool.numbers(ended=True) == [2, 3]
    assert [local.find(key) is None for key in "abc"] == [True, False, False]
    monkeypatch.setattr(spool_page, "REMEMBERED_NS", 0)
    spool.forget()
    assert spool.numbers(ended=True) == []
    assert local.submit(request("true", key="a", directory=tmp_path)).job == "4", "numbers are not given twice"


def test_a_spool_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(Exception, match="is no directory; hint: move it away"):
        scheduler("local").jobs()


def test_the_spooler_ends_when_it_has_nothing_to_do_and_the_next_job_starts_another(
    local: Local, tmp_path: Path
) -> None:
    spool = spool_of(local)
    assert spooler_contact.ensure_spooler(spool, timeout_s=20, idle_s=0.1)
    first = spooler_contact.spooler(spool)
    assert first is not None
    wait_until(lambda: spooler_contact.spooler(spool) is None, "the spooler's end")
    job = local.submit(request("true", key="k", directory=tmp_path)).job
    assert ended(local, job).state == "done"
    assert spooler_contact.spooler(spool) not in (None, first)


def test_there_is_one_spooler(local: Local) -> None:
    spool = spool_of(local)
    spooler_contact.ensure_spooler(spool, timeout_s=20)
    pid = spooler_contact.spooler(spool)
    from tonnage.machine.site_tools import ask

    ask([sys.executable, "-m", "tonnage.cluster.schedulers.local.spooler", str(spool.directory), "30"], timeout_s=20)
    assert spooler_contact.spooler(spool) == pid


STANDS_FOR_A_SPOOLER = """
import fcntl, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("serves", flush=True)
heard = signal.sigtimedwait({signal.SIGCHLD}, 60)
print("woken" if heard else "left asleep", flush=True)
sys.stdin.read()
"""


def test_the_spooler_is_woken_and_its_cpus_are_the_slots(local: Local) -> None:
    spool = spool_of(local)
    argv = [sys.executable, "-c", STANDS_FOR_A_SPOOLER, str(spool.directory / "spooler")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "serves\n"
        assert (spooler_contact.spooler(spool), spooler_contact.slots(spool)) == (process.pid, 1)
        spooler_contact.wake(spool, timeout_s=20)
        assert process.stdout.readline() == "woken\n"
        process.stdin.close()
    assert spooler_contact.spooler(spool) is None


def has_program(local: Local, job: str) -> bool:
    """Whether the process of a job that is no array is known."""
    copy = spool_of(local).copy(int(job), WHOLE)
    return copy is not None and copy.program is not None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_goes_on_without_the_spooler_and_its_status_is_known(
    local: Local, tmp_path: Path, number: signal.Signals
) -> None:
    job = local.submit(
        request(*shell("while [ ! -e go ]; do sleep 0.02; done; exit 5"), key="k", directory=tmp_path)
    ).job
    wait_until(lambda: has_program(local, job))
    kill_spooler(local, number)
    assert [line.state for line in local.jobs()] == ["running"]
    (tmp_path / "go").touch()
    assert ended(local, job).exit_status == 5


def test_a_copy_that_ends_brings_back_the_spooler_for_those_that_wait(local: Local, tmp_path: Path) -> None:
    slots = local.hosts()[0].slots
    script = "while [ ! -e go ]; do sleep 0.02; done"
    first = local.submit(request(*shell(script), key="a", directory=tmp_path, slots=slots)).job
    local.submit(request("touch", "ran", key="b", directory=tmp_path))
    wait_until(lambda: has_program(local, first))
    kill_spooler(local)
    (tmp_path / "go").touch()
    wait_until((tmp_path / "ran").exists, "the second job, though nobody asks for anything")


def test_a_job_whose_waiting_process_was_killed_too_is_waited_for_and_its_status_is_unknown(
    local: Local, tmp_path: Path
) -> None:
    job = local.submit(request(*shell("while [ ! -e go ]; do sleep 0.02; done"), key="k", directory=tmp_path)).job
    spool = spool_of(local)
    wait_until(lambda: has_program(local, job))
    started = spool.copy(int(job), WHOLE)
    assert started is not None
    waiter = started.waiter
    assert waiter is not None
    kill_spooler(local)
    os.kill(waiter.pid, signal.SIGKILL)
    wait_until(lambda: not waiter.alive)
    local.jobs()
    wait_until(lambda: spooler_contact.spooler(spool) is not None)
    time.sleep(1.2)
    assert [line.state for line in local.jobs()] == ["running"], "it runs, whoever waits for it"
    (tmp_path / "go").touch()
    end = ended(local, job)
    assert (end.state, end.exit_status) == ("unknown", None)


def test_a_job_that_was_started_before_the_host_went_down_never_runs_again(local: Local, tmp_path: Path) -> None:
    spool = spool_of(local)
    wanted = request(*shell("echo ran > ran"), key="k", directory=tmp_path)
    number, _ = spool.add(wanted)
    assert spool.claim(number, WHOLE, Process(os.getpid(), 1, "another-boot"))
    assert ended(local, str(number)).state == "unknown"
    assert not (tmp_path / "ran").exists()


def test_what_another_version_left_is_in_nobodys_way(local: Local, tmp_path: Path) -> None:
    spool = spool_of(local)
    spool.add(request("true", key="strange", directory=tmp_path))
    with spool.change() as db:
        db.execute("update job set request = 'no json'")
    job = local.submit(request("true", key="k", directory=tmp_path)).job
    assert job == "2"
    assert ended(local, job).state == "done"


@pytest.mark.slow
def test_many_jobs_that_wait_cost_one_process_and_20_ms_each(local: Local, tmp_path: Path) -> None:
    many = 1000 if "TONNAGE_COLD" in os.environ else 200
    blocker = full(local, tmp_path)
    times_s = []
    for number in range(many):
        before_s = time.process_time()
        local.submit(request("true", key=f"k{number}", directory=tmp_path, output=os.devnull))
        times_s.append(time.process_time() - before_s)
    (queue,) = local.queues()
    assert queue.pending == many
    assert processes_of(local) <= 2, "the spooler, and the process that waits for the one program that runs"
    # Processor time, of which a busy machine takes little away: most of them, and not the quickest.
    assert sorted(times_s)[many // 2] < 0.02
    spool = spool_of(local)
    for number in spool.numbers():
        spool.cancel(number)
    wait_until(lambda: not local.jobs(), f"the end of job {blocker} too")
