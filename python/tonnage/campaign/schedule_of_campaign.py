"""Which schedule a campaign has: a sweep over its settings, or a search."""

from __future__ import annotations

from pathlib import Path

from tonnage.campaign.kinds.stream import StreamSetting
from tonnage.campaign.model import Campaign
from tonnage.campaign.plan import Plan
from tonnage.campaign.schedule import Schedule, Sweep
from tonnage.campaign.search_bounds import space_of
from tonnage.machine.mounts import mount_of
from tonnage.records.line_types import Json, Manifest


def schedule_of(campaign: Campaign, plan: Plan, seed: int, out: Path) -> tuple[Schedule, StreamSetting | None]:
    """The schedule, and the write that tells it how fast the storage is, where it wants one."""
    if campaign.accelerators is not None:
        from tonnage.campaign.number_probe import accelerator_probe

        return accelerator_probe(campaign, seed), None
    if campaign.users is not None:
        from tonnage.campaign.number_probe import user_probe

        return user_probe(campaign, seed), None
    if campaign.search is None:
        return Sweep(campaign, seed), None
    from tonnage.campaign.probe import Probe
    from tonnage.campaign.surface_probe import SurfaceProbe

    target = plan.target
    mount = mount_of(target.path) if target.path else None
    device = target.path is not None and not (mount and mount.memory_backed)
    kind = Probe if campaign.search.surface is None else SurfaceProbe
    probe = kind(campaign, seed, space_of(campaign, plan, out), device=device)
    return probe, probe.pilot() if device or "read" in campaign.search.op[:1] else None


def answer_basis(campaign: Campaign) -> Manifest:
    """What the answer of a search for accelerators, or users, rests on; nothing of another run."""
    if campaign.users is not None:
        return {"users": {**campaign.users.model_dump(mode="json"), "scale": campaign.scale}}
    if campaign.accelerators is None:
        return {}
    from tonnage.campaign.kinds.number_searches import objective_of

    utilisation = objective_of(campaign.accelerators, campaign.workloads[0])
    search: Json = {
        **campaign.accelerators.model_dump(mode="json"),
        "utilisation": utilisation,
        "scale": campaign.scale,
    }
    return {"accelerators": search}
