//! What to do: which operation is next, and which bytes it carries. No I/O happens here.
//!
//! The engine (on real storage) and the simulator (on a model of one) run the same [`PhaseSpec`] through the same
//! [`Offsets`], so a simulated trial is the same trial.

mod command;
mod files;
mod geometry;
mod mix;
mod payload;
mod permutation;
mod phase;
mod stream;
mod tail;

pub use command::Command;
pub use files::{FileOp, Files, MAX_DEPTH, Place, Tree, Walk};
pub use geometry::{Access, Geometry, Layout, Offsets};
pub use mix::{SplitMix64, mix64};
pub use payload::{Arena, CELL_BYTES, Damage, Payload, PayloadKind, Verifier};
pub use permutation::Permutation;
pub use phase::{CachePolicy, Durability, Limit, Op, Pace, PhaseSpec, SpecError, TaskRange, Work};
pub use stream::Stream;
pub use tail::{Follow, Tail, Waiting};
