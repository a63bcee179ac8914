//! What a phase leaves behind: its result, its series and its histograms, and the files they are kept in.
//!
//! The engine and the simulator hand over the same types; `docs/record-format.md` describes the files.
//!
//! ```text
//! LatencyRecorder (a task, in its loop) ─→ histograms ┐
//! SeriesRow (the supervisor)            ─→ series     ├─→ PhaseFiles: tables on disk, or in memory → Share of a process
//! operations kept one by one            ─→ operations ┘                       shares of all processes ─ combine ─→ one result
//! PhaseResult, TaskResult, Event: what the line of a trial says
//! ```

mod file_error;
mod files;
mod histogram_tag;
mod histograms;
mod kv_cache;
mod latency;
mod memory;
mod object_placement;
mod read;
mod result;
mod rounds;
mod rows;
mod series_row;
mod share;
mod table;
mod tally;
mod training;

pub use file_error::FileError;
pub use files::{PhaseFiles, create_file, write_series};
pub use histogram_tag::{SNAPSHOTS, Tagged};
pub use kv_cache::KvCacheResult;
pub use latency::{BUCKETS, Bucket, LatencyRecorder, bucket_bounds, bucket_of};
pub use memory::Collected;
pub use object_placement::{HeldResult, PlacementResult};
pub use read::{TaggedCounts, read_histograms, read_merged, read_table};
pub use result::{
    CacheFacts, CheckpointResult, CopyResult, DamageAt, ErrorAt, Event, FollowResult, LatencySummary, Note, OperationResult,
    PhaseResult, Role, RoundWindow, StopReason, TaskResult, VerifyResult,
};
pub use rounds::{RoundLog, round_spans, snapshot_events};
pub use rows::{NOTHING, Rows, RowsError, Value};
pub use series_row::SeriesRow;
pub use share::{Share, ShareError};
pub use tally::{DAMAGE_KEPT, Followed, SIDES, Side, Silence, parts_of};
pub use training::TrainingResult;
