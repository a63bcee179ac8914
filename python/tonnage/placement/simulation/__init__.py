"""A model of a whole site in virtual time: what placement's policies make of more jobs than any test site has.

The decisions are those of ``tonnage.placement.choice``, the same functions that place real jobs.
"""

from tonnage.placement.simulation.outcome import Outcome
from tonnage.placement.simulation.policies import POLICIES
from tonnage.placement.simulation.race import simulate
from tonnage.placement.simulation.world import Jobs, World, draw_jobs

__all__ = ["POLICIES", "Jobs", "Outcome", "World", "draw_jobs", "simulate"]
