"""Prints the analysis: one self-contained page for a run, and a summary for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.report.page import write_report
    from tonnage.report.search_screen import print_screen
    from tonnage.report.terminal import print_summary

__all__ = ["print_screen", "print_summary", "write_report"]


def __getattr__(name: str) -> Any:
    # Imported when asked for: neither the page's template engine nor rich belongs into the start of a measurement.
    if name == "write_report":
        from tonnage.report.page import write_report

        return write_report
    if name == "print_summary":
        from tonnage.report.terminal import print_summary

        return print_summary
    if name == "print_screen":
        from tonnage.report.search_screen import print_screen

        return print_screen
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
