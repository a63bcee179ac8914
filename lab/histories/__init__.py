"""Random histories of a source tree, of its mover and of a second user of the destination, judged by a model that knows
neither the mover's code nor its journal. ``python -m histories --help``, with ``lab/`` in ``PYTHONPATH``."""
