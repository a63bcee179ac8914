"""An automount point that did not mount: accessing it mounts it, unless its server or its map fails."""

from __future__ import annotations

from tonnage.filesystems.servers import Answer, ObservedPath


def served_by(observed: ObservedPath) -> Answer:
    """No server: only the automounter knows what it would mount."""
    return Answer(
        problem=f"nothing is mounted at {observed.path} yet: the automounter ({observed.mount.device}) has no answer; "
        "hint: ask for a path below it, or see the automounter's log"
    )
