//! Where the tasks of a phase that wear out meet: how much the one that did most had begun when its time was up.

/// What the tasks of one process have told.
#[derive(Debug, Clone, Copy)]
pub struct WallState {
    most: u64,
    missing: u32,
}

impl WallState {
    /// Of `tasks` tasks, none of which has told.
    #[must_use]
    pub const fn new(tasks: u32) -> Self {
        Self { most: 0, missing: tasks }
    }

    /// A task has come, with so many operations begun. One that ends in another way tells 0.
    pub fn tell(&mut self, operations: u64) {
        self.most = self.most.max(operations);
        self.missing = self.missing.saturating_sub(1);
    }

    /// Whether every task has told.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// The most that any task has told so far.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// What a task that has done `done` learns: the most that any had begun, or `Some(None)` where that is no more. `None`
    /// while it has to wait for tasks that have not told.
    #[must_use]
    pub fn learned(&self, done: u64) -> Option<Option<u64>> {
        let beyond = self.most > done;
        (beyond || self.is_complete()).then_some(beyond.then_some(self.most))
    }
}
