//! The copies of a command, dealt to whichever task is free.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::program::Operations;

/// The copies of one process, which its tasks take from.
#[derive(Debug)]
pub struct Deal {
    next: AtomicU64,
    end: u64,
}

impl Deal {
    /// Copies of these numbers, none of which is taken. Processes cannot know what others have taken, so each has a part.
    #[must_use]
    pub fn new(part: Range<u32>) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(part.start.into()), end: part.end.into() })
    }
}

/// The copies that one task takes.
#[derive(Debug, Clone)]
pub struct Copies(pub Arc<Deal>);

impl Operations for Copies {
    type Operation = u32;

    fn next_operation(&mut self) -> Option<u32> {
        Some(self.0.next.fetch_add(1, Ordering::Relaxed)).filter(|&copy| copy < self.0.end).map(|copy| copy as u32)
    }

    fn is_over(&self) -> bool {
        self.0.next.load(Ordering::Relaxed) >= self.0.end
    }
}
