"""Manifests that tests give another content, with the seal that a writer would have given them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tonnage.records.hash_chain import sealed_manifest, sums_of


def rewritten(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """The manifest of ``run`` after ``change``, sealed anew where it was sealed and still is to be."""
    file = run / "manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    sealed = "seal" in manifest
    file.write_bytes(sealed_manifest(manifest, sums_of(manifest)) if sealed else json.dumps(manifest).encode())
