//! The hint: inotify on every directory of a tree.
