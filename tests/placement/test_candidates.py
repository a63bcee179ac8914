"""Candidates: what the scheduler, the indices, the ledger and the site file say, each counted once."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any

import pytest
from tonnage.cluster.scheduler import ClusterHost, Job
from tonnage.placement.candidates import make_candidates, pressure
from tonnage.placement.choice import Candidate, decide
from tonnage.placement.cluster_snapshot import ClusterSnapshot, promised_tasks
from tonnage.placement.indices.reading import Reading
from tonnage.placement.site import Access, Policy, Server, Site
from tonnage.placement.submission_ledger import Entry
from tonnage.placement.task_caps import Demand
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine

NOW_S = 1_000_000.0
SERVER = Server(name="rcss1", hosts=("rcss1", "rcss1b"), aliases=("10.0.0.1",))
HOSTS = (
    ClusterHost(name="rcss1", up=True, slots=8, slots_used=3),
    ClusterHost(name="rcss1b", up=False, slots=4, reason="disk"),
    ClusterHost(name="c1", up=True, slots=2, slots_used=2),
    ClusterHost(name="c2", up=True, slots=2),
    ClusterHost(name="c3", up=False, slots=2),
)


def located(**given: Any) -> Located:
    plain = {"path": "/data", "mount": None, "target": "nfs:rcss1:/x", "servers": ("rcss1",)}
    return Located(**{**plain, **given})


def snapshot(**given: Any) -> ClusterSnapshot:
    return ClusterSnapshot(**{"now_s": NOW_S, "hosts": HOSTS, "jobs": (), **given})


def job(number: str = "1", **given: Any) -> Job:
    return Job(job=number, **{"server": "rcss1", "state": "running", "started_at_s": NOW_S - 30, **given})


def entry(key: str, age_s: float = 0.0, *, number: str | None = None, **intent: Any) -> Entry:
    return Entry(key=key, at_s=NOW_S - age_s, intent={"server": "rcss1", "tasks": 1, **intent}, job=number)


def first(around: ClusterSnapshot, *, server: Server = SERVER, site: Site | None = None) -> Candidate:
    return make_candidates(site or Site(server=(server,)), (server,), located(), around)[0]


def test_hosts_beside_the_server_come_first_then_the_freest_of_the_others() -> None:
    found = make_candidates(Site(), (SERVER,), located(), snapshot())
    assert [(one.host, one.near, one.problem) for one in found] == [
        ("rcss1", True, None),
        ("rcss1b", True, "it is down (disk)"),
        ("c2", False, None),
        ("c1", False, None),
    ]
    assert (found[0].slots, found[0].busy) == (8, 3)


def test_data_on_a_local_disk_has_no_candidate_elsewhere() -> None:
    found = make_candidates(Site(), (SERVER,), located(local=True), snapshot())
    assert {one.host for one in found} == {"rcss1", "rcss1b"}


def test_only_so_many_others_are_weighed() -> None:
    many = [ClusterHost(name=f"n{number:05}", up=True, slots=4, slots_used=number % 5) for number in range(10_000)]
    found = make_candidates(Site(), (SERVER,), located(), snapshot(hosts=(*HOSTS, *many)))
    far = [one for one in found if not one.near]
    assert len(far) == 64 and all(one.busy == 0 for one in far)


def test_a_host_is_known_by_its_first_name_too_and_asked_for_as_the_scheduler_spells_it() -> None:
    spelled = Server(name="rcss1", hosts=("RCSS1.site.example",))
    assert first(snapshot(), server=spelled).host == "rcss1"
    long = (ClusterHost(name="rcss1.site.example", up=True, slots=8),)
    assert first(snapshot(hosts=long)).host == "rcss1.site.example"


def test_a_host_that_the_scheduler_does_not_know_is_said_so() -> None:
    stranger = Server(name="nas", hosts=("nas7",))
    assert first(snapshot(), server=stranger).problem == "the scheduler does not know it"
    assert first(snapshot(), server=Server(name="nas")).problem == "the site file names no host beside it"
    assert first(snapshot(hosts=None), server=stranger).problem is None


def test_slots_that_the_site_lends_beside_a_server_bound_those_of_the_host() -> None:
    few = SERVER.model_copy(update={"slots": 4})
    found = first(snapshot(jobs=(job(), job("2"))), server=few)
    assert (found.slots, found.busy) == (4, 2)
    packed = (ClusterHost(name="rcss1", up=True, slots=8, slots_used=7),)
    found = first(snapshot(hosts=packed), server=few)
    assert (found.slots, found.busy) == (4, 3), "one slot of the host is free"
    found = first(snapshot(hosts=None, jobs=(job(),)), server=few)
    assert (found.slots, found.busy) == (4, 1)


def test_running_jobs_are_counted_and_waiting_ones_fade() -> None:
    jobs = (
        job("1"),
        job("2", started_at_s=NOW_S - 10),
        job("3", server="other"),
        job("4", state="pending", submitted_at_s=NOW_S - 60, count=3),
    )
    found = first(snapshot(jobs=jobs))
    assert (found.on_server, found.waiting) == (2, 3)
    assert found.placed == pytest.approx(3 * exp(-1))
    assert found.slot_s == pytest.approx(2 * (30 + 10) / 2)
    assert first(snapshot()).slot_s is None


def test_a_copy_counts_for_the_share_of_its_time_that_it_waits_for_storage() -> None:
    jobs = (job("1", key="k1"), job("2", key="k2"))
    found = first(snapshot(jobs=jobs, placements=(entry("k1", 30, number="1", io_share=0.25),)))
    assert found.on_server == pytest.approx(1.25)


def test_of_a_capped_array_only_those_wait_that_may_run() -> None:
    jobs = (
        *(job("7", copy=number, key="k1") for number in (1, 2)),
        job("7", state="pending", count=48, key="k1", submitted_at_s=NOW_S),
    )
    found = first(snapshot(jobs=jobs, placements=(entry("k1", number="7", tasks=3, cap=3),)))
    assert (found.on_server, found.waiting, found.placed) == (2, 1, 1)


def test_a_placement_counts_until_the_scheduler_shows_it_and_no_longer() -> None:
    on_its_way = entry("k1", 60, tasks=4)
    assert first(snapshot(placements=(on_its_way,))).placed == pytest.approx(4 * exp(-1))
    shown = snapshot(jobs=(job("9", key="k1"),), placements=(on_its_way._replace(job="9"),))
    assert (first(shown).on_server, first(shown).placed) == (1, 0)
    assert first(snapshot(placements=(on_its_way._replace(job="9"),))).placed == 0, "it ended: it is listed no more"
    unlisted = snapshot(jobs=None, placements=(on_its_way._replace(job="9"),))
    assert first(unlisted).placed == pytest.approx(4 * exp(-1)), "nobody can say that it ended"
    assert first(snapshot(placements=(on_its_way._replace(refused="no"),))).placed == 0


def test_a_scheduler_that_keeps_no_key_tells_by_its_number() -> None:
    shown = snapshot(jobs=(job("9", key=None, server=None),), placements=(entry("k1", number="9"),))
    assert (first(shown).on_server, first(shown).placed) == (1, 0)


def test_stated_links_come_before_measured_rates_and_those_before_the_defaults() -> None:
    policy = Policy()
    near, far = (make_candidates(Site(), (SERVER,), located(), snapshot())[at] for at in (0, 2))
    assert (near.bandwidth_bytes_per_s, near.latency_s) == (policy.near_bandwidth, policy.near_latency / 1e9)
    assert (far.bandwidth_bytes_per_s, far.latency_s) == (policy.far_bandwidth, policy.far_latency / 1e9)
    line = KeptLine(
        target="nfs:rcss1:/x",
        operation="read",
        access="sequential",
        transfer_size=1 << 20,
        tasks=8,
        low=8,
        high=8,
        plateau_bytes_per_s=10**9,
        single_bytes_per_s=3 * 10**8,
        measured_at_s=NOW_S,
        host="rcss1.site.example",
        run="/r",
    )
    measured = make_candidates(Site(), (SERVER,), located(), snapshot(measured=line))
    assert [one.bandwidth_bytes_per_s for one in measured[:3:2]] == [3e8, policy.far_bandwidth]
    stated = Site(access=(Access(hosts=("c*",), servers=("10.0.0.*",), bandwidth=5 * 10**6, latency=10**6),))
    slow = make_candidates(stated, (SERVER,), located(), snapshot(measured=line))
    assert [(one.bandwidth_bytes_per_s, one.latency_s) for one in slow[:3:2]] == [(3e8, 0.0), (5e6, 0.001)]


def reading(age_s: float = 0.0, **given: Any) -> Reading:
    return Reading(server="rcss1", source="proc", at_s=NOW_S - age_s, **given)


def test_pressure_is_the_fullest_of_what_is_known() -> None:
    policy = Policy()
    assert pressure(reading(ut_permille=250), policy, NOW_S, None) == 0.25
    assert pressure(reading(ut_permille=250, bio_bytes_per_s=600), policy, NOW_S, 1000) == 0.6
    assert pressure(reading(ut_permille=250, pressure_permille=900), policy, NOW_S, None) == 0.9
    assert pressure(reading(bio_bytes_per_s=600, pressure_permille=900), policy, NOW_S, 1000) == 0.6
    assert pressure(reading(bio_bytes_per_s=5000), policy, NOW_S, 1000) == 1.0
    assert pressure(reading(), policy, NOW_S, None) is None


def test_a_stale_index_is_not_trusted() -> None:
    policy = Policy()
    assert pressure(reading(29.0, ut_permille=900), policy, NOW_S, None) == 0.9
    assert pressure(reading(31.0, ut_permille=900), policy, NOW_S, None) is None
    assert pressure(None, policy, NOW_S, None) is None


def test_what_others_were_promised_is_what_runs_and_what_their_caps_leave() -> None:
    jobs = (
        job("1"),
        *(job("7", copy=number, key="k1") for number in (1, 2)),
        job("7", state="pending", count=40, key="k1"),
        *(job("8", copy=number, key="foreign") for number in (1, 2, 3)),
        job("8", state="pending", count=40, key="foreign"),
        job("9", server="other"),
    )
    entries = (entry("k1", tasks=5, cap=5, io_share=0.5),)
    found = promised_tasks({"rcss1"}, snapshot(jobs=jobs, placements=entries))
    assert found == {"rcss1": pytest.approx(1 + 5 * 0.5 + 3)}
    assert promised_tasks({"rcss1"}, snapshot(jobs=None, placements=entries)) == {}
    known = (entry("k1", tasks=5, cap=5, io_share=0.5, asks=4.0),)
    assert promised_tasks({"rcss1"}, snapshot(jobs=jobs, placements=known)) == {"rcss1": pytest.approx(1 + 5 * 4 + 3)}
    # Openlava keeps no server with a job: the ledger has it.
    kept = (job("7", key="k1", server=None), *jobs[3:4])
    assert promised_tasks({"rcss1", "other"}, snapshot(jobs=kept, placements=entries)) == {"rcss1": 2.5}


def test_servers_over_which_the_data_is_spread_carry_their_load_together() -> None:
    pair = (Server(name="oss1", hosts=("c1",)), Server(name="oss2", hosts=("c2",)))
    jobs = (job("1", server="oss1"), job("2", server="oss1"), job("3", server="oss2"))
    around = snapshot(jobs=jobs, lines={"oss1": 8.0, "oss2": 8.0})
    apart = make_candidates(Site(), pair, located(), around)
    assert [one.on_server for one in apart if one.near] == [2, 1]
    spread = make_candidates(Site(), pair, located(striped=True), around)
    assert [one.on_server for one in spread if one.near] == [3, 3]


def test_a_burst_that_only_the_ledger_has_seen_is_shared_by_what_each_server_carries() -> None:
    lines = {f"s{number:02}": float(line) for number, line in enumerate((4, 8, 16, 32) * 3)}
    servers = tuple(Server(name=name, hosts=(name,)) for name in lines)
    hosts = tuple(ClusterHost(name=name, up=True, slots=4096) for name in lines)
    copies = located(servers=tuple(lines))
    running = [job(f"{name}-{at}", server=name) for at, name in enumerate(lines) for _ in range(at)]
    got = dict.fromkeys(lines, 0)
    placed: list[Entry] = []
    for number in range(1000):
        now_s = NOW_S + 0.02 * number
        around = snapshot(now_s=now_s, hosts=hosts, jobs=running, placements=placed, lines=lines)
        candidates = make_candidates(Site(), servers, copies, around)
        chosen = decide(Demand(bytes=10**9, operations=0), candidates, located=copies, policy=Policy()).server
        assert chosen is not None
        got[chosen] += 1
        placed.append(Entry(key=f"k{number}", at_s=now_s, intent={"server": chosen, "tasks": 1}))
    whole = 1000 + len(running)
    for at, (name, line) in enumerate(lines.items()):
        fair = whole * line / sum(lines.values()) - at
        assert got[name] <= fair * 1.1 + 1, (name, fair, got)


def test_a_host_takes_jobs_of_its_queues_alone() -> None:
    def of(queue: str | None, server: Server = SERVER) -> list[tuple[str, str | None]]:
        hosts = (
            ClusterHost(name="rcss1", up=True, slots=8, queues=("storage",)),
            ClusterHost(name="rcss1b", up=True, slots=8, queues=None),
            ClusterHost(name="c1", up=True, slots=8, queues=("short", "long")),
            ClusterHost(name="c2", up=True, slots=4, queues=("long",)),
        )
        found = make_candidates(Site(), (server,), located(), snapshot(hosts=hosts), queue=queue)
        return [(one.host, one.problem) for one in found]

    free = [("rcss1", None), ("rcss1b", None)]
    assert of(None) == [*free, ("c1", None), ("c2", None)]
    assert of("storage") == free
    assert of("short") == [("rcss1", "it is not in queue short"), ("rcss1b", None), ("c1", None)]
    assert of(None, SERVER.model_copy(update={"queue": "long"}))[0] == ("rcss1", "it is not in queue long")
    assert of("hidden") == of(None), "of a queue that it does not list the scheduler alone knows the hosts"


def test_a_job_that_nobody_placed_uses_the_server_beside_which_it_runs() -> None:
    beside = job("5", key=None, server=None, hosts=("rcss1.site.example",))
    assert first(snapshot(jobs=(beside,))).on_server == 1
    assert first(snapshot(jobs=(replace(beside, hosts=("node7",)),))).on_server == 0
