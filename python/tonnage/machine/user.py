"""Who this process is."""

from __future__ import annotations

import os
import pwd


def knows_user(name: str) -> bool:
    """Whether this host knows a user of this name, or number."""
    try:
        pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError, ValueError):
        return False
    return True


def user_name() -> str:
    """The name of the user that this process acts as; the number where it has no name, as in some containers."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
