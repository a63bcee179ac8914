//! Which files are staged, in which order, and which of them wait for others.
