//! The operations of a stream, and of the writer of a tail.

use crate::common_settings::Op;
use crate::geometry::Offsets;
use crate::program::Operations;
use crate::stream::{Ops, Stream};

/// One operation of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// What it does.
    pub op: Op,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// It belongs to the task's first pass.
    pub is_first_pass: bool,
}

/// The operations of one task of a stream: endless.
#[derive(Debug, Clone)]
pub struct Transfers {
    offsets: Offsets,
    ops: Ops,
    /// A place must not be written again while it is read and checked: passes do not overlap.
    pass_by_pass: bool,
}

impl Stream {
    /// What `task` of `tasks` does, in order; `seed` is the phase's.
    #[must_use]
    pub fn transfers(&self, task: u32, tasks: u32, seed: u64) -> Transfers {
        Transfers {
            offsets: self.offsets(task, tasks, seed),
            ops: self.ops(task, seed),
            pass_by_pass: self.read_percent.is_some() && self.verify,
        }
    }
}

impl Transfers {
    /// How many passes are complete.
    #[must_use]
    pub const fn passes(&self) -> u64 {
        self.offsets.passes()
    }
}

impl Operations for Transfers {
    type Operation = Transfer;

    #[expect(clippy::inline_always, reason = "in the loops of all streams, whose speed is what may be measured")]
    #[inline(always)]
    fn next_operation(&mut self) -> Option<Transfer> {
        let is_first_pass = self.offsets.passes() == 0;
        Some(Transfer { op: self.ops.next_op(), offset: self.offsets.next_offset(), is_first_pass })
    }

    #[inline]
    fn is_alone(&self) -> bool {
        self.pass_by_pass && self.offsets.is_at_start()
    }

    fn may_be_alone(&self) -> bool {
        self.pass_by_pass
    }
}

/// The writes of the one task whose file the others follow, by number.
#[derive(Debug, Clone, Default)]
pub struct Appends {
    next: u64,
}

impl Operations for Appends {
    type Operation = u64;

    fn next_operation(&mut self) -> Option<u64> {
        self.next += 1;
        Some(self.next - 1)
    }
}
