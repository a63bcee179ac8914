"""overlayfs: the data is in one of its layers, and those are somewhere in turn."""

from __future__ import annotations

import os
from dataclasses import replace

from tonnage.filesystems.servers import Answer, ObservedPath
from tonnage.machine.time_limit import in_time


def served_by(observed: ObservedPath) -> Answer:
    """The highest layer that has the path, the upper one for new paths; the servers of that layer hold this path."""
    upper = observed.mount.option("upperdir")
    layers = [layer for layer in (upper, *_lower(observed)) if layer and layer.startswith("/")]
    if not layers:
        return Answer(problem=f"{observed.mount.mount_point} does not say its layers; {_hint(observed)}")
    rest = os.path.relpath(observed.path, observed.mount.mount_point)
    try:
        # A process in a container sees the names of its layers, but not the layers.
        there = in_time(
            lambda: [[os.path.lexists(at), os.path.lexists(f"{at}/{rest}")] for at in layers],
            timeout_s=observed.timeout_s,
        )
    except OSError:
        there = [[False, False]] * len(layers)
    seen = [layer for layer, (is_there, _) in zip(layers, there, strict=True) if is_there]
    has = [layer for layer, (_, has_it) in zip(layers, there, strict=True) if has_it]
    if not seen:
        return Answer(
            problem=f"the layers of {observed.mount.mount_point} are not to be seen from here; {_hint(observed)}"
        )
    layer = (has or seen)[0]
    below = observed.below(f"{layer}/{rest}" if has else layer)
    return replace(below, how=(f"mountinfo: overlay, its layer {layer}", *below.how))


def _lower(observed: ObservedPath) -> list[str]:
    """Newer kernels print one ``lowerdir+=`` a layer, older ones all of them between colons."""
    found = []
    for option in observed.mount.options.split(","):
        key, _, value = option.partition("=")
        if key == "lowerdir":
            found += value.replace("\\:", "\0").split(":")
        elif key in ("lowerdir+", "datadir+"):
            found.append(value)
    return [layer.replace("\0", ":") for layer in found if layer]


def _hint(observed: ObservedPath) -> str:
    return (
        f'hint: ask outside the container, or give the server holds = ["{observed.mount.mount_point}"] in tonnage.toml'
    )
