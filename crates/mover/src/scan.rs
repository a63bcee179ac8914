//! The truth: compares a tree with the journal.
