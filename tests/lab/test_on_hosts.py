"""``tonnage run --on slurm`` from the login host of a site whose hosts are apart: what runs where, in what order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
from throttled import Impossible
from two_sites import FILES, Plan, TwoSites, two_sites

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def sites() -> Iterator[TwoSites]:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    try:
        with two_sites(Plan(files=False)) as whole:
            whole.run("mkdir", FILES / "target")
            yield whole
    except Impossible as error:
        pytest.skip(str(error))


def run(sites: TwoSites, name: str, workload: str, *words: str) -> tuple[int, str]:
    file = sites.hosts["head"].path(FILES) / f"{name}.toml"
    file.write_text(f'target = "{FILES}/target"\n[job]\non = "slurm"\n[repeat]\ncount = 1\n[workload]\n{workload}')
    argv = [sys.executable, "-m", "tonnage.cli", "run", str(FILES / file.name), "--no-report", *words]
    done = sites.run(*argv, directory=FILES, timeout_s=LIMIT_S, check=False)
    return done.returncode, done.stderr


def test_each_host_of_a_factor_has_its_trials_in_a_job_of_its_own(sites: TwoSites) -> None:
    workload = 'op = "write"\ntasks = 2\nblock_size = "1MiB"\npartition = "all"\nhosts = [["compute2"], ["epouta3"]]\n'
    code, said = run(sites, "single", workload, "--out", str(FILES / "single"))
    assert code == 0, said
    place = sites.hosts["head"].path(FILES) / "single"
    trials = {line["record"]: line for line in map(json.loads, (place / "trials.jsonl").read_text().splitlines())}
    tasks = [json.loads(line) for line in (place / "tasks.jsonl").read_text().splitlines()]
    assert {(task["host"], *trials[task["record"]]["setting"]["hosts"]) for task in tasks} == {
        ("compute2", "compute2"),
        ("epouta3", "epouta3"),
    }
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["on"] == {"scheduler": "slurm", "host": "head"}
    assert {manifest["host"]["hostname"], *manifest["hosts"]} == {"compute2", "epouta3"}


def test_a_run_directory_that_the_hosts_do_not_see_is_a_wrong_request(sites: TwoSites) -> None:
    code, said = run(sites, "unseen", 'op = "write"\ntasks = 1\nblock_size = "1MiB"\n', "--out", "/tmp/unseen")
    assert code == 2, said
    assert "left nothing in /tmp/unseen" in said.splitlines()[-1] and "--out" in said.splitlines()[-1]
