//! Tests of the simulator as a whole. They are one program: each program takes seconds to build.

mod same_as_engine;
mod same_operations;
mod support;
