//! `command` in virtual time: copies that share the device and the processors, each of them evenly.

use tonnage_records::{CopyResult, FileError, PhaseFiles};
use tonnage_workload::{Command, Op, PhaseSpec};

use crate::event_loop::EventLoop;
use crate::model::ModelSpec;
use crate::quota::Quota;
use crate::state::{Outcome, SimulatorError, State};

/// A copy that a task has.
struct Copy {
    number: u32,
    /// Where its latency counts from.
    from_ns: u64,
    start_ns: u64,
    /// It ends when a copy that ran from the beginning of the phase would have been through so often.
    ends_at: f64,
}

/// What a task does now.
enum Doing {
    /// Its copy starts when it is due.
    Waiting(Copy),
    Running(Copy),
    Nothing,
}

struct Crew {
    quotas: Vec<Quota>,
    tasks: Vec<Doing>,
    next_copy: u32,
    /// Those from here on are other processes'.
    end_copy: u32,
    running: u64,
    /// How often a copy that ran from the beginning of the phase would have been through by `at_ns`.
    progress: f64,
    at_ns: u64,
    /// Seconds of the device that a copy costs.
    device_s: f64,
    done: Vec<CopyResult>,
}

/// Runs the copies, starting at `start_ns`.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    command: &Command,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut event_loop = EventLoop::new(model, spec, start_ns, &mut state.counters, files);
    // Copies are dealt to whoever is free: no task has a part of its own.
    let copies = u64::from(command.copies);
    let quota = |task| Quota::new(spec.limit, copies, spec.pace, spec.pace.schedule(1, task, spec.tasks.total), start_ns);
    let part = command.part(spec.tasks);
    let mut crew = Crew {
        quotas: (spec.tasks.first..spec.tasks.first + spec.tasks.here).map(quota).collect(),
        tasks: (0..spec.tasks.here).map(|_| Doing::Nothing).collect(),
        next_copy: part.start,
        end_copy: part.end,
        running: 0,
        progress: 0.0,
        at_ns: start_ns,
        device_s: model.copy_bytes as f64 / model.plateau(Op::Read, model.copy_bytes.max(1)),
        done: Vec::new(),
    };
    for task in 0..crew.tasks.len() {
        crew.take(&mut event_loop, task, start_ns);
    }
    crew.work(&mut event_loop)?;
    let mut copies = crew.done;
    copies.sort_by_key(|copy| copy.copy);
    Ok(Outcome { copies, ..Outcome::of(event_loop.finish()?) })
}

impl Crew {
    /// From one event to the next: a copy starts, a copy ends, or an interval is over.
    fn work(&mut self, event_loop: &mut EventLoop) -> Result<(), FileError> {
        while let Some((task, due_ns)) = self.next(event_loop) {
            // The speed may drift while copies run: it is looked at in each interval.
            if due_ns > event_loop.interval_end_ns() {
                let now_ns = event_loop.interval_end_ns();
                self.advance(event_loop, now_ns);
                event_loop.pass(now_ns)?;
                continue;
            }
            event_loop.pass(due_ns)?;
            match std::mem::replace(&mut self.tasks[task], Doing::Nothing) {
                Doing::Waiting(copy) => {
                    self.advance(event_loop, due_ns);
                    if event_loop.may_begin(task) {
                        event_loop.wake(task, due_ns);
                        self.start(event_loop, task, copy, due_ns);
                    }
                }
                Doing::Running(copy) => {
                    (self.progress, self.at_ns) = (copy.ends_at, due_ns);
                    self.finish(event_loop, task, &copy, due_ns);
                    self.take(event_loop, task, due_ns);
                }
                Doing::Nothing => {}
            }
        }
        Ok(())
    }

    /// The task that has the next thing to do, and when; the first one of several.
    fn next(&self, event_loop: &mut EventLoop) -> Option<(usize, u64)> {
        let running = |(task, doing): (usize, &Doing)| match doing {
            Doing::Running(copy) => Some((task, copy.ends_at)),
            _ => None,
        };
        let waiting = |(task, doing): (usize, &Doing)| match doing {
            Doing::Waiting(copy) => Some((task, copy.start_ns)),
            _ => None,
        };
        let first = self.tasks.iter().enumerate().filter_map(running).min_by(|a, b| a.1.total_cmp(&b.1));
        let next = self.tasks.iter().enumerate().filter_map(waiting).min_by_key(|(_, start_ns)| *start_ns);
        if let Some((task, ends_at)) = first {
            let left_ns = ((ends_at - self.progress).max(0.0) * self.copy_ns(event_loop)).round() as u64;
            let end_ns = event_loop.stalls.end_of(self.at_ns, left_ns);
            if next.is_none_or(|(_, start_ns)| end_ns <= start_ns) {
                return Some((task, end_ns));
            }
        }
        next
    }

    /// How long a copy takes among those that run now: its bytes and its processor time go on side by side, so that
    /// the scarcer of the two says how long.
    fn copy_ns(&self, event_loop: &EventLoop) -> f64 {
        let (model, tasks) = (event_loop.model, event_loop.spec.tasks);
        let running = self.running * u64::from(tasks.total) / u64::from(tasks.here);
        let crowding = (running as f64 / f64::from(model.cpus)).max(1.0);
        event_loop.speed.device_ns(self.device_s, self.at_ns).max(model.copy_cpu_ns as f64 * crowding)
    }

    /// Lets what runs go on until `now_ns`.
    fn advance(&mut self, event_loop: &mut EventLoop, now_ns: u64) {
        if self.running > 0 {
            self.progress += event_loop.stalls.moving_ns(self.at_ns, now_ns) as f64 / self.copy_ns(event_loop);
        }
        self.at_ns = now_ns;
    }

    /// Gives a task the next copy, if there is one that may begin.
    fn take(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        if self.next_copy == self.end_copy || !event_loop.may_begin(task) || !self.quotas[task].take(now_ns) {
            return;
        }
        let from_ns = self.quotas[task].starts_ns(now_ns);
        if !event_loop.may_begin_at(task, from_ns.max(now_ns)) {
            return;
        }
        let copy = Copy { number: self.next_copy, from_ns, start_ns: from_ns.max(now_ns), ends_at: 0.0 };
        self.next_copy += 1;
        if copy.start_ns > now_ns {
            self.tasks[task] = Doing::Waiting(copy);
        } else {
            self.start(event_loop, task, copy, now_ns);
        }
    }

    fn start(&mut self, event_loop: &mut EventLoop, task: usize, mut copy: Copy, now_ns: u64) {
        self.running += 1;
        event_loop.board(task, 1);
        let work = event_loop.runners[task].slowness * event_loop.chance.lognormal_mean_1(event_loop.model.jitter);
        (copy.start_ns, copy.ends_at) = (now_ns, self.progress + work);
        self.tasks[task] = Doing::Running(copy);
    }

    fn finish(&mut self, event_loop: &mut EventLoop, task: usize, copy: &Copy, now_ns: u64) {
        self.running -= 1;
        event_loop.alight(task);
        event_loop.arrive(task, now_ns, self.next_copy < self.end_copy);
        let fails = event_loop.draws_fault();
        if fails {
            let message = format!("copy {} ended with exit code 1", copy.number);
            event_loop.fail_with(task, (0, u64::from(copy.number)), 0, message);
        } else {
            // A copy may take as long as it likes: that is no stall.
            event_loop.wake(task, now_ns);
            event_loop.record(task, now_ns, now_ns - copy.from_ns, event_loop.model.copy_bytes);
        }
        self.done.push(CopyResult {
            copy: copy.number,
            task: event_loop.runners[task].number,
            start_ns: copy.start_ns,
            end_ns: now_ns,
            exit_code: Some(i32::from(fails)),
            cpu_user_ns: event_loop.model.copy_cpu_ns,
            read_call_bytes: Some(event_loop.model.copy_bytes),
            write_call_bytes: Some(0),
            device_read_bytes: Some(event_loop.model.copy_bytes),
            device_write_bytes: Some(0),
            ..CopyResult::default()
        });
    }
}
