"""Where tasks and jobs run. One small file a launcher, and one a scheduler."""

from tonnage.cluster.launcher import Ensemble, Launcher, Step
from tonnage.cluster.registry import launcher, launchers
from tonnage.cluster.schedulers import scheduler, schedulers

__all__ = ["Ensemble", "Launcher", "Step", "launcher", "launchers", "scheduler", "schedulers"]
