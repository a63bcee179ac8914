"""Runs, settings and days against each other: ratios with intervals, what else differs, what figures are divided by."""
