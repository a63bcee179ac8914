"""When a server's load passes its load line, since when, and whose jobs are there; kept from one watch to the next."""
