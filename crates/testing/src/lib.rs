//! Storages for tests, around another one: they fail by rule or are slow by a stated law, the same at the same operations
//! each time. No part of what is shipped.
//!
//! ```text
//! Faulty::storage(inner, rules)     ┐
//! Throttled::storage(inner, rates)  ┘→ Hooked<H> ── what H: Hook says around each operation ──→ inner
//! ```
//!
//! A storage of tests is a [`Hook`]: it says before each call how much of it may be done, whether it fails, what becomes of
//! the bytes that it reads, when it may end, and what of the file is lost before it is durable. [`Hooked`] asks it on every
//! way that a storage has: a file, a queue, names. A [`Stub`] is a storage whose lanes a test gives.
//! [`holds_on_a_busy_machine`] makes a check of times until it holds, a few times at most.

mod attempts;
mod faulty;
mod hooked;
mod snapshots;
mod stub;
mod throttled;

pub use attempts::holds_on_a_busy_machine;
pub use faulty::{Fault, Faulty};
pub use hooked::{Call, Hook, Hooked, Leave, Way};
pub use stub::Stub;
pub use throttled::Throttled;
