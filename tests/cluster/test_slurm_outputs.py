"""What Slurm's commands print (22.05.8, recorded; newer ones where they differ), and what is asked of them."""

from __future__ import annotations

import pytest
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.scheduler import Job, JobRequest
from tonnage.cluster.schedulers.slurm import command
from tonnage.cluster.schedulers.slurm.tables import ENDED, JOBS, NODES, ended_of, job_of, node_of, rows, wanted
from tonnage.errors import RequestError

SQUEUE = """\
24|S|5|S|two
lines|S|root|S|FAILED|S|all|S|vm|S|a1|S|2|S|tonnage:k7:rcss1|S|1795291890|S|1795291891|S|1795291892|S|768|S|NonZeroExitCode|S|
24|S|7,9%1|S|two
lines|S|root|S|PENDING|S|all|S|vm|S||S|2|S|tonnage:k7:rcss1|S|1795291890|S|N/A|S|N/A|S|0|S|JobArrayTaskLimit|S|
26|S|N/A|S|wrap|S|root|S|PENDING|S|compute,all|S|vm|S||S|1|S|(null)|S|1795291890|S|1795295490|S|NONE|S|0|S|BeginTime|S|
28|S|N/A|S|wrap|S|root|S|RUNNING|S|all|S|vm|S|a[1-2]|S|2|S|(null)|S|1795291890|S|1795291890|S|NONE|S|0|S|None|S|
25|S|N/A|S|wrap|S|root|S|FAILED|S|compute|S|vm|S|a1|S|1|S|(null)|S|1795291890|S|1795291890|S|1795291890|S|9|S|JobLaunchFailure|S|
"""
SACCT = """\
1|S|two
lines|S|root|S|FAILED|S|batch|S|a1|S|1|S|tonnage:k1:rcss1|S|1795292316|S|1795292317|S|1795292317|S|3:0|S|None|S|
2_3|S|tonnage|S|root|S|COMPLETED|S|batch|S|a2|S|1|S|tonnage:k2|S|1795292317|S|1795292317|S|1795292318|S|0:0|S|None|S|
3_[1-4%1]|S|tonnage|S|root|S|CANCELLED by 0|S|batch|S|None assigned|S|1|S|tonnage:k3|S|1795292317|S|None|S|1795292319|S|0:0|S|None|S|
6|S|tonnage|S|root|S|FAILED|S|batch|S|a1|S|1|S|tonnage:k4|S|1795292319|S|1795292319|S|1795292319|S|0:9|S|None|S|
7_1|S|tonnage|S|root|S|RUNNING|S|batch|S|a2|S|2|S||S|1795292319|S|1795292319|S|Unknown|S|0:0|S|None|S|
"""  # noqa: E501
SINFO = """\
a1|S|all*|S|up|S|mixed|S|1/3/0/4|S|(null)|S|none|S|
a2|S|all*|S|up|S|draining|S|1/0/3/4|S|(null)|S|disk full|S|
f1|S|storage|S|down|S|idle|S|0/2/0/2|S|f1,store|S|none|S|
f2|S|all*|S|up|S|idle*|S|0/0/2/2|S|(null)|S|none|S|
f3|S|all*|S|up|S|idle~|S|0/2/0/2|S|(null)|S|none|S|
"""
REQUEST = JobRequest(argv=("gzip", "a b"), key="k1", directory="/data")


def _jobs(text: str) -> list[Job]:
    return [job_of(row) for row in rows(text, JOBS, "|S|")]


def test_a_name_of_two_lines_makes_no_second_job() -> None:
    assert [(job.job, job.name) for job in _jobs(SQUEUE)[:2]] == [("24", "two\nlines")] * 2
    assert len(_jobs(SQUEUE)) == 5


def test_a_copy_that_failed_has_its_status_hosts_and_key() -> None:
    job = _jobs(SQUEUE)[0]
    assert (job.copy, job.state, job.exit_status, job.hosts, job.slots) == (5, "failed", 3, ("a1",), 2)
    assert (job.key, job.server, job.from_host) == ("k7", "rcss1", "vm")
    assert (job.submitted_at_s, job.started_at_s, job.ended_at_s) == (1795291890, 1795291891, 1795291892)


def test_copies_that_wait_are_one_line_with_their_count_and_reason() -> None:
    job = _jobs(SQUEUE)[1]
    assert (job.copy, job.count, job.state, job.reason) == (None, 2, "pending", "JobArrayTaskLimit")
    assert job.exit_status is None


def test_a_start_that_is_only_expected_is_not_told_as_one() -> None:
    job = _jobs(SQUEUE)[2]
    assert (job.started_at_s, job.ended_at_s, job.key) == (None, None, None)


def test_a_job_of_two_hosts_names_both() -> None:
    assert _jobs(SQUEUE)[3].hosts == ("a1", "a2")


@pytest.mark.parametrize(
    ("printed", "status"), [("768", 3), ("3:0", 3), ("9", 137), ("0:9", 137), ("0", 0), ("0:0", 0), ("", None)]
)
def test_the_exit_status_is_read_as_slurm_22_and_23_print_it(printed: str, status: int | None) -> None:
    text = SQUEUE.splitlines(keepends=True)[-1].replace("|S|9|S|", f"|S|{printed}|S|")
    assert _jobs(text)[0].exit_status == status


@pytest.mark.parametrize(
    ("printed", "count"), [("1-9:2%4", 5), ("3-9%2", 7), ("1-3,8,10-11", 6), ("4-1000000%8", 999_997)]
)
def test_copies_that_wait_are_counted_from_their_ranges(printed: str, count: int) -> None:
    assert _jobs(SQUEUE.replace("7,9%1", printed))[1].count == count


@pytest.mark.parametrize(("printed", "cap"), [("7,9%4", 4), ("7,9", 0), ("9%4", 4), ("9", None)])
def test_how_many_copies_may_run_at_once_is_read_of_those_that_wait(printed: str, cap: int | None) -> None:
    assert _jobs(SQUEUE.replace("7,9%1", printed))[1].cap == cap


def test_the_last_copy_that_waits_has_its_number() -> None:
    job = _jobs(SQUEUE.replace("7,9%1", "9%1"))[1]
    assert (job.copy, job.count) == (9, 1)


def test_an_unknown_state_is_said_to_be_unknown() -> None:
    assert _jobs(SQUEUE.replace("RUNNING", "DREAMING"))[3].state == "unknown"


def test_accounting_tells_of_those_that_ended() -> None:
    failed, copy, cancelled, killed, running = (ended_of(row) for row in rows(SACCT, ENDED, "|S|"))
    assert (failed.job, failed.copy, failed.name, failed.key, failed.server) == ("1", None, "two\nlines", "k1", "rcss1")
    assert (failed.state, failed.exit_status, failed.hosts) == ("failed", 3, ("a1",))
    assert (copy.job, copy.copy, copy.state, copy.started_at_s, copy.ended_at_s) == (
        "2",
        3,
        "done",
        1795292317,
        1795292318,
    )
    assert (cancelled.state, cancelled.count, cancelled.hosts, cancelled.started_at_s) == ("cancelled", 4, (), None)
    assert killed.exit_status == 137
    assert (running.state, running.ended_at_s, running.slots) == ("running", None, 2)


def test_a_host_is_up_where_slurm_gives_it_jobs() -> None:
    nodes = {node.name: node for node in (node_of(row) for row in rows(SINFO, NODES, "|S|"))}
    assert {name: node.up for name, node in nodes.items()} == {
        "a1": True,
        "a2": False,
        "f1": True,
        "f2": False,
        "f3": True,
    }
    assert (nodes["a1"].slots, nodes["a1"].slots_used, nodes["a1"].slots_free) == (4, 1, 3)
    assert (nodes["a2"].reason, nodes["a2"].slots_free, nodes["f2"].reason) == ("draining: disk full", 0, "idle*")
    assert (nodes["a1"].queue, nodes["a1"].queue_is_default, nodes["f1"].queue_is_open) == ("all", True, False)
    assert nodes["f1"].features == {"f1", "store"}


def test_a_field_is_asked_for_whole() -> None:
    assert wanted(("Name", "Comment"), "|S|") == "Name:0|S|,Comment:0|S|"


def test_the_words_of_a_program_are_arguments_of_a_script_that_never_changes() -> None:
    argv = command.sbatch(REQUEST, ["--nodelist=f1"])
    assert argv[0] == "sbatch" and argv[-2:] == ["gzip", "a b"]
    assert argv[-3].endswith("job.sh") and "--nodelist=f1" in argv
    assert not any("gzip" in word for word in argv[:-2])


def test_copies_are_an_array_with_its_limit() -> None:
    request = JobRequest(
        argv=("x",), key="k", directory="/", numbers=upto(50), cap=8, licences=(("rcss1", 2), ("wan", 1))
    )
    argv = command.sbatch(request, [])
    assert "--array=1-50%8" in argv and "--licenses=rcss1:2,wan:1" in argv and argv[-2].endswith("copy.sh")


def test_copies_have_no_terminal() -> None:
    with pytest.raises(RequestError, match="cannot share a terminal"):
        command.srun(JobRequest(argv=("x",), key="k", directory="/", numbers=upto(2)), [])


def test_a_program_is_no_option() -> None:
    with pytest.raises(RequestError, match=r"hint: \./-x"):
        command.sbatch(JobRequest(argv=("-x",), key="k", directory="/"), [])


@pytest.mark.parametrize(
    ("path", "is_array", "pattern"),
    [
        ("out.%J.%I", True, "out.%A.%a"),
        ("out.%J.%I", False, "out.%A.0"),
        ("50%.%j%%", True, "50%%.%%j%%%%"),
        ("a\\b%c", False, "a\\\\b%c"),
    ],
)
def test_only_job_and_copy_are_filled_in(path: str, is_array: bool, pattern: str) -> None:
    assert command.pattern(path, is_array=is_array) == pattern


def test_a_directory_s_name_is_no_pattern() -> None:
    argv = command.sbatch(JobRequest(argv=("x",), key="k", directory="/a%A", output="out.%J"), [])
    assert "--output=/a%%A/out.%A" in argv
    argv = command.sbatch(JobRequest(argv=("x",), key="k", directory="/a%A", numbers=upto(2)), [])
    assert "--output=/a%%A/slurm-%A_%a.out" in argv
    assert not any(word.startswith("--output") for word in command.sbatch(REQUEST, []))


def test_a_backslash_and_a_number_are_refused() -> None:
    with pytest.raises(RequestError, match="backslash"):
        command.pattern("a\\%J", is_array=False)


@pytest.mark.parametrize("server", [None, "rcss1", "rcss1:/export, with blanks"])
def test_key_and_server_come_back_from_the_comment(server: str | None) -> None:
    request = JobRequest(argv=("x",), key="a.b_c-1", directory="/", server=server)
    assert command.read_comment(command.comment(request)) == ("a.b_c-1", server)
    assert command.read_comment("my own remark") == (None, None)


def test_a_job_submitted_from_a_job_takes_nothing_of_it() -> None:
    inside = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SBATCH_X": "1", "SLURM_CONF": "/c", "HOME": "/h"}
    assert command.clean(inside) == {"SLURM_CONF": "/c", "HOME": "/h"}
    outside = {"SBATCH_ACCOUNT": "physics", "HOME": "/h"}
    assert command.clean(outside) == outside


def test_the_name_of_a_cluster_before_its_rows_is_no_part_of_a_job() -> None:
    assert [job.job for job in _jobs(f"CLUSTER: one\n{SQUEUE}\nCLUSTER: two\n{SQUEUE}")] == [
        "24",
        "24",
        "26",
        "28",
        "25",
    ] * 2
