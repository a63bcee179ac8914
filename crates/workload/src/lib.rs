//! What to do: which operation is next, and which bytes it carries. No I/O happens here.
//!
//! The engine (on real storage) and the simulator (on a model of one) run the same [`PhaseSpec`] through the same
//! [`Offsets`], so a simulated trial is the same trial; `crates/simulator/tests` holds one against the other.
//!
//! ```text
//! PhaseSpec ── check ──→ SpecError (refused)
//!   │  tasks, limit, pace, seed (terms)
//!   └─ work ─┬─ stream ──────→ Offsets (geometry, permute), Ops: which transfer is next
//!            ├─ files ───────→ Walk, Place: which name is next
//!            ├─ tail ────────→ a writer, and readers that follow
//!            ├─ checkpoint ──→ rounds of streams, with snapshots
//!            └─ command ─────→ copies of a program
//! payload: Payload names the bytes of a seed ──→ Arena stamps them for a write ──→ Verifier checks them after a read
//! ```

mod checkpoint;
mod command;
mod files;
mod geometry;
mod limit;
mod mix;
mod pace;
mod payload;
mod permutation;
mod phase;
mod refused;
mod source;
mod stream;
mod tail;
mod terms;
mod walk;

pub use checkpoint::{Checkpoint, CheckpointStep, Coordination, Means, SnapshotCommand};
pub use command::Command;
pub use files::{FileOp, Files, MAX_DEPTH, Tree};
pub use geometry::{Access, Geometry, Layout, Offsets};
pub use limit::Limit;
pub use mix::{SplitMix64, mix64};
pub use pace::{Pace, Schedule};
pub use payload::{Arena, CELL_BYTES, Damage, Payload, PayloadKind, Verifier};
pub use permutation::Permutation;
pub use phase::{PhaseSpec, Work};
pub use refused::SpecError;
pub use source::Source;
pub use stream::{Ops, Stream};
pub use tail::{Follow, Tail, Waiting};
pub use terms::{CachePolicy, Durability, MOST_ROUNDS, Op, TaskRange};
pub use walk::{Place, Walk};
