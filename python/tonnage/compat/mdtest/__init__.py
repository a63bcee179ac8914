"""``mdtest``: rates of making, looking at and removing files and directories."""
