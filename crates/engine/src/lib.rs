//! Runs a workload on a storage.
//!
//! [`Phase::prepare`] gives every task of a [`PhaseSpec`](tonnage_workload::PhaseSpec) a thread, memory and a lane to
//! its file, and leaves them at the start line; [`Phase::go`] opens it. Tasks then only take the next offset, call the
//! storage, read the clock once and count: nothing in their own loop allocates, locks or waits for another thread. A
//! supervisor thread samples their counters into the series and collects the result.
//!
//! ```text
//! Phase::prepare ─ kinds ─→ Crew (of the phase) ─→ Worker (of a task): stream (sync, queued), files, tail, checkpoint, command
//!       │                                             │ in its loop: goal (may I go on), pace (when), patience (again)
//!       │ go                                          │ counts on its board, into its Tally
//! line: all tasks begin at once                       ▼
//!       └─ supervisor: boards → series, stalls, live figures ─→ finished: PhaseResult
//! outside, meeting: points where tasks wait for each other, also for those of other processes
//! ```

mod board;
mod ceiling;
mod checkpoint;
mod clock;
mod command;
mod files;
mod finished;
mod goal;
mod hog;
mod kinds;
mod line;
mod meeting;
mod outside;
mod pace;
mod patience;
mod phase;
mod queued;
mod stream;
mod supervisor;
mod sync;
mod tail;
mod task;
mod transfers;
mod usage;

pub use ceiling::memory_copy_bytes_per_s;
pub use clock::{Clock, monotonic_ns};
pub use finished::EngineError;
pub use phase::{Live, Phase};
