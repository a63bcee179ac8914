"""``bjobs``, ``bkill``, ``bqueues`` and ``bhosts`` as scripts type them, for the jobs of each scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from local_spool import lines_of, request
from stand_in_site import SITES, install
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import Job
from tonnage.cluster.schedulers.local import Local
from tonnage.compat.front_end import parse_arguments
from tonnage.compat.install import install as install_names
from tonnage.compat.lsf.bjobs import read_format
from tonnage.compat.lsf.options import BJOBS
from tonnage.compat.lsf.select_jobs import matches
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_name
from tonnage.placement.jobs import job_and_copies
from waiting import wait_until

LIMIT_S = 60


class Typed:
    """The executables of ``tonnage compat install``, first on PATH, at a site."""

    def __init__(self, work: Path, scheduler: str) -> None:
        self.work = work
        (work / "tonnage.toml").write_text(f'scheduler = "{scheduler}"\n')
        self.places = {file.name: file for file in install_names(str(work / "bin"), _TONNAGE)}
        self.environment = {**os.environ, "PATH": f"{work / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def __call__(self, *words: str, code: int = 0) -> tuple[list[str], str]:
        """Lines on stdout, and stderr."""
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work,
            env=self.environment,
            timeout=LIMIT_S,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.splitlines(), done.stderr


_TONNAGE = [sys.executable, "-m", "tonnage.cli"]


def test_jobs_stand_under_lsfs_headings_and_one_that_is_not_there_is_255(local: Local, tmp_path: Path) -> None:
    typed = Typed(tmp_path, "local")
    assert typed("bjobs", code=255) == ([], "No unfinished job found\n")
    argv = ("sh", "-c", "sleep 600")
    job = local.submit(request(*argv, key="k", directory=tmp_path, name="a-long-name", numbers=upto(3), cap=1)).job
    wait_until(lambda: any(line.state == "running" for line in lines_of(local, job)))
    (heading, running, waiting), _ = typed("bjobs")
    assert heading.split() == [
        "JOBID", "USER", "STAT", "QUEUE", "FROM_HOST", "EXEC_HOST", "JOB_NAME", "SUBMIT_TIME",
    ]  # fmt: skip
    for line, stat in ((running, "RUN"), (waiting, "PEND")):
        assert line[heading.index("STAT") :].split()[0] == stat
        assert line[: heading.index("USER")].strip() == job
        assert len(line[heading.index("JOB_NAME") : heading.index("SUBMIT_TIME") - 1].strip()) <= 10
    assert "*g-name[1]" in running and "a-long-name[1]" in typed("bjobs", "-w")[0][1]
    assert typed("bjobs", "-r", "-noheader")[0] == [running]
    assert typed("bjobs", "-p", "-noheader", "-u", "all")[0] == [waiting]
    assert typed("bjobs", "-s", code=255) == ([], "No suspended job found\n")
    assert typed("bjobs", "-noheader", "-J", "a-long*")[0] == [running, waiting]
    assert typed("bjobs", "-J", "other", code=255) == ([], "Job <other> is not found\n")
    assert typed("bjobs", "-noheader", "-o", "jobid stat delimiter=','", f"{job}[1]")[0][0] == f"{job},RUN"
    lines, complaint = typed("bjobs", "-noheader", job, "999", code=255)
    assert lines == [running, waiting] and complaint == "Job <999> is not found\n"
    alone = local.submit(request(*argv, key="alone", directory=tmp_path)).job
    wait_until(lambda: any(line.state == "running" for line in lines_of(local, alone)))
    assert typed("bjobs", f"{alone}[1]", code=255) == ([], f"Job <{alone}[1]> is not found\n"), "it has no copies"
    assert "PENDING REASONS:" in "\n".join(typed("bjobs", "-l", job)[0])
    assert "has no option" in typed("bjobs", "-nonsense", code=2)[1]


def test_a_copy_ends_by_itself_and_one_that_waits_never_runs(local: Local, tmp_path: Path) -> None:
    typed = Typed(tmp_path, "local")
    program = ("sh", "-c", 'touch "ran.$TONNAGE_COPY"; while [ ! -e go ]; do sleep 0.05; done')
    job = local.submit(request(*program, key="k", directory=tmp_path, numbers=upto(5), cap=2)).job
    wait_until(lambda: (tmp_path / "ran.1").exists() and (tmp_path / "ran.2").exists())
    lines, complaint = typed("bkill", f"{job}[1,4]", f"{job}_5", "999", f"{job}[9]", code=255)
    assert lines == [f"Job <{job}[{copy}]> is being terminated" for copy in (1, 4, 5)]
    assert complaint.splitlines() == ["Job <999>: No matching job found", f"Job <{job}[9]>: job {job} has no copy 9"]
    wait_until(lambda: (tmp_path / "ran.3").exists())
    said = subprocess.run(
        [*_TONNAGE, "cancel", "--json", f"{job}[1]"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert said.returncode == 1 and "ended already" in json.loads(said.stdout)["jobs"][0]["problem"]
    (tmp_path / "go").touch()
    wait_until(lambda: all(line.ended_at_s for line in lines_of(local, job)))
    assert {line.copy: line.state for line in lines_of(local, job)} == {
        1: "cancelled", 2: "done", 3: "done", 4: "cancelled", 5: "cancelled",
    }  # fmt: skip
    assert sorted(file.name for file in tmp_path.glob("ran.*")) == ["ran.1", "ran.2", "ran.3"]
    assert typed("bkill", job, code=255) == ([], f"Job <{job}>: Job has already finished\n")


def test_0_ends_all_and_a_name_the_last_of_that_name(local: Local, tmp_path: Path) -> None:
    typed = Typed(tmp_path, "local")
    jobs = [
        local.submit(request("sleep", "600", key=f"k{at}", directory=tmp_path, name=name)).job
        for at, name in enumerate(("one", "two", "two", "two"))
    ]
    assert typed("bkill", "-J", "two")[0] == [f"Job <{jobs[3]}> is being terminated"]
    wait_until(lambda: jobs[3] not in {job.job for job in local.jobs()})
    assert typed("bkill", "-J", "two", "0")[0] == [f"Job <{job}> is being terminated" for job in jobs[1:3]]
    wait_until(lambda: {job.job for job in local.jobs()} == {jobs[0]})
    assert typed("bkill", "0")[0] == [f"Job <{jobs[0]}> is being terminated"]
    assert "no job is named" in typed("bkill", code=2)[1]
    assert "signals of its own" in typed("bkill", "-s", "STOP", jobs[0], code=2)[1]


def test_queues_and_hosts_stand_under_lsfs_headings(local: Local, tmp_path: Path) -> None:
    typed = Typed(tmp_path, "local")
    (host,) = local.hosts()
    (heading, line), _ = typed("bqueues")
    found = dict(zip(heading.split(), line.split(), strict=True))
    assert list(found) == [
        "QUEUE_NAME", "PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H", "NJOBS", "PEND", "RUN", "SUSP",
    ]  # fmt: skip
    assert (found["QUEUE_NAME"], found["STATUS"], found["MAX"]) == ("local", "Open:Active", str(host.slots))
    assert typed("bqueues", "local", "none", code=255)[1] == "none: No such queue\n"
    assert typed("bqueues", "a\nb\x1b[2J", code=255)[1] == "a\\nb\\x1b[2J: No such queue\n"
    (heading, line), _ = typed("bhosts", "-w")
    found = dict(zip(heading.split(), line.split(), strict=True))
    assert list(found) == ["HOST_NAME", "STATUS", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV"]
    assert (found["HOST_NAME"], found["STATUS"], found["NJOBS"]) == (host.name, "ok", "0")
    assert typed("bhosts", "none", code=255) == ([], "none: Bad host name\n")


@pytest.mark.parametrize("name", list(SITES))
def test_a_sites_jobs_are_told_and_ended_though_our_names_hide_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FLUX_URI", "local:///nowhere")
    # Installed before the site's own were on PATH: all four hide those of LSF.
    typed = Typed(tmp_path, name)
    commands = StandIns(tmp_path, monkeypatch)
    install(commands, name, tmp_path / "site", user_name())
    typed.environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    typed.environment |= {key: os.environ[key] for key in ("XDG_STATE_HOME", "FLUX_URI")}
    submit = [*_TONNAGE, "submit", "--anywhere", "-o", "out", "sleep", "600"]
    typed(*submit)
    wait_until(lambda: any(job["pid"] for job in _site_jobs(tmp_path)))
    (line,), _ = typed("bjobs", "-noheader", "-o", "jobid stat exec_host delimiter='|'")
    job, stat, host = line.split("|")
    assert (stat, host) == ("RUN", "here")
    assert typed("bkill", job)[0] == [f"Job <{job}> is being terminated"]
    wait_until(lambda: typed("bjobs", "-noheader", "-o", "stat", job)[0] == ["EXIT"])
    assert typed("bqueues")[0][1].split()[0] == "normal"
    assert typed("bhosts")[0][1].split()[:2] == ["here", "ok"]


def _site_jobs(work: Path) -> list[dict]:
    return [json.loads(file.read_text()) for file in (work / "site").glob("*.json")]


def test_at_a_site_with_lsf_its_own_programs_are_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StandIns(tmp_path, monkeypatch).prints("bsub", "")
    names = {file.name for file in install_names(str(tmp_path / "bin"), _TONNAGE)}
    assert "lsload" in names and not names & {"bjobs", "bkill", "bqueues", "bhosts"}


@pytest.mark.parametrize(
    ("word", "job", "copies"),
    [
        ("12", "12", ()),
        ("12_3", "12", (3,)),
        ("12[3]", "12", (3,)),
        ("12[1-3,7,2]", "12", (1, 2, 3, 7)),
        ("34[2].head", "34[].head", (2,)),
        ("34[].head", "34[].head", ()),
        ("ƒ2bYk", "ƒ2bYk", ()),
        ("a_b", "a_b", ()),
        ("", "", ()),
    ],
)
def test_a_word_names_a_job_or_copies_of_it(word: str, job: str, copies: tuple[int, ...]) -> None:
    assert job_and_copies(word, [Job(job="12"), Job(job="34[].head")]) == (job, copies)


@pytest.mark.parametrize("word", ["12[3-1]", "12[1-99999999]", "12[1--2]", "12[,]"])
def test_a_range_that_has_no_end_is_refused(word: str) -> None:
    with pytest.raises(RequestError, match="hint"):
        job_and_copies(word, [])


def test_a_name_with_brackets_is_a_copy_and_a_star_stands_for_anything() -> None:
    job = Job(job="1", name="align", copy=3, queue="short,long", hosts=("a", "b"))
    for words, meant in (
        (["-J", "align"], True),
        (["-J", "align[3]"], True),
        (["-J", "align[2]"], False),
        (["-J", "al*"], True),
        (["-J", "aligned"], False),
        (["-q", "long"], True),
        (["-q", "lo"], False),
        (["-m", "b"], True),
        (["-m", "c"], False),
    ):
        assert matches(job, parse_arguments(BJOBS, words)) == meant, words


def test_fields_have_lsfs_widths_and_a_delimiter_takes_their_place() -> None:
    job = Job(job="12", name="a\x1b[31mlong-name", state="failed", exit_status=3, started_at_s=10.0, ended_at_s=70.0)
    assert read_format("jobid:4 stat:-6 job_name:5 exit_code").rows([job], heading=True) == [
        "*BID   STAT *NAME EXIT_CODE",
        "12     EXIT *name 3",
    ]
    assert read_format("id run_time delimiter='|'").rows([job], heading=False) == ["12|60 second(s)"]
    assert "\x1b" not in read_format("name").rows([job], heading=False)[0]
    assert read_format("jobid queue").records([job]) == [{"JOBID": "12", "QUEUE": ""}]
    for wrong in ("nothing", "", "jobid:x", "delimiter=','"):
        with pytest.raises(RequestError, match="hint"):
            read_format(wrong)
