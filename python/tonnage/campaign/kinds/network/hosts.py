"""Which hosts the pairs are made of, once it is known where a run has processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tonnage.campaign.kinds.network.section import Network
from tonnage.errors import RequestError

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign


def on_hosts(campaign: Campaign, there: Callable[[], Sequence[str]]) -> Campaign:
    """The campaign with all hosts of the run for each network workload that names none, so that its manifest says
    which they were. RequestError where a pair has a host that is none of them. ``there`` is asked only if need be."""
    if not any(isinstance(workload, Network) for workload in campaign.workloads):
        return campaign
    hosts = tuple(there())
    workloads = tuple(
        _placed(workload, hosts) if isinstance(workload, Network) else workload for workload in campaign.workloads
    )
    return campaign.model_copy(update={"workloads": workloads})


def _placed(workload: Network, hosts: tuple[str, ...]) -> Network:
    if workload.hosts is None and isinstance(workload.pairs, str):
        try:
            workload = Network.model_validate({**workload.model_dump(), "hosts": (hosts,)})
        except ValidationError as error:
            raise RequestError(f"workload.pairs: {error.errors()[0]['msg']}") from None
    _check(workload, hosts)
    return workload


def _check(workload: Network, hosts: Sequence[str]) -> None:
    wanted = {host for setting in workload.settings() for pair in setting.ends for host in pair}
    if strange := sorted(wanted - set(hosts)):
        raise RequestError(
            f"workload.pairs: {strange[0]} is no host of this run, which has {', '.join(hosts)}; "
            "hint: start it on all hosts of the pairs, with mpiexec, srun or --on"
        )
