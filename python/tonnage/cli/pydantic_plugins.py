"""pydantic looks for no plug-ins in a command."""

from __future__ import annotations

import sys
from types import ModuleType


def find_none() -> None:
    """Call before pydantic is imported: looking for plug-ins that we do not have takes it a fifth of the whole start.

    Its own variable for that would be in the environment of every program that a command starts for its user.
    """
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)
