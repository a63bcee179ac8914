//! Ends a phase before it fills the file systems that it writes to, where nobody has checked that there is room.
//!
//! Each process looks for itself at what is free, and fails its part where that comes near to a floor; those of other
//! processes end with it, as after any operation that failed. The floor is what nobody finds taken: a twentieth of the file
//! system, at most 4 GiB, and never more than half of what was free at first. The phase ends earlier by what is written
//! until it can have ended: what tasks have in hand, and a while at the rate that was seen. Where a file system counts what
//! was written only later, what was written and is not counted yet is taken for gone: at most what waits in the page cache,
//! and what was written of late.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use tonnage_storage::Space;
use tonnage_workload::{PhaseSpec, TaskRange, Work};

use crate::task::Shared;
use crate::task_counters::TaskCounters;

/// The share of a file system that stays free, as a divisor…
const FLOOR_SHARE: u64 = 20;
/// …and the most of it.
const FLOOR_MOST: u64 = 4 << 30;
/// How often is looked at most and at least, unless less is free than is written in between.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));
/// Before a rate is known it may be this one, in bytes per second: about what memory takes.
const RATE_MOST: u64 = 8_000_000_000;
/// A rate is that of so long, and at least of a fifth of it: a file system gives space in lumps.
const RATE_OVER: Duration = Duration::from_millis(100);
/// So long tasks may go on after a look that ends the phase, on a busy host.
const REACTION: Duration = Duration::from_millis(50);
/// So old figures of servers, and of file systems with a cache of their own, may be.
const AGE: Duration = Duration::from_secs(5);
/// What a task moves between two looks at whether it is to stop, in a file of many parts.
const PART_BYTES: u64 = 1 << 20;

/// One that runs beside the tasks of a phase.
pub struct SpaceWatch(JoinHandle<Option<String>>);

/// What is known of one directory's file system.
struct Watched {
    first: Space,
    floor: u64,
    /// When, and what had been taken then: of the last moments.
    taken: VecDeque<(Instant, u64)>,
}

/// The file systems of a phase.
struct Watch {
    all: Vec<Watched>,
    /// Tasks of the phase for each one here, where all write to one file system.
    scale: u64,
    in_hand: u64,
}

impl Watch {
    /// Of the phase that is `spec`, where there is as much `spaces` tells of now; `None` where what it takes at most fits.
    fn new(spec: &PhaseSpec, spaces: impl FnOnce() -> Vec<Space>) -> Option<Self> {
        let TaskRange { here, total, .. } = spec.tasks;
        let takes = spec.work.takes_bytes(total).filter(|_| spec.limit.watch_space)?;
        let of = |first: Space| Watched {
            floor: (first.size_bytes / FLOOR_SHARE).min(FLOOR_MOST).min(first.free_bytes / 2),
            taken: VecDeque::new(),
            first,
        };
        let all: Vec<_> = spaces().into_iter().filter(|space| takes > space.free_bytes).map(of).collect();
        let in_hand = match &spec.work {
            Work::Stream(stream) => stream.geometry.transfer_size * u64::from(stream.queue_depth),
            Work::Files(files) => files.file_bytes.min(PART_BYTES),
            Work::Tail(_) | Work::Command(_) | Work::Find(_) | Work::Checkpoint(_) | Work::Training(_) | Work::KvCache(_) => 0,
        };
        (!all.is_empty()).then(|| Self { all, scale: u64::from(total.div_ceil(here)), in_hand: in_hand * u64::from(here) })
    }

    /// Looks at what is free now, after so many bytes were written here. How long until the next look, or why the phase
    /// is to end. `unwritten`: bytes that wait in the page cache.
    fn look(&mut self, spaces: &[Space], written: u64, unwritten: impl Fn() -> u64, now: Instant) -> Result<Duration, String> {
        let mut next = LOOKS.1;
        for watched in &mut self.all {
            let Some(space) = spaces.iter().find(|space| space.path == watched.first.path) else { continue };
            let fell = watched.first.free_bytes.saturating_sub(space.free_bytes);
            // Where what is free comes late, what is done here is known.
            let all = written.saturating_mul(self.scale);
            let rate = watched.rate(if space.counts_at_once { fell } else { all }, now);
            let uncounted = if space.counts_at_once {
                0
            } else {
                let expected = all.saturating_sub(watched.first.taken_bytes.saturating_mul(self.scale));
                let of_late = unwritten().saturating_mul(self.scale).saturating_add(in_time(rate, AGE));
                expected.saturating_sub(fell).min(of_late)
            };
            let left = space.free_bytes.saturating_sub(uncounted).saturating_sub(watched.floor + self.in_hand);
            if fell + uncounted > 0 && left <= in_time(rate, REACTION) {
                return Err(complaint(space, watched.floor));
            }
            // Half of what is left may go until the next look, at four times the rate.
            let rate = rate.saturating_mul(4).max(RATE_MOST);
            let until = Duration::from_secs_f64(left as f64 / 2.0 / rate as f64);
            next = next.min(until.clamp(LOOKS.0, LOOKS.1));
        }
        Ok(next)
    }
}

impl Watched {
    /// Bytes per second of late, once `taken` are gone.
    fn rate(&mut self, taken: u64, now: Instant) -> u64 {
        self.taken.push_back((now, taken));
        while self.taken.len() > 2 && self.taken.get(1).is_some_and(|&(when, _)| now - when >= RATE_OVER) {
            self.taken.pop_front();
        }
        let (since, before) = self.taken.front().copied().unwrap_or((now, taken));
        let lasted = (now - since).max(RATE_OVER / 5);
        (taken.saturating_sub(before) as f64 / lasted.as_secs_f64()) as u64
    }
}

impl SpaceWatch {
    /// Looks from now on, until the phase has ended; `None` where there is nothing to watch.
    pub fn start(shared: &Arc<Shared>, all_counters: &Arc<[Arc<TaskCounters>]>) -> Option<Self> {
        let mut watch = Watch::new(&shared.spec, || shared.storage.space())?;
        let (phase, counters) = (Arc::clone(shared), Arc::clone(all_counters));
        // Beside the supervisor: a server that does not answer must not stop the series.
        let watching = move || {
            while phase.running.load(Ordering::Acquire) > 0 && !phase.stop.load(Ordering::Relaxed) {
                let written = counters.iter().map(|counters| counters.bytes()).sum();
                match watch.look(&phase.storage.space(), written, unwritten_bytes, Instant::now()) {
                    Ok(next) => std::thread::park_timeout(next),
                    Err(why) => {
                        phase.stop.store(true, Ordering::Relaxed);
                        return Some(why);
                    }
                }
            }
            None
        };
        let spawned = Builder::new().name("tonnage-space".into()).spawn(watching);
        Some(Self(spawned.expect("one more thread than the tasks have")))
    }

    /// The tasks have ended: why, if that was for want of space.
    pub fn end(self) -> Option<String> {
        self.0.thread().unpark();
        self.0.join().ok()?
    }
}

/// Bytes in so long.
fn in_time(rate: u64, time: Duration) -> u64 {
    (rate as f64 * time.as_secs_f64()) as u64
}

fn complaint(space: &Space, floor: u64) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!(
        "{} is nearly full: {:.1} MiB of {:.1} MiB are left, and a phase that was not checked to fit ends before fewer than \
         {:.1} MiB are; use a shorter time limit, fewer or smaller files, or another target",
        space.path.display(),
        mib(space.free_bytes),
        mib(space.size_bytes),
        mib(floor),
    )
}

/// What was written to files on this host and has not left the page cache; 0 where the system does not say.
fn unwritten_bytes() -> u64 {
    let facts = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of = |line: &str| -> Option<u64> {
        let (name, rest) = line.split_once(':')?;
        let counts = matches!(name, "Dirty" | "Writeback" | "NFS_Unstable" | "WritebackTmp");
        counts.then(|| rest.trim_end_matches("kB").trim().parse::<u64>().ok())?.map(|kib| kib << 10)
    };
    facts.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    /// Two tasks here, of `total`, that write 1 MiB at a time for as long as they may.
    fn spec(total: u32, watch_space: bool, block_size: u64) -> PhaseSpec {
        serde_json::from_value(serde_json::json!({
            "record": "a", "tasks": {"here": 2, "total": total}, "seed": 1, "limit": {"watch_space": watch_space},
            "work": {"kind": "stream", "op": "write", "cache": "keep", "durability": "none", "geometry": {"transfer_size": MIB,
                "block_size": block_size, "segments": 1, "layout": "file-per-task", "access": "sequential"}},
        }))
        .expect("a spec")
    }

    fn space(free_bytes: u64, size_bytes: u64, counts_at_once: bool) -> Space {
        Space { path: "/data".into(), free_bytes, size_bytes, taken_bytes: 0, counts_at_once }
    }

    fn watch(first: &Space) -> Watch {
        Watch::new(&spec(2, true, 1 << 50), || vec![first.clone()]).expect("it does not fit")
    }

    /// What a phase leaves free that writes so many bytes a second, where figures are so old.
    fn left_by(first: &Space, bytes_per_s: u64, age: Duration) -> u64 {
        let (mut watch, began) = (watch(first), Instant::now());
        let mut after = Duration::ZERO;
        let free = |after| first.free_bytes.saturating_sub(in_time(bytes_per_s, after));
        loop {
            let told = Space { free_bytes: free(after.saturating_sub(age)), ..first.clone() };
            match watch.look(&[told], in_time(bytes_per_s, after), || 0, began + after) {
                Ok(next) => after += next,
                Err(_) => return free(after),
            }
        }
    }

    #[test]
    fn a_phase_is_watched_that_nobody_checked_and_that_may_not_fit() {
        let first = space(10 * GIB, 100 * GIB, true);
        assert!(Watch::new(&spec(2, true, 6 * GIB), || vec![first.clone()]).is_some());
        assert!(Watch::new(&spec(2, true, 5 * GIB), || vec![first.clone()]).is_none(), "it fits");
        assert!(Watch::new(&spec(3, true, 5 * GIB), || vec![first.clone()]).is_some(), "with the task that is elsewhere");
        assert!(Watch::new(&spec(2, false, 6 * GIB), || vec![first]).is_none(), "it was checked");
    }

    #[test]
    fn the_floor_is_a_twentieth_and_at_most_4_gib_and_half_of_what_is_free() {
        let floor = |free, size| watch(&space(free, size, true)).all[0].floor;
        assert_eq!(floor(50 * GIB, 60 * GIB), 3 * GIB);
        assert_eq!(floor(500 * GIB, 10_000 * GIB), 4 * GIB);
        assert_eq!(floor(3 * GIB, 10_000 * GIB), 3 * GIB / 2);
        assert_eq!(floor(20 * MIB, 40 * MIB), 2 * MIB);
    }

    #[test]
    fn no_rate_of_memory_or_below_takes_a_file_system_to_its_floor() {
        for (free, size) in [(40 * MIB, 40 * MIB), (480 * MIB, 500 * MIB), (90 * GIB, 100 * GIB)] {
            for mib_per_s in [5, 500, 7000] {
                for age_ms in [0, 1000, 4000] {
                    let (first, age) = (space(free, size, age_ms == 0), Duration::from_millis(age_ms));
                    let (left, floor) = (left_by(&first, mib_per_s * MIB, age), watch(&first).all[0].floor);
                    let told = format!("{left} of {size} are left at {mib_per_s} MiB/s with figures {age_ms} ms old");
                    assert!(left > floor, "{told}");
                    let early = in_time(mib_per_s * MIB, LOOKS.1 + REACTION * 2);
                    assert!(left <= floor + 2 * MIB + early, "{told}: too early");
                }
            }
        }
    }

    #[test]
    fn what_waits_in_the_page_cache_is_taken_where_a_file_system_does_not_count_it() {
        let first = space(10 * GIB, 10 * GIB, false);
        let look = |written, unwritten, free_bytes| {
            let mut watch = watch(&first);
            let _ = watch.look(std::slice::from_ref(&first), written, || unwritten, Instant::now());
            watch.look(&[Space { free_bytes, ..first.clone() }], written, || unwritten, Instant::now()).is_ok()
        };
        assert!(look(9 * GIB, 0, 10 * GIB), "nothing is taken: it is written over, or as holes");
        assert!(!look(95 * GIB / 10, 9 * GIB, 95 * GIB / 10));
        assert!(look(9 * GIB, 9 * GIB, GIB), "all of it was counted");
        assert!(!look(9 * GIB, 0, GIB / 2));
    }

    #[test]
    fn a_file_system_that_nobody_takes_from_ends_no_phase_however_full_it_is() {
        let full = space(0, 10 * GIB, true);
        assert!(watch(&full).look(std::slice::from_ref(&full), 0, || 0, Instant::now()).is_ok());
        let slow = space(MIB, 10 * GIB, false);
        assert!(watch(&slow).look(std::slice::from_ref(&slow), GIB, || 0, Instant::now()).is_ok());
    }
}
