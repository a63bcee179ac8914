"""A scheduler. A real one has a file such as ``tonnage/cluster/schedulers/pbs.py``, which asks the site's tools."""

from __future__ import annotations

import os

from tonnage.cluster.schedulers.local import Local


class Shell(Local):
    """The local scheduler under another name: ``EXAMPLE_SITE=1 tonnage submit --scheduler shell COMMAND``. Without the
    variable it is not set up."""

    name = "shell"

    def present(self) -> bool:
        """Whether its tools are here; then ``auto`` takes it before the local one."""
        return "EXAMPLE_SITE" in os.environ
