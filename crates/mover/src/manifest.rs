//! What lies at the destination, as JSON lines beside the data, and the check of a tree against it.
