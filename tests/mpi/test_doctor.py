"""``tonnage doctor --hosts … --via mpi``: the processes of one mpiexec tell of their hosts."""

from __future__ import annotations

import json
from pathlib import Path

from .hosts import Host, needs_hosts, tonnage

pytestmark = needs_hosts()


def test_the_processes_of_mpiexec_tell_of_their_hosts_and_of_the_one_with_another_directory(tmp_path: Path) -> None:
    target, other = tmp_path / "data", tmp_path / "other"
    target.mkdir()
    other.mkdir()
    hosts = (Host("alpha"), Host("beta"), Host("gamma", mounts=((other, target),)))
    words = ("--hosts", "alpha,beta,gamma,delta", "--via", "mpi", "--target", str(target), "--json")
    done = tonnage(hosts, "doctor", *words, cwd=tmp_path)
    assert done.stdout, done.stderr
    value = json.loads(done.stdout)
    assert done.returncode == 1
    wrong = {one["code"]: one for one in value["complaints"] if one["wrong"]}
    assert set(wrong) == {"unreachable", "other-storage"} and wrong["unreachable"]["where"] == "delta"
    assert "nothing was started on it, but on alpha, beta, gamma" in wrong["unreachable"]["what"]
    assert [one["storage"] for one in value["hosts"]] == [0, 0, 1, None]
    assert [one["problem"] for one in value["links"]] == [None, None, None]
    assert list(target.iterdir()) == list(other.iterdir()) == []


def test_alone_there_are_no_processes_to_ask(tmp_path: Path) -> None:
    done = tonnage((Host("alpha"),), "doctor", "--hosts", "alpha", "--via", "mpi", cwd=tmp_path)
    assert done.returncode == 2 and "mpiexec or srun" in done.stderr
