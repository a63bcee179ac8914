"""``sob``: the tool of the knox-epouta experiment."""
