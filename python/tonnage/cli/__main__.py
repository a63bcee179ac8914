"""``python -m tonnage.cli``."""

from tonnage.cli import start

start()
