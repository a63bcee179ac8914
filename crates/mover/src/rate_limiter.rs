//! Bytes and files a second, changeable while it runs.
//!
//! Each bound is a bucket of debt: whoever finds no debt goes at once and leaves its own. So a piece of any size passes, the long-run
//! rate is exact, and a change of the bound acts on the debt that is left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const NS_PER_S: u64 = 1_000_000_000;
/// Time whose share a bucket saves up while nobody takes: evens out late wake-ups, too short to be a burst anybody notices.
const SAVED_NS: u64 = 20_000_000;
/// The halt flag cannot wake anybody, so it is looked at this often.
const LOOK: Duration = Duration::from_millis(20);
/// What a file counts beside its bytes, so that small and large files are of one kind: opening, syncing and naming one burdens a
/// device about as much as so many bytes.
pub(crate) const FILE_COST_BYTES: u64 = 64 << 10;

/// Makes workers wait, so that together they stay below the bounds asked for and the controller's.
#[derive(Debug)]
pub struct Limiter {
    buckets: Mutex<Buckets>,
    changed: Condvar,
    began: Instant,
}

impl Limiter {
    /// Bounds in bytes and in files a second; `None` is no bound, 0 is paused.
    #[must_use]
    pub fn new(bytes_per_s: Option<u64>, files_per_s: Option<u64>) -> Self {
        let buckets =
            Buckets { bytes: Bucket::new(bytes_per_s), files: Bucket::new(files_per_s), gentle: Bucket::new(None), waits: 0 };
        Self { buckets: Mutex::new(buckets), changed: Condvar::new(), began: Instant::now() }
    }

    /// Waits until `bytes` and `files` may go; false when `halt` was set before. Ask for pieces of a MiB or so: what has been
    /// granted cannot be taken back when a bound falls.
    pub fn take(&self, bytes: u64, files: u64, halt: &AtomicBool) -> bool {
        let mut buckets = self.lock();
        loop {
            if halt.load(Ordering::Relaxed) {
                return false;
            }
            match buckets.take(self.now_ns(), bytes, files) {
                Took::Granted => return true,
                Took::Wait(ns) => {
                    buckets.waits += 1;
                    let wait = LOOK.min(Duration::from_nanos(ns));
                    buckets = self.changed.wait_timeout(buckets, wait).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// The bounds asked for, from now on.
    pub fn set_asked(&self, bytes_per_s: Option<u64>, files_per_s: Option<u64>) {
        let now_ns = self.now_ns();
        let mut buckets = self.lock();
        buckets.bytes.set(now_ns, bytes_per_s);
        buckets.files.set(now_ns, files_per_s);
        drop(buckets);
        self.changed.notify_all();
    }

    /// The controller's bound in bytes a second, from now on. A file counts as 64 KiB more than its bytes.
    pub fn set_gentle(&self, bytes_per_s: Option<u64>) {
        self.lock().gentle.set(self.now_ns(), bytes_per_s);
        self.changed.notify_all();
    }

    /// The bounds asked for: bytes and files a second.
    #[must_use]
    pub fn asked(&self) -> (Option<u64>, Option<u64>) {
        let buckets = self.lock();
        (buckets.bytes.per_s, buckets.files.per_s)
    }

    /// The controller's bound in bytes a second.
    #[must_use]
    pub fn gentle(&self) -> Option<u64> {
        self.lock().gentle.per_s
    }

    /// Grows whenever a worker waits. While it does, the rate says nothing about the number of workers.
    #[must_use]
    pub fn waits(&self) -> u64 {
        self.lock().waits
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Buckets> {
        // No call under this lock can panic half way through a change.
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What asking for a piece came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Took {
    Granted,
    /// Nothing was taken; worth asking again after so many nanoseconds, `u64::MAX` while paused.
    Wait(u64),
}

#[derive(Debug)]
struct Buckets {
    bytes: Bucket,
    files: Bucket,
    gentle: Bucket,
    waits: u64,
}

impl Buckets {
    fn take(&mut self, now_ns: u64, bytes: u64, files: u64) -> Took {
        let wait_ns = [&mut self.bytes, &mut self.files, &mut self.gentle].map(|bucket| bucket.wait_ns(now_ns)).into_iter().max();
        if let Some(wait_ns @ 1..) = wait_ns {
            return Took::Wait(wait_ns);
        }
        self.bytes.owe(bytes);
        self.files.owe(files);
        self.gentle.owe(bytes.saturating_add(files.saturating_mul(FILE_COST_BYTES)));
        Took::Granted
    }
}

/// One bound. The debt is in billionths, so that a bound of one file a second loses nothing however often it is asked.
#[derive(Debug)]
struct Bucket {
    per_s: Option<u64>,
    owed_billionths: i128,
    paid_ns: u64,
}

impl Bucket {
    fn new(per_s: Option<u64>) -> Self {
        Self { per_s, owed_billionths: 0, paid_ns: 0 }
    }

    /// Nanoseconds until it is free of debt.
    fn wait_ns(&mut self, now_ns: u64) -> u64 {
        let Some(per_s) = self.per_s else { return 0 };
        let paid = i128::from(now_ns.saturating_sub(self.paid_ns)) * i128::from(per_s);
        self.paid_ns = self.paid_ns.max(now_ns);
        self.owed_billionths = (self.owed_billionths - paid).max(-(i128::from(SAVED_NS) * i128::from(per_s)));
        if per_s == 0 {
            return u64::MAX;
        }
        let wait_ns = self.owed_billionths.max(0).unsigned_abs().div_ceil(u128::from(per_s));
        u64::try_from(wait_ns).unwrap_or(u64::MAX)
    }

    fn owe(&mut self, amount: u64) {
        if self.per_s.is_some() {
            self.owed_billionths += i128::from(amount) * i128::from(NS_PER_S);
        }
    }

    fn set(&mut self, now_ns: u64, per_s: Option<u64>) {
        self.wait_ns(now_ns);
        *self = Self {
            per_s,
            // Without a bound nothing is owed; nor is what was saved under another bound worth anything now.
            owed_billionths: if self.per_s.is_some() { self.owed_billionths.max(0) } else { 0 },
            paid_ns: now_ns,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn buckets(bytes: Option<u64>, files: Option<u64>, gentle: Option<u64>) -> Buckets {
        Buckets { bytes: Bucket::new(bytes), files: Bucket::new(files), gentle: Bucket::new(gentle), waits: 0 }
    }

    /// Pieces granted from `from_ns` on within `for_ns` of virtual time, to somebody who waits exactly as told.
    fn granted(buckets: &mut Buckets, from_ns: u64, for_ns: u64, bytes: u64, files: u64) -> u64 {
        let (mut now_ns, mut count) = (from_ns, 0);
        while now_ns < from_ns + for_ns {
            match buckets.take(now_ns, bytes, files) {
                Took::Granted => count += 1,
                Took::Wait(ns) => now_ns = now_ns.saturating_add(ns),
            }
        }
        count
    }

    proptest! {
        #[test]
        fn the_long_run_rate_is_the_bound_whatever_the_size_of_a_piece(piece in 1_u64..1 << 30, pieces_in_100_s in 1_u64..5000) {
            let (rate, for_ns) = ((piece * pieces_in_100_s / 100).max(1), 100 * NS_PER_S);
            let got = u128::from(granted(&mut buckets(Some(rate), None, None), 0, for_ns, piece, 1)) * u128::from(piece);
            let due = u128::from(rate) * u128::from(for_ns) / u128::from(NS_PER_S);
            prop_assert!(got.abs_diff(due) <= u128::from(piece) + u128::from(rate / 50) + 1, "{got} of {due}");
        }
    }

    #[test]
    fn asking_ten_thousand_times_a_second_loses_nothing_of_one_file_a_second() {
        let mut buckets = buckets(None, Some(1), None);
        let granted = (0..100_000).filter(|at| buckets.take(at * 100_000, 0, 1) == Took::Granted).count();
        assert!((10..=11).contains(&granted), "{granted} files in 10 s");
    }

    #[test]
    fn the_lowest_of_the_bounds_counts() {
        assert_eq!(granted(&mut buckets(Some(100 * MIB), Some(10), None), 0, NS_PER_S, MIB, 1), 10);
        assert_eq!(granted(&mut buckets(Some(20 * MIB), Some(100), None), 0, NS_PER_S, MIB, 1), 20);
        assert_eq!(granted(&mut buckets(Some(20 * MIB), None, Some(5 * MIB)), 0, NS_PER_S, MIB, 0), 5);
    }

    #[test]
    fn a_file_of_no_bytes_is_not_free_under_the_controller() {
        assert_eq!(granted(&mut buckets(None, None, Some(MIB)), 0, NS_PER_S, 0, 1), MIB / FILE_COST_BYTES);
    }

    #[test]
    fn what_was_not_taken_is_not_saved_for_a_burst() {
        let mut buckets = buckets(Some(10 * MIB), None, None);
        let hour_ns = 3600 * NS_PER_S;
        assert!(granted(&mut buckets, hour_ns, 100_000_000, MIB, 0) <= 3, "a tenth of a second's worth and one more");
    }

    #[test]
    fn a_debt_under_a_low_bound_is_paid_at_the_new_one() {
        let mut buckets = buckets(Some(MIB), None, None);
        assert_eq!(buckets.take(0, 16 * MIB, 0), Took::Granted);
        assert_eq!(buckets.take(0, 1, 0), Took::Wait(16 * NS_PER_S));
        buckets.bytes.set(0, Some(16 * MIB));
        assert_eq!(buckets.take(0, 1, 0), Took::Wait(NS_PER_S));
        buckets.bytes.set(0, None);
        assert_eq!(buckets.take(0, 1, 0), Took::Granted);
    }

    #[test]
    fn a_pause_grants_nothing_and_forgives_no_debt() {
        let mut buckets = buckets(Some(MIB), None, None);
        assert_eq!(buckets.take(0, MIB, 0), Took::Granted);
        buckets.bytes.set(0, Some(0));
        assert_eq!(buckets.take(60 * NS_PER_S, 1, 0), Took::Wait(u64::MAX));
        buckets.bytes.set(60 * NS_PER_S, Some(MIB));
        assert_eq!(buckets.take(60 * NS_PER_S, 1, 0), Took::Wait(NS_PER_S));
    }

    #[test]
    fn a_waiting_worker_goes_on_as_soon_as_the_pause_is_over() {
        let limiter = Limiter::new(Some(0), None);
        let halt = AtomicBool::new(false);
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            let (limiter, halt) = (&limiter, &halt);
            scope.spawn(move || send.send(limiter.take(MIB, 1, halt)));
            assert!(receive.recv_timeout(Duration::from_millis(60)).is_err(), "paused, yet granted");
            assert!(limiter.waits() > 0);
            limiter.set_asked(None, None);
            assert_eq!(receive.recv(), Ok(true));
        });
    }

    #[test]
    fn a_halt_ends_the_wait_of_a_pause_and_refuses_even_what_is_free() {
        let limiter = Limiter::new(Some(0), None);
        let halt = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| limiter.take(MIB, 1, &halt));
            halt.store(true, Ordering::Relaxed);
            assert!(!waiting.join().unwrap());
        });
        assert!(!Limiter::new(None, None).take(1, 1, &halt));
    }

    #[test]
    fn several_workers_together_stay_below_the_bound() {
        let limiter = Limiter::new(Some(50 * MIB), None);
        let halt = AtomicBool::new(false);
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..4).for_each(|_| assert!(limiter.take(MIB, 0, &halt))));
            }
        });
        // 16 MiB at 50 MiB/s, of which the first piece and what is saved in 20 ms go free.
        assert!(began.elapsed() >= Duration::from_millis(270), "{:?}", began.elapsed());
    }

    #[test]
    fn the_bounds_are_told_as_they_were_set() {
        let limiter = Limiter::new(Some(7), None);
        limiter.set_gentle(Some(3));
        assert_eq!((limiter.asked(), limiter.gentle()), ((Some(7), None), Some(3)));
        limiter.set_asked(None, Some(9));
        assert_eq!((limiter.asked(), limiter.gentle()), ((None, Some(9)), Some(3)));
    }
}
