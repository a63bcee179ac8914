"""Placement by Darshan's logs: the same demand as of a run that measured the program, and its share of a line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from tonnage.cli import main
from tonnage.demand.job_use import Bounds
from tonnage.demand.profile import profile_of
from tonnage.errors import RequestError
from tonnage.importers.darshan_log import read_log
from tonnage.importers.darshan_use import use_of
from tonnage.placement.io_demand import demand_of_uses, demand_within
from tonnage.placement.job_logs import uses_in
from tonnage.placement.line_shares import shares_of
from tonnage.placement.server_load_lines import plateau_of
from tonnage.placement.site import Policy
from tonnage.placement.task_caps import at_once

from tests.importers.darshan_logs import log, needs_darshan, use
from tests.importers.test_darshan_damage import FIRST_PLACE, changed, place_of, used_places

pytestmark = needs_darshan
MIB = 1 << 20
SITE = """
[[server]]
name = "rcss1"
holds = ["{data}"]
hosts = ["rcss1"]
line = {{ tasks = 8, plateau = "{plateau}B/s" }}
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that the site file says rcss1 holds, with a line of 8 tasks."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    place = tmp_path / "data"
    place.mkdir()
    monkeypatch.chdir(place)
    stated(place, 10**9)
    return place


def stated(data: Path, plateau: int) -> None:
    (data / "tonnage.toml").write_text(SITE.format(data=data, plateau=plateau))


@pytest.mark.usefixtures("data")
def test_a_log_says_bytes_calls_rate_and_waiting() -> None:
    job = use("shared")
    found = demand_within(log("shared"), Policy())
    assert (found.bytes, found.operations) == (32 * MIB + 128 * 4096, 32 + 128)
    assert found.measured and found.bytes_per_s == pytest.approx(found.bytes / job.lasted_s, rel=1e-6)
    (place,) = job.file_systems
    busy_s = place.metadata.busy_s + sum(moved.busy_s for moved in place.transfers)
    assert found.io_share == pytest.approx(busy_s / job.lasted_s)
    assert found.io_share > 1, "four processes that write at once are more than one task"
    assert str(log("shared")) in found.source


def test_a_run_that_imported_logs_says_the_same_as_they(data: Path) -> None:
    run = data.parent / "run"
    assert main(["import", "darshan", str(log("shared")), "--out", str(run), "--no-report"]) == 0
    assert [one.file_systems for one in uses_in(run)] == [use("shared").file_systems]
    assert demand_within(run, Policy()).bytes == demand_within(log("shared"), Policy()).bytes


def test_a_program_whose_copies_were_measured_alone_asks_as_the_kernel_counted(data: Path) -> None:
    from tests.placement.test_profile import run_of

    (copy,) = uses_in(run_of(data.parent / "copies", {}, argv=["/bin/cat", "x"]))
    (place,) = copy.file_systems
    assert copy.program == "cat" and place.reads is not None and place.writes is not None
    assert (place.reads.bytes, place.writes.bytes) == (3000, 1000)
    assert place.reads.inside_s == place.writes.inside_s == Bounds(0.0, pytest.approx(0.8)), "all but its own code"
    assert "threads" in copy.problems[0]


def test_what_nothing_proves_of_a_command_is_0_at_least(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its bytes may be of /dev/zero, and its time may be sleep."""
    from tests.placement.test_profile import run_of

    run = run_of(data.parent / "copies", {}, {"read_call_bytes": 5000}, argv=["/bin/sleep", "1"])
    assert main(["demand", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for flow in told["profile"]["places"][0]["flows"]:
        for figure in ("bytes", "operations", "ranks", "at_once", "active_s", "job_bytes_per_s", "waiting"):
            assert flow[figure]["low"] == 0, (flow["operation"], figure)
        assert flow["rate_bytes_per_s"] is None and flow["transfer_size"] is None and flow["order"] == "not known"
    assert all(one["asked"]["low"] == 0 and one["share"]["low"] == 0 for one in told["load_lines"])
    assert main(["demand", str(run)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "read: It asks 0 – 0.80 tasks on average, 0 % – 10 % of the load line" in said, said
    assert "may be nothing" in said and "a job asks at most 1.6 tasks" in said and "at least 5 such jobs" in said


def test_the_share_of_the_line_is_said_for_each_direction(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rate = demand_within(log("shared"), Policy()).bytes_per_s
    assert rate is not None
    stated(data, 2 * rate)
    assert main(["demand", str(log("shared")), "--json"]) == 0
    told = {one["operation"]: one for one in json.loads(capsys.readouterr().out)["load_lines"]}
    waiting = use("shared").file_systems[0].writes.busy_s / use("shared").lasted_s  # type: ignore[union-attr]
    by_rate = 8 * 32 * MIB / use("shared").lasted_s / (2 * rate)
    assert told["write"]["asked"]["median"] == pytest.approx(max(waiting, by_rate), rel=1e-3)
    assert told["write"]["share"]["median"] == pytest.approx(max(waiting, by_rate) / 8, rel=1e-3)
    assert told["read"]["at_once"] == {"low": 1.0, "high": 4}


def test_the_answer_says_line_average_and_fullest_moment(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = data.parent / "page.html"
    assert main(["demand", str(log("own-dxt")), str(log("own")), "--out", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"write: It asks [\d.]+ \[[\d.]+, [\d.]+\] tasks on average, [\d.]+ % \[\d+ %, \d+ %\] of the load line", said
    ), said
    assert "8 tasks at 1 GB/s, stated in the site file" in said
    assert "calls are in progress" in said
    assert "HEATMAP" not in page.read_text() and "Over time" in page.read_text()


@pytest.mark.parametrize("words", [["nowhere.darshan"], ["."], ["--file-system", "/none", "{log}"]])
@pytest.mark.usefixtures("data")
def test_what_is_no_log_is_one_line(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    asked = [word.format(log=log("own")) for word in words]
    assert main(["demand", *asked]) == 2
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "hint:" in err, err


def test_logs_of_other_programs_are_no_profile(data: Path) -> None:
    text = data / "text.darshan"
    text.write_text("hello")
    with pytest.raises(RequestError):
        demand_within(text, Policy())
    cut = data / "cut.darshan"
    cut.write_bytes(log("own").read_bytes()[:900])
    with pytest.raises(RequestError, match="damaged or cut off"):
        demand_within(cut, Policy())


def test_a_damaged_log_asks_for_less_than_the_job_and_is_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = log("bursts").read_bytes()
    _, posix, _, _ = used_places(whole)
    damaged = data / "damaged.darshan"
    damaged.write_bytes(changed(whole, place_of(whole, posix)[0] + 30))
    assert main(["submit", "--dry-run", "--profile", str(damaged), "true"]) == 2
    said = capsys.readouterr().err
    assert "lacks records of POSIX" in said and said.count("\n") == 1
    assert main(["demand", str(damaged)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Records of POSIX are missing: the figures lack their calls, and are too low" in told
    assert "It asks at least " in told and "nothing says how much more it asks" in told and "fill the line;" not in told
    assert main(["demand", str(damaged), "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["load_lines"]
    assert lines and all(one["jobs_at_once"] is None and one["asked"]["high"] is None for one in lines)


def test_a_module_without_a_place_may_be_one_with_calls_and_has_the_log_refused(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = log("bursts").read_bytes()
    at = FIRST_PLACE + 16 * used_places(whole)[2]
    damaged = data / "damaged.darshan"
    damaged.write_bytes(whole[:at] + bytes(16) + whole[at + 16 :])
    assert main(["submit", "--dry-run", "--profile", str(damaged), "true"]) == 2
    assert "lacks records of a part that has no place" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
def test_a_full_table_of_darshan_lacks_the_files_that_came_later() -> None:
    job = replace(use("shared"), lacking=("POSIX",))
    with pytest.raises(RequestError, match="lacks records of POSIX"):
        demand_of_uses([job], "a log")
    partial = use_of(replace(read_log(log("shared").read_bytes()), partial=("POSIX", "LUSTRE")))
    assert partial.lacking == ("POSIX",), "what is not counted lacks nothing"


@pytest.mark.usefixtures("data")
def test_as_many_jobs_fill_a_line_as_submit_places_there() -> None:
    profile = profile_of([use("own"), use("own-dxt")])
    (share, *_) = shares_of([use("own"), use("own-dxt")], profile, profile.places[0].mount, ".", None)
    demand = demand_of_uses([use("own"), use("own-dxt")], "logs").against(plateau_of(share.line))
    assert share.in_all == demand.tasks and share.packed == at_once(demand, 8)


@pytest.mark.usefixtures("data")
def test_a_job_that_waits_in_opens_takes_as_much_of_a_line_as_submit_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = use("own")
    place = job.file_systems[0]
    slow = replace(place, metadata=replace(place.metadata, busy_s=4.5 * job.run_s))
    uses = [replace(job, file_systems=(slow,))]
    shares = shares_of(uses, profile_of(uses), place.mount, ".", None)
    assert all(share.in_all > 4 and share.packed == 1 for share in shares)
    assert main(["demand", str(log("own")), "--path", "."]) == 0
    assert "names" in capsys.readouterr().out, "of one log too"


@pytest.mark.usefixtures("data")
def test_a_campaign_is_written_again_and_one_that_somebody_changed_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "replay.toml"
    demand = ["demand", str(log("own")), "--campaign", str(file)]
    assert main(demand) == main(demand) == 0
    with file.open("a") as opened:
        opened.write("# mine\n")
    capsys.readouterr()
    assert main(demand) == 2
    assert file.read_text().endswith("# mine\n")
    assert f"{file} is there and is not the campaign that this would write" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
def test_one_log_given_again_is_no_second_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.darshan"
    copy.write_bytes(log("own").read_bytes())
    assert main(["demand", str(log("own")), str(copy), str(log("own-dxt")), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["profile"]["runs"] == 2
    assert said.err.splitlines() == [f"tonnage: note: {copy} tells of a run that was given before, which counts once"]


@pytest.mark.usefixtures("data")
def test_what_demand_prints_is_what_its_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "demand"]) == 0
    validator = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    for words in (
        [str(log("own"))],
        [str(log("own")), str(log("own-dxt"))],
        [str(log("own")), "--replayed", str(log("own"))],
    ):
        assert main(["demand", *words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        validator.validate(found)
        assert not validator.is_valid({**found, "forgotten": 1})
        ends = {found["profile"]["run_s"]["low"] is None, found["profile"]["places"][0]["files"]["low"] is None}
        assert ends == {len(words) != 2 or words[1] == "--replayed"}, "one run has no interval"
