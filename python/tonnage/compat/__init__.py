"""Command lines that old scripts keep: front ends that build a campaign, run it, and print as the original did."""
