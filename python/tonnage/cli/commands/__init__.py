"""One thin file a command; each has ``run(arguments) -> exit code``."""
