//! Work on a page of a list, divided among threads.

use std::thread;

use crate::error::{MoverError, Result};

/// Fewest parts of a page that are worth a thread.
const WORTH: usize = 512;
const MOST_THREADS: usize = 4;

/// What `work` says of each share of `page`, in the page's order. Fails where `work` panics.
pub fn in_threads<T: Sync, R: Send>(page: &[T], work: impl Fn(&[T]) -> R + Sync) -> Result<Vec<R>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let share = page.len().div_ceil(threads).max(WORTH);
    thread::scope(|scope| {
        let workers: Vec<_> = page.chunks(share).map(|part| scope.spawn(|| work(part))).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| MoverError::Thread("look".to_owned()))).collect()
    })
}
