//! Takes files that are done and verified off the source.
