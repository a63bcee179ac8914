"""What carries a trial out: one module a kind of workload."""
