"""A model of a whole site in virtual time: what placement's policies make of more jobs than any test site has.

The decisions are those of ``tonnage.placement.choice``, the same functions that place real jobs.
"""

from placement_site.outcome import Outcome
from placement_site.policies import POLICIES
from placement_site.race import simulate
from placement_site.world import Jobs, World, draw_jobs

__all__ = ["POLICIES", "Jobs", "Outcome", "World", "draw_jobs", "simulate"]
