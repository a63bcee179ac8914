"""The scheduler that needs no installation: this user's jobs on this host, within its CPUs.

``spool.py`` says what is kept; ``spooler.py`` runs the jobs; ``turn.py`` says whose turn it is.
"""

from tonnage.cluster.schedulers.local.scheduler import Local

__all__ = ["Local"]
