"""``tonnage submit`` as a user types it, through a real Slurm."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm as lab
from impossible import skipped_where_impossible
from measured_program import campaign, meets, most_at_once
from waiting import wait_until

HOSTS = (
    lab.Host(name="rcss1", slots=4),
    lab.Host(name="rcss2", slots=2),
    lab.Host(name="c1", slots=8),
    lab.Host(name="c2", slots=8),
)
QUEUES = {"compute": ["c1", "c2"], "storage": ["rcss1", "rcss2"]}
LIMIT_S = 40.0
SITE = """\
scheduler = "slurm"
[[server]]
name = "rcss1"
holds = ["{data}"]
hosts = ["rcss1"]
queue = "storage"
line = {{ tasks = 3 }}
{more}
"""
SHOW = """\
import json, os, sys
words = [os.fsencode(word).hex() for word in sys.argv[1:]]
print(json.dumps([words, os.getcwd(), os.environ.get("SLURMD_NODENAME")]))
"""


@dataclass
class User:
    """Somebody in a directory that rcss1 holds."""

    data: Path
    environment: dict[str, str]

    def site(self, more: str = "") -> None:
        (self.data / "tonnage.toml").write_text(SITE.format(data=self.data, more=more))

    def start(self, *words: str | bytes) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tonnage.cli", "submit", *words],
            cwd=self.data,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, *words: str | bytes, code: int = 0) -> tuple[str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=LIMIT_S * 2)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, err


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm]:
    with skipped_where_impossible(), lab.slurm(HOSTS, QUEUES) as found:
        yield found


@pytest.fixture
def user(cluster: lab.Slurm, tmp_path: Path) -> Iterator[User]:
    data = tmp_path / "data"
    data.mkdir()
    homes = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG")
    made = User(data, {**cluster.environment, **{name: str(tmp_path / name) for name in homes}, "NO_COLOR": "1"})
    made.site()
    yield made
    cluster.ask("scancel", "--user", str(os.geteuid()))
    wait_until(lambda: not cluster.ask("squeue", "--noheader"))


def text_of(file: Path) -> str:
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    return file.read_text()


def jobs(cluster: lab.Slurm) -> list[str]:
    """Numbers of all that Slurm knows, ended ones too, with their comments."""
    return cluster.ask("squeue", "--noheader", "--array", "--states=all", "--format=%i %k").splitlines()


def test_a_job_runs_beside_its_data_with_the_words_as_typed(user: User) -> None:
    show = user.data / "show.py"
    show.write_text(SHOW)
    words = [b"a b", b"two\nlines", b"", b"$HOME", b"*", b"'\"\\", b"--json", b"-n", b"\xff\xfe", b"%J"]
    out, _ = user("-o", "out.%J", sys.executable, str(show), *words)
    first, second = out.splitlines()
    assert first == "Submitting job to run on fileserver rcss1"
    number = second.removeprefix("Submitted batch job ")
    assert number.isdigit()
    found = json.loads(text_of(user.data / f"out.{number}"))
    assert found == [[word.hex() for word in words], str(user.data), "rcss1"]


def test_an_interactive_job_has_this_terminal_and_gives_its_status(user: User) -> None:
    out, _ = user("-I", "printenv", "SLURMD_NODENAME")
    assert out.splitlines() == ["Submitting job to run on fileserver rcss1", "rcss1"]
    user("-I", sys.executable, "-c", "raise SystemExit(7)", code=7)


def test_copies_run_no_more_at_once_than_the_line_carries(user: User) -> None:
    work = "import time, os; a = time.time(); time.sleep(0.6); print(a, time.time(), flush=True)"
    out, _ = user("--copies", "7", "-o", "copy.%I", sys.executable, "-c", work)
    assert "fileserver rcss1" in out
    spans = [tuple(map(float, text_of(user.data / f"copy.{number}").split())) for number in range(1, 8)]
    most = max(sum(start <= at < end for start, end in spans) for at, _ in spans)
    assert most <= 3, spans
    assert most > 1, "a cap of three that lets only one run is no cap at the line"


def test_a_measured_program_that_moves_half_of_the_plateau_runs_two_at_a_time(user: User) -> None:
    run = user.data.parent / "PROFILE"
    words: list[str] = ["run", "--no-report", "--out", str(run), str(campaign(user.data.parent, user.data))]
    command = [sys.executable, "-m", "tonnage.cli", *words]
    subprocess.run(command, check=True, env=user.environment, capture_output=True, timeout=LIMIT_S * 2)
    words = ["--profile", str(run), "--copies", "6"]
    rate = json.loads(user("--dry-run", "--json", *words, "true")[0])["demand"]["bytes_per_s"]
    if not rate:
        pytest.skip("the test's files are in memory: nothing of them reaches a storage")
    site = user.data / "tonnage.toml"
    site.write_text(site.read_text().replace("tasks = 3", f'tasks = 8, plateau = "{2 * rate}B/s"'))
    _, err = user(*words, "-o", "two.%I", *meets(2))
    assert "tonnage: 2 at once: rcss1's load line: 8 tasks at " in err and "each copy asks 4: " in err
    spans = [tuple(map(float, text_of(user.data / f"two.{number}").split())) for number in range(1, 7)]
    assert most_at_once(spans) == 2, spans


def test_after_a_cancel_the_next_array_has_the_whole_line(user: User, cluster: lab.Slurm) -> None:
    user.site('[policy]\nlist_age = "10min"')
    out, _ = user("--copies", "3", "sleep", "60")
    first = out.split()[-1]
    wait_until(lambda: cluster.ask("squeue", "--noheader", "--states=RUNNING", "--array").count("\n") == 3)
    # The list that is kept now has them.
    for kept in (Path(user.environment["XDG_STATE_HOME"]) / "tonnage" / "lists").glob("slurm-*.json"):
        kept.unlink()
    assert "1 at once" in user("--dry-run", "--copies", "3", "true")[0]
    words = [sys.executable, "-m", "tonnage.cli", "cancel", first]
    subprocess.run(words, cwd=user.data, env=user.environment, check=True, capture_output=True, timeout=LIMIT_S)
    wait_until(lambda: not cluster.ask("squeue", "--noheader", f"--jobs={first}"))
    assert "3 at once" in user("--dry-run", "--copies", "3", "true")[0]


def test_an_array_that_began_beside_a_strangers_runs_as_wide_as_the_line_when_that_has_ended(
    user: User, cluster: lab.Slurm, tmp_path: Path
) -> None:
    user.site('[policy]\nlist_age = "0s"')
    # A ledger of their own: of their array this user knows what Slurm tells.
    stranger = User(user.data, {**user.environment, "XDG_STATE_HOME": str(tmp_path / "strangers")})
    waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    theirs = stranger("--copies", "3", "--cap", "2", sys.executable, "-c", waits)[0].split()[-1]
    out, err = user("--copies", "4", "-o", "three.%I", *meets(3))
    mine = out.split()[-1]
    assert "tonnage: 1 at once: " in err and "; other jobs may use 2 of it" in err
    wait_until(lambda: (user.data / "began.1").exists())
    (user.data / "go").touch()
    wait_until(lambda: f"{theirs} " not in cluster.ask("squeue", "--noheader", "--format=%F "))
    _, err = user("true")
    assert f"job {mine} ran 1 at once beside others; now 3 at once: rcss1's load line: 3 tasks" in err
    spans = [tuple(map(float, text_of(user.data / f"three.{number}").split())) for number in range(1, 5)]
    assert most_at_once(spans) == 3, spans


def test_a_queue_that_does_not_exist_is_told_in_slurms_words(user: User, cluster: lab.Slurm) -> None:
    before = jobs(cluster)
    _, err = user("-q", "nope", "true", code=2)
    assert "invalid partition specified: nope" in err.lower()
    assert len(err.strip().splitlines()) == 1
    assert jobs(cluster) == before


@pytest.mark.parametrize("hosts", ["rcss2", "rcss1+2 rcss2", "rcss1 others"])
def test_iobsub_sends_a_job_to_the_queue_of_the_hosts_that_it_names(user: User, cluster: lab.Slurm, hosts: str) -> None:
    user.site('[[server]]\nname = "rcss2"\nhosts = ["rcss2"]\nqueue = "storage"')
    words = [sys.executable, "-m", "tonnage.cli", "iobsub", "-m", hosts, "true"]
    done = subprocess.run(
        words, cwd=user.data, env=user.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ("+N is not passed on" in done.stderr) == ("+" in hosts)
    number = done.stdout.split()[-1]
    assert "storage" in cluster.ask("squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%P")


def test_a_host_that_slurm_does_not_know_is_told_before_anything_is_submitted(user: User, cluster: lab.Slurm) -> None:
    user.site()
    text = (user.data / "tonnage.toml").read_text().replace('hosts = ["rcss1"]', 'hosts = ["rcss9"]')
    (user.data / "tonnage.toml").write_text(text)
    before = jobs(cluster)
    _, err = user("true", code=1)
    assert "rcss9: the scheduler does not know it" in err and "tonnage doctor" in err
    assert jobs(cluster) == before
    out, _ = user("--anywhere", "true")
    assert out.startswith("Submitting job to run on any host\n")


def test_several_hosts_beside_the_data_are_all_used(user: User, cluster: lab.Slurm) -> None:
    text = (user.data / "tonnage.toml").read_text().replace('hosts = ["rcss1"]', 'hosts = ["rcss1", "rcss2"]')
    (user.data / "tonnage.toml").write_text(text.replace("tasks = 3", "tasks = 6"))
    user("--copies", "6", "sleep", "20")
    wait_until(lambda: cluster.ask("squeue", "--noheader", "--states=RUNNING", "--array").count("\n") == 6)
    hosts = set(cluster.ask("squeue", "--noheader", "--states=RUNNING", "--array", "--format=%N").split())
    assert hosts == {"rcss1", "rcss2"}


def test_a_controller_that_hangs_is_told_in_time_and_a_retry_leaves_one_job(user: User, cluster: lab.Slurm) -> None:
    user.site('[policy]\nscheduler_timeout = "1500ms"')
    with cluster.suspended():
        began = time.monotonic()
        _, err = user("--json", "sleep", "5", code=1)
        assert time.monotonic() - began < 20
    key = err.partition("--key=")[2].partition(",")[0]
    assert key, err
    out, _ = user("--json", "--key", key, "sleep", "5")
    found = json.loads(out)
    mine = [line for line in jobs(cluster) if f":{key}:" in line]
    assert len(mine) == 1 and mine[0].split()[0] == found["job"]
    again, _ = user("--json", "--key", key, "sleep", "5")
    assert json.loads(again)["job"] == found["job"] and not json.loads(again)["new"]


def test_a_controller_that_is_down_is_told(user: User, cluster: lab.Slurm) -> None:
    user.site('[policy]\nscheduler_timeout = "1500ms"')
    (user.data / "slurm.conf").write_text(
        "".join(
            line.replace(line.split("=")[1], "1\n") if line.startswith("SlurmctldPort=") else line
            for line in cluster.conf.read_text().splitlines(keepends=True)
        )
    )
    user.environment["SLURM_CONF"] = str(user.data / "slurm.conf")
    _, err = user("true", code=1)
    assert err.splitlines()[-1].startswith("tonnage: error: ")


def test_two_at_once_with_one_key_are_one_job(user: User, cluster: lab.Slurm) -> None:
    both = [user.start("--json", "--key", "twins", "sleep", "1") for _ in range(3)]
    said = [one.communicate(timeout=LIMIT_S)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0, 0]
    assert len({json.loads(one)["job"] for one in said}) == 1
    assert len([line for line in jobs(cluster) if ":twins:" in line]) == 1


def asks_slurm(key: str) -> bool:
    """Whether an ``sbatch`` of that key runs."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            lines.append((process / "cmdline").read_bytes())
    return any(line.startswith(b"sbatch\0") and f":{key}:".encode() in line for line in lines)


def test_a_submission_killed_while_slurm_has_it_is_found_by_its_key(user: User, cluster: lab.Slurm) -> None:
    user.site('[policy]\nscheduler_timeout = "1500ms"')
    with cluster.suspended():
        process = user.start("--key", "held", "sleep", "1")
        # With a key given, a controller that does not answer stops it before anything is submitted.
        assert process.wait(LIMIT_S) == 1
        process.communicate()
    for number in range(3):
        key = f"killed-{number}"
        process = user.start("--key", key, "sleep", "1")
        ledger = Path(user.environment["XDG_STATE_HOME"]) / "tonnage" / "placement" / "submissions.jsonl"
        wait_until(lambda key=key, ledger=ledger: ledger.exists() and f'"key":"{key}"' in ledger.read_text())
        with cluster.suspended():
            process.send_signal(signal.SIGKILL)
            process.communicate()
        user("--key", key, "sleep", "1")
        wait_until(lambda key=key: not asks_slurm(key))
        assert len([line for line in jobs(cluster) if f":{key}:" in line]) == 1, key


@pytest.mark.parametrize(
    ("key", "end"),
    [("dies", "kill -9 $$"), ("fails", "exit 1"), ("prints", "head -c 70000000 /dev/zero"), ("status", "exit 137")],
)
def test_an_sbatch_that_dies_after_it_handed_the_job_over_leaves_one_job_of_its_key(
    user: User, cluster: lab.Slurm, tmp_path: Path, key: str, end: str
) -> None:
    place = tmp_path / "dies"
    place.mkdir()
    sbatch = shutil.which("sbatch", path=user.environment["PATH"])
    (place / "sbatch").write_text(f'#!/bin/sh\n{sbatch} "$@" >/dev/null\n{end}\n')
    (place / "sbatch").chmod(0o755)
    dies = User(user.data, {**user.environment, "PATH": f"{place}:{user.environment['PATH']}"})
    first = json.loads(dies("--json", "--key", key, "sleep", "5")[0])
    again = json.loads(user("--json", "--key", key, "sleep", "5")[0])
    mine = [line for line in jobs(cluster) if f":{key}:" in line]
    assert len(mine) == 1 and mine[0].split()[0] == first["job"] == again["job"]


def test_an_sbatch_that_fails_without_words_before_the_job_is_there_names_the_key(user: User, tmp_path: Path) -> None:
    user.site('[policy]\nscheduler_timeout = "1500ms"')
    place = tmp_path / "dies"
    place.mkdir()
    (place / "sbatch").write_text("#!/bin/sh\nexit 1\n")
    (place / "sbatch").chmod(0o755)
    dies = User(user.data, {**user.environment, "PATH": f"{place}:{user.environment['PATH']}"})
    _, err = dies("--key", "early", "true", code=1)
    assert "sbatch failed with status 1; the job may be there; hint: " in err and "--key=early" in err
    assert json.loads(user("--json", "--key", "early", "true")[0])["new"]


def test_copies_of_mine_end_one_by_one_or_together_and_a_strangers_job_stays(user: User, cluster: lab.Slurm) -> None:
    def typed(*words: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "tonnage.cli", *words],
            cwd=user.data,
            env=user.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S * 2,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    def states(job: str) -> dict[str, str]:
        shown = cluster.ask("squeue", "--noheader", "--array", "--states=all", f"--jobs={job}", "--format=%K %T")
        return dict(line.split() for line in shown.splitlines())

    job = user("--copies", "6", "--cap", "2", "sleep", "600")[0].split()[-1]
    stranger = cluster.ask("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 600").strip()
    wait_until(lambda: sum(state == "RUNNING" for state in states(job).values()) == 2)
    first = next(copy for copy, state in states(job).items() if state == "RUNNING")
    out, complaint = typed("cancel", f"{job}[{first}]", f"{job}_6", stranger, code=1)
    assert out == f"Job <{job}[{first}]> is being terminated\nJob <{job}[6]> is being terminated\n"
    assert complaint.startswith(f"tonnage: error: job {stranger}: it was not submitted by tonnage")
    # Slurm forgets a copy that never began at once.
    wait_until(lambda: states(job)[first] == "CANCELLED" and "6" not in states(job))
    assert typed("cancel", f"{job}_6", f"{job}[99]", code=1)[0] == ""
    wait_until(lambda: sum(state == "RUNNING" for state in states(job).values()) == 2)
    lines = typed("bjobs", "-noheader", "-r", "-o", "jobid jobindex stat delimiter=','", job)[0].split()
    assert len(lines) == 2 and all(line.startswith(f"{job},") and line.endswith(",RUN") for line in lines)
    assert typed("bkill", job)[0] == f"Job <{job}> is being terminated\n"
    wait_until(lambda: set(states(job).values()) == {"CANCELLED"})
    assert typed("cancel", job, code=1)[1].startswith(f"tonnage: error: job {job}: it is no job of yours that waits")
    assert typed("bkill", job, code=255)[1] == f"Job <{job}>: Job has already finished\n"
    assert typed("cancel", "--any", stranger)[0] == f"Job <{stranger}> is being terminated\n"
    assert "No matching job found" in typed("bkill", "99999", code=255)[1]
    heading, *rows = typed("bqueues")[0].splitlines()
    assert heading.split()[0] == "QUEUE_NAME" and {row.split()[0] for row in rows} == {"compute", "storage"}
    assert {row.split()[0] for row in typed("bhosts")[0].splitlines()[1:]} == {"rcss1", "rcss2", "c1", "c2"}
