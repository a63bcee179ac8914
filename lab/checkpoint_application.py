"""Writes checkpoints until it is killed: ``python -I -S checkpoint_application.py DIR SEED LEDGER``.

After each file is closed, or has its last name, a line of ``LEDGER`` says so: those files are whole, and may not be
lost.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

STEPS = 12


def body(seed: int, size: int) -> bytes:
    """The bytes of a file, told by its seed alone; half a million are drawn in a millisecond."""
    return random.Random(seed).randbytes(size)


def main() -> None:
    root, seed, ledger = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    rng = random.Random(seed)
    said = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for step in range(STEPS):
        directory = root / f"step-{step % 4}" / "deep"[: rng.choice((0, 4))]
        directory.mkdir(parents=True, exist_ok=True)
        name, size, own = directory / f"rank-{step}.ckpt", rng.choice((0, 4000, 300_000)), rng.getrandbits(40)
        begun = name.with_suffix(".tmp") if rng.random() < 0.5 else name
        data = body(own, size)
        with begun.open("wb", buffering=0) as out:
            for at in range(0, size, 50_000):
                out.write(data[at : at + 50_000])
        begun.rename(name)
        if rng.random() < 0.3:
            os.link(name, root / f"latest-{step}")
        if rng.random() < 0.3:
            (root / f"link-{step}").symlink_to(name.relative_to(root))
        os.write(said, f"{name.relative_to(root)} {own} {size}\n".encode())


if __name__ == "__main__":
    main()
