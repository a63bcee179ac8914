//! Rates of a counter over windows of time.

/// Work done in some time, possibly in several pieces; a rate is total ÷ total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    ns: u64,
    work: u64,
}

impl Stretch {
    pub(super) fn and(self, other: Self) -> Self {
        Self { ns: self.ns + other.ns, work: self.work + other.work }
    }

    /// Work a nanosecond.
    pub(super) fn rate(self) -> f64 {
        self.work as f64 / self.ns.max(1) as f64
    }

    /// Whole units of work a second.
    pub(super) fn per_second(self) -> u64 {
        u64::try_from(u128::from(self.work) * 1_000_000_000 / u128::from(self.ns.max(1))).unwrap_or(u64::MAX)
    }
}

/// When a window ends: after `least_ns` at the next call that brings work, if work came `lumps` times in it; after `longest_ns` in
/// any case. With lumps it also begins with work that comes, or when none came for `longest_ns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) least_ns: u64,
    pub(super) longest_ns: u64,
    pub(super) lumps: u32,
}

/// Cuts a counter into windows, one after the other.
#[derive(Debug)]
pub(super) struct Windows {
    length: Length,
    open: Option<Open>,
    /// Work at the last call.
    work: u64,
    /// No window begins before.
    from_ns: u64,
}

/// Where a window began, in time and in work, and how often work came since.
#[derive(Clone, Copy, Debug)]
struct Open {
    from_ns: u64,
    work: u64,
    lumps: u32,
}

impl Windows {
    pub(super) fn new(length: Length) -> Self {
        Self { length, open: None, work: 0, from_ns: 0 }
    }

    /// The counter stands at `work` now. Returns the window that ends here, if one does; the next one begins at once.
    pub(super) fn sample(&mut self, now_ns: u64, work: u64) -> Option<Stretch> {
        let Length { least_ns, longest_ns, lumps } = self.length;
        let came = work != std::mem::replace(&mut self.work, work);
        let fresh = Open { from_ns: now_ns, work, lumps: 0 };
        let Some(open) = &mut self.open else {
            let begins = came || lumps == 0 || now_ns >= self.from_ns + longest_ns;
            self.open = (now_ns >= self.from_ns && begins).then_some(fresh);
            return None;
        };
        open.lumps += u32::from(came);
        let took_ns = now_ns.saturating_sub(open.from_ns);
        if took_ns < longest_ns && !(came && took_ns >= least_ns && open.lumps >= lumps) {
            return None;
        }
        let done = Stretch { ns: took_ns, work: work.saturating_sub(open.work) };
        self.open = Some(fresh);
        Some(done)
    }

    /// Forgets the window that is open; the next one begins at `from_ns` at the earliest.
    pub(super) fn begin_anew(&mut self, from_ns: u64) {
        (self.open, self.from_ns) = (None, from_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_work_that_came_often_enough_or_when_it_is_too_long() {
        let mut windows = Windows::new(Length { least_ns: 10, longest_ns: 100, lumps: 2 });
        // It begins with work that comes, not at the first call.
        assert_eq!([(0, 0), (5, 0), (7, 3)].map(|(now_ns, work)| windows.sample(now_ns, work)), [None; 3]);
        // Long enough, and one lump only.
        assert_eq!(windows.sample(18, 5), None);
        assert_eq!(windows.sample(20, 9), Some(Stretch { ns: 13, work: 6 }));
        // The next one began there: lumps enough, then long enough and no work that comes.
        assert_eq!([(25, 10), (26, 11), (31, 11)].map(|(now_ns, work)| windows.sample(now_ns, work)), [None; 3]);
        assert_eq!(windows.sample(33, 12), Some(Stretch { ns: 13, work: 3 }));
        assert_eq!((windows.sample(132, 12), windows.sample(133, 12)), (None, Some(Stretch { ns: 100, work: 0 })));
    }

    #[test]
    fn what_was_measured_before_a_change_does_not_count() {
        let mut windows = Windows::new(Length { least_ns: 10, longest_ns: 10, lumps: 0 });
        windows.sample(0, 0);
        windows.begin_anew(20);
        assert_eq!([(15, 100), (20, 200)].map(|(now_ns, work)| windows.sample(now_ns, work)), [None; 2]);
        let done = windows.sample(30, 250).unwrap();
        assert_eq!((done, done.per_second()), (Stretch { ns: 10, work: 50 }, 5_000_000_000));
    }
}
