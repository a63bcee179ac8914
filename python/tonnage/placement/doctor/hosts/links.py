"""Whether neighbours reach each other, and as fast as the others do."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.hosts.look import Party
from tonnage.units import rate_text

SLOW = 0.5
"""Of the median of all links tried."""


def there(party: Party) -> Iterator[Complaint]:
    """A connection can be made."""
    for link in party.links:
        if link.problem is not None:
            what, hint = own_hint(
                link.problem, "see to names and firewall: MPI and iperf3 need ports of their own choice"
            )
            yield Complaint(code="no-link", where=f"{link.sender} → {link.receiver}", what=what, hint=hint)


def even(party: Party) -> Iterator[Complaint]:
    """No link is far slower than the others."""
    rates = [(link, rate) for link in party.links if (rate := link.bytes_per_s) is not None]
    usual = median(rate for _, rate in rates) if len(rates) > 2 else 0
    for link, rate in rates:
        if rate < SLOW * usual:
            what = f"{rate_text(rate)} in a short transfer, where {rate_text(usual)} is the median of all links"
            hint = "measure it with a workload of kind network; see its cable, switch, and who else uses it"
            yield Complaint(
                code="slow-link", where=f"{link.sender} → {link.receiver}", what=what, hint=hint, wrong=False
            )
