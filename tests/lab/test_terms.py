"""What a job asks beside its hosts, through a real Slurm: each term is on the job that Slurm has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm as lab
from impossible import skipped_where_impossible
from waiting import wait_until

HOSTS = (lab.Host(name="rcss1", slots=4, gpus=2), lab.Host(name="c1", slots=4))
QUEUES = {"compute": ["c1"], "storage": ["rcss1"]}
LIMIT_S = 60.0
SITE = """\
scheduler = "slurm"
[[server]]
name = "rcss1"
holds = ["{data}"]
hosts = ["rcss1"]
queue = "storage"
"""


@dataclass
class User:
    """Somebody in a directory that rcss1 holds."""

    data: Path
    cluster: lab.Slurm
    environment: dict[str, str]

    def __call__(self, *words: str, code: int = 0, text: str | None = None) -> tuple[str, str]:
        """What a command of tonnage prints."""
        done = subprocess.run(
            [sys.executable, "-m", "tonnage.cli", *words],
            cwd=self.data,
            env=self.environment,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            timeout=LIMIT_S * 2,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def number(self, *words: str, text: str | None = None) -> str:
        """Of the job that it submits."""
        out, _ = self(*words, text=text)
        return out.split()[-1]

    def job(self, number: str) -> dict[str, str]:
        """As Slurm has it."""
        told = self.cluster.ask("scontrol", "--oneliner", "show", "job", number)
        return dict(word.partition("=")[::2] for word in told.split())

    def text_of(self, name: str) -> str:
        """What a job wrote, once it ends with a newline."""
        file = self.data / name
        wait_until(lambda: file.exists() and file.read_text().endswith("\n"), name)
        return file.read_text()


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm]:
    settings = {"NodeName": "DEFAULT RealMemory=4000"}
    with skipped_where_impossible(), lab.slurm(HOSTS, QUEUES, settings=settings) as found:
        yield found


@pytest.fixture
def user(cluster: lab.Slurm, tmp_path: Path) -> Iterator[User]:
    data = tmp_path / "data"
    data.mkdir()
    (data / "tonnage.toml").write_text(SITE.format(data=data))
    environment = {
        **os.environ,
        **cluster.environment,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TONNAGE_SYSTEM_CONFIG": str(tmp_path / "etc"),
    }
    yield User(data, cluster, environment)
    for job in cluster.ask("squeue", "--noheader", "--format=%A").split():
        cluster.ask("scancel", job)
    wait_until(lambda: not cluster.ask("squeue", "--noheader"), "the end of all jobs")


def test_each_term_of_submit_is_on_slurms_job(user: User) -> None:
    first = user.number("submit", "-o", "/dev/null", "sleep", "600")
    number = user.number(
        *("submit", "-o", "/dev/null", "--time-limit", "90m", "--account", "proj", "--memory", "1GiB", "--gpus", "2"),
        *("--dependency", f"afterany:{first}", "--mail", "begin,fail", "--mail-to", "ann@site", "--exclusive"),
        *("--scheduler-options=--nice=5 --comment='mine, too'", "true"),
    )
    job = user.job(number)
    assert (job["TimeLimit"], job["Account"], job["MinMemoryNode"]) == ("01:30:00", "proj", "1G")
    assert job["TresPerNode"] == "gres:gpu:2"
    assert (job["Dependency"], job["MailUser"], job["MailType"]) == (
        f"afterany:{first}(unfulfilled)", "ann@site", "BEGIN,FAIL",
    )  # fmt: skip
    assert (job["OverSubscribe"], job["Nice"]) == ("NO", "5")
    assert (job["ReqNodeList"], job["JobState"], job["Reason"]) == ("rcss1", "PENDING", "Dependency")
    comment = user.cluster.ask("squeue", "--noheader", f"--jobs={number}", "--format=%k").strip()
    assert comment.startswith("tonnage:") and comment.endswith(":rcss1 | mine, too")
    listed = user("jobs")[0].splitlines()
    assert [line.split()[-2:] for line in listed if line.startswith(number)] == [["rcss1", "Dependency"]]


def test_a_job_reads_its_input_and_begins_when_another_has_ended_well(user: User) -> None:
    (user.data / "typed").write_text("from a file\n")
    bad = user.number("submit", "-o", "/dev/null", "false")
    never = user.number("submit", "-o", "/dev/null", "--dependency", bad, "true")
    number = user.number("submit", "-o", "out", "--input", "typed", "--dependency", f"afternotok:{bad}", "cat")
    assert user.text_of("out") == "from a file\n"
    wait_until(lambda: user.job(number)["JobState"] == "COMPLETED", "its end")
    assert user.job(never)["JobState"] == "PENDING"


def test_what_slurm_does_not_take_is_told_in_its_words_and_nothing_is_submitted(user: User) -> None:
    _, err = user("submit", "-J", "refused", "--scheduler-options=--no-such-option", "true", code=1)
    assert "no-such-option" in err
    out, err = user("submit", "-J", "refused", "--scheduler-options=--array=1-3", "true", code=2)
    assert out == "" and err.count("\n") == 1 and "--array" in err
    assert user.cluster.ask("squeue", "--noheader", "--states=all", "--name=refused").strip() == ""


def test_each_option_of_bsub_is_on_slurms_job(user: User) -> None:
    first = user.number("iobsub", "-o", "/dev/null", "sleep", "600")
    number = user.number(
        *("iobsub", "-o", "/dev/null", "-W", "1:30", "-P", "proj", "-M", "1GB", "-w", f"ended({first})", "-x", "-r"),
        *("-B", "-N", "-u", "ann@site", "-b", "2099:12:31:23:59", "-R", "rusage[ngpus_physical=2] span[hosts=1]"),
        *("-q", "storage", "true"),
    )
    job = user.job(number)
    assert (job["TimeLimit"], job["Account"], job["MinMemoryNode"]) == ("01:30:00", "proj", "1G")
    assert (job["TresPerNode"], job["Dependency"]) == ("gres:gpu:2", f"afterany:{first}(unfulfilled)")
    assert (job["MailUser"], job["MailType"]) == ("ann@site", "BEGIN,END,FAIL")
    assert (job["OverSubscribe"], job["Requeue"], job["StartTime"]) == ("NO", "1", "2099-12-31T23:59:00")
    for words, told in ((("-c", "5"), "limit of CPU time"), (("-E", "true"), "before the job"), (("-R", "a"), "-R")):
        out, err = user("iobsub", *words, "true", code=2)
        assert out == "" and err.count("\n") == 1 and told in err


def test_a_script_on_standard_input_runs_in_slurm(user: User) -> None:
    (user.data / "below").mkdir()
    (user.data / "below" / "in").write_text("typed\n")
    script = "#!/bin/bash\n#BSUB -J fed -W 5\n#BSUB -cwd below -i in -o out.%J\nx=('a b' \"$SLURMD_NODENAME\")\n"
    script += 'printf "%s|" "${x[@]}"; pwd; cat\n'
    out, err = user("iobsub", "-W", "7", text=script)
    number = out.split()[-1]
    assert user.job(number)["TimeLimit"] == "00:07:00" and user.job(number)["JobName"] == "fed", err
    wait_until(lambda: user.job(number)["JobState"] == "COMPLETED", "its end")
    assert (user.data / "below" / f"out.{number}").read_text() == f"a b|rcss1|{user.data}/below\ntyped\n"


def test_hosts_a_terminal_and_an_array_as_lsfs_user_means_them(user: User) -> None:
    out, _ = user("iobsub", "-m", "c1", "-I", "printenv", "SLURMD_NODENAME")
    assert out.splitlines() == ["Submitting job to run on c1, as asked", "c1"]
    show = 'test -t 1 && echo "$SLURMD_NODENAME has one"'
    out, _ = user("iobsub", "-q", "-Is", "sh", "-c", show)
    assert out.strip() == "rcss1 has one"
    number = user.number("iobsub", "-J", "arr[2-3,7,10-20:5]%2", "-o", "o.%I", "sh", "-c", 'echo "$LSB_JOBINDEX"')
    for copy in (2, 3, 7, 10, 15, 20):
        assert user.text_of(f"o.{copy}") == f"{copy}\n"
    assert not (user.data / "o.4").exists()
    told = user.cluster.ask("scontrol", "--oneliner", "show", "job", number)
    assert "ArrayTaskThrottle=2" in told and "JobName=arr " in told
