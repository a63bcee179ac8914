//! Lanes: room for operations that follow each other at once, after a pause, or when their time has come.

use crate::race::{Play, Race};

/// What the operations of one kind of workload are.
pub(crate) trait Operations {
    /// Takes the next operation of the task at `task` for a lane. When its latency begins, which is when it is to
    /// start, at the earliest; `None` if the task has none left.
    fn take(&mut self, race: &mut Race, lane: usize, task: usize, now_ns: u64) -> Option<u64>;

    /// Starts the operation that a lane has; when it ends.
    fn start(&mut self, race: &mut Race, lane: usize, task: usize, now_ns: u64) -> u64;

    /// Counts the operation of a lane, which ends now.
    fn end(&mut self, race: &mut Race, lane: usize, task: usize, from_ns: u64, now_ns: u64);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has nothing.
    Idle,
    /// Has an operation that starts when it is due.
    Waiting,
    /// Its operation is in flight.
    Flying,
}

#[derive(Clone, Copy)]
struct Lane {
    task: usize,
    state: State,
    /// Counts among those in flight.
    aboard: bool,
    /// Where the latency of its operation begins.
    from_ns: u64,
}

/// The lanes of all tasks.
pub(crate) struct Lanes<O> {
    pub operations: O,
    all: Vec<Lane>,
    /// Of each task, how many lanes count among those in flight.
    aboard: Vec<usize>,
}

impl<O: Operations> Lanes<O> {
    /// Plays `operations` to their end, `depth` lanes a task.
    pub fn run(race: &mut Race, depth: usize, operations: O) -> Result<O, tonnage_records::FileError> {
        let tasks = race.runners.len();
        // Operations that follow each other at once are all in flight from the beginning; others as they start.
        let aboard = !race.spec.pace.waits();
        let idle = Lane { task: 0, state: State::Idle, aboard, from_ns: race.start_ns };
        // One by one, so that each task has its first operation in flight before any has its second.
        let all = (0..tasks * depth).map(|lane| Lane { task: lane % tasks, ..idle }).collect();
        let mut lanes = Self { operations, all, aboard: vec![if aboard { depth } else { 0 }; tasks] };
        for (task, &aboard) in lanes.aboard.iter().enumerate() {
            race.board(task, aboard as u64);
        }
        race.run(tasks * depth, &mut lanes)?;
        Ok(lanes.operations)
    }

    #[inline]
    fn begin(&mut self, race: &mut Race, index: usize, now_ns: u64) -> Option<u64> {
        let lane = &mut self.all[index];
        let Some(from_ns) = self.operations.take(race, index, lane.task, now_ns) else {
            self.alight(race, index);
            return None;
        };
        lane.from_ns = from_ns;
        if from_ns <= now_ns {
            return Some(self.start(race, index, now_ns));
        }
        lane.state = State::Waiting;
        let task = lane.task;
        self.alight(race, index);
        race.may_begin_at(task, from_ns).then_some(from_ns)
    }

    #[inline]
    fn start(&mut self, race: &mut Race, index: usize, now_ns: u64) -> u64 {
        let lane = &mut self.all[index];
        lane.state = State::Flying;
        let task = lane.task;
        if !lane.aboard {
            lane.aboard = true;
            race.board(task, 1);
            self.aboard[task] += 1;
            if self.aboard[task] == 1 {
                race.wake(task, now_ns);
            }
        }
        self.operations.start(race, index, task, now_ns)
    }

    /// A lane has nothing in flight: those that have share the storage.
    fn alight(&mut self, race: &mut Race, index: usize) {
        let lane = &mut self.all[index];
        if std::mem::take(&mut lane.aboard) {
            self.aboard[lane.task] -= 1;
            race.alight(lane.task);
        }
    }
}

impl<O: Operations> Play for Lanes<O> {
    #[inline]
    fn step(&mut self, race: &mut Race, index: usize, now_ns: u64) -> Option<u64> {
        let Lane { task, state, from_ns, .. } = self.all[index];
        match state {
            State::Flying => {
                self.all[index].state = State::Idle;
                self.operations.end(race, index, task, from_ns, now_ns);
                self.begin(race, index, now_ns)
            }
            State::Idle => self.begin(race, index, now_ns),
            State::Waiting => race.may_begin(task).then(|| self.start(race, index, now_ns)),
        }
    }
}
