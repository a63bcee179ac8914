"""Who this process is."""

from __future__ import annotations

import os
import pwd


def user_name() -> str:
    """The name of the user that this process acts as; the number where it has no name, as in some containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
