"""The benches' own modules, for their tests."""

from __future__ import annotations

import sys
from pathlib import Path

# Behind all others: a bench is named as what it measures, such as ``report``.
sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent / "placement_site"))
