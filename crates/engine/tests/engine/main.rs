//! Tests of the engine as a whole. They are one program, but for what looks at the
//! memory of its process: each program takes seconds to build.

mod apart;
mod barriers;
mod beside;
mod checkpoint;
mod command;
mod faults;
mod files;
mod find;
mod kv_cache;
mod limits;
mod lost;
mod mix;
mod pace;
mod phases;
mod regions;
mod snapshots;
mod space;
mod stubs;
mod support;
mod tail;
mod training;
mod workers;
