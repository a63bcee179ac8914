"""The parts of the MPI launcher that need no other process."""

from __future__ import annotations

import sys
from subprocess import run

import pytest
from tonnage.cluster.launcher import ANYWHERE, Placing, together
from tonnage.cluster.mpi.commands import Answer, Command, Problem, read_answer
from tonnage.cluster.mpi.launch_environment import Started, started
from tonnage.cluster.mpi.membership import Member, children, crowded, parent
from tonnage.cluster.mpi.task_assignment import Share, as_runs, assign, clipped, hosts_of, of_runs
from tonnage.cluster.mpi.time_limits import SILENT_S, silent_s
from tonnage.errors import RequestError

HOSTS = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, Started("Open MPI", 1, 4)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, Started("PMI", 0, 2)),
        ({"PMIX_RANK": "3"}, None),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "3", "SLURM_NTASKS": "3"}, Started("Slurm", 2, 3)),
        # A batch script: one process, whatever was asked for.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "16"}, None),
        ({"PMI_RANK": "x", "PMI_SIZE": "2"}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "2"}, None),
    ],
)
def test_the_environment_tells_who_a_process_is(environment: dict[str, str], expected: Started | None) -> None:
    assert started(environment) == expected


def test_a_task_goes_to_each_process_in_their_order() -> None:
    assert assign(HOSTS, 3, ANYWHERE) == [Share(0, 0, 1), Share(1, 1, 1), Share(2, 2, 1)]
    in_turn = ["a", "b", "a", "b"]
    assert hosts_of(in_turn, assign(in_turn, 4, ANYWHERE)) == in_turn


def test_named_hosts_take_part_in_the_order_in_which_they_are_named() -> None:
    shares = assign(HOSTS, 3, Placing(("b", "a")))
    assert shares == [Share(2, 0, 1), Share(3, 1, 1), Share(0, 2, 1)]
    assert hosts_of(HOSTS, shares) == ["b", "b", "a"]


def test_tasks_per_node_fill_a_host_before_the_next_and_spread_over_its_processes() -> None:
    shares = assign(HOSTS, 8, Placing(tasks_per_node=5))
    assert shares == [Share(0, 0, 3), Share(1, 3, 2), Share(2, 5, 2), Share(3, 7, 1)]
    assert hosts_of(HOSTS, shares) == ["a"] * 5 + ["b"] * 3


def test_a_part_of_a_phase_is_done_where_the_whole_would_be() -> None:
    whole = assign(HOSTS, 8, Placing(tasks_per_node=4))
    assert clipped(whole, 3, 2) == [Share(1, 3, 1), Share(2, 4, 1)]
    assert clipped(whole, 0, 8) == whole


def test_shares_are_told_in_few_numbers_and_read_back_as_they_were() -> None:
    assert as_runs(assign(["a"] * 256, 256, ANYWHERE)) == [[0, 0, 1, 256]]
    for placing in (ANYWHERE, Placing(("b", "a")), Placing(tasks_per_node=5), Placing(("b",), tasks_per_node=3)):
        for tasks in (1, 2, 3):
            shares = assign(HOSTS, tasks, placing) if tasks < 3 or placing.hosts != ("b",) else []
            assert of_runs(as_runs(shares)) == shares
    assert as_runs(assign(HOSTS, 8, Placing(tasks_per_node=5))) == [[0, 0, 3, 1], [1, 3, 2, 2], [3, 7, 1, 1]]


def test_a_host_is_crowded_where_its_processes_share_processors() -> None:
    def of(host: str, *processors: int) -> Member:
        return Member(host, 1, host, "1", sum(1 << number for number in processors))

    # Each bound to a processor of its own, as launchers do, and all free to use any.
    assert crowded([of("a", 0), of("a", 1), of("b", 0, 1), of("b", 0, 1)]) == set()
    assert crowded([of("a", 0), of("a", 0), of("b", 0, 1), of("b", 0, 1)]) == {"a"}


@pytest.mark.parametrize(
    ("tasks", "placing", "words"),
    [
        (5, ANYWHERE, "5 tasks are more than the 4 processes that were started; hint: .*tasks_per_node"),
        (3, Placing(("b",)), "3 tasks are more than the 2 processes .* on b;"),
        (1, Placing(("c",)), "no process on host c; hint: they run on a, b"),
        (9, Placing(tasks_per_node=4), "9 tasks are more than 4 on each of 2 hosts"),
    ],
)
def test_what_has_no_room_is_a_wrong_request(tasks: int, placing: Placing, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        assign(HOSTS, tasks, placing)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 256])
def test_the_tree_reaches_everybody_once_in_log2_steps(count: int) -> None:
    for position in range(1, count):
        above = parent(position)
        assert above is not None and position in children(above, count)
    assert sum(len(children(position, count)) for position in range(count)) == count - 1
    depth = max(bin(position).count("1") for position in range(count))
    assert depth <= count.bit_length()


def test_answers_merge_to_the_first_problems_and_each_note_once() -> None:
    answer = Answer(notes=[("kept", "a file")])
    for rank in range(20, 0, -1):
        answer.add(Answer([Problem(rank, "a", "os", "No space left on device", 28)], [("kept", "a file")]))
    serial, told = read_answer(answer.message(7))
    assert serial == 7 and vars(told) == vars(answer)
    assert [problem.rank for problem in told.problems] == [1, 2, 3, 4, 5, 6, 7, 8] and len(told.notes) == 1
    error = told.problems[0].error()
    assert isinstance(error, OSError) and error.errno == 28 and "process 1 on a" in str(error)


def test_an_order_gives_those_below_less_time_than_the_one_above() -> None:
    order = Command(3, "clear", {"number": 1}, 10.0)
    below = Command.read(order.message())
    assert (below.serial, below.verb, below.arguments) == (3, "clear", {"number": 1}) and below.limit_s < order.limit_s


def test_live_figures_add_up() -> None:
    one = {"elapsed_ns": 5, "bytes": 10, "operations": 1, "bandwidth_bytes_per_s": 3, "running_tasks": 1,
           "p50_ns": 100, "p99_ns": 200, "recent_p99_ns": 150, "heat": [[96, 112, 1]]}  # fmt: skip
    other_heat = [[80, 96, 2], [96, 112, 1]]
    both = together([one, {**one, "operations": 3, "p50_ns": 500, "p99_ns": 900, "elapsed_ns": 7, "heat": other_heat}])
    assert (both["bytes"], both["operations"], both["running_tasks"], both["elapsed_ns"]) == (20, 4, 2, 7)
    assert (both["p50_ns"], both["p99_ns"], both["heat"]) == (400, 900, [[80, 96, 2], [96, 112, 2]])
    assert together([])["bytes"] == 0


def test_the_patience_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TONNAGE_LOST_AFTER", raising=False)
    assert silent_s() == SILENT_S
    monkeypatch.setenv("TONNAGE_LOST_AFTER", "4.5")
    assert silent_s() == 4.5
    monkeypatch.setenv("TONNAGE_LOST_AFTER", "soon")
    with pytest.raises(RequestError, match="TONNAGE_LOST_AFTER is 'soon'"):
        silent_s()


def test_a_follower_imports_nothing_that_takes_long() -> None:
    code = "import sys, tonnage.cluster.mpi.worker; print(*sys.modules)"
    loaded = set(run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert "tonnage._native" in loaded
    assert not loaded & {
        "pydantic",
        "numpy",
        "scipy",
        "rich",
        "jinja2",
        "mpi4py",
        "tonnage.campaign",
        "tonnage.analysis",
    }
