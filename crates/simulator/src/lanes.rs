//! Lanes: room for the operations in flight of each task, one for each slot of its program.

use tonnage_records::FileError;
use tonnage_workload::{Nanoseconds, Operations, Program, Step, WallState};

use crate::event_loop::{Due, EventHandler, EventLoop};

/// A task's program in virtual time.
pub(crate) type TaskProgram<O> = Program<Nanoseconds, O>;

/// What the operations of one kind of workload do to the model.
pub(crate) trait Model {
    /// What a task does.
    type Operations: Operations;

    /// Starts an operation in a lane, given with the place of its task; when it ends.
    fn start(
        &mut self,
        event_loop: &mut EventLoop,
        lane: (usize, usize),
        operation: <Self::Operations as Operations>::Operation,
        now_ns: u64,
    ) -> u64;

    /// Counts the operation of a lane, whose latency began at `from_ns` and which ends now.
    fn end(&mut self, event_loop: &mut EventLoop, lane: (usize, usize), from_ns: u64, now_ns: u64);
}

#[derive(Clone, Copy)]
struct Lane {
    /// Its operation ends then; `None` where it has none.
    ends_ns: Option<u64>,
    /// It is due to be looked at then, for the task may go on.
    wakes_ns: Option<u64>,
    /// Counts among those in flight.
    aboard: bool,
    /// It has not been looked at.
    is_fresh: bool,
    /// Where the latency of its operation begins.
    from_ns: u64,
}

/// The lanes of all tasks. Lane `slot × tasks + task` is slot `slot` of the task, so that each task has its first operation
/// in flight before any has its second.
pub(crate) struct Lanes<M: Model> {
    model: M,
    programs: Vec<TaskProgram<M::Operations>>,
    all: Vec<Lane>,
    /// Of each task, how many lanes count among those in flight.
    aboard: Vec<usize>,
    /// Where tasks that wear out meet, and those that wait there.
    wall: WallState,
    waiting: Vec<usize>,
}

/// Plays `programs`, one a task with `depth` slots each, to their end; the model as it is then.
pub(crate) fn run<M: Model>(
    event_loop: &mut EventLoop,
    depth: u32,
    programs: Vec<TaskProgram<M::Operations>>,
    model: M,
) -> Result<M, FileError> {
    let mut lanes = Lanes::new(event_loop, depth, programs, model);
    event_loop.run(lanes.all.len(), &mut lanes)?;
    Ok(lanes.model)
}

/// A phase in lanes that goes on step by step, so that another one may go on between two of them.
pub(crate) struct Playing<'a, M: Model> {
    pub event_loop: EventLoop<'a>,
    lanes: Lanes<M>,
    due: Due,
}

impl<'a, M: Model> Playing<'a, M> {
    /// With the lanes of [`run`], which have begun.
    pub fn begin(mut event_loop: EventLoop<'a>, depth: u32, programs: Vec<TaskProgram<M::Operations>>, model: M) -> Self {
        let mut lanes = Lanes::new(&mut event_loop, depth, programs, model);
        let due = event_loop.begin(lanes.all.len(), &mut lanes);
        Self { event_loop, lanes, due }
    }

    /// To the end.
    pub fn play(&mut self) -> Result<(), FileError> {
        self.event_loop.run_on(&mut self.due, &mut self.lanes)
    }

    /// The phase, and the model as it is now.
    pub fn into_parts(self) -> (EventLoop<'a>, M) {
        (self.event_loop, self.lanes.model)
    }
}

/// A phase that goes on step by step, whatever it does.
pub(crate) trait Play {
    /// When something of it is due; `None` at its end.
    fn next_ns(&self) -> Option<u64>;

    /// Does what is due first, with `beside` operations of another one in flight.
    fn step(&mut self, beside: u64) -> Result<(), FileError>;

    /// Operations in flight.
    fn in_flight(&self) -> u64;

    /// It ends now.
    fn end_at(&mut self, now_ns: u64);
}

impl<M: Model> Play for Playing<'_, M> {
    fn next_ns(&self) -> Option<u64> {
        self.due.next_ns()
    }

    fn step(&mut self, beside: u64) -> Result<(), FileError> {
        self.event_loop.share_with(beside);
        self.event_loop.step(&mut self.due, &mut self.lanes)
    }

    fn in_flight(&self) -> u64 {
        self.event_loop.in_flight()
    }

    fn end_at(&mut self, now_ns: u64) {
        self.event_loop.end_at(now_ns);
    }
}

impl<M: Model> Lanes<M> {
    /// Those of `programs`, with as many operations in flight as all have from the beginning.
    fn new(event_loop: &mut EventLoop, depth: u32, programs: Vec<TaskProgram<M::Operations>>, model: M) -> Self {
        let tasks = programs.len();
        let depth = depth as usize;
        // Operations that follow each other at once are all in flight from the beginning; others as they start.
        let aboard = !event_loop.spec.pace.waits();
        let lane = Lane { ends_ns: None, wakes_ns: None, aboard, is_fresh: true, from_ns: event_loop.start_ns };
        let lanes = Self {
            model,
            programs,
            all: vec![lane; tasks * depth],
            aboard: vec![if aboard { depth } else { 0 }; tasks],
            wall: WallState::new(tasks as u32),
            waiting: Vec::new(),
        };
        for (task, &aboard) in lanes.aboard.iter().enumerate() {
            event_loop.board(task, aboard as u64);
        }
        lanes
    }

    /// Starts an operation in a lane; when it ends.
    #[inline]
    fn start(
        &mut self,
        event_loop: &mut EventLoop,
        index: usize,
        (from_ns, operation): (u64, <M::Operations as Operations>::Operation),
        now_ns: u64,
    ) -> u64 {
        let task = index % self.programs.len();
        let lane = &mut self.all[index];
        lane.from_ns = from_ns;
        if !lane.aboard {
            lane.aboard = true;
            event_loop.board(task, 1);
            self.aboard[task] += 1;
            if self.aboard[task] == 1 {
                event_loop.wake(task, now_ns);
            }
        }
        let ends_ns = self.model.start(event_loop, (index, task), operation, now_ns);
        self.all[index].ends_ns = Some(ends_ns);
        ends_ns
    }

    /// Begins what is due of a task; at most `most` operations.
    fn advance(&mut self, event_loop: &mut EventLoop, task: usize, most: usize, now_ns: u64) {
        if event_loop.is_stopping() {
            self.programs[task].stop();
        }
        let mut begun = 0;
        while begun < most {
            match self.programs[task].next(now_ns) {
                Step::Issue { slot, from, operation } => {
                    let index = slot as usize * self.programs.len() + task;
                    let ends_ns = self.start(event_loop, index, (from, operation), now_ns);
                    event_loop.schedule(index, ends_ns);
                    begun += 1;
                }
                Step::WaitUntil(until_ns) => {
                    let slot = self.programs[task].next_slot().unwrap_or(0) as usize;
                    self.wake_at(event_loop, slot * self.programs.len() + task, until_ns);
                    return;
                }
                Step::Wait => return,
                Step::Tell(operations) => {
                    event_loop.tell(task);
                    self.wall.tell(operations);
                    for waiting in std::mem::take(&mut self.waiting) {
                        self.wake_at(event_loop, waiting, now_ns);
                    }
                }
                Step::Learn(done) => {
                    let Some(most) = self.wall.learned(done) else {
                        self.waiting.push(task);
                        return;
                    };
                    self.programs[task].learned(most);
                }
                Step::Done => {
                    event_loop.ended(task, now_ns, self.programs[task].timed_out());
                    return;
                }
            }
        }
    }

    /// A lane is looked at again at `until_ns`.
    fn wake_at(&mut self, event_loop: &mut EventLoop, index: usize, until_ns: u64) {
        let lane = &mut self.all[index];
        if lane.wakes_ns != Some(until_ns) {
            lane.wakes_ns = Some(until_ns);
            event_loop.schedule(index, until_ns);
        }
    }

    /// A lane that has nothing in flight leaves the storage to those that have.
    fn alight(&mut self, event_loop: &mut EventLoop, index: usize) {
        let lane = &mut self.all[index];
        if lane.ends_ns.is_none() && std::mem::take(&mut lane.aboard) {
            let task = index % self.programs.len();
            self.aboard[task] -= 1;
            event_loop.alight(task);
        }
    }
}

impl<M: Model> EventHandler for Lanes<M> {
    fn is_in_flight(&self, lane: usize) -> bool {
        self.all[lane].ends_ns.is_some()
    }

    #[inline]
    fn step(&mut self, event_loop: &mut EventLoop, index: usize, now_ns: u64) -> Option<u64> {
        let tasks = self.programs.len();
        let (task, slot) = (index % tasks, (index / tasks) as u32);
        let lane = &mut self.all[index];
        let mut most = usize::MAX;
        if lane.ends_ns == Some(now_ns) {
            lane.ends_ns = None;
            let from_ns = lane.from_ns;
            self.model.end(event_loop, (index, task), from_ns, now_ns);
            if event_loop.is_stopping() {
                self.programs[task].stop();
            }
            if let Some(operation) = self.programs[task].completed(slot, now_ns) {
                return Some(self.start(event_loop, index, (now_ns, operation), now_ns));
            }
        } else if std::mem::take(&mut lane.is_fresh) {
            most = 1;
        } else if std::mem::take(&mut lane.wakes_ns) != Some(now_ns) {
            return None;
        }
        self.advance(event_loop, task, most, now_ns);
        self.alight(event_loop, index);
        None
    }
}
