"""Jobs that run where their data lives: a real Slurm over hosts on slow links, with the data in a real GlusterFS."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hosts import wait_for
from impossible import skipped_where_impossible
from small_site import SCRATCH, Plan, Site, site
from tonnage.records.load_line_files import KeptLine, keep_line

from tests.importers.darshan_logs import log, needs_darshan

LINE_TASKS = 3
SCHEDULER_TIMEOUT_S = 3
STAMPED = """
import json, os, sys, time
start = time.time()
time.sleep(float(sys.argv[2]))
with open(f"{sys.argv[1]}/{os.environ['TONNAGE_COPY']}", "x") as file:
    json.dump([start, time.time(), os.uname().nodename], file)
"""
WORDS = ["two words", "'single' \"double\"", "$HOME `id` $(id)", "a\nb", "*", "-n", "", "%J", "back\\slash"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Site]:
    """A site whose volume of ``rcss1`` has a load line that was kept."""
    plan = Plan(
        nodes=2,
        node_slots=8,
        server_slots=6,
        limited=False,
        policy=f'scheduler_timeout = "{SCHEDULER_TIMEOUT_S}s"\nlist_age = "0s"',
    )
    with ExitStack() as stack:
        with skipped_where_impossible():
            whole = stack.enter_context(site(plan))
        target = json.loads(whole.tonnage("where", "--json").stdout)["target"]
        keep_line(
            whole.hosts.site / "lines",
            KeptLine(
                target=target, operation="read", access="sequential", transfer_size=1 << 20, tasks=LINE_TASKS, low=3,
                high=4, plateau_bytes_per_s=100_000_000, single_bytes_per_s=40_000_000, measured_at_s=time.time(),
                host="rcss1", run="/run/none",
            ),
        )  # fmt: skip
        yield whole


def ran_on(lab: Site, job: str) -> str:
    """The host of a job, once it has ended."""

    def said() -> dict[str, str]:
        told = lab.run("scontrol", "--oneliner", "show", "job", job).stdout
        return dict(word.split("=", 1) for word in told.split() if "=" in word)

    wait_for(lambda: said()["JobState"] not in ("PENDING", "RUNNING", "COMPLETING"), f"job {job} ends")
    assert said()["JobState"] == "COMPLETED"
    return said()["NodeList"]


def number(out: str) -> str:
    """Of the job in the scheduler's own line."""
    found = re.search(r"^Submitted batch job (\d+)$", out, re.MULTILINE)
    assert found, out
    return found[1]


def known(lab: Site, key: str) -> list[str]:
    """Jobs of this key that Slurm knows, waiting, running or ended."""
    told = lab.run("squeue", "--noheader", "--states=all", "--format=%A %k").stdout
    return [line.split()[0] for line in told.splitlines() if f":{key}:" in line]


def test_the_doctor_finds_nothing_wrong_and_the_load_of_both_servers_is_read(lab: Site) -> None:
    assert lab.tonnage("doctor", check=False).returncode == 0, lab.tonnage("doctor", check=False).stdout
    lab.tonnage("load")
    said = lab.tonnage("load").stdout.splitlines()
    assert [line.split()[0] for line in said[1:3]] == ["rcss1", "rcss2"]
    assert all("%" in line.split()[1] for line in said[1:3]), said


def test_a_job_runs_on_the_host_that_holds_its_working_directory(lab: Site) -> None:
    (lab.scratch.at("node1") / "big.dat").write_bytes(b"ACGT" * 250_000)
    said = lab.tonnage("submit", "-o", "/dev/null", "gzip", "-k", "big.dat")
    assert said.stdout.startswith("Submitting job to run on fileserver rcss1\nSubmitted batch job ")
    assert ran_on(lab, number(said.stdout)) == "rcss1"
    assert lab.run("gunzip", "-t", SCRATCH / "big.dat.gz").returncode == 0


def test_another_volume_is_at_another_server(lab: Site) -> None:
    said = lab.tonnage("submit", "-o", "/dev/null", "true", directory="/run/projects")
    assert said.stdout.startswith("Submitting job to run on fileserver rcss2\n")
    assert ran_on(lab, number(said.stdout)) == "rcss2"


def test_an_interactive_job_has_this_terminal_and_its_exit_status_is_ours(lab: Site) -> None:
    assert lab.tonnage("submit", "-I", "uname", "-n").stdout.splitlines()[-1] == "rcss1"
    assert lab.tonnage("submit", "-I", "sh", "-c", "exit 7", check=False).returncode == 7
    words = (sys.executable, "-m", "tonnage.cli", "submit", "-I", "tr", "a-z", "A-Z")
    assert lab.run(*words, directory=SCRATCH, text="typed\n").stdout.splitlines()[-1] == "TYPED"


def test_the_published_session_of_iobsub_runs_on_the_file_server(lab: Site) -> None:
    assert lab.tonnage("iobsub", "-q", "-I", "uname", "-a").stdout.split()[1] == "rcss1"
    assert "Submitting job to run on fileserver rcss1" in lab.tonnage("iobsub", "uname", "-a").stdout
    (lab.scratch.at("head") / "go.sh").write_text("#!/bin/sh\nuname -n\n")
    (lab.scratch.at("head") / "go.sh").chmod(0o755)
    said = lab.tonnage("iobsub", "-o", "out.dat", "go.sh")
    lab.wait_idle()
    assert (lab.scratch.at("head") / "out.dat").read_text() == "rcss1\n", said.stdout


def test_words_reach_the_program_as_typed(lab: Site) -> None:
    printer = "import json, sys; print(json.dumps(sys.argv[1:]))"
    said = lab.tonnage("submit", "-o", "words", sys.executable, "-c", printer, *WORDS)
    ran_on(lab, number(said.stdout))
    assert json.loads((lab.scratch.at("head") / "words").read_text()) == WORDS


def test_an_array_keeps_to_the_load_line(lab: Site) -> None:
    stamps = lab.hosts.site / "stamps"
    stamps.mkdir()
    words = (sys.executable, "-c", STAMPED, "/run/site/stamps", "0.4")
    said = lab.tonnage("submit", "-o", "/dev/null", "--copies", "12", "--cap", "auto", *words)
    lab.wait_idle()
    spans = [json.loads(file.read_text()) for file in stamps.iterdir()]
    assert len(spans) == 12, said.stdout
    assert {host for _, _, host in spans} == {"rcss1"}
    starts = [start for start, _, _ in spans]
    together = max(sum(start <= moment < end for start, end, _ in spans) for moment in starts)
    assert together == LINE_TASKS


@needs_darshan
def test_jobs_of_a_log_that_asks_more_than_a_third_of_the_line_run_two_at_a_time(lab: Site) -> None:
    """Its rate is what 1.2 tasks of a line of three move: two such jobs fit, and a third does not."""
    (lab.hosts.site / "job.darshan").write_bytes(log("orders-dxt").read_bytes())
    stamps = lab.hosts.site / "profiled"
    stamps.mkdir()
    words = (sys.executable, "-c", STAMPED, "/run/site/profiled", "1")
    said = lab.tonnage(
        "submit", "-o", "/dev/null", "--copies", "5", "--profile", "/run/site/job.darshan", "--json", *words
    )
    decision = json.loads(said.stdout)["decision"]
    assert decision["cap"] == 2 and "counted by Darshan in /run/site/job.darshan" in decision["cap_why"], decision
    lab.wait_idle()
    spans = [json.loads(file.read_text()) for file in stamps.iterdir()]
    assert len(spans) == 5
    assert max(sum(start <= at < end for start, end, _ in spans) for at, _, _ in spans) == 2


def test_where_no_host_is_beside_the_data_it_is_said_and_anywhere_goes_on(lab: Site) -> None:
    said = lab.tonnage("submit", "true", directory="/", check=False)
    assert said.returncode == 1
    assert "--anywhere" in said.stderr
    assert "Submitted" not in said.stdout
    said = lab.tonnage("submit", "--anywhere", "-o", "/dev/null", "true", directory="/")
    assert ran_on(lab, number(said.stdout)) in ("node1", "node2")


def test_a_server_that_is_down_takes_no_job_unless_it_may_go_anywhere(lab: Site) -> None:
    lab.down("rcss1")
    try:
        said = lab.tonnage("submit", "true", check=False)
        assert said.returncode == 1
        (line,) = [line for line in said.stderr.splitlines() if "error" in line]
        assert "rcss1" in line
        assert "down" in line.lower()
        said = lab.tonnage("submit", "--anywhere", "-o", "/dev/null", "true")
        assert ran_on(lab, number(said.stdout)) in ("node1", "node2", "rcss2")
    finally:
        lab.up("rcss1")


def test_indices_that_do_not_come_are_said_and_hold_nothing_up(lab: Site) -> None:
    lab.end("exporter rcss2")
    wait_for(lambda: "rcss2" in lab.tonnage("load", check=False).stderr, "the loss is noticed")
    began = time.monotonic()
    said = lab.tonnage("submit", "-o", "/dev/null", "true", directory="/run/projects")
    assert time.monotonic() - began < 10
    # Of some it is said how old they are.
    assert re.search(r"indices of rcss2 .*do not count", said.stderr), said.stderr
    assert ran_on(lab, number(said.stdout)) == "rcss2"


def test_a_queue_that_is_not_there_is_refused_in_the_schedulers_words(lab: Site) -> None:
    said = lab.tonnage("submit", "-q", "nowhere", "true", check=False)
    assert said.returncode == 2
    assert "nowhere" in said.stderr or "Invalid partition" in said.stderr
    assert len(said.stderr.strip().splitlines()) <= 2


def test_a_scheduler_that_hangs_is_told_in_time_and_the_same_key_makes_one_job(lab: Site) -> None:
    words = ("submit", "--key", "once", "-o", "/dev/null", "true")
    with lab.suspended("slurmctld"):
        began = time.monotonic()
        said = lab.tonnage(*words, check=False)
        took_s = time.monotonic() - began
        assert said.returncode == 1, said.stdout
        assert "did not answer" in said.stderr
        # Each question to it has its limit, and it is asked for the key once more.
        assert took_s < 5 * SCHEDULER_TIMEOUT_S + 5
    said = lab.tonnage(*words)
    again = lab.tonnage(*words)
    lab.wait_idle()
    assert known(lab, "once") == [number(said.stdout)] == [number(again.stdout)]


def test_a_submission_that_was_sent_and_not_answered_is_found_again(lab: Site) -> None:
    words = (sys.executable, "-m", "tonnage.cli", "submit", "--key", "sent", "-o", "/dev/null", "true")
    sbatch = lab.hosts.site / "bin/sbatch"
    sbatch.parent.mkdir()
    # What a slow network does: the request arrives, its answer does not in time.
    sbatch.write_text(f'#!/bin/sh\n/usr/bin/sbatch "$@" >/dev/null\nsleep {3 * SCHEDULER_TIMEOUT_S}\n')
    sbatch.chmod(0o755)
    path = f"/run/site/bin:{lab.environment['PATH']}"
    said = lab.hosts["head"].run(*words, directory=SCRATCH, environment={**lab.environment, "PATH": path}, check=False)
    again = lab.run(*words, directory=SCRATCH)
    lab.wait_idle()
    assert known(lab, "sent") == [number(again.stdout)], said.stderr
