"""An automount that stayed one: looking at it mounts it, unless its server or its map does not."""

from __future__ import annotations

from tonnage.placement.where.place import Answer, Place


def resolve(place: Place) -> Answer:
    """Nobody: what would be mounted is known to the automounter alone."""
    return Answer(
        problem=f"nothing is mounted at {place.path} yet: the automounter ({place.mount.device}) has no answer; "
        "hint: ask for a path below it, or see the automounter's log"
    )
