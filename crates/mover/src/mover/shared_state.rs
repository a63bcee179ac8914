//! What lies between the planner and the workers.

use std::sync::Arc;

use crate::copy::Large;
use crate::error::MoverError;
use crate::status::{Progress, Totals};

use super::markers::Markers;
use super::queue::Queue;
use super::rates::Rates;

/// Everything under the mover's one lock.
#[derive(Debug)]
pub struct SharedState {
    /// What is to be carried.
    pub queue: Queue,
    /// Markers that wait for their sets.
    pub sets: Markers,
    /// Large files that more workers can help with.
    pub large: Vec<Arc<Large>>,
    /// Where the mover stands.
    pub progress: Progress,
    /// Nothing more is coming, since when, in nanoseconds since the beginning.
    pub drain_ns: Option<u64>,
    /// When the drain must have ended, in nanoseconds since the beginning.
    pub deadline_ns: Option<u64>,
    /// A scan was asked for.
    pub rescan: bool,
    /// A scan that was asked for is under way.
    pub scanning: bool,
    /// Scans of everything completed.
    pub scans: u64,
    /// What the user must know.
    pub notes: Vec<String>,
    /// Progress of the last seconds.
    pub rates: Rates,
    /// Share of the source's file system in use, in thousandths.
    pub source_used_permille: u32,
    /// What the deadline will not let through.
    pub will_not_fit: Totals,
    /// The threads end, or have ended.
    pub ended: bool,
    /// What ended the mover.
    pub fatal: Option<MoverError>,
}

impl Default for SharedState {
    fn default() -> Self {
        Self {
            queue: Queue::default(),
            sets: Markers::default(),
            large: Vec::new(),
            progress: Progress::Starting,
            drain_ns: None,
            deadline_ns: None,
            rescan: false,
            scanning: false,
            scans: 0,
            notes: Vec::new(),
            rates: Rates::default(),
            source_used_permille: 0,
            will_not_fit: Totals::default(),
            ended: false,
            fatal: None,
        }
    }
}

impl SharedState {
    /// Nothing more is coming.
    pub fn begin_drain(&mut self, now_ns: u64) {
        self.drain_ns.get_or_insert(now_ns);
    }

    /// Says `note` once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
