//! The files of a search, looked at by whichever task is free.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::program::Operations;

/// How many files are left to look at: all tasks of a process share it.
#[derive(Debug)]
pub struct Search {
    next: AtomicU64,
    end: AtomicU64,
}

impl Search {
    /// Of so many files.
    #[must_use]
    pub fn of(files: Range<u64>) -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(files.start), end: AtomicU64::new(files.end) })
    }

    /// Of as many files as are found before it is [closed](Self::close).
    #[must_use]
    pub fn open() -> Arc<Self> {
        Self::of(0..u64::MAX)
    }

    /// There are no more.
    pub fn close(&self) {
        self.end.store(0, Ordering::Relaxed);
    }
}

/// A task's way to the next one.
#[derive(Debug, Clone)]
pub struct Finds(pub Arc<Search>);

impl Operations for Finds {
    /// The file's number, where that is known beforehand.
    type Operation = u64;

    #[inline]
    fn next_operation(&mut self) -> Option<u64> {
        Some(self.0.next.fetch_add(1, Ordering::Relaxed)).filter(|&file| file < self.0.end.load(Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        self.0.next.load(Ordering::Relaxed) >= self.0.end.load(Ordering::Relaxed)
    }
}
