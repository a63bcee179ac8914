//! Tests of the mover as a whole. They are one program: each program takes seconds to build.

mod common;
mod million;
mod whole_mover;
