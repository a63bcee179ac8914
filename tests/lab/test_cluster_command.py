"""``lab/cluster`` as a person types it: what it passes on, what it says, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nextflow
import pytest
from hosts import children, ended, wait_for

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "lab" / "cluster"
Lab = Callable[..., "subprocess.CompletedProcess[str]"]


def words(*given: str) -> list[str]:
    return [sys.executable, str(CLUSTER), *given]


def lab_of(place: Path) -> Lab:
    """The command, with what it keeps below a directory."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(place)}

    def run(*given: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words(*given), input=text, capture_output=True, text=True, check=False, timeout=90, env=environment
        )

    return run


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """The command, with a cluster of its own that ends with the test."""
    run = lab_of(tmp_path)
    yield run
    run("down")


@pytest.fixture
def bare_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The command where no Nextflow was prepared, and none is installed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tools = [place for place in os.environ["PATH"].split(":") if not (Path(place) / "nextflow").exists()]
    monkeypatch.setenv("PATH", ":".join(tools))
    run = lab_of(tmp_path)
    yield run
    run("down")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of a cluster that is up for many tests."""
    place = tmp_path_factory.mktemp("up")
    done = lab_of(place)("up", "--without-files", "--link", "100Mbit")
    if done.returncode:
        pytest.skip(done.stderr)
    yield place
    lab_of(place)("down")


@pytest.fixture
def up(place: Path) -> Lab:
    return lab_of(place)


def pids(tmp_path: Path) -> dict[str, int]:
    """Of each host's first process, and of each daemon."""
    said = json.loads((tmp_path / "tonnage-lab/cluster.json").read_text())
    return {host["name"]: host["pid"] for host in said["hosts"]} | said["daemons"]


def test_exec_is_the_program_on_the_host(up: Lab) -> None:
    done = up("exec", "epouta2", "--", "sh", "-c", 'cat; hostname; printf "%s|" "$@" >&2; exit 7', "sh", "a b", "$c;*")
    assert done.returncode == 7
    assert (done.stdout, done.stderr) == ("epouta2\n", "a b|$c;*|")
    assert up("exec", "compute1", "cat", text="through\n").stdout == "through\n"
    assert up("exec", "head", "srun", "--nodes=3", "--label", "hostname").stdout.count("compute") == 3
    assert up("exec", "head", "no-such-program").returncode == 127


def test_up_prepares_what_the_example_needs_or_names_it(bare_lab: Lab, tmp_path: Path) -> None:
    run = bare_lab
    done = run("up", "--without-files")
    if done.returncode:
        pytest.skip(done.stderr)
    assert "need nextflow, which is not here: `python3 lab/nextflow.py` prepares it" in done.stderr
    assert "--without cancer-analysis --without wgs-structvar-manta" in done.stderr
    there = run("exec", "head", "ls", "/run/data/workflows").stdout.split()
    assert there == sorted(path.name for path in (ROOT / "lab/workflows").iterdir())
    assert run("exec", "head", "sh", "-c", "command -v nextflow").returncode != 0
    prepared = tmp_path / "cache/tonnage-lab" / f"nextflow-{nextflow.VERSION}" / "nextflow"
    prepared.parent.mkdir(parents=True)
    prepared.write_text("#!/bin/sh\n")
    prepared.chmod(0o755)
    if shutil.which("java"):
        # /tmp is a host's own there, so only where it would be looked for can be seen.
        assert run("exec", "head", "printenv", "PATH").stdout.strip().endswith(f":{prepared.parent}")


def test_a_signal_reaches_the_program_on_the_host(up: Lab, place: Path) -> None:
    script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    given = words("exec", "compute2", "sh", "-c", script)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(place)}
    with subprocess.Popen(given, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.stdout.read() == "caught\n"
    assert process.returncode == 9
    assert up("exec", "compute2", "sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_status_tells_hosts_addresses_daemons_and_states(up: Lab) -> None:
    done = up("status")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert ["epouta", "epouta3", "10.77.0.8", "munged,", "slurmd", "idle"] in rows
    assert len(rows) == 8
    assert "link of 100 Mbit/s" in done.stdout


def test_doctor_tells_that_submit_takes_no_job_and_the_site_file_of_the_page_mends_it(lab: Lab) -> None:
    done = lab("up")
    if done.returncode:
        pytest.skip(done.stderr)

    def on_head(*given: str, text: str = "") -> subprocess.CompletedProcess[str]:
        way = 'cd /run/data; exec env XDG_STATE_HOME=/tmp/state TONNAGE_SYSTEM_CONFIG=/tmp/none "$@"'
        return lab("exec", "head", "--", "sh", "-c", way, "sh", *given, text=text)

    tonnage = str(ROOT / "tonnage")
    refused, told = on_head(tonnage, "submit", "hostname"), on_head(tonnage, "doctor")
    assert (refused.returncode, told.returncode) == (1, 1), refused.stdout + told.stdout + told.stderr
    reason = "no host beside storage takes the job"
    assert reason in refused.stderr and f"`submit` takes no job from /run/data: {reason}" in told.stdout
    page = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    on_head("tee", "tonnage.toml", text=page.partition("```toml\n")[2].partition("```")[0])
    told, sent = on_head(tonnage, "doctor"), on_head(tonnage, "submit", "hostname")
    assert (told.returncode, sent.returncode) == (0, 0), told.stdout + told.stderr + sent.stdout + sent.stderr
    assert "all is well" in told.stdout and "Submitting job to run on fileserver storage" in sent.stdout


def loops_of(pid: int) -> dict[str, str]:
    """The loop devices on files of a host's ``/run``: each with the number of this use of it."""
    memory = Path(f"/proc/{pid}/root/run").stat().st_dev
    asked = ["losetup", "--list", "--json", "--output", "NAME,BACK-MAJ:MIN"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found = json.loads(said)["loopdevices"] if said else []
    behind = f"{os.major(memory)}:{os.minor(memory)}"
    return {one["name"]: use_of(one["name"]) for one in found if one["back-maj:min"].strip() == behind}


def use_of(loop: str) -> str:
    """Another one each time that a file is attached; empty while none is."""
    block = Path("/sys/block") / Path(loop).name
    return (block / "diskseq").read_text().strip() if (block / "loop").exists() else ""


def mounts() -> set[str]:
    """Where something is mounted, but in the directories of tests, others of which run beside this one."""
    places = {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()}
    tests = (f"{tempfile.gettempdir()}/pytest-of-", f"{tempfile.gettempdir()}/tonnage-", "/dev/shm/tonnage-lab-")
    return {place for place in places if not place.startswith(tests)}


@pytest.mark.parametrize("files", [True, False])
@pytest.mark.parametrize("how", ["down", "kill"])
def test_nothing_is_left(lab: Lab, tmp_path: Path, how: str, files: bool) -> None:
    before = mounts()
    done = lab("up", *["--without-files"] * (not files))
    if done.returncode:
        pytest.skip(done.stderr)
    found = pids(tmp_path)
    loops = loops_of(found["storage"])
    assert bool(loops) == files
    # While it is held open, no other namespace gets its number.
    held = os.open(f"/proc/{found['compute1']}/ns/net", os.O_RDONLY)
    space = os.fstat(held)
    assert lab("up").stderr == "lab/cluster: a cluster is up already; hint: lab/cluster down\n"
    if how == "kill":
        os.kill(int((tmp_path / "tonnage-lab/lock").read_text()), signal.SIGKILL)
        wait_for(lambda: all(ended(pid) for pid in found.values()), "all processes of the cluster end")
        assert lab("status").returncode == 2
    assert lab("down").returncode == 0
    assert all(ended(pid) for pid in found.values())
    assert mounts() == before
    wait_for(lambda: not any(use_of(loop) == use for loop, use in loops.items()), "loops are free")
    inside = [link for link in Path("/proc").glob("[0-9]*/ns/net") if is_same_file(link, space)]
    os.close(held)
    assert not inside
    assert [path.name for path in (tmp_path / "tonnage-lab").iterdir()] == ["lock"]


def is_same_file(link: Path, known: os.stat_result) -> bool:
    """False for a process that has just ended."""
    try:
        return os.path.samestat(link.stat(), known)
    except OSError:
        return False


def test_down_after_up_was_interrupted_leaves_nothing(lab: Lab, tmp_path: Path) -> None:
    lock, environment = tmp_path / "tonnage-lab/lock", {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(words("up"), stdout=nowhere, stderr=nowhere, env=environment) as process:
        wait_for(lambda: (lock.exists() and lock.stat().st_size > 0) or process.poll() is not None, "it starts")
        keeper = int(lock.read_text() or 0)
        wait_for(lambda: bool(children(keeper)) or ended(keeper), "the keeper starts")
        process.kill()
    lab("down")
    assert ended(keeper)
    assert not children(keeper)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["status"], "no cluster is up; hint: lab/cluster up"),
        (["exec", "compute1", "true"], "no cluster is up; hint: lab/cluster up"),
        (["exec", "compute1"], "exec needs a command; hint: lab/cluster exec head -- sinfo"),
        (["up", "--link", "3 parsecs"], "'3 parsecs' is no rate"),
        (["up", "--link", "1e9"], "'1e9' is no rate"),
        (["up", "--rate", "0MB/s"], "'0MB/s' is no rate"),
        (["upp"], "invalid choice: 'upp'"),
        ([], "the following arguments are required"),
    ],
)
def test_a_wrong_request_is_one_line_and_status_2(lab: Lab, given: list[str], what: str) -> None:
    done = lab(*given)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert what in done.stderr
    assert done.stderr.startswith("lab/cluster: ")


def test_a_host_that_is_not_there_is_a_wrong_request(up: Lab) -> None:
    done = up("exec", "compute9", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no host 'compute9'; hint: head, storage, compute1" in done.stderr


def test_a_killed_host_is_told_of_and_the_others_go_on(up: Lab, place: Path) -> None:
    os.kill(pids(place)["compute2"], signal.SIGKILL)
    ask = ["exec", "head", "sinfo", "--noheader", "--nodes=compute2", "--format=%T"]
    # A star: it does not answer.
    wait_for(lambda: up(*ask).stdout.split()[0] in ("idle*", "down*", "down"), "Slurm notices")
    done = up("status")
    assert done.returncode == 1
    assert "slurmd (ended)" in done.stdout
    said = up("exec", "head", "srun", "--partition=mm", "--nodes=2", "hostname")
    assert sorted(said.stdout.split()) == ["compute1", "compute3"]


# In a copy of /etc that ends with the script, so that this machine's users stay as they are.
PLAIN_USER = """set -e
mount -t tmpfs -o mode=755 plain /mnt
cp -a /etc /mnt/etc
mount --bind /mnt/etc /etc
useradd --create-home --home-dir /mnt/home "$1"
[ "$2" = with-range ] || sed -i "/^$1:/d" /etc/subuid
shift 2
exec setpriv --reuid="$0" --regid="$0" --init-groups env -i PATH="$PATH" TMPDIR=/mnt/home "$@"
"""
AS_USER = """
"$@" up; echo "up $?"
"$@" exec head -- srun --nodes=3 hostname
"$@" exec compute1 -- sh -c 'exit 5'; echo "exec $?"
"$@" status >/dev/null; echo "status $?"
"$@" down
"""


def as_user(kind: str) -> subprocess.CompletedProcess[str]:
    """The command in the hands of a user who is not root, with a range of numbers of his own or without."""
    python = "/usr/bin/python3"
    if os.geteuid():
        pytest.skip("only root can make a user")
    if missing := [tool for tool in ("useradd", "newuidmap", python) if not shutil.which(tool)]:
        pytest.skip(f"{missing[0]} is not installed")
    if not (CLUSTER.stat().st_mode & 0o005 == 0o005 and all(p.stat().st_mode & 0o001 for p in CLUSTER.parents)):
        pytest.skip(f"other users cannot read {CLUSTER}")
    name = "labuser"
    argv = ["sh", "-c", PLAIN_USER, name, name, kind, "sh", "-c", AS_USER, "sh", python, str(CLUSTER)]
    return subprocess.run(
        ["unshare", "--mount", "--propagation=private", *argv],
        cwd="/", capture_output=True, text=True, check=False, timeout=90,
    )  # fmt: skip


def test_a_plain_user_has_all_but_the_file_system() -> None:
    done = as_user("with-range")
    assert "up 0\n" in done.stdout, done.stderr
    assert done.stderr.startswith("no file system is served: loop devices and a brick's attributes need root\n")
    assert sorted(done.stdout.splitlines()[2:5]) == ["compute1", "compute2", "compute3"]
    assert done.stdout.endswith("exec 5\nstatus 0\ndown\n")


def test_a_user_without_numbers_of_his_own_is_told_what_is_missing() -> None:
    done = as_user("without-range")
    assert done.stdout.startswith("up 2\n")
    assert "labuser needs a range in /etc/subuid; hint: usermod --add-subuids" in done.stderr.splitlines()[0]
