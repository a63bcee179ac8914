//! Finds the number of workers: the smallest whose rate is within 5 % of the best.
//!
//! The rule is the load line's, found while the mover works. It doubles at once for as long as the rate rises, because a short drain
//! has no time to lose; it tries fewer only after a while, because each try may cost a little. Each try downwards lies between two
//! stretches of the present number, so that a drift of the storage is not taken for an effect.

use super::usual_level::{Level, Streak};
use super::window::{Length, Stretch, Windows};
use crate::rate_limiter::FILE_COST_BYTES;

/// Work at one number of workers before it is judged. It comes in lumps where small files become safe by the hundred: so a window
/// begins and ends with work that came, and holds it several times.
const WINDOW: Length = Length { least_ns: 200_000_000, longest_ns: 2_000_000_000, lumps: 4 };
/// After a change the pieces begun under the old number are let go by.
const SETTLE_NS: u64 = 50_000_000;
/// Between two tries downwards, so that all of them together cost a few per cent at most.
const HOLD_NS: u64 = 3_000_000_000;
/// After this long the whole search is made again: more workers may do better by now although the rate of the present ones is the same.
const AGAIN_NS: u64 = 60_000_000_000;
/// What counts as the same rate.
const SAME: f64 = 0.05;
/// A rate below the present one by this share, for so many windows, means that things have changed; so does one above its inverse.
const CHANGED: f64 = 0.75;
const CHANGED_WINDOWS: u32 = 3;

/// The search. It knows no clock and no thread: counters go in, a number of workers comes out.
#[derive(Debug)]
pub struct Tuner {
    max: u32,
    /// The number in force, tries aside.
    here: u32,
    /// The largest number known to be too slow.
    too_few: u32,
    /// Rate at `here`.
    rate: Level,
    /// Windows in a row in which it was another.
    changed: Streak,
    /// How much faster than at `here` the best rate was, at least 1; what is given up adds up here.
    lead: f64,
    stage: Stage,
    windows: Windows,
    /// When `here` was last changed or a try ended.
    held_since_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Measures the present number first.
    Base,
    /// Tries twice as many.
    Up { to: u32 },
    /// Keeps the number and looks whether its rate stays.
    Hold,
    /// Tries fewer, then the present number, then fewer again.
    Down { to: u32, leg: u32, fewer: Stretch, present: Stretch },
}

impl Tuner {
    /// Between 1 and `max` workers, beginning with `start`; a good start is twice the number of processors the mover may use.
    #[must_use]
    pub fn new(max: u32, start: u32) -> Self {
        let max = max.max(1);
        Self {
            max,
            here: start.clamp(1, max),
            too_few: 0,
            rate: Level::default(),
            changed: Streak::default(),
            lead: 1.0,
            stage: Stage::Base,
            windows: Windows::new(WINDOW),
            held_since_ns: 0,
        }
    }

    /// How many workers from now on. `bytes` and `files` count from the beginning of the mover. `held` says that since the last call
    /// workers stood still for want of files or under a limit, so that the rate says nothing about their number. Call it every
    /// 50 to 100 ms.
    pub fn sample(&mut self, now_ns: u64, bytes: u64, files: u64, held: bool) -> u32 {
        let work = bytes.saturating_add(files.saturating_mul(FILE_COST_BYTES));
        let done = self.windows.sample(now_ns, work);
        let before = self.workers();
        if held {
            self.windows.begin_anew(now_ns);
        } else if let Some(done) = done {
            self.judge(now_ns, done);
        }
        if self.workers() != before {
            self.windows.begin_anew(now_ns + SETTLE_NS);
        }
        self.workers()
    }

    /// The number in force now.
    #[must_use]
    pub fn workers(&self) -> u32 {
        match self.stage {
            Stage::Up { to } | Stage::Down { to, leg: 0 | 2, .. } => to,
            _ => self.here,
        }
    }

    fn judge(&mut self, now_ns: u64, done: Stretch) {
        match self.stage {
            Stage::Base => {
                (self.rate, self.lead, self.too_few) = (Level::at(done.rate()), 1.0, 0);
                self.climb(now_ns);
            }
            Stage::Up { to } if done.rate() > self.rate.mean * (1.0 + SAME) => {
                (self.too_few, self.here, self.rate) = (self.here, to, Level::at(done.rate()));
                self.climb(now_ns);
            }
            Stage::Up { .. } => {
                self.lead = self.rate.ratio(done.rate()).max(1.0);
                self.hold(now_ns);
            }
            Stage::Hold => self.keep(now_ns, done),
            Stage::Down { to, leg, fewer, present } => self.descend(now_ns, to, leg, fewer, present, done),
        }
    }

    fn climb(&mut self, now_ns: u64) {
        let to = self.here.saturating_mul(2).min(self.max);
        if to > self.here {
            self.stage = Stage::Up { to };
        } else {
            self.hold(now_ns);
        }
    }

    fn hold(&mut self, now_ns: u64) {
        (self.stage, self.changed) = (Stage::Hold, Streak::default());
        self.held_since_ns = now_ns;
    }

    fn keep(&mut self, now_ns: u64, done: Stretch) {
        let same = (CHANGED..=1.0 / CHANGED).contains(&self.rate.ratio(done.rate()));
        if self.changed.lasts(!same, CHANGED_WINDOWS) {
            self.stage = Stage::Base;
        }
        if !same {
            return;
        }
        self.rate.follow(done.rate());
        if now_ns >= self.held_since_ns + AGAIN_NS {
            self.stage = Stage::Base;
        } else if now_ns >= self.held_since_ns + HOLD_NS
            && let Some(to) = self.fewer()
        {
            self.stage = Stage::Down { to, leg: 0, fewer: Stretch::default(), present: done };
        }
    }

    /// The next smaller number worth a try: half, or half way to what was too few; none where the difference is an eighth or less.
    fn fewer(&self) -> Option<u32> {
        let gap = self.here - self.too_few;
        let to = (self.here / 2).max(self.too_few + gap / 2);
        (to > self.too_few && to < self.here && (gap > self.here / 8)).then_some(to)
    }

    fn descend(&mut self, now_ns: u64, to: u32, leg: u32, fewer: Stretch, present: Stretch, done: Stretch) {
        let (fewer, present) = if leg == 1 { (fewer, present.and(done)) } else { (fewer.and(done), present) };
        let enough = present.rate() * self.lead * (1.0 - SAME);
        // A first leg that is clearly slower needs no second.
        let clear = leg == 0 && fewer.rate() < enough * (1.0 - 2.0 * SAME);
        if leg < 2 && !clear {
            self.stage = Stage::Down { to, leg: leg + 1, fewer, present };
            return;
        }
        if fewer.rate() >= enough {
            self.lead = (self.lead * present.rate() / fewer.rate().max(f64::MIN_POSITIVE)).max(1.0);
            (self.here, self.rate) = (to, Level::at(fewer.rate()));
        } else {
            self.too_few = to;
        }
        self.hold(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STEP_NS: u64 = 50_000_000;
    const GB: f64 = 1e9;

    /// A storage whose rate depends on the number of workers, with noise drawn from a seed.
    struct Storage<'a> {
        curve: &'a dyn Fn(u32) -> f64,
        noise: f64,
        seed: u64,
        now_ns: u64,
        bytes: u64,
    }

    impl<'a> Storage<'a> {
        fn new(curve: &'a dyn Fn(u32) -> f64, noise: f64) -> Self {
            Self { curve, noise, seed: 1, now_ns: 0, bytes: 0 }
        }

        fn run(&mut self, tuner: &mut Tuner, seconds: u64) {
            for _ in 0..seconds * 20 {
                let rate = (self.curve)(tuner.workers()) * (1.0 + self.noise * self.draw());
                self.bytes += (rate * STEP_NS as f64 / 1e9) as u64;
                self.now_ns += STEP_NS;
                tuner.sample(self.now_ns, self.bytes, 0, false);
            }
        }

        /// Between -1 and 1 (xorshift64*; Vigna 2016).
        fn draw(&mut self) -> f64 {
            self.seed ^= self.seed >> 12;
            self.seed ^= self.seed << 25;
            self.seed ^= self.seed >> 27;
            (self.seed.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        }
    }

    fn found(curve: &dyn Fn(u32) -> f64, max: u32, start: u32) -> u32 {
        let mut tuner = Tuner::new(max, start);
        Storage::new(curve, 0.0).run(&mut tuner, 60);
        tuner.workers()
    }

    fn rising(workers: u32) -> f64 {
        GB * f64::from(workers)
    }

    fn kneed(workers: u32) -> f64 {
        GB * f64::from(workers.min(6))
    }

    fn declining(workers: u32) -> f64 {
        GB / (1.0 + 0.2 * f64::from(workers - 1))
    }

    #[test]
    fn a_rate_that_rises_takes_all_that_are_allowed() {
        assert_eq!(found(&rising, 16, 2), 16);
        assert_eq!(found(&rising, 12, 2), 12);
    }

    #[test]
    fn a_kneed_rate_takes_the_smallest_number_at_the_knee() {
        for start in [1, 2, 4, 6, 8, 16] {
            assert_eq!(found(&kneed, 16, start), 6, "start {start}");
        }
    }

    #[test]
    fn a_rate_that_declines_takes_one_whatever_the_start() {
        for start in [1, 2, 4, 16] {
            assert_eq!(found(&declining, 16, start), 1, "start {start}");
        }
    }

    #[test]
    fn a_flat_rate_takes_one() {
        assert_eq!(found(&|_| GB, 16, 4), 1);
    }

    #[test]
    fn small_steps_down_do_not_add_up_to_a_loss() {
        // Each halving costs 4 %: one such step is the same rate, two are not.
        let sloping = |workers: u32| GB * 0.96_f64.powf(4.0 - f64::from(workers).log2());
        let workers = found(&sloping, 16, 16);
        assert!(sloping(workers) >= 0.95 * sloping(16), "{workers} workers");
    }

    #[test]
    fn a_drain_of_two_seconds_loses_little_to_the_search() {
        for curve in [&declining as &dyn Fn(u32) -> f64, &|_| GB, &|workers| GB * f64::from(workers.min(2))] {
            let mut storage = Storage::new(curve, 0.0);
            storage.run(&mut Tuner::new(8, 2), 2);
            let share = storage.bytes as f64 / (2.0 * curve(2));
            assert!(share > 0.95, "{share} of what the start alone would have done");
        }
    }

    #[test]
    fn a_knee_that_moves_is_found_again() {
        let mut tuner = Tuner::new(16, 2);
        let mut storage = Storage::new(&kneed, 0.0);
        storage.run(&mut tuner, 40);
        storage.curve = &declining;
        storage.run(&mut tuner, 40);
        assert_eq!(tuner.workers(), 1);
        // As fast as before at one worker: only a new search can tell.
        storage.curve = &rising;
        storage.run(&mut tuner, 70);
        assert_eq!(tuner.workers(), 16);
    }

    #[test]
    fn a_rate_under_a_limit_says_nothing_about_the_number() {
        let mut tuner = Tuner::new(16, 4);
        for step in 1..600 {
            assert_eq!(tuner.sample(step * STEP_NS, step / 7 * 1_000_000, 0, true), 4);
        }
    }

    #[test]
    fn work_in_lumps_is_no_reason_for_more_workers() {
        let mut tuner = Tuner::new(16, 2);
        let mut most = 0;
        // A batch of 512 files becomes safe every 230 ms, whoever carries it.
        for step in 1..1200 {
            most = most.max(tuner.sample(step * STEP_NS, 0, step * STEP_NS / 230_000_000 * 512, false));
        }
        assert!(most <= 4 && tuner.workers() <= 2, "{most} at most, {} in the end", tuner.workers());
    }

    #[test]
    fn small_files_count_by_their_number() {
        let mut tuner = Tuner::new(16, 2);
        let mut files = 0;
        for step in 1..60 {
            files += u64::from(tuner.workers().min(8)) * 100;
            tuner.sample(step * STEP_NS, 0, files, false);
        }
        assert_eq!(tuner.workers(), 8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// The curves are those of the universal scalability law (Gunther 1993): contention and crosstalk.
        #[test]
        fn whatever_the_curve_no_number_is_much_faster_than_the_one_found(
            contention in 0.0..0.9_f64, crosstalk in 0.0..0.1_f64, start in 1_u32..32, noise in 0.0..0.10_f64, seed in 1_u64..,
        ) {
            let curve = |workers: u32| {
                let n = f64::from(workers);
                GB * n / (1.0 + contention * (n - 1.0) + crosstalk * n * (n - 1.0))
            };
            let mut tuner = Tuner::new(32, start);
            let mut storage = Storage { seed, ..Storage::new(&curve, noise) };
            storage.run(&mut tuner, 120);
            let best = (1..=32).map(curve).fold(0.0, f64::max);
            prop_assert!(curve(tuner.workers()) > best * (0.90 - noise), "{} workers: {}", tuner.workers(), curve(tuner.workers()) / best);
        }
    }
}
