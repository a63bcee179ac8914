"""Style as tests. Each check is a function from text to complaints, and is itself tested on a planted fault."""
