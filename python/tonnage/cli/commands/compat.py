"""``tonnage compat install``: the originals' names, for scripts that call them."""

from __future__ import annotations

from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.install import how_to_use, install

    for file in install(arguments.directory):
        print(file)
    print(how_to_use(arguments.directory))
    return 0
