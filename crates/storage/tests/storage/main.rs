//! Tests of the storages as a whole. They are one program: each program takes seconds to build.

mod conformance;
mod devices;
mod lost;
mod options;
mod processes;
mod scratch;
mod split_file;
mod support;
mod tree;
mod uring;
mod user_files;
mod wrappers;
