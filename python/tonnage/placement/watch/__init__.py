"""Watches whether a server's load exceeds its load line: since when, and whose jobs run there. Keeps a history across
watches."""
