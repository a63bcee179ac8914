//! When the tasks of a phase end and when their operations start, by kind of work.

use crate::command::Command;
use crate::files::Files;
use crate::find::Find;
use crate::phase::PhaseSpec;
use crate::program::Terms;
use crate::stream::Stream;
use crate::tail::Tail;

impl Command {
    /// When a task ends, and when its copies start. They are dealt to whoever is free: no task has a part of its own.
    #[must_use]
    pub fn terms(&self, spec: &PhaseSpec, task: u32) -> Terms {
        let schedule = spec.pace.schedule(0, task, spec.tasks.total);
        Terms { limit: spec.limit, pace: spec.pace, schedule, pass: u64::MAX, slots: 1 }
    }
}

impl Files {
    /// When `task` ends, and when its operations start.
    #[must_use]
    pub fn terms(&self, spec: &PhaseSpec, task: u32) -> Terms {
        Terms {
            limit: spec.limit,
            pace: spec.pace,
            schedule: spec.pace.schedule(self.moved_bytes(), task, spec.tasks.total),
            pass: self.operations_of(task, spec.tasks.total),
            slots: 1,
        }
    }
}

impl Find {
    /// When a task ends, and when it looks at a file. They go to whoever is free: no task has a part of its own.
    #[must_use]
    pub fn terms(&self, spec: &PhaseSpec, task: u32) -> Terms {
        let schedule = spec.pace.schedule(0, task, spec.tasks.total);
        Terms { limit: spec.limit, pace: spec.pace, schedule, pass: u64::MAX, slots: 1 }
    }
}

impl Stream {
    /// When `task` ends, and when its operations start.
    #[must_use]
    pub fn terms(&self, spec: &PhaseSpec, task: u32) -> Terms {
        Terms {
            limit: spec.limit,
            pace: spec.pace,
            schedule: spec.pace.schedule(self.geometry.transfer_size, task, spec.tasks.total),
            pass: self.geometry.operations(),
            slots: self.queue_depth,
        }
    }

    /// Operations that each task keeps in flight for as long as the phase's time lasts, each begun when one before it
    /// ended; 0 where anything else decides when they begin.
    #[must_use]
    pub const fn in_flight(&self, spec: &PhaseSpec) -> u32 {
        let looped = spec.limit.time_ns.is_some() && !spec.limit.wear_out && !spec.pace.waits();
        if looped { self.queue_depth } else { 0 }
    }

    /// Bytes that a file must hold for what `spec` reads of it.
    #[must_use]
    pub fn needed_bytes(&self, spec: &PhaseSpec) -> u64 {
        self.reach_bytes(spec.tasks.total, spec.seed, spec.limit.operations)
    }
}

impl Tail {
    /// When the writer ends, and when its operations start: the whole rate is its own.
    #[must_use]
    pub fn terms(&self, spec: &PhaseSpec) -> Terms {
        let schedule = spec.pace.schedule(self.transfer_size, 0, 1);
        Terms { limit: spec.limit, pace: spec.pace, schedule, pass: self.transfers(), slots: 1 }
    }
}
