//! The same workloads on a model of a storage, in virtual time.
//!
//! A [`Simulator`] takes the engine's [`PhaseSpec`](tonnage_workload::PhaseSpec), carries out the same
//! [`Program`](tonnage_workload::Program) of each task, and leaves the same
//! [`PhaseResult`](tonnage_records::PhaseResult) and files behind; only the storage and the clock differ. What it models
//! is known exactly ([`ModelSpec`]), so estimators can be held against the truth.
//!
//! ```text
//! PhaseSpec ─→ Simulator::run ─┬─ stream, files and find in lanes, tail, checkpoint, command: programs on the model
//!                              └─ fluid_model: many nodes at once, as a flow
//!                     event_loop: who is next in virtual time ─→ model: how long an operation takes (knee, latency, noise)
//!                     state: pages, names and burst buffer, as one phase leaves them to the next
//! ```

mod beside;
mod burst;
mod checkpoint;
mod command;
mod curves;
mod event_loop;
mod files;
mod find;
mod fluid_model;
mod kv_cache;
mod lanes;
mod latency_cells;
mod law;
mod model;
mod names;
mod nodes;
mod open_files;
mod pages;
mod runner;
mod sampler;
mod seeded_random;
mod simulator;
mod speed;
mod stalls;
mod state;
mod stream;
mod tail;
#[cfg(test)]
mod tests;
mod training;
mod trial;

pub use event_loop::Visit;
pub use model::{ModelError, ModelSpec, Shape};
pub use simulator::Simulator;
pub use state::SimulatorError;
