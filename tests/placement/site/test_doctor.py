"""The doctor: each thing that is wrong is one line with its place; what is right is not told of."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.cluster.scheduler import ClusterHost, Queue, SchedulerError
from tonnage.machine.mounts import Mount
from tonnage.placement.doctor import Complaint
from tonnage.placement.doctor import site_facts as world
from tonnage.placement.doctor.site_checks import CHECKS, examine
from tonnage.placement.doctor.site_facts import Cluster, Refused, SiteFacts, gather_site_facts
from tonnage.placement.indices.reading import Reading
from tonnage.placement.site import read_site
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine

NOW_S = 1.8e9
SITE = """\
scheduler = "slurm"
[[server]]
name = "rcss1"
aliases = ["10.0.0.5"]
hosts = ["io1", "io2"]
queue = "storage"
slots = 8
licence = "rcss1_io"
indices = "http://10.0.0.5:9100/metrics"
[[access]]
servers = ["rcss*"]
hosts = ["far*", "io1"]
bandwidth = "1GB/s"
"""
LINE = KeptLine(
    target="nfs:rcss1:/export", operation="read", access="sequential", transfer_size=1 << 20, tasks=8, low=7, high=9,
    plateau_bytes_per_s=10**9, single_bytes_per_s=2 * 10**8, measured_at_s=NOW_S - 86400, host="here", run="/runs/1",
    kernel="6.1", servers=("10.0.0.5",),
)  # fmt: skip


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def well(project: Path) -> Callable[..., SiteFacts]:
    """A world in which everything is as the site file says, but for what a test changes."""

    def make(text: str = SITE, **changes: Any) -> SiteFacts:
        (project / "tonnage.toml").write_text(text, encoding="utf-8")
        hosts = {name: ClusterHost(name=name, up=True, slots=4) for name in ("io1", "io2", "far1")}
        cluster = Cluster(
            name="slurm",
            hosts=hosts,
            queues={"storage": Queue(name="storage", hosts=("io1", "io2")), "all": Queue(name="all")},
            licences={"rcss1_io": 8},
        )
        reading = Reading(server="rcss1", source="node_exporter", at_s=NOW_S, clock_ahead_s=0.1)
        found = SiteFacts(
            loaded=read_site(project), cluster=cluster, addresses={"rcss1": (), "10.0.0.5": ("10.0.0.5",)},
            readings={"rcss1": reading}, mounted=(), mounts_left=0, lines=(LINE,), line_problems=(),
            shared_lines=None, refused=None, now_s=NOW_S, host="here", kernel="6.1",
        )  # fmt: skip
        return replace(found, **changes)

    return make


def lines_of(found: SiteFacts) -> list[str]:
    """Each line without its hint, which every one has."""
    lines = [str(complaint).replace(str(found.loaded.sources[0].path), "tonnage.toml") for complaint in examine(found)]
    assert all("; hint: " in line and "\n" not in line for line in lines)
    return [line.partition("; hint: ")[0] for line in lines]


def test_of_a_site_that_is_as_its_file_says_there_is_nothing_to_tell(well: Callable[..., SiteFacts]) -> None:
    assert lines_of(well()) == []


def test_a_directory_that_submit_takes_no_job_from_is_wrong_and_the_hint_names_whose_data_it_is(
    well: Callable[..., SiteFacts],
) -> None:
    refused = Refused(path="/data", why="no host beside io9 takes the job", servers=("io9",), own_disk=False)
    (complaint,) = examine(well(refused=refused))
    assert str(complaint).startswith("`submit` takes no job from /data: no host beside io9 takes the job; hint: add [[")
    assert complaint.wrong and 'name = "io9"' in complaint.hint
    (complaint,) = examine(well(refused=replace(refused, own_disk=True)))
    assert complaint.wrong and complaint.hint.startswith("cd to the data of ") and 'name = "io9"' in complaint.hint
    known = well().site.server[0].name
    (complaint,) = examine(well(refused=replace(refused, servers=(known,), known=True)))
    assert complaint.wrong and complaint.hint.startswith(f"bring a host beside {known} back, or add one to its hosts (")
    (complaint,) = examine(well(refused=replace(refused, why="no permission", hint="cd to another directory")))
    assert complaint.wrong and complaint.hint == "cd to another directory"


def test_hosts_queues_and_licences_that_the_scheduler_does_not_know_are_named(well: Callable[..., SiteFacts]) -> None:
    cluster = replace(
        well().cluster,
        hosts={
            "io11": ClusterHost(name="io11", up=True, slots=4),
            "io2": ClusterHost(name="io2", up=False, slots=9, reason="DRAINED: disk"),
        },
        queues={"store": Queue(name="store")},
        licences={"other": 1},
    )  # fmt: skip
    assert lines_of(well(cluster=cluster)) == [
        "tonnage.toml:5: slurm knows no host 'io1', which is said to be beside rcss1",
        "tonnage.toml:5: io2, beside rcss1, takes no jobs (DRAINED: disk)",
        "tonnage.toml:6: slurm has no queue 'storage'",
        "tonnage.toml:8: slurm has no licence 'rcss1_io'",
        "tonnage.toml:10: 'far*' among the hosts of [[access]] matches none",
        "tonnage.toml:10: 'io1' among the hosts of [[access]] matches none",
    ]
    assert [complaint.hint for complaint in examine(well(cluster=cluster))][::2] == [
        "did you mean 'io11'?",
        "did you mean 'store'?",
        "leave the entry out",
    ]


def test_a_queue_that_is_closed_or_elsewhere_and_too_many_slots_are_told(well: Callable[..., SiteFacts]) -> None:
    cluster = replace(well().cluster, queues={"storage": Queue(name="storage", open=False, hosts=("far1",))})
    assert lines_of(well(SITE.replace("slots = 8", "slots = 9"), cluster=cluster)) == [
        "tonnage.toml:6: the queue storage takes no jobs",
        "tonnage.toml:6: the queue storage has none of the hosts beside rcss1 (io1, io2)",
        "tonnage.toml:7: 9 slots are said to be beside rcss1, and its hosts have 8",
    ]  # fmt: skip


def test_a_scheduler_that_does_not_answer_is_one_line_with_its_own_words(well: Callable[..., SiteFacts]) -> None:
    cluster = Cluster(name="slurm", problem="slurm_load_partitions: Unable to contact slurm controller")
    assert lines_of(well(cluster=cluster)) == [
        "tonnage.toml:1: the scheduler tells nothing: slurm_load_partitions: Unable to contact slurm controller"
    ]


def test_names_that_nobody_knows_or_that_are_one_are_told(well: Callable[..., SiteFacts]) -> None:
    text = f'{SITE}[[server]]\nname = "b"\nhosts = ["io1"]\nindices = "proc:"\n'
    readings = {name: replace(well().readings["rcss1"], server=name) for name in ("rcss1", "b")}
    nobody = {"rcss1": ("10.0.0.5",), "10.0.0.5": ("10.0.0.5",), "b": ()}
    assert lines_of(well(text, readings=readings, addresses=nobody)) == [
        "tonnage.toml:15: this host knows no address of b"
    ]
    assert lines_of(well(text + 'holds = ["/b"]\n', readings=readings, addresses=nobody)) == []
    assert lines_of(well(text, readings=readings, addresses={**nobody, "b": ("10.0.0.5",)})) == [
        "tonnage.toml:15: b and rcss1 have one address, 10.0.0.5"
    ]
    assert "the name service did not answer" in lines_of(well(addresses=None))[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"problem": "connection refused"}, "9: the indices of rcss1 cannot be read: connection refused"),
        ({"at_s": NOW_S - 31}, "9: the indices of rcss1 are 31 s old"),
        ({"clock_ahead_s": -7.25}, "9: the clock of rcss1 is 7.2 s behind this host's"),
        ({"clock_ahead_s": 2.1}, "9: the clock of rcss1 is 2.1 s ahead of this host's"),
    ],
)  # fmt: skip
def test_indices_that_are_silent_stale_or_of_another_time_are_told(
    well: Callable[..., SiteFacts], changes: dict[str, Any], said: str
) -> None:
    (line,) = lines_of(well(readings={"rcss1": replace(well().readings["rcss1"], **changes)}))
    assert line.startswith(f"tonnage.toml:{said}")


def test_a_server_without_indices_and_one_without_hosts_are_only_noted(well: Callable[..., SiteFacts]) -> None:
    text = 'scheduler = "slurm"\n[[server]]\nname = "rcss1"\naliases = ["10.0.0.5"]\n'
    assert lines_of(well(text, readings={}, lines=())) == [
        "tonnage.toml:3: note: rcss1 has no hosts beside it: jobs only keep to its load",
        "tonnage.toml:3: note: nobody says how busy rcss1 is",
    ]  # fmt: skip


def test_mounts_of_servers_that_the_file_does_not_know_are_noted(well: Callable[..., SiteFacts]) -> None:
    def of(place: str, *servers: str, problem: str | None = None) -> tuple[Mount, Located]:
        mount = Mount(place, "nfs4", f"{place[1:]}:/export", "rw")
        located = Located(path=place, real_path=place, mount=mount, target="t", servers=servers, problem=problem)
        return mount, located

    mounted = (of("/known", "10.0.0.5"), of("/new", "nas7"), of("/odd", problem="the tool is missing"))
    assert lines_of(well(mounts_left=3))[0].startswith("note: 3 more mounts were not looked at")
    assert lines_of(well(mounted=mounted)) == [
        "note: /new (nfs4) is served by nas7, of which the site file says nothing",
        "note: nobody says who serves /odd (nfs4): the tool is missing",
    ]


def test_old_lines_and_those_of_another_kernel_are_noted_unless_there_is_a_newer_one(
    well: Callable[..., SiteFacts],
) -> None:
    old = replace(LINE, measured_at_s=NOW_S - 100 * 86400)
    other = replace(LINE, kernel="5.10")
    assert lines_of(well(lines=(old,))) == [
        "note: the load line of nfs:rcss1:/export (read, sequential) was measured 100 days ago"
    ]
    assert "was measured under kernel 5.10, and 6.1 runs now" in lines_of(well(lines=(other,)))[0]
    assert lines_of(well(lines=(replace(other, host="elsewhere"),))) == []
    assert lines_of(well(lines=(LINE, old, replace(other, measured_at_s=NOW_S - 2 * 86400)))) == []


def test_more_slots_or_licences_than_the_load_line_carries_and_a_stated_line_that_is_not_so_are_told(
    well: Callable[..., SiteFacts],
) -> None:
    cluster = replace(well().cluster, licences={"rcss1_io": 12})
    assert lines_of(well(cluster=cluster)) == [
        "tonnage.toml:8: 12 jobs may hold the licence rcss1_io, and rcss1 carries 8 [7, 9] tasks"
    ]
    hosts = {name: ClusterHost(name=name, up=True, slots=16) for name in ("io1", "io2", "far1")}
    # The licence is what holds jobs back then, not the slots.
    held = replace(cluster, hosts=hosts, licences={"rcss1_io": 9})
    assert lines_of(well(SITE.replace("slots = 8", "slots = 20"), cluster=held)) == []
    without = SITE.replace('licence = "rcss1_io"\n', "line = { tasks = 20 }\n").replace("slots = 8", "slots = 10")
    assert lines_of(well(without, cluster=replace(cluster, hosts=hosts))) == [
        "tonnage.toml:8: the load line of rcss1 is stated as 20, and was measured as 8 [7, 9]",
        "tonnage.toml:7: 10 jobs may run beside rcss1 at once, and it carries 8 [7, 9] tasks",
    ]


def test_what_is_wrong_comes_before_what_is_only_noted() -> None:
    assert len(CHECKS) > 10
    assert str(Complaint(code="c", what="w", hint="h", wrong=False)) == "note: w; hint: h"


class _Silent:
    name = "slurm"

    def present(self) -> bool:
        return True

    def hosts(self) -> list[ClusterHost]:
        raise SchedulerError("sinfo did not answer within 10 s")


def test_a_look_at_a_world_where_nobody_answers_ends_and_says_so(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens: who calls is refused
        port = taken.getsockname()[1]
        (project / "tonnage.toml").write_text(
            f'[[server]]\nname = "127.0.0.1"\nhosts = ["io1"]\nindices = "http://127.0.0.1:{port}/metrics"\n',
            encoding="utf-8",
        )
        monkeypatch.setattr(world, "scheduler_here", lambda *_, **__: _Silent())
        found = gather_site_facts(read_site(project))
        codes = {complaint.code for complaint in examine(found) if complaint.wrong}
        assert codes == {"scheduler-silent", "indices-silent"}
        assert main(["doctor", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["well"] is False and value["files"] == [str(project / "tonnage.toml")]
    assert {complaint["code"] for complaint in value["complaints"] if complaint["wrong"]} == codes


def test_a_file_that_does_not_parse_is_a_wrong_request(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tonnage.toml").write_text("[[servr]]\n", encoding="utf-8")
    assert main(["doctor"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "tonnage.toml:1: unknown key 'servr'; hint: did you mean 'server'?" in said.err
