//! A task that follows the growing file through a descriptor of its own.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tonnage_records::Followed;
use tonnage_storage::Watch;
use tonnage_workload::{FollowStep, Op, Tail, TailReader, Verifier, Waiting};

use super::FILE;
use super::progress::Progress;
use crate::lane_port::Port;
use crate::retry::Retries;
use crate::task::{TaskContext, Worker};
use crate::task_counters::Step;
use crate::transfers::describe;

/// How long a reader that waits stays deaf to a stop.
const SLICE: Duration = Duration::from_millis(100);
/// A notified reader looks all the same this often: network file systems send no events for what others write.
const LOOK: Duration = Duration::from_secs(1);
/// What was read of a transfer is kept in whole pieces of this size, so that a direct read can go on behind it.
const PIECE: usize = 4096;

/// One task that follows.
pub struct Reader {
    pub follower: TailReader,
    pub port: Port,
    pub progress: Arc<Progress>,
    pub verifier: Option<Arc<Verifier>>,
    /// Handed to the workload at the end.
    pub followed: Option<Followed>,
    pub polled_instead: Arc<AtomicBool>,
    pub workload: Arc<Mutex<Vec<Followed>>>,
    pub watch: Option<Watch>,
    pub tail: Tail,
}

impl Worker for Reader {
    fn open(&mut self, context: &mut TaskContext) -> bool {
        while !self.progress.is_open() {
            if context.shared.stop.load(Ordering::Relaxed) || self.progress.ended().is_some() {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        if let Err(error) = self.port.lane().open() {
            let errno = error.io().and_then(io::Error::raw_os_error).unwrap_or(0);
            context.fail(FILE, 0, errno, error.to_string());
            return false;
        }
        if self.tail.waiting == Waiting::Notify {
            self.watch = context.shared.storage.watch(FILE);
        }
        true
    }

    fn transfer(&mut self, context: &mut TaskContext) {
        let Some(mut followed) = self.followed.take() else { return };
        if self.tail.waiting == Waiting::Notify && self.watch.is_none() {
            self.polled_instead.store(true, Ordering::Relaxed);
        }
        self.follow(context, &mut followed);
        followed.bytes = context.counters.bytes();
        self.workload.lock().unwrap_or_else(PoisonError::into_inner).push(followed);
    }

    fn close(&mut self, context: &mut TaskContext) {
        if let Err(error) = self.port.lane().close() {
            context.fail(FILE, 0, error.raw_os_error().unwrap_or(0), format!("close failed: {error}"));
        }
    }

    fn retries(&mut self) -> Retries {
        Retries::of(self.port.lane().take_retry_reports())
    }
}

impl Reader {
    fn follow(&mut self, context: &mut TaskContext, followed: &mut Followed) {
        let shared = Arc::clone(&context.shared);
        let clock = shared.clock;
        let size = self.tail.transfer_size;
        // Of the transfer in hand: bytes that are there, and time spent in calls that gave some.
        let (mut have, mut spent_ns) = (0, 0);
        while !shared.stop.load(Ordering::Relaxed) {
            // Asked before the file is: what it has after the writer's end, it had at that end.
            let ended = self.progress.ended();
            let (number, behind) = match self.follower.next(self.progress.written(), ended, clock.ticks()) {
                FollowStep::Read { number, behind } => (number, behind),
                FollowStep::GiveUp { number, behind } => return self.give_up(context, number * size, behind * size),
                FollowStep::Done => return,
            };
            followed.max_lag_bytes = followed.max_lag_bytes.max(behind * size);
            context.counters.set_step(Step::Transferring);
            let begun = clock.ticks();
            let moved = match self.port.read(number * size + have as u64, have..size as usize) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    return context.fail(FILE, number * size, errno, describe(Op::Read, &error));
                }
                Ok(moved) => moved,
            };
            let now = clock.ticks();
            if moved > 0 {
                spent_ns += clock.ns_between(begun, now);
            }
            if have + moved == size as usize {
                context.tally.record(&context.counters, spent_ns, size);
                followed.lag.record(self.progress.written_at(number).map_or(0, |written| clock.ns_between(written, now)));
                self.verify(context, number * size);
                self.follower.completed();
                (have, spent_ns) = (0, 0);
                continue;
            }
            let whole = (have + moved) / PIECE * PIECE;
            let grew = whole > have;
            have = whole;
            if !grew {
                followed.waits += 1;
                context.counters.set_step(Step::Pausing);
                self.wait(&shared.stop);
            }
        }
    }

    fn verify(&mut self, context: &mut TaskContext, offset: u64) {
        if let Some(verifier) = &self.verifier {
            let bytes = &self.port.memory()[..self.tail.transfer_size as usize];
            context.tally.verify(verifier, bytes, context.number, FILE, offset);
        }
    }

    #[cold]
    fn give_up(&self, context: &mut TaskContext, offset: u64, behind_bytes: u64) {
        context.fail(FILE, offset, 0, self.tail.given_up(context.number, behind_bytes));
    }

    /// At the end of the file: until it may have grown.
    fn wait(&self, stop: &AtomicBool) {
        let begun = Instant::now();
        let limit = if self.watch.is_some() { LOOK } else { Duration::from_nanos(self.tail.poll_ns) };
        while !stop.load(Ordering::Relaxed) {
            let left = limit.saturating_sub(begun.elapsed()).min(SLICE);
            if left.is_zero() {
                return;
            }
            match &self.watch {
                Some(watch) if watch.wait(left).unwrap_or(false) => return,
                Some(_) => {}
                None => thread::sleep(left),
            }
        }
    }
}
