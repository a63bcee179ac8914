//! Runs a workload on a storage.
//!
//! [`Phase::prepare`] gives every task of a [`PhaseSpec`](tonnage_workload::PhaseSpec) a thread, memory and a lane to
//! its file, and leaves them at the start line; [`Phase::go`] opens it. Tasks then only take the next offset, call the
//! storage, read the clock once and count: nothing in their own loop allocates, locks or waits for another thread. A
//! supervisor thread samples their counters into the series and collects the result.
//!
//! ```text
//! Phase::prepare ─ kinds ─→ PhaseWorkload ─→ Worker, one a task: stream (sync_loop, queued_loop), files, tail,
//!       │                                          │               checkpoint, command, find, training, kv_cache
//!       │ go                                       │ steering carries out its Program (workload), stonewall, retry
//! start_line: all tasks begin at once           ▼ counts in its TaskCounters and its Tally
//!       └─ supervisor: counters → series, stalls, live figures ─→ phase_outcome: PhaseResult
//! barrier, remote_barrier: where tasks wait for each other, also for those of other processes
//! ```

mod barrier;
mod beside;
mod ceiling;
mod checkpoint;
mod clock;
mod command;
mod files;
mod find;
mod kinds;
mod kv_cache;
mod lane_port;
mod memory_hog;
mod phase;
mod phase_outcome;
mod process_usage;
mod queued_loop;
mod remote_barrier;
mod retry;
mod space;
mod start_line;
mod steering;
mod stonewall;
mod stream;
mod supervisor;
mod sync_loop;
mod tail;
mod task;
mod task_counters;
mod training;
mod transfers;

pub use beside::{Beside, Results};
pub use ceiling::memory_copy_bytes_per_s;
pub use clock::{Clock, monotonic_ns};
pub use phase::{Live, Phase};
pub use phase_outcome::EngineError;
