"""Crews over a real sshd on the loopback interface, and as steps and jobs of a real Slurm."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosts import ended
from slurm import Host, Slurm
from tonnage.cli import main
from tonnage.cluster.remote import remote_hosts
from waiting import wait_until

NODE = platform.node()
PATIENCE_S = 30.0


@pytest.mark.usefixtures("ssh")
def test_over_ssh_words_arrive_byte_for_byte_and_all_ends_with_the_host_group() -> None:
    words = ["$(id)", "a'b\"c", "\n", "*", "~", "!1", "\\", os.fsdecode(b"\xff"), ""]
    code = "import os, sys; os.write(1, b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    with remote_hosts("ssh", ["fileserver"], start_s=PATIENCE_S) as host_group:
        printed: dict[str, Any] = {"argv": [sys.executable, "-I", "-c", code, *words]}
        told = host_group.ask("start-program", {"fileserver": printed}, timeout_s=PATIENCE_S)["fileserver"]
        assert told.problem is None
        waited = {"handle": told.value["handle"], "timeout_s": PATIENCE_S}
        answer = host_group.ask("await-program", {"fileserver": waited}, timeout_s=2 * PATIENCE_S)["fileserver"].value
        assert answer["out"].split("\0") == words and answer["status"] == 0
        stays = host_group.ask("start-program", {"fileserver": {"argv": ["sleep", "600"]}}, timeout_s=PATIENCE_S)
        pid = stays["fileserver"].value["pid"]
        assert not ended(pid)
    wait_until(lambda: ended(pid), "the program ends with its host_group")


def test_a_key_that_is_not_let_in_and_a_host_that_is_not_known_are_each_their_own_problem(ssh: Path) -> None:
    with remote_hosts("ssh", ["fileserver", "nobody.invalid", NODE], start_s=PATIENCE_S) as host_group:
        answers = host_group.ask("facts", {host: {} for host in host_group.hosts}, timeout_s=PATIENCE_S)
        assert answers["fileserver"].value["hostname"] == NODE and answers[NODE].value
        assert (answers["nobody.invalid"].problem or "").startswith("ssh failed with status 255: ")
    (ssh / "key.pub").write_text("")
    with remote_hosts("ssh", ["fileserver", NODE], start_s=PATIENCE_S) as host_group:
        answers = host_group.ask("facts", {host: {} for host in host_group.hosts}, timeout_s=PATIENCE_S)
        assert "Permission denied" in (answers["fileserver"].problem or "") and answers[NODE].value


@pytest.mark.usefixtures("ssh")
def test_when_whoever_asked_is_killed_what_ran_over_ssh_ends() -> None:
    code = f"""import time
from tonnage.cluster.remote import remote_hosts
with remote_hosts("ssh", ["fileserver"]) as host_group:
    told = host_group.ask("start-program", {{"fileserver": {{"argv": ["sleep", "600"]}}}}, timeout_s={PATIENCE_S})
    print(told["fileserver"].value["pid"], flush=True)
    time.sleep(600)"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout
        try:
            pid = int(asker.stdout.readline())
            assert not ended(pid)
            asker.send_signal(signal.SIGKILL)
            wait_until(lambda: ended(pid), "the program ends")
        finally:
            asker.kill()


def jobs(cluster: Slurm) -> list[str]:
    return cluster.ask("squeue", "--noheader", "--format=%i").split()


def test_slurm_gives_a_job_a_host_and_takes_it_back(slurm: Callable[..., Slurm]) -> None:
    cluster = slurm([Host(name="a1"), Host(name="a2")], {"all": ["a1"], "other": ["a2"]})
    with remote_hosts("slurm", ["a2", "a1", "a9"], start_s=PATIENCE_S) as host_group:
        assert len(jobs(cluster)) == 2
        told = host_group.ask("start-program", {"a2": {"argv": ["printenv", "SLURMD_NODENAME"]}}, timeout_s=PATIENCE_S)[
            "a2"
        ]
        waited = {"a2": {"handle": told.value["handle"], "timeout_s": PATIENCE_S}}
        assert host_group.ask("await-program", waited, timeout_s=2 * PATIENCE_S)["a2"].value["out"] == "a2\n"
        answers = host_group.ask("facts", {"a1": {}, "a9": {}}, timeout_s=PATIENCE_S)
        assert answers["a1"].value and (answers["a9"].problem or "").startswith("srun failed with status 1: ")
    wait_until(lambda: not jobs(cluster), "its jobs end")


def test_doctor_goes_by_slurm_and_leaves_no_job(
    slurm: Callable[..., Slurm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = slurm([Host(name="a1"), Host(name="a2")])
    code = main(["doctor", "--hosts", "a[1-2]", "--via", "slurm", "--target", str(tmp_path), "--json"])
    value = json.loads(capsys.readouterr().out)
    # They are hosts to Slurm, and one to the world.
    assert code == 1 and [one["code"] for one in value["complaints"] if one["wrong"]] == ["same-host"]
    assert [(one["name"], one["problem"], one["storage"]) for one in value["hosts"]] == [
        ("a1", None, 0),
        ("a2", None, 0),
    ]
    assert [one["problem"] for one in value["links"]] == [None, None]
    wait_until(lambda: not jobs(cluster), "its jobs end")


def test_a_host_that_slurm_has_none_of_free_is_given_up_and_no_job_waits_on(slurm: Callable[..., Slurm]) -> None:
    cluster = slurm([Host(name="a1", slots=1), Host(name="a2", slots=1)])
    with remote_hosts("slurm", ["a1"], start_s=PATIENCE_S):
        began_s = time.monotonic()
        with remote_hosts("slurm", ["a1", "a2"], start_s=5) as host_group:
            answers = host_group.ask("facts", {"a1": {}, "a2": {}}, timeout_s=PATIENCE_S)
            assert answers["a1"].problem and answers["a2"].value
        assert time.monotonic() - began_s < PATIENCE_S
        wait_until(lambda: len(jobs(cluster)) == 1, "only the first one's job is there")


def test_in_a_job_a_crew_is_steps_of_it(slurm: Callable[..., Slurm], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = slurm([Host(name="a1", slots=1), Host(name="a2", slots=1)])
    code = """from tonnage.cluster.remote import remote_hosts
with remote_hosts("slurm", ["a2", "a1"]) as host_group:
    words = {"argv": ["printenv", "SLURM_JOB_ID"]}
    told = host_group.ask("start-program", dict.fromkeys(host_group.hosts, words), timeout_s=30)
    asked = {host: {"handle": one.value["handle"], "timeout_s": 30} for host, one in told.items()}
    print(*(one.value["out"].strip() for one in host_group.ask("await-program", asked, timeout_s=60).values()))"""
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    done = subprocess.run(
        ["salloc", "--quiet", "--nodes=2", "--ntasks=2", sys.executable, "-c", code],
        capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False,
    )  # fmt: skip
    numbers = done.stdout.split()
    assert len(numbers) == 2 and len(set(numbers)) == 1, done
    wait_until(lambda: not jobs(cluster), "the job ends")
