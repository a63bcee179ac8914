"""A tier of every node against one that all nodes share."""
