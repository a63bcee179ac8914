//! Whether a file can be taken now: unchanged for a while, and open for writing by nobody.
