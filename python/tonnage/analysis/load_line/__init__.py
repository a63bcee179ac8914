"""How many tasks saturate a storage, and within which latency: the estimate, what to measure next, and sizes beyond."""
