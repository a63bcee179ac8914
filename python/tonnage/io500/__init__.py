"""The IO500 benchmark: its configuration, phases, score and result directory, measured by campaigns."""
