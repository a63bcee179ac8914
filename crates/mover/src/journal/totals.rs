//! How many entries stand where.

use crate::file_version::Kind;
use crate::journal_entry::State;
use crate::status::Totals;

/// Numbers and bytes of each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerState([Totals; 8]);

impl PerState {
    /// Those in `state`.
    #[must_use]
    pub fn of(&self, state: State) -> Totals {
        self.0[state as usize]
    }

    /// Those that are to be carried over: queued and placing.
    #[must_use]
    pub fn pending(&self) -> Totals {
        let (queued, placing) = (self.of(State::Queued), self.of(State::Placing));
        Totals { files: queued.files + placing.files, bytes: queued.bytes + placing.bytes }
    }

    /// Those that lie at the destination, whether the source still has them or not.
    #[must_use]
    pub fn safe(&self) -> Totals {
        let (done, cleared) = (self.of(State::Done), self.of(State::Cleared));
        Totals { files: done.files + cleared.files, bytes: done.bytes + cleared.bytes }
    }

    /// How many wait or were given up, though the source may still have them.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.pending().files + self.of(State::Failed).files
    }

    /// Those that were given up, and those whose copy is gone with the source.
    #[must_use]
    pub fn failed(&self) -> Totals {
        let (failed, lost) = (self.of(State::Failed), self.of(State::Lost));
        Totals { files: failed.files + lost.files, bytes: failed.bytes + lost.bytes }
    }

    pub(super) fn add(&mut self, state: State, kind: Kind, size: u64) {
        let here = &mut self.0[state as usize];
        here.files += 1;
        here.bytes += bytes_of(kind, size);
    }

    /// Entries of regular files in `from` are in `to` now.
    pub(super) fn shift(&mut self, from: State, to: State, moved: Totals) {
        let before = &mut self.0[from as usize];
        before.files = before.files.saturating_sub(moved.files);
        before.bytes = before.bytes.saturating_sub(moved.bytes);
        let after = &mut self.0[to as usize];
        after.files += moved.files;
        after.bytes += moved.bytes;
    }

    pub(super) fn take(&mut self, state: State, kind: Kind, size: u64) {
        let here = &mut self.0[state as usize];
        here.files = here.files.saturating_sub(1);
        here.bytes = here.bytes.saturating_sub(bytes_of(kind, size));
    }
}

/// Bytes are those of regular files; what a file system says of a directory's size is its own affair.
fn bytes_of(kind: Kind, size: u64) -> u64 {
    if kind == Kind::File { size } else { 0 }
}
