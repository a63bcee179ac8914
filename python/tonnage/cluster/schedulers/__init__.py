"""The schedulers there are, by name; each is imported when it is asked for. Other packages add some
(:mod:`tonnage.plugins`)."""

from __future__ import annotations

from importlib import import_module

from tonnage import plugins
from tonnage.cluster.scheduler import Scheduler
from tonnage.errors import RequestError

_SCHEDULERS = {
    "slurm": "tonnage.cluster.schedulers.slurm:Slurm",
    "lsf": "tonnage.cluster.schedulers.lsf:Lsf",
    "pbs": "tonnage.cluster.schedulers.pbs:Pbs",
    "flux": "tonnage.cluster.schedulers.flux:Flux",
    "local": "tonnage.cluster.schedulers.local:Local",
}
"""In the order in which ``auto`` looks for one that is installed; those of plug-ins come before the local one, which
always is."""


def scheduler(name: str = "auto", *, timeout_s: float = 10.0) -> Scheduler:
    """The scheduler of that name; ``auto``: the first whose tools are installed. RequestError if there is none.

    ``timeout_s``: how long one of its tools may take to answer.
    """
    if name == "auto":
        here = [known for known in _SCHEDULERS if known != "local"]
        added_names = plugins.names(plugins.SCHEDULERS)
        every = (scheduler(known, timeout_s=timeout_s) for known in (*here, *added_names, "local"))
        return next(one for one in every if one.present())
    if name not in _SCHEDULERS:
        added = plugins.load(plugins.SCHEDULERS, name)
        if added is None:
            names = ", ".join(plugins.all_names(plugins.SCHEDULERS))
            raise RequestError(f"there is no scheduler {name!r}; hint: they are {names}")
        from tonnage.cluster.schedulers.plug_in import guarded  # only plug-ins need it

        return guarded(name, plugins.call(plugins.SCHEDULERS, name, lambda: added(timeout_s=timeout_s)))
    module, _, kind = _SCHEDULERS[name].partition(":")
    found: Scheduler = getattr(import_module(module), kind)(timeout_s=timeout_s)
    return found


def scheduler_here(name: str = "auto", *, timeout_s: float = 10.0) -> Scheduler:
    """As ``scheduler``; RequestError where this host has none of it: its tools are missing, or told of no site."""
    found = scheduler(name, timeout_s=timeout_s)
    if name != "auto" and not found.present():
        raise RequestError(f"{found.name} is not set up on this host; hint: set its environment, or name another")
    return found
