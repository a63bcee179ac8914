"""The scheduler that a command asks: the one that was typed, else the site's."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tonnage.cluster.scheduler import Scheduler
from tonnage.cluster.schedulers import scheduler_here
from tonnage.placement.site import load_site


def asked_scheduler(arguments: Namespace) -> Scheduler:
    """By ``--scheduler`` and ``--site``. RequestError where the site file is wrong, or this host has none of it."""
    site = load_site(Path(), Path(arguments.site) if arguments.site else None)
    return scheduler_here(arguments.scheduler or site.scheduler, timeout_s=site.policy.scheduler_timeout / 1e9)
