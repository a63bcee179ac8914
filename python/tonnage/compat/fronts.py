"""The front ends there are; their pages in ``docs`` are made from these."""

from __future__ import annotations

from tonnage.compat.front import FrontEnd
from tonnage.compat.mdtest.options import MDTEST
from tonnage.compat.sob.options import SOB

FRONTS: tuple[FrontEnd, ...] = (MDTEST, SOB)
