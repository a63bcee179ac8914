"""When a server's load passes its load line, since when, and whose jobs are there; kept from one watch to the next."""

from tonnage.placement.watch.episodes import Episode, Event, Tracker
from tonnage.placement.watch.history import AlreadyWatched, History
from tonnage.placement.watch.seen import Seen, There, UserJobs, seen_of
from tonnage.placement.watch.watch import Watch

__all__ = ["AlreadyWatched", "Episode", "Event", "History", "Seen", "There", "Tracker", "UserJobs", "Watch", "seen_of"]
