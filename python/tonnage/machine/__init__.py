"""Facts about this host: what the manifest keeps. Standard library only."""
