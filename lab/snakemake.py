"""Snakemake, the real one, in a virtual environment of its own: its dependencies are none of the project's.

``program()`` gives the path of a ``snakemake`` that runs; the user's own, where there is one. ``python
lab/snakemake.py`` prepares it and prints that path. The environment stays in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from impossible import Impossible

VERSION = "9.27.1"
PATIENCE_S = 240.0
_SINCE = (3, 11)
"""Of Python."""


def program() -> Path:
    """A ``snakemake`` that runs; prepared the first time. Impossible with what is missing."""
    if own := shutil.which("snakemake"):
        return Path(own)
    if sys.version_info < _SINCE:
        raise Impossible(f"Snakemake {VERSION} needs Python {_SINCE[0]}.{_SINCE[1]} or newer")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tonnage-lab" / f"snakemake-{VERSION}"
    # Made last: what was interrupted before is begun anew.
    ready = home / "ready"
    if not ready.exists():
        _run("venv", sys.executable, "-m", "venv", "--clear", str(home))
        pip = (str(home / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _run("pip", *pip, f"snakemake=={VERSION}")
        ready.touch()
    return home / "bin" / "snakemake"


def _run(what: str, *argv: str) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise Impossible(f"{what} did not bring Snakemake {VERSION} within {PATIENCE_S:.0f} s") from None
    if done.returncode:
        last = (done.stderr.strip() or "it did not say why").splitlines()[-1]
        raise Impossible(f"{what} did not bring Snakemake {VERSION}: {last}")


if __name__ == "__main__":
    try:
        print(program())
    except Impossible as error:
        sys.exit(str(error))
