"""Intervals of medians, percentiles and paired differences."""
