"""Brings one task of each kind of trial to the start line before a run: what a storage refuses, it refuses then."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from tonnage.campaign.execute import executor_of
from tonnage.campaign.kinds.kind import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.scratch import RunScratch
from tonnage.campaign.target import Target
from tonnage.cluster.launcher import Ensemble, Launcher
from tonnage.errors import RequestError

_ADVISING = frozenset({"use", "give", "leave", "make", "see", "try", "check", "take", "name", "ask", "remove"})
"""What advice of the engine begins with."""


def try_out(campaign: Campaign, target: Target, scratch: RunScratch, start: Launcher) -> None:
    """Brings one task of each kind to the start line and drops it: what a storage refuses, it refuses now, not after an
    hour. RequestError says what.

    Of named files only what the run begins with is tried: the rest may read what that is to write.
    """
    opened: list[Ensemble] = []
    try:
        _try_each(campaign, target, scratch, start, opened)
    except RequestError:
        # What a setting before it made ready goes again; a scratch directory goes as a whole.
        for ensemble in opened if not target.paths else []:
            with suppress(OSError, ValueError):
                ensemble.finish()
        raise


def _try_each(campaign: Campaign, target: Target, scratch: RunScratch, start: Launcher, opened: list[Ensemble]) -> None:
    tried: set[str] = set()
    for setting in campaign.settings()[: 1 if target.names else None]:
        executor = executor_of(setting)
        spec = executor.first_phase(setting, target) if target.names else executor.try_out(setting, target)
        opening = setting.opening if target.scheme == "path" else {}
        key = f"{setting.storage} {setting.direct} {setting.devices} {setting.device} {json.dumps([spec, opening])}"
        if spec is None or key in tried:
            continue
        tried.add(key)
        place = target.spec(
            setting.storage,
            setting.direct,
            scratch.directories,
            0,
            devices=setting.devices,
            device=setting.device,
            run_id=scratch.run_id,
        )
        try:
            target_spec: Any = {**place, **opening}
            opened.append(start.open(target_spec, None))
            phase_spec: Any = spec
            opened[-1].prepare(phase_spec)
        except (ValueError, MemoryError) as error:
            what, hint = _advised(str(error), target, setting)
            raise RequestError(f"{target.name} refuses this: {what}; hint: {hint}") from None
        except OSError as error:
            hint = "give a user with rights on it, or another pool" if target.pool else "give another directory"
            raise RequestError(f"{target.name} refuses this: {error.strerror}; hint: {hint}") from None


def _advised(message: str, target: Target, setting: Setting) -> tuple[str, str]:
    """Splits an engine's message from its advice: ``…; use another pool or means``. Ours where it has none."""
    what, _, advice = message.rpartition("; ")
    if what and advice.partition(" ")[0] in _ADVISING:
        return what, advice
    if getattr(setting, "snapshot", "none") == "none":
        return message, "change what it names"
    means = "use other means of snapshots, or none"
    return message, f"give a user with rights to take them, or {means}" if target.pool else means
