"""Several hosts: where tasks run, what is recorded of each host, whose scratch it is, and requests that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from .hosts import Host, needs_hosts, only_line, tonnage
from .ranks import lines, manifest, scratches

pytestmark = needs_hosts()

CAMPAIGN = """
name = "two"
target = "data"
order = "given"
[workload]
op = ["write", "read"]
tasks = 4
block_size = "256KiB"
transfer_size = "64KiB"
direct = "no"
verify = true
{more}
[repeat]
count = 1
"""
TWO = (Host("alpha", 2), Host("beta", 2))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


def _campaign(place: Path, more: str = "", *, op: str = '["write", "read"]', tasks: int = 4) -> None:
    text = CAMPAIGN.format(more=more).replace('["write", "read"]', op).replace("tasks = 4", f"tasks = {tasks}")
    (place / "two.toml").write_text(text)


def _hosts_of_tasks(run: Path, record: str) -> list[str]:
    return [task["host"] for task in lines(run, "tasks.jsonl") if task["record"] == record]


def test_a_run_over_two_hosts_records_each_of_them(place: Path) -> None:
    _campaign(place)
    done = tonnage(TWO, "run", "two.toml", "--out", "run", "--no-report", cwd=place)
    assert done.returncode == 0, done.stderr
    write, read = lines(place / "run")
    assert (write["status"], read["status"]) == ("ok", "ok") and read["verify"]["checked_bytes"] == 4 << 18
    met = write["ensemble"]
    assert (met["launcher"], met["processes"]) == ("mpi", 4)
    assert [(host["host"], host["processes"], host["tasks"]) for host in met["hosts"]] == [
        ("alpha", 2, 2), ("beta", 2, 2)
    ]  # fmt: skip
    # One kernel: the clocks agree within what the round trip leaves open.
    beta = met["hosts"][1]
    assert abs(beta["offset_ns"]) <= beta["uncertainty_ns"] + 10**6 and 0 < beta["uncertainty_ns"] < 10**9
    assert met["barrier_ns"] > 0 and met["skew_ns"] >= 0 and met["gather_ns"] >= 0
    assert _hosts_of_tasks(place / "run", "0000-write") == ["alpha", "alpha", "beta", "beta"]
    facts = manifest(place / "run")
    assert facts["host"]["hostname"] == "alpha" and list(facts["hosts"]) == ["beta"]
    assert facts["hosts"]["beta"]["kernel"] and facts["hosts"]["beta"]["load_after"]["load_1min"] >= 0
    assert facts["launcher"]["hosts"] == ["alpha", "beta"] and "mpi4py" in facts["launcher"]["versions"]
    for ceiling in facts["ceilings"]:
        assert sum(ceiling["hosts"].values()) == ceiling["bytes_per_s"] and set(ceiling["hosts"]) == {"alpha", "beta"}
    assert facts["target"]["own_scratch"] == [] and scratches(place / "data") == []


def test_verify_and_report_read_a_run_over_two_hosts_as_any_other(place: Path) -> None:
    _campaign(place)
    done = tonnage(TWO, "run", "two.toml", "--out", "run", cwd=place)
    assert done.returncode == 0 and (place / "run/report.html").stat().st_size > 10_000, done.stderr
    checked = tonnage(TWO, "verify", "run", cwd=place)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_named_hosts_take_part_in_the_order_of_the_file_and_the_rest_waits(place: Path) -> None:
    _campaign(place, 'hosts = [["beta", "alpha"], ["beta"]]', op='"write"', tasks=2)
    done = tonnage(TWO, "run", "two.toml", "--out", "run", "--no-report", cwd=place)
    assert done.returncode == 0, done.stderr
    both, one = lines(place / "run")
    assert [host["host"] for host in both["ensemble"]["hosts"]] == ["beta"], "two processes of beta come first"
    assert one["setting"]["hosts"] == ["beta"] and _hosts_of_tasks(place / "run", one["record"]) == ["beta", "beta"]


def test_tasks_per_node_are_threads_of_the_processes_of_a_host(place: Path) -> None:
    _campaign(place, "tasks_per_node = 6", tasks=9)
    done = tonnage((Host("alpha"), Host("beta")), "run", "two.toml", "--out", "run", "--no-report", cwd=place)
    assert done.returncode == 0, done.stderr
    assert _hosts_of_tasks(place / "run", "0001-read") == ["alpha"] * 6 + ["beta"] * 3
    assert [host["tasks"] for host in lines(place / "run")[0]["ensemble"]["hosts"]] == [6, 3]


def test_a_host_with_a_file_system_of_its_own_gets_a_scratch_directory_of_its_own(place: Path) -> None:
    _campaign(place)
    local = place / "local-of-beta"
    local.mkdir()
    hosts = (Host("alpha", 2), Host("beta", 2, [(local, place / "data")]))
    done = tonnage(hosts, "run", "two.toml", "--out", "run", "--no-report", cwd=place)
    assert done.returncode == 0, done.stderr
    assert manifest(place / "run")["target"]["own_scratch"] == ["beta"]
    assert [line["status"] for line in lines(place / "run")] == ["ok", "ok"]
    assert scratches(place / "data") == [] and scratches(local) == []


def _bad(place: Path, hosts: tuple[Host, ...], *words: str) -> str:
    done = tonnage(hosts, *(words or ("run", "two.toml", "--out", "run")), cwd=place)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert not (place / "run").exists() and scratches(place / "data") == []
    return only_line(done.stderr)


def test_a_target_that_a_host_does_not_see_is_named_with_the_host(place: Path) -> None:
    _campaign(place)
    empty, inner = place / "empty", place / "outer"
    empty.mkdir()
    (inner / "data").mkdir(parents=True)
    text = (place / "two.toml").read_text().replace('"data"', f'"{inner}/data"')
    (place / "two.toml").write_text(text)
    said = _bad(place, (Host("alpha"), Host("beta", 1, [(empty, inner)])), "run", "two.toml", "--out", "run")
    # Placing comes first: 4 tasks, 2 processes.
    assert "4 tasks are more than the 2 processes" in said
    (place / "two.toml").write_text(text.replace("tasks = 4", "tasks = 2"))
    said = _bad(place, (Host("alpha"), Host("beta", 1, [(empty, inner)])), "run", "two.toml", "--out", "run")
    assert f"{inner}/data is not visible on beta: No such file or directory" in said


def test_unequal_hosts_unknown_hosts_and_other_versions_are_wrong_requests(place: Path, tmp_path: Path) -> None:
    _campaign(place)
    assert "different numbers of processes: 1 on alpha, 3 on beta" in _bad(place, (Host("alpha"), Host("beta", 3)))
    _campaign(place, 'hosts = ["gamma"]')
    assert "no process on host gamma; hint: they run on alpha, beta" in _bad(place, TWO)
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import tonnage\ntonnage.__version__ = '0.0.1'\n")
    import os

    older = Host("beta", 2, environment={"PYTHONPATH": f"{other}:{os.environ.get('PYTHONPATH', '')}"})
    said = _bad(place, (Host("alpha", 2), older))
    assert "different versions of Tonnage" in said and "0.0.1 on beta" in said
