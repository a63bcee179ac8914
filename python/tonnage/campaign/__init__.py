"""From what was asked to a run directory: file schema, sweep, order, budget, resume, and the one run loop."""
