//! The threads of a mover, and what they say of themselves.
