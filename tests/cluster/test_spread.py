"""A job that is spread over nodes, as each scheduler's command line says it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from command_stand_ins import ODD, StandIns
from local_spool import ended
from tonnage.cluster.job_terms import Terms
from tonnage.cluster.scheduler import JobRequest, Spread
from tonnage.cluster.schedulers.flux import Flux
from tonnage.cluster.schedulers.local import Local
from tonnage.cluster.schedulers.lsf import Lsf
from tonnage.cluster.schedulers.pbs import Pbs
from tonnage.cluster.schedulers.slurm import Slurm
from tonnage.errors import RequestError

TWO = Spread(nodes=2, per_node=3)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    return StandIns(tmp_path, monkeypatch)


def request(spread: Spread | None = TWO, **changes: object) -> JobRequest:
    return JobRequest(argv=("prog", *ODD), key="k-1", directory="/w", spread=spread, **changes)  # type: ignore[arg-type]


def between(words: list[str], first: str, last: str) -> list[str]:
    """The words from the one after ``first`` to the one before ``last``."""
    return words[words.index(first) + 1 : words.index(last)]


def script(words: list[str]) -> int:
    """Where sbatch's own options end."""
    return next(at for at, word in enumerate(words) if word.endswith("job.sh"))


def test_slurm_gets_whole_nodes_and_starts_the_processes_by_srun() -> None:
    asked = request(hosts=("n2", "n1"), queue="mm", terms=Terms(time_limit_s=90, account="proj"))
    words = Slurm(timeout_s=5).command(asked)
    options = words[: script(words)]
    for option in ("--nodes=2", "--exclusive", "--no-requeue", "--nodelist=n2,n1", "--time=1:30", "--account=proj"):
        assert option in options
    assert not [option for option in options if option.startswith("--ntasks")]
    launch = between(words[script(words) :], "srun", "prog")
    assert "--ntasks=6" in launch and "--ntasks-per-node=3" in launch
    assert tuple(words[-len(ODD) :]) == ODD


def test_slurm_keeps_an_order_of_hosts_by_a_file_only() -> None:
    ordered = replace(TWO, order="/w/jobs/0.hosts", mpi="pmi2", alone=False)
    words = Slurm(timeout_s=5).command(request(ordered, hosts=("n2", "n1")))
    launch = between(words, "srun", "prog")
    assert "--distribution=arbitrary" in launch and "--nodelist=/w/jobs/0.hosts" in launch and "--mpi=pmi2" in launch
    assert not [word for word in launch if word.startswith("--ntasks-per-node")]
    assert "--exclusive" not in words and "--ntasks-per-node=3" in words[: script(words)]


def test_a_single_process_is_the_batch_job_itself() -> None:
    words = Slurm(timeout_s=5).command(request(Spread(nodes=1)))
    assert words[script(words) + 1] == "prog" and "--exclusive" in words


def test_lsf_starts_them_by_jsrun_where_it_is(commands: StandIns) -> None:
    commands.prints("bsub", "IBM Spectrum LSF 10.1.0.12")
    commands.prints("jsrun", "")
    words = Lsf(timeout_s=5).command(request(hosts=("n2", "n1"), terms=Terms(time_limit_s=90, account="proj")))
    at = words.index("jsrun")
    options = list(zip(words[1:at:2], words[2:at:2], strict=True))
    for pair in (("-nnodes", "2"), ("-W", "2"), ("-P", "proj"), ("-m", "n2 n1")):
        assert pair in options
    launch = ["jsrun", "-n", "2", "-r", "1", "-a", "3", "-c", "ALL_CPUS", "-b", "none", "prog"]
    assert words[at : at + len(launch)] == launch
    assert tuple(shlex.split(" ".join(words[at + len(launch) :]))) == ODD


def test_lsf_without_jsrun_fills_nodes_by_slots(commands: StandIns) -> None:
    commands.prints("bsub", "IBM Spectrum LSF 10.1.0.12")
    words = Lsf(timeout_s=5).command(request())
    at = words.index("mpiexec")
    assert words[at : at + 4] == ["mpiexec", "-n", "6", "prog"]
    options = words[:at]
    assert options[options.index("-n") + 1] == "6" and "span[ptile=3]" in options and "-x" in options


def test_pbs_gets_a_chunk_for_each_host_in_their_order() -> None:
    words = Pbs(timeout_s=5).command(request(hosts=("n2", "n1"), terms=Terms(time_limit_s=3661, account="proj")))
    each = "ncpus=3:mpiprocs=3"
    for option in (f"select=1:{each}:host=n2+1:{each}:host=n1", "place=scatter:excl", "walltime=1:01:01", "proj"):
        assert option in words
    assert words[-len(ODD) - 4 : -len(ODD)] == ["mpiexec", "-n", "6", "prog"]
    assert f"select=2:{each}" in Pbs(timeout_s=5).command(request())


def test_flux_starts_the_processes_itself() -> None:
    asked = request(replace(TWO, mpi="pmix"), hosts=("n2", "n1"), terms=Terms(time_limit_s=90, account="proj"))
    words = Flux(timeout_s=5).command(asked)
    options = words[: words.index("--")]
    for option in ("-N2", "-n6", "--exclusive", "--setopt=pmi=pmix", "--time-limit=90s", "--bank=proj"):
        assert option in options
    assert "--requires=host:n2 or host:n1" in options
    assert words[words.index("--") + 1] == "prog"


def test_the_local_scheduler_has_one_node_and_all_of_it(local: Local, tmp_path: Path) -> None:
    plain = JobRequest(argv=("true",), key="one", directory=str(tmp_path), spread=Spread(nodes=1))
    job = local.submit(plain).job
    assert ended(local, job).state == "done"
    (line,) = [line for line in local.jobs(ended=True) if line.job == job]
    assert line.slots == local.hosts()[0].slots
    for wrong, told in (
        ({"spread": TWO}, "2 nodes are asked for"),
        ({"terms": Terms(time_limit_s=5)}, "no time limits"),
        ({"terms": Terms(account="proj")}, "no accounts"),
    ):
        with pytest.raises(RequestError, match=told):
            local.submit(replace(plain, key="wrong", **wrong))
