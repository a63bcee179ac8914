"""Submissions: once, explained, and with the scheduler's own words, whatever goes wrong."""

from __future__ import annotations

import gc
import getpass
import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import exporter
import proc_files
import pytest
from file_scheduler import Desk
from tonnage.cluster.array_numbers import upto
from tonnage.cluster.job_terms import Terms
from tonnage.cluster.scheduler import ClusterHost, Job, SchedulerError, State, SubmissionUnknown
from tonnage.errors import RequestError
from tonnage.placement import plan as planning
from tonnage.placement import submit as submitting
from tonnage.placement.choice import NoFileServer, NothingNear
from tonnage.placement.plan import Plan
from tonnage.placement.server_load_lines import line_directories
from tonnage.placement.site import Site
from tonnage.placement.submission_ledger import Ledger
from tonnage.placement.submit import Outcome, preview, run_interactive, submit
from tonnage.placement.submit_request import SubmitRequest
from tonnage.placement.where import locate
from tonnage.records import RunWriter
from tonnage.records.load_line_files import KeptLine, keep_line

SITE = """
[[server]]
name = "rcss1"
holds = ["{data}"]
hosts = ["rcss1"]
queue = "storage"
line = {{ tasks = 6 }}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that the site file says rcss1 holds, and a home of its own."""
    data = tmp_path / "data"
    data.mkdir()
    for name, value in (("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("TONNAGE_SYSTEM_CONFIG", "etc")):
        (tmp_path / value).mkdir()
        monkeypatch.setenv(name, str(tmp_path / value))
    (data / "tonnage.toml").write_text(SITE.format(data=data))
    monkeypatch.chdir(data)
    return data


@pytest.fixture
def desk(site: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(site.parent / "desk")
    made.directory.mkdir()
    monkeypatch.setattr(planning, "scheduler_here", lambda *_, **__: made)
    return made


def a_request(*argv: str, key: str = "k1", **given: Any) -> SubmitRequest:
    return SubmitRequest(argv=argv or ("gzip", "big file"), key=key, **given)


def go(asked: SubmitRequest, **given: Any) -> Outcome:
    return submit(asked, **{"key_given": True, "tell": lambda _plan: None, **given})


def test_a_job_is_bound_to_the_host_beside_its_data_in_that_hosts_queue(site: Path, desk: Desk) -> None:
    told: list[Plan] = []
    outcome = go(a_request(), tell=told.append)
    assert outcome.receipt is not None and outcome.receipt.line == "Job <1> is submitted to queue <desk>."
    request = desk.taken()[1]
    assert (request["argv"], request["directory"], request["hosts"]) == (["gzip", "big file"], str(site), ["rcss1"])
    assert (request["queue"], request["server"], request["prefer"], request["key"]) == ("storage", "rcss1", False, "k1")
    assert told and told[0].decision.server == "rcss1"


def test_a_time_limit_and_an_account_reach_the_scheduler(desk: Desk) -> None:
    go(a_request(terms=Terms(time_limit_s=90, account="proj")))
    terms = Terms.load(desk.taken()[1]["terms"])  # type: ignore[arg-type]
    assert terms == Terms(time_limit_s=90, account="proj")


def test_what_was_considered_stays_in_the_ledger(desk: Desk) -> None:
    desk.known_hosts = (*desk.known_hosts, ClusterHost(name="c1", up=True, slots=4))
    go(a_request(numbers=upto(50)))
    entry = Ledger().entry("k1")
    assert entry is not None and entry.job == "1"
    decision = entry.intent["decision"]
    assert [one["host"] for one in decision["considered"]] == ["rcss1", "c1"]
    assert decision["considered"][0]["score_s"] == pytest.approx(1.0)
    assert decision["cap"] == 6 and "load line: 6 tasks" in " ".join(decision["why"])
    assert entry.intent["request"]["argv"] == ["gzip", "big file"]


def test_the_intent_is_durable_before_the_scheduler_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def submit_and_die(_request: object) -> None:
        found = Ledger().entry("k1")
        assert found is not None and found.open
        raise KeyboardInterrupt

    monkeypatch.setattr(desk, "submit", submit_and_die)
    with pytest.raises(SubmissionUnknown, match=r"interrupted while desk was asked; .* --key=k1") as interrupted:
        go(a_request())
    assert interrupted.value.exit_code == 130
    found = Ledger().entry("k1")
    assert found is not None and found.open, "nobody knows: a retry has to ask"


def test_cycles_are_searched_for_again_after_a_submission(desk: Desk) -> None:
    found: list[bool] = []
    go(a_request(), tell=lambda _plan: found.append(gc.isenabled()))
    desk.refusal = "no"
    with pytest.raises(SchedulerError):
        go(a_request(key="k2"))
    assert (found, gc.isenabled()) == ([False], True)


def test_a_second_submission_with_the_same_key_is_the_first(desk: Desk) -> None:
    first, second = go(a_request()), go(a_request())
    assert second.receipt == first.receipt and second.plan is None
    assert len(desk.taken()) == 1


def test_the_same_key_for_another_job_is_a_mistake(desk: Desk) -> None:
    go(a_request())
    with pytest.raises(RequestError, match="belongs to another job"):
        go(a_request("gzip", "another file"))
    with pytest.raises(RequestError, match="belongs to another job"):
        go(a_request(numbers=upto(3)))
    assert len(desk.taken()) == 1


def test_an_answer_that_was_lost_is_found_by_the_key(desk: Desk) -> None:
    desk.loses_answer, desk.late = True, 1
    outcome = go(a_request())
    assert outcome.receipt is not None and outcome.receipt.job == "1"
    assert len(desk.taken()) == 1


def test_a_scheduler_that_hangs_leaves_a_key_to_try_again(
    site: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "tonnage.toml").write_text(SITE.format(data=site) + '[policy]\nscheduler_timeout = "300ms"\n')
    monkeypatch.setattr(submitting, "_SETTLE_S", 0.5)
    desk.silent = True
    with pytest.raises(SubmissionUnknown, match="--key=k1"):
        go(a_request(), key_given=False)
    with pytest.raises(SchedulerError, match=r"nothing was submitted now; hint: .* --key=k1"):
        go(a_request())
    desk.silent = False
    assert go(a_request()).receipt is not None
    assert len(desk.taken()) == 1


def test_a_job_that_arrives_while_its_scheduler_wakes_up_is_not_submitted_again(site: Path, desk: Desk) -> None:
    desk.loses_answer, desk.late = True, 10**6
    (site / "tonnage.toml").write_text(SITE.format(data=site) + '[policy]\nscheduler_timeout = "100ms"\n')
    with pytest.raises(SubmissionUnknown):
        go(a_request())
    desk.loses_answer, desk.late = False, 3
    outcome = go(a_request())
    assert outcome.plan is None and len(desk.taken()) == 1


def test_a_refusal_is_told_in_the_schedulers_words_and_may_be_tried_again(desk: Desk) -> None:
    desk.refusal = "sbatch failed with status 1: sbatch: error: invalid partition specified: nope"
    told: list[Plan] = []
    with pytest.raises(SchedulerError, match="invalid partition specified: nope"):
        go(a_request(queue="nope"), tell=told.append)
    assert told == [], "nothing says where a job goes that was refused"
    desk.refusal = None
    assert go(a_request(queue="short")).receipt is not None
    assert desk.taken()[1]["queue"] == "short"
    assert desk.asked.count("find") == 1, "a refused job is known not to be there"


def _submit_once(site: Path, results: Any) -> None:
    os.chdir(site)
    outcome = go(a_request("sleep", "1"))
    assert outcome.receipt is not None
    results.put(outcome.receipt.job)


def test_two_at_the_same_time_with_one_key_are_one_job(site: Path, desk: Desk) -> None:
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()
    both = [fork.Process(target=_submit_once, args=(site, results)) for _ in range(4)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
        assert one.exitcode == 0
    assert {results.get() for _ in both} == {"1"}
    assert len(desk.taken()) == 1


def test_an_unknown_server_stops_it_unless_anywhere_will_do(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.toml"
    other.write_text('[[server]]\nname = "nas"\nholds = ["/nowhere"]\nhosts = ["nas"]\n')
    with pytest.raises((NoFileServer, NothingNear)):
        go(a_request(site_file=other))
    assert desk.taken() == {} and Ledger().entry("k1") is None
    assert go(a_request(site_file=other, anywhere=True)).receipt is not None
    assert desk.taken()[1]["hosts"] == [] and desk.taken()[1]["queue"] is None


def test_a_host_that_the_scheduler_does_not_know_is_one_clear_error(desk: Desk) -> None:
    desk.known_hosts = (ClusterHost(name="c1", up=True, slots=4),)
    with pytest.raises(NothingNear, match=r"rcss1: the scheduler does not know it.*tonnage doctor"):
        go(a_request())


def test_a_server_that_is_down_is_one_clear_error(desk: Desk) -> None:
    desk.known_hosts = (ClusterHost(name="rcss1", up=False, slots=8, reason="Not responding"),)
    with pytest.raises(NothingNear, match=r"it is down \(Not responding\)"):
        go(a_request())


def test_lists_that_the_scheduler_does_not_give_are_done_without_and_said_so(desk: Desk) -> None:
    desk.hides_hosts = desk.hides_jobs = True
    outcome = go(a_request())
    assert outcome.plan is not None and len(outcome.plan.notes) >= 2
    assert all("Unable to contact" in note for note in outcome.plan.notes if "does without" in note)
    assert desk.taken()[1]["hosts"] == ["rcss1"]
    assert (desk.asked.count("jobs"), desk.asked.count("hosts")) == (1, 1)


@pytest.mark.usefixtures("desk")
def test_indices_that_do_not_answer_are_said_and_not_waited_for(site: Path) -> None:
    text = SITE.format(data=site).replace("line =", 'indices = "http://127.0.0.1:9/metrics"\nline =')
    (site / "tonnage.toml").write_text(text)
    outcome = go(a_request())
    assert outcome.plan is not None
    assert any("the indices of rcss1 do not count" in note for note in outcome.plan.notes)


def test_a_capped_array_takes_what_others_leave_unless_a_licence_counts_them(site: Path, desk: Desk) -> None:
    desk.known_jobs = [Job(job=str(number), server="rcss1", state="running") for number in (8, 9)]
    assert preview(a_request(numbers=upto(50))).plan.request.cap == 4  # type: ignore[union-attr]
    text = SITE.format(data=site).replace("line =", 'licence = "nfs_rcss1"\nline =')
    (site / "tonnage.toml").write_text(text)
    request = preview(a_request(numbers=upto(50))).plan.request  # type: ignore[union-attr]
    assert request.cap == 6 and request.licences == (("nfs_rcss1", 1),)
    assert request.licence_totals == (("nfs_rcss1", 6),)


def a_profile(at: Path, moved: int) -> Path:
    """A run of a program that waits half of a second alone, and moves so many bytes in it."""
    writer = RunWriter.create(at, {})
    setting = {"kind": "command", "tasks": 1}
    line = {
        "trial": 0, "record": "0000-command", "setting": setting, "repetition": 0, "phase": "command",
        "purpose": "measure", "status": "ok", "bytes": 0, "operations": 0, "errors": 0,
    }  # fmt: skip
    copy = {
        "record": "0000-command", "copy": 0, "task": 0, "exit_code": 0, "start_ns": 0, "end_ns": 10**9,
        "cpu_user_ns": 5 * 10**8, "cpu_system_ns": 0, "read_calls": 1, "write_calls": 0, "read_call_bytes": moved,
        "write_call_bytes": 0, "device_read_bytes": 0, "device_write_bytes": 0,
    }  # fmt: skip
    writer.append_trial(line, [], [], [copy])
    return at


@pytest.mark.usefixtures("desk")
def test_a_program_that_moves_half_of_the_plateau_asks_half_of_the_line(site: Path) -> None:
    text = SITE.format(data=site).replace("tasks = 6", 'tasks = 6, plateau = "1GB/s"')
    (site / "tonnage.toml").write_text(text)
    run = a_profile(site.parent / "RUN", 5 * 10**8)
    plan = preview(a_request(numbers=upto(50), profile=run)).plan
    assert plan is not None and plan.request.cap == 2
    assert plan.decision.cap_why == plan.decision.why[-1]
    told = f"each copy asks 3: its 500 MB/s is 50% of the plateau (measured in {run}, 1 copy alone)"
    assert told in plan.decision.why[-1]
    # What such a job was promised is what the next one finds taken, whoever submits it.
    go(a_request(numbers=upto(50), profile=run))
    entry = Ledger().entry("k1")
    assert entry is not None and entry.intent["asks"] == 3 and plan.decision.cap_why in entry.intent["decision"]["why"]
    second = preview(a_request(key="k2", numbers=upto(50), profile=run)).plan
    assert second is not None and second.request.cap == 1 and "other jobs may use 6 of it" in second.decision.why[-1]


@pytest.mark.usefixtures("desk")
def test_a_measured_job_finds_what_others_use_also_where_nobody_looked_at_the_server_before(site: Path) -> None:
    began_s = time.time()
    busy = proc_files.Server(disks=("sda",))

    def told() -> str:
        ran_s = (now_s := time.time()) - began_s
        moved = 2 * int(ran_s * 5 * 10**8 / 2)
        return proc_files.scrape(replace(busy, bytes=moved, idle_s=8000 + ran_s), now_s)

    with exporter.exporter(exporter.tells(told)) as server:
        line = f'indices = "{server.address}"\nline = {{ tasks = 6, plateau = "1GB/s" }}\n'
        line += '[policy]\nindex_timeout = "20s"\n'
        (site / "tonnage.toml").write_text(SITE.format(data=site).replace("line = { tasks = 6 }\n", line))
        plan = preview(a_request(numbers=upto(50), profile=a_profile(site.parent / "RUN", 5 * 10**8))).plan
        unmeasured = preview(a_request(numbers=upto(50))).plan
    assert plan is not None and plan.request.cap == 1 and plan.notes == ()
    assert plan.decision.why[-1].endswith("; by its indices others use 3 of it")
    # By the rates that the first one looked for.
    assert unmeasured is not None and unmeasured.request.cap == 3
    assert unmeasured.decision.why[-1].endswith("; by its indices others use 3 of it")


@pytest.mark.usefixtures("desk")
def test_a_measured_job_alone_is_told_what_holds_such_jobs_back_or_that_nothing_does(site: Path) -> None:
    text = SITE.format(data=site).replace("tasks = 6", 'tasks = 6, plateau = "1GB/s"')
    (site / "tonnage.toml").write_text(text)
    run = a_profile(site.parent / "RUN", 5 * 10**8)
    why = preview(a_request(profile=run)).plan.decision.why[-1]  # type: ignore[union-attr]
    assert "so that it carries 2 such at once; nothing holds jobs alone to that; hint: --copies" in why
    (site / "tonnage.toml").write_text(text.replace("line =", 'licence = "nfs"\nline ='))
    plan = preview(a_request(profile=run)).plan
    assert plan is not None and plan.request.licences == (("nfs", 3),)
    assert plan.decision.why[-1].endswith("each holds 3 of 6 nfs, so that no more than 2 run at once")
    assert preview(a_request()).plan.request.licences == (("nfs", 1),)  # type: ignore[union-attr]


@pytest.mark.usefixtures("desk")
def test_a_job_that_computes_is_neither_capped_nor_bound() -> None:
    plan = preview(a_request(numbers=upto(50), io_share=0.02)).plan
    assert plan is not None
    assert (plan.request.cap, plan.request.hosts, plan.request.queue) == (None, (), None)


def test_a_preview_submits_and_writes_nothing(desk: Desk) -> None:
    outcome = preview(a_request())
    assert outcome.command == ("desk", "gzip", "big file")
    assert desk.taken() == {} and Ledger().entry("k1") is None


def test_an_interactive_job_gives_its_status(desk: Desk) -> None:
    told: list[Plan] = []
    assert run_interactive(a_request("uname", "-a"), tell=told.append).status == 7
    assert desk.asked[-1] == "interactive uname" and told
    entry = Ledger().entry("k1")
    assert entry is not None and not entry.open


def test_a_program_that_is_not_here_is_a_note_and_not_an_error(site: Path, desk: Desk) -> None:
    (site / "go.sh").write_text("#!/bin/sh\n")
    (site / "go.sh").chmod(0o755)
    outcome = go(a_request("go.sh"))
    assert outcome.plan is not None
    assert any("go.sh is not found on this host" in note and "./go.sh" in note for note in outcome.plan.notes)
    assert desk.taken()[1]["argv"] == ["go.sh"]


@pytest.mark.usefixtures("desk")
def test_a_directory_that_was_removed_is_a_mistake(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(RequestError, match="the working directory was removed"):
        go(a_request())


@pytest.mark.usefixtures("desk")
def test_a_directory_that_is_closed_to_the_user_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may enter everything, so the kernel's answer is given here.
    answer, here = os.access, Path.cwd()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != here and answer(path, mode))
    with pytest.raises(RequestError, match="no permission to enter"):
        go(a_request())


def test_the_name_of_a_job_can_stand_in_a_table(desk: Desk) -> None:
    go(a_request("/opt/bin/odd\nname"))
    assert desk.taken()[1]["name"] == "odd_name"


def test_a_burst_from_one_user_counts_itself(desk: Desk) -> None:
    desk.hides_jobs = True
    for number in range(10):
        go(a_request(key=f"k{number}"), key_given=False)
    plan = preview(replace(a_request(), key="last")).plan
    assert plan is not None
    assert plan.decision.considered[0].load_s > 0.5, "ten tasks on a line of six, though nobody has seen them run"


def test_arrays_of_a_burst_share_the_line_though_the_list_of_jobs_is_older(desk: Desk) -> None:
    for number, cap in enumerate((4, "auto")):
        go(a_request(key=f"k{number}", numbers=upto(50), cap=cap), key_given=False)
    assert desk.asked.count("jobs") == 1
    assert [request["cap"] for _, request in sorted(desk.taken().items())] == [4, 2]


def _state_line(site: Path, low: int, tasks: int, high: int) -> None:
    target = locate(str(site), Site(), timeout_s=5).target
    keep_line(
        line_directories(Site())[0],
        KeptLine(
            target=target, operation="read", access="sequential", transfer_size=1 << 20, tasks=tasks, low=low,
            high=high, plateau_bytes_per_s=10**9, single_bytes_per_s=10**8, measured_at_s=time.time(), host="rcss1",
            run="/r",
        ),
    )  # fmt: skip


def test_a_cap_follows_a_measurement_only_where_that_contradicts_the_line_of_before(site: Path, desk: Desk) -> None:
    desk.known_hosts = [ClusterHost(name="rcss1", up=True, slots=64)]
    # The desk lists none of them as soon as it is asked anew: each has ended before the next one comes.
    (site / "tonnage.toml").write_text((site / "tonnage.toml").read_text() + '[policy]\nlist_age = "0s"\n')
    caps = []
    for number, (low, tasks, high) in enumerate(((7, 8, 9), (7, 9, 11), (12, 14, 16))):
        _state_line(site, low, tasks, high)
        go(a_request(key=f"k{number}", numbers=upto(50)))
        caps.append(desk.taken()[number + 1]["cap"])
    assert caps == [8, 8, 14]


def test_an_array_goes_by_the_line_the_promises_and_the_use_of_the_holder_that_it_is_sent_to(
    site: Path, desk: Desk
) -> None:
    second = SITE.format(data=site).replace("rcss1", "rcss2").replace("tasks = 6", "tasks = 15")
    (site / "tonnage.toml").write_text(SITE.format(data=site).replace("tasks = 6", "tasks = 1") + second)
    desk.known_hosts = [
        ClusterHost(name="rcss1", up=True, slots=8, slots_used=8),
        ClusterHost(name="rcss2", up=True, slots=64),
    ]
    desk.known_jobs = [Job(job=str(number), server="rcss1", state="running") for number in range(8)]
    desk.known_jobs += [Job(job="9", server="rcss2", state="running", count=3)]
    plan = go(a_request(numbers=upto(500))).plan
    assert plan is not None and (plan.decision.server, plan.request.cap) == ("rcss2", 12)
    assert (plan.line, plan.line_servers) == (15, ("rcss2",)) and "rcss2's load line: 15 tasks" in plan.decision.why[-1]
    entry = Ledger().entry("k1")
    assert entry is not None and (entry.intent["line"], entry.intent["line_servers"]) == (15, ["rcss2"])


def test_arrays_that_run_are_brought_to_the_line_in_use_once(site: Path, desk: Desk) -> None:
    desk.known_hosts = [ClusterHost(name="rcss1", up=True, slots=64)]
    _state_line(site, 7, 8, 9)
    for key in ("alive", "over", "asked"):
        go(a_request(key=key, numbers=upto(50), **({"cap": 20} if key == "asked" else {})))
    desk.known_jobs = [
        Job(job=number, user=getpass.getuser(), state="running", ended_at_s=None) for number in ("1", "3")
    ]
    _state_line(site, 3, 4, 5)
    outcome = go(a_request(key="new", numbers=upto(50)))
    assert desk.caps == {"1": 4}
    assert outcome.followed == ("job 1 ran 8 at once by a load line of 8; the line is 4 now: 4 at once from here on",)
    desk.caps.clear()
    assert go(a_request(key="newer", numbers=upto(50))).followed == () and desk.caps == {}


def _the_line_rises(site: Path, desk: Desk, *, state: State) -> None:
    """From 8 tasks to 14, while job 1 is there, an array that the line of 8 capped."""
    desk.known_hosts = [ClusterHost(name="rcss1", up=True, slots=64)]
    _state_line(site, 7, 8, 9)
    go(a_request(key="alive", numbers=upto(50)))
    desk.known_jobs = [Job(job="1", user=getpass.getuser(), state=state)]
    _state_line(site, 12, 14, 16)


def test_a_job_of_another_transfer_size_leaves_arrays_that_run_to_their_own_line(site: Path, desk: Desk) -> None:
    _the_line_rises(site, desk, state="running")
    assert go(a_request(key="small", numbers=upto(50), transfer_size=4096)).followed == () and desk.caps == {}
    assert go(a_request(key="large", numbers=upto(50))).followed and desk.caps == {"1": 14}


def test_a_cap_that_cannot_be_changed_is_told_and_tried_again(site: Path, desk: Desk) -> None:
    _the_line_rises(site, desk, state="pending")
    desk.caps_are_fixed = True
    assert "could not be changed: it has none" in go(a_request(key="new", numbers=upto(50))).followed[0]
    desk.caps_are_fixed = False
    assert go(a_request(key="newer", numbers=upto(50))).followed and desk.caps == {"1": 14}


def test_a_single_job_beyond_the_line_is_told_how_to_be_held_back(site: Path, desk: Desk) -> None:
    desk.known_jobs = [Job(job=str(number), server="rcss1", state="running") for number in range(6)]
    plan = preview(a_request()).plan
    assert plan is not None and any("licence" in sentence for sentence in plan.decision.why)
    assert "licence" not in " ".join(preview(a_request(numbers=upto(3))).plan.decision.why)  # type: ignore[union-attr]
    (site / "tonnage.toml").write_text(SITE.format(data=site).replace("line =", 'licence = "nfs"\nline ='))
    assert "licence" not in " ".join(preview(a_request()).plan.decision.why)  # type: ignore[union-attr]


def test_a_wish_for_hosts_does_not_shut_the_job_into_their_queue(
    site: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread = replace(locate(str(site), Site(), timeout_s=5), servers=("rcss1",), striped=True, local=False)
    monkeypatch.setattr(planning, "locate", lambda *_, **__: spread)
    go(a_request())
    assert (desk.taken()[1]["prefer"], desk.taken()[1]["hosts"]) == (True, ["rcss1"])
    assert desk.taken()[1]["queue"] is None
