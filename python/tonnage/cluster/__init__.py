"""Where tasks run. One small file a launcher; ``launcher(name)`` finds it."""

from tonnage.cluster.launcher import Ensemble, Launcher, Step
from tonnage.cluster.registry import launcher, launchers

__all__ = ["Ensemble", "Launcher", "Step", "launcher", "launchers"]
