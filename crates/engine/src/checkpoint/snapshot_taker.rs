//! Who takes and removes snapshots, and what is said where that fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tonnage_storage::{Snapshots, StorageError};

use crate::task::TaskContext;

/// Takes and removes snapshots: one for all tasks, or each task's own.
pub type Taker = Arc<Mutex<Box<dyn Snapshots>>>;

pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the trial for what a means of snapshots says.
pub fn fail(context: &mut TaskContext, file: u32, error: &StorageError) {
    let errno = error.io().and_then(std::io::Error::raw_os_error).unwrap_or(0);
    context.fail(file, 0, errno, error.to_string());
}
