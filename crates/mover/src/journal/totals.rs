//! How many entries stand where.

use crate::entry::State;
use crate::status::Totals;
use crate::version::Kind;

/// Numbers and bytes of each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerState([Totals; 7]);

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

    pub(super) fn add(&mut self, state: State, kind: Kind, size: u64) {
        let here = &mut self.0[state as usize];
        here.files += 1;
        here.bytes += bytes_of(kind, size);
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
