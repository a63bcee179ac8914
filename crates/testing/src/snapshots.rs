//! The snapshots of a storage that another one wraps: what they lead to is wrapped as well.

use std::sync::Arc;

use tonnage_storage::{Result, Snapshots, Storage};

/// `inner`, with `wrap` around each place that it leads to.
pub(crate) struct Wrapped<W> {
    pub inner: Box<dyn Snapshots>,
    pub wrap: W,
}

impl<W: Fn(Arc<dyn Storage>) -> Arc<dyn Storage> + Send> Snapshots for Wrapped<W> {
    fn live(&self) -> Option<Arc<dyn Storage>> {
        self.inner.live().map(&self.wrap)
    }

    fn take(&mut self, round: u32) -> Result<u64> {
        self.inner.take(round)
    }

    fn note(&mut self, round: u32) -> Result<()> {
        self.inner.note(round)
    }

    fn adopt(&mut self, round: u32, token: u64) -> Result<()> {
        self.inner.adopt(round, token)
    }

    fn at(&mut self, round: u32) -> Result<Option<Arc<dyn Storage>>> {
        Ok(self.inner.at(round)?.map(&self.wrap))
    }

    fn remove(&mut self, round: u32) -> Result<()> {
        self.inner.remove(round)
    }
}
