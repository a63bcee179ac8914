//! What to do: which operation is next, and which bytes it carries. No I/O happens here.
//!
//! The engine (on real storage) and the simulator (on a model of one) carry out the same [`Program`] of each task of a
//! [`PhaseSpec`], so a simulated trial is the same trial; `crates/simulator/tests` holds one against the other.
//!
//! ```text
//! PhaseSpec ── check ──→ SpecError (refused)
//!   │  tasks, limit, pace, seed (common_settings)
//!   └─ work ─┬─ stream ──────→ Transfers: Offsets (geometry, permutation), Ops   ┐
//!            ├─ files ───────→ Items: Walk, ItemPlace                            │ Program: what a task does next,
//!            ├─ command ─────→ Copies: dealt to whoever is free                  │ when, and whether at all
//!            ├─ find ────────→ Finds: files, to whoever is free                  │
//!            ├─ tail ────────→ Appends of the writer; TailReader of a reader    ┘
//!            ├─ checkpoint ──→ Rounds of streams with snapshots, Removals
//!            ├─ training ────→ Feeding: samples to accelerators
//!            └─ kv-cache ────→ Turns of users, each at its intended time
//! payload: Payload names the bytes of a seed ──→ Arena stamps them for a write ──→ Verifier checks them after a read
//! ```

mod checkpoint;
mod command;
mod common_settings;
mod files;
mod find;
mod geometry;
mod integer_mixing;
mod kv_cache;
mod payload;
mod permutation;
mod phase;
mod phase_limit;
mod program;
mod rate_limits;
mod source;
mod spec_error;
mod stream;
mod tail;
mod terms_of_phase;
mod training;
mod walk;

pub use checkpoint::{Checkpoint, CheckpointStep, Coordination, Means, SnapshotCommand};
pub use command::Command;
pub use common_settings::{CachePolicy, Durability, MOST_ROUNDS, Op, TaskRange};
pub use files::{FileOp, Files, MAX_DEPTH, Tree};
pub use find::Find;
pub use geometry::{Access, Geometry, Layout, Offsets};
pub use integer_mixing::{SplitMix64, mix64};
pub use kv_cache::{KvCache, KvCacheStep, Turn};
pub use payload::{Arena, CELL_BYTES, Damage, Payload, PayloadKind, Verifier};
pub use permutation::Permutation;
pub use phase::{PhaseSpec, Work};
pub use phase_limit::Limit;
pub use program::{
    Appends, Attempts, Copies, Deal, Fed, FeedStep, Feeding, Finds, FollowStep, ItemOf, Items, Nanoseconds, Operations, Program,
    RemovalStep, Removals, RetryRule, RoundStep, Rounds, SaveStep, Search, Step, TailReader, Terms, TimeUnit, Transfer,
    Transfers, WallState,
};
pub use rate_limits::{RateLimits, Schedule};
pub use source::Source;
pub use spec_error::SpecError;
pub use stream::{Ops, Stream, first_below};
pub use tail::{ReadShare, Tail, Waiting};
pub use training::{Dataset, SAMPLE_STEP, Sample, Saving, Shuffle, Training, TrainingStep};
pub use walk::{ItemPlace, Walk};
