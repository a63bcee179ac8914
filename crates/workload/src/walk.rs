//! The order in which a task of a `files` phase visits names.

use std::ops::Range;

use crate::files::{FileOp, Files};
use crate::integer_mixing::mix64;
use crate::permutation::Permutation;

/// One operation: which item (or, for the tree's own phases, which directory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemPlace {
    /// The tree's directory that holds the item; for phases on directories of the tree that directory itself.
    pub directory: u64,
    /// The item's number among those of its task.
    pub number: u64,
}

/// All operations of one task in one phase, in order.
#[derive(Debug, Clone)]
pub struct Walk {
    order: Order,
    left: u64,
    /// Whose items they are.
    owner: u32,
    /// What comes when those are done.
    later: Option<Box<Later>>,
}

/// The other tasks whose items are worked on, one after the other.
#[derive(Debug, Clone)]
struct Later {
    files: Files,
    owners: Range<u32>,
    seed: u64,
}

#[derive(Debug, Clone)]
enum Order {
    /// Items by number: `next` in `directory`, where `room` more are.
    Items { next: ItemPlace, room: u64, per_directory: u64 },
    /// Items in a random order.
    Shuffled { next: u64, permutation: Permutation, first_holder: u64, per_directory: u64 },
    /// Directories of the tree from the root.
    Down(u64),
    /// Directories of the tree to the root.
    Up,
    /// Directories of the tree in a random order.
    ShuffledDirectories(u64, Permutation),
    /// One item again and again.
    Same(ItemPlace),
}

impl Files {
    /// The operations of `task`, of `total` tasks; a random order is drawn from `seed`.
    #[must_use]
    pub fn walk(&self, task: u32, total: u32, seed: u64) -> Walk {
        let mut owners = self.owners(task, total);
        let Some(owner) = owners.next() else {
            return Walk { order: Order::Down(0), left: 0, owner: self.owner(task, total), later: None };
        };
        let (order, left) = self.order(owner, seed ^ mix64(u64::from(task) + 1));
        let later = (!owners.is_empty()).then(|| Box::new(Later { files: self.clone(), owners, seed }));
        Walk { order, left, owner, later }
    }

    /// The pass over what `owner` has, and its operations.
    fn order(&self, owner: u32, seed: u64) -> (Order, u64) {
        let left = self.operations_on(owner);
        let permutation = || Permutation::new(left, seed);
        let (first_holder, per_directory) = (self.tree.first_holder(), self.tree.items_per_directory);
        let first = ItemPlace { directory: first_holder, number: 0 };
        let order = match self.op {
            FileOp::ReadDirectory if self.random => Order::ShuffledDirectories(0, permutation()),
            FileOp::MakeTree | FileOp::ReadDirectory => Order::Down(0),
            FileOp::RemoveTree => Order::Up,
            FileOp::OpenWriteClose | FileOp::Churn => Order::Same(first),
            FileOp::Create | FileOp::MakeDirectory => Order::Items { next: first, room: per_directory, per_directory },
            _ if self.random => Order::Shuffled { next: 0, permutation: permutation(), first_holder, per_directory },
            _ => Order::Items { next: first, room: per_directory, per_directory },
        };
        (order, left)
    }
}

impl Walk {
    /// Whose item the latest place is.
    #[must_use]
    pub const fn owner(&self) -> u32 {
        self.owner
    }

    /// Goes on to the next task that has items.
    #[cold]
    fn turn(&mut self) -> Option<()> {
        while self.left == 0 {
            let Later { files, owners, seed } = self.later.as_deref_mut()?;
            self.owner = owners.next()?;
            (self.order, self.left) = files.order(self.owner, *seed ^ mix64(u64::from(self.owner) + 1));
        }
        Some(())
    }
}

impl Iterator for Walk {
    type Item = ItemPlace;

    #[inline]
    fn next(&mut self) -> Option<ItemPlace> {
        if self.left == 0 {
            self.turn()?;
        }
        self.left -= 1;
        Some(match &mut self.order {
            Order::Items { next, room, per_directory } => {
                let place = *next;
                next.number += 1;
                *room -= 1;
                if *room == 0 {
                    next.directory += 1;
                    *room = *per_directory;
                }
                place
            }
            Order::Shuffled { next, permutation, first_holder, per_directory } => {
                let number = permutation.apply(*next);
                *next += 1;
                ItemPlace { directory: *first_holder + number / *per_directory, number }
            }
            Order::Down(next) => {
                *next += 1;
                ItemPlace { directory: *next - 1, number: *next - 1 }
            }
            Order::Up => ItemPlace { directory: self.left, number: self.left },
            Order::ShuffledDirectories(next, permutation) => {
                let directory = permutation.apply(*next);
                *next += 1;
                ItemPlace { directory, number: directory }
            }
            Order::Same(place) => *place,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let later = self.later.as_deref().map_or(0, Later::operations);
        ((self.left + later) as usize, Some((self.left + later) as usize))
    }
}

impl ExactSizeIterator for Walk {}

impl Later {
    fn operations(&self) -> u64 {
        self.owners.clone().map(|owner| self.files.operations_on(owner)).sum()
    }
}
