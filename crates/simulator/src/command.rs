//! `command` in virtual time: copies that share the device and the processors, each of them evenly.

use tonnage_records::{CopyResult, FileError, PhaseFiles};
use tonnage_workload::{Command, Copies, Deal, Nanoseconds, Op, PhaseSpec, Program, Step};

use crate::event_loop::EventLoop;
use crate::lanes::TaskProgram;
use crate::model::ModelSpec;
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
    /// It goes on then.
    Waiting(u64),
    Running(Copy),
    Nothing,
}

/// All tasks, and what their copies share.
struct SharedHost {
    programs: Vec<TaskProgram<Copies>>,
    tasks: Vec<Doing>,
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
    let deal = Deal::new(command.part(spec.tasks));
    let program = |task| Program::new(Copies(deal.clone()), &command.terms(spec, task), Nanoseconds, start_ns);
    let mut host = SharedHost {
        programs: (spec.tasks.first..spec.tasks.first + spec.tasks.here).map(program).collect(),
        tasks: (0..spec.tasks.here).map(|_| Doing::Nothing).collect(),
        running: 0,
        progress: 0.0,
        at_ns: start_ns,
        device_s: model.copy_bytes as f64 / model.plateau(Op::Read, model.copy_bytes.max(1)),
        done: Vec::new(),
    };
    for task in 0..host.tasks.len() {
        host.take(&mut event_loop, task, start_ns);
    }
    host.work(&mut event_loop)?;
    let mut copies = host.done;
    copies.sort_by_key(|copy| copy.copy);
    Ok(Outcome { copies, ..Outcome::of(event_loop.finish()?) })
}

impl SharedHost {
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
                Doing::Waiting(_) => {
                    self.advance(event_loop, due_ns);
                    event_loop.wake(task, due_ns);
                    self.take(event_loop, task, due_ns);
                }
                Doing::Running(copy) => {
                    (self.progress, self.at_ns) = (copy.ends_at, due_ns);
                    self.finish(event_loop, task, &copy, due_ns);
                    if event_loop.is_stopping() {
                        self.programs[task].stop();
                    }
                    match self.programs[task].completed(0, due_ns) {
                        Some(number) => self.start(event_loop, task, (number, due_ns), due_ns),
                        None => self.take(event_loop, task, due_ns),
                    }
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
            Doing::Waiting(until_ns) => Some((task, *until_ns)),
            _ => None,
        };
        let first = self.tasks.iter().enumerate().filter_map(running).min_by(|a, b| a.1.total_cmp(&b.1));
        // Who waits when a copy fails ends there.
        let goes_on = !event_loop.is_stopping();
        let next = self.tasks.iter().enumerate().filter(|_| goes_on).filter_map(waiting).min_by_key(|(_, start_ns)| *start_ns);
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

    /// Gives a task the next copy, or the time until when it waits for one.
    fn take(&mut self, event_loop: &mut EventLoop, task: usize, now_ns: u64) {
        if event_loop.is_stopping() {
            self.programs[task].stop();
        }
        match self.programs[task].next(now_ns) {
            Step::Issue { from, operation, .. } => self.start(event_loop, task, (operation, from), now_ns),
            Step::WaitUntil(until_ns) => self.tasks[task] = Doing::Waiting(until_ns),
            Step::Wait | Step::Tell(_) | Step::Learn(_) | Step::Done => {
                event_loop.ended(task, now_ns, self.programs[task].timed_out());
            }
        }
    }

    fn start(&mut self, event_loop: &mut EventLoop, task: usize, (number, from_ns): (u32, u64), now_ns: u64) {
        self.running += 1;
        event_loop.board(task, 1);
        let work = event_loop.runners[task].slowness * event_loop.chance.lognormal_mean_1(event_loop.model.jitter);
        self.tasks[task] = Doing::Running(Copy { number, from_ns, start_ns: now_ns, ends_at: self.progress + work });
    }

    fn finish(&mut self, event_loop: &mut EventLoop, task: usize, copy: &Copy, now_ns: u64) {
        self.running -= 1;
        event_loop.alight(task);
        event_loop.arrive(task, now_ns);
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
