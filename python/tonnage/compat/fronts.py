"""The front ends there are; their pages in ``docs`` are made from these."""

from __future__ import annotations

from tonnage.compat.front import FrontEnd
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.lsf.options import BHOSTS, BJOBS, BKILL, BQUEUES
from tonnage.compat.lsload.options import LSLOAD
from tonnage.compat.mdtest.options import MDTEST
from tonnage.compat.sob.options import SOB
from tonnage.compat.spectral_wait.options import SPECTRAL_WAIT

FRONTS: tuple[FrontEnd, ...] = (IOBSUB, LSLOAD, BJOBS, BKILL, BQUEUES, BHOSTS, MDTEST, SOB, SPECTRAL_WAIT)
