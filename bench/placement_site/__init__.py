"""A model of a whole site in virtual time: what placement's policies make of more jobs than any test site has.

The decisions are those of ``tonnage submit``: the same functions make the candidates, choose and cap.
"""

from placement_site.jobs import Jobs, draw_jobs
from placement_site.outcome import Outcome
from placement_site.policies import POLICIES
from placement_site.simulation import Race
from placement_site.site_model import SiteModel, draw_site

__all__ = ["POLICIES", "Jobs", "Outcome", "Race", "SiteModel", "draw_jobs", "draw_site"]
