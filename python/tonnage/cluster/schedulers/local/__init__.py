"""The scheduler that needs no installation: this user's jobs on this host, within its CPUs.

``spool.py`` keeps them in one SQLite file, whose rows ``rows.py`` reads; ``spooler.py`` is the one process that starts
them; ``runner.py`` runs each copy; ``rows.py`` says whose turn it is.
"""

from tonnage.cluster.schedulers.local.scheduler import Local

__all__ = ["Local"]
