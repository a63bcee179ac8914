"""Where a job should run: pure functions of what is known, the same in life and in simulation."""

from tonnage.placement.choice.candidate import Candidate, Decision, Demand, Scored

__all__ = ["Candidate", "Decision", "Demand", "Scored"]
