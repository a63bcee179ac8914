"""Scratch directories of other users, which nobody but their owner can look into."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tonnage.campaign.scratch import closed_scratch

AS_ANOTHER = """
import os, sys
from tonnage.campaign.scratch import closed_scratch
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.chdir(sys.argv[1])
print(*closed_scratch("."))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_what_may_not_be_looked_into_is_named() -> None:
    with TemporaryDirectory() as directory:
        place = Path(directory)
        place.chmod(0o755)
        (place / ".tonnage-0123abcd").mkdir(mode=0o700)
        (place / ".tonnage-open").mkdir(mode=0o755)
        (place / "other").mkdir(mode=0o700)
        told = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER, directory], capture_output=True, text=True, check=True
        ).stdout
        assert told.split() == ["./.tonnage-0123abcd"]
        assert closed_scratch(place) == [], "root may look into all"
