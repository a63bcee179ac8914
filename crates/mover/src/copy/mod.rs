//! One file's way over, whole in a batch or in chunks by several workers.
