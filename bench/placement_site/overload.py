"""How long each server had more tasks than its load line, and a day of some of them."""

from __future__ import annotations

from placement_site.site_model import DAY_S, MONTH_S, SiteModel

DAY = 9
"""The day that is drawn, a working day in the middle of the month; the first is 0."""


class Watch:
    """Sees each change of the number of tasks that read from a server; counts within the month of the arrivals."""

    def __init__(self, world: SiteModel) -> None:
        servers = len(world.servers)
        self.above_s = [0.0] * servers
        """By server: more tasks than its load line."""
        self.twice_above_s = [0.0] * servers
        """The same of twice its line."""
        self.busy_s = [0.0] * servers
        """Any task at all."""
        self.most = [0] * servers
        self.day: list[list[tuple[float, int]]] = [[] for _ in range(servers)]
        """By server: the number of tasks from each time (s since the day began) on."""
        self._lines = [server.line for server in world.servers]
        self._since_s = [0.0] * servers
        self._begins_s, self._ends_s = DAY * DAY_S, (DAY + 1) * DAY_S

    def changes(self, now_s: float, server: int, tasks: int, by: int) -> None:
        """Counts ``tasks`` that read from it up to now, and ``by`` more from now on."""
        self._count(min(now_s, MONTH_S), server, tasks)
        if tasks + by > self.most[server]:
            self.most[server] = tasks + by
        if now_s <= self._ends_s:
            series = self.day[server]
            if now_s <= self._begins_s:
                series[:] = [(0.0, tasks + by)]
            else:
                series.append((now_s - self._begins_s, tasks + by))

    def close(self, reading: list[int]) -> None:
        """Nothing happens any more."""
        for server, tasks in enumerate(reading):
            self._count(MONTH_S, server, tasks)

    def _count(self, now_s: float, server: int, tasks: int) -> None:
        passed_s = now_s - self._since_s[server]
        if passed_s <= 0:
            return
        self._since_s[server] = now_s
        if tasks:
            self.busy_s[server] += passed_s
            line = self._lines[server]
            if tasks > line:
                self.above_s[server] += passed_s
                if tasks > 2 * line:
                    self.twice_above_s[server] += passed_s
