//! The application first: lowers the limit while its I/O or its processor time suffers.
