//! Lanes: room for operations that follow each other at once, after a pause, or when their time has come.

use crate::event_loop::{EventHandler, EventLoop};

/// What the operations of one kind of workload are.
pub(crate) trait Operations {
    /// Takes the next operation of the task at `task` for a lane. When its latency begins, which is when it is to
    /// start, at the earliest; `None` if the task has none left.
    fn take(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, now_ns: u64) -> Option<u64>;

    /// Whether the next operation of the task at `task` is taken only when no other that was taken is left.
    fn takes_last(&self, _task: usize) -> bool {
        false
    }

    /// Whether the next operation of the task at `task` starts only when nothing else of it is in flight.
    fn is_alone(&self, _task: usize) -> bool {
        false
    }

    /// Starts the operation that a lane has; when it ends.
    fn start(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, now_ns: u64) -> u64;

    /// Counts the operation of a lane, which ends now.
    fn end(&mut self, event_loop: &mut EventLoop, lane: usize, task: usize, from_ns: u64, now_ns: u64);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has nothing.
    Idle,
    /// Has an operation that starts when it is due, or when those before it have ended.
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
    /// When it goes on: its operation starts or ends.
    until_ns: u64,
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
    pub fn run(event_loop: &mut EventLoop, depth: usize, operations: O) -> Result<O, tonnage_records::FileError> {
        let tasks = event_loop.runners.len();
        // Operations that follow each other at once are all in flight from the beginning; others as they start.
        let aboard = !event_loop.spec.pace.waits();
        let idle = Lane { task: 0, state: State::Idle, aboard, from_ns: event_loop.start_ns, until_ns: event_loop.start_ns };
        // One by one, so that each task has its first operation in flight before any has its second.
        let all = (0..tasks * depth).map(|lane| Lane { task: lane % tasks, ..idle }).collect();
        let mut lanes = Self { operations, all, aboard: vec![if aboard { depth } else { 0 }; tasks] };
        for (task, &aboard) in lanes.aboard.iter().enumerate() {
            event_loop.board(task, aboard as u64);
        }
        event_loop.run(tasks * depth, &mut lanes)?;
        Ok(lanes.operations)
    }

    #[inline]
    fn begin(&mut self, event_loop: &mut EventLoop, index: usize, now_ns: u64) -> Option<u64> {
        let task = self.all[index].task;
        if self.operations.takes_last(task)
            && event_loop.may_begin(task)
            && let Some(until_ns) = self.others_until(index, false)
        {
            self.alight(event_loop, index);
            return Some(until_ns.max(now_ns + 1));
        }
        let Some(from_ns) = self.operations.take(event_loop, index, task, now_ns) else {
            self.alight(event_loop, index);
            return None;
        };
        self.all[index].from_ns = from_ns;
        if from_ns <= now_ns {
            return Some(self.start(event_loop, index, now_ns));
        }
        self.alight(event_loop, index);
        let begins = event_loop.may_begin_at(task, from_ns);
        self.wait(index, begins, from_ns)
    }

    /// A lane with an operation goes on at `until_ns`, if its task goes on at all.
    fn wait(&mut self, index: usize, goes_on: bool, until_ns: u64) -> Option<u64> {
        let lane = &mut self.all[index];
        (lane.state, lane.until_ns) = (if goes_on { State::Waiting } else { State::Idle }, until_ns);
        goes_on.then_some(until_ns)
    }

    /// When the last of the other lanes of a lane's task goes on that have an operation, or have one in flight.
    #[cold]
    fn others_until(&self, index: usize, in_flight: bool) -> Option<u64> {
        let of_task = self.all.iter().enumerate().skip(self.all[index].task).step_by(self.aboard.len());
        let busy = |state| state == State::Flying || state == State::Waiting && !in_flight;
        of_task.filter(|(other, lane)| *other != index && busy(lane.state)).map(|(_, lane)| lane.until_ns).max()
    }

    /// Starts the operation of a lane, which is due, or has it wait for those in flight; when it goes on.
    #[inline]
    fn start(&mut self, event_loop: &mut EventLoop, index: usize, now_ns: u64) -> u64 {
        let task = self.all[index].task;
        if self.operations.is_alone(task)
            && let Some(until_ns) = self.others_until(index, true)
        {
            self.alight(event_loop, index);
            let until_ns = until_ns.max(now_ns + 1);
            if !event_loop.spec.pace.is_rate() {
                self.all[index].from_ns = until_ns;
            }
            self.wait(index, true, until_ns);
            return until_ns;
        }
        let lane = &mut self.all[index];
        lane.state = State::Flying;
        if !lane.aboard {
            lane.aboard = true;
            event_loop.board(task, 1);
            self.aboard[task] += 1;
            if self.aboard[task] == 1 {
                event_loop.wake(task, now_ns);
            }
        }
        let end_ns = self.operations.start(event_loop, index, task, now_ns);
        self.all[index].until_ns = end_ns;
        end_ns
    }

    /// A lane has nothing in flight: those that have share the storage.
    fn alight(&mut self, event_loop: &mut EventLoop, index: usize) {
        let lane = &mut self.all[index];
        if std::mem::take(&mut lane.aboard) {
            self.aboard[lane.task] -= 1;
            event_loop.alight(lane.task);
        }
    }
}

impl<O: Operations> EventHandler for Lanes<O> {
    #[inline]
    fn step(&mut self, event_loop: &mut EventLoop, index: usize, now_ns: u64) -> Option<u64> {
        let Lane { task, state, from_ns, .. } = self.all[index];
        match state {
            State::Flying => {
                self.all[index].state = State::Idle;
                self.operations.end(event_loop, index, task, from_ns, now_ns);
                self.begin(event_loop, index, now_ns)
            }
            State::Idle => self.begin(event_loop, index, now_ns),
            State::Waiting if event_loop.may_begin(task) => Some(self.start(event_loop, index, now_ns)),
            State::Waiting => {
                self.all[index].state = State::Idle;
                None
            }
        }
    }
}
