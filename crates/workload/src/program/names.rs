//! The operations of a task on names.

use crate::program::Operations;
use crate::walk::{ItemPlace, Walk};

/// One operation on a name: whose it is, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemOf {
    /// The task whose item, or tree, it is.
    pub owner: u32,
    /// Which one.
    pub place: ItemPlace,
}

/// All names that one task visits in a phase. What is made or removed once is not there again: there is one pass.
#[derive(Debug, Clone)]
pub struct Items(pub Walk);

impl Operations for Items {
    type Operation = ItemOf;

    #[inline]
    fn next_operation(&mut self) -> Option<ItemOf> {
        let place = self.0.next()?;
        Some(ItemOf { owner: self.0.owner(), place })
    }

    fn is_over(&self) -> bool {
        self.0.len() == 0
    }
}
