"""Answers to questions about runs: a comparison, a history, a crossover, a projection."""
