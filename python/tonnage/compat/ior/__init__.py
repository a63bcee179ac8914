"""IOR 4.1's command line and output. ``docs/ior.md`` says what differs."""
