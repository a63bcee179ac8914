//! The law of giving way: what was seen of the application goes in, a bound for the mover comes out. Knows no clock and no process.
//!
//! Most applications compute for a while and then write a checkpoint. While one does I/O the mover keeps to a floor, from the first
//! sight on; it comes back soon after, in doublings. Each return may be met by the application's next write, which then pays for the
//! requests in flight; so returns that were met have a least distance from each other, and that bounds what all of them can cost.
//!
//! Waiting for a processor is another matter: it may be the application's own doing (more threads than processors). What it waits while
//! the mover keeps to the floor is its own; only what it waits beyond that lowers the bound, by half and then slowly up again.

use super::usual_level::{Level, Streak};
use super::window::{Length, Windows};

/// Least bound, so that the mover always gets on.
pub const FLOOR_BYTES_PER_S: u64 = 4 << 20;
/// The floor's share of the mover's free rate: what a giving-way mover may take of the device.
const FLOOR_SHARE: u64 = 64;
/// Guess of the free rate until it has been seen.
const FREE_BYTES_PER_S: u64 = 1 << 30;
/// I/O of the application below this rate is a log line here and there.
const IDLE_BYTES_PER_S: u64 = 4 << 20;
/// Less than this in one look is none either.
const IDLE_BYTES: u64 = 128 << 10;
/// So long without I/O, and it is over: bridges the gaps between the writes of one checkpoint.
const QUIET_NS: u64 = 40_000_000;
/// Requests in flight when the application begins; it waits for them.
const IN_FLIGHT_BYTES: u64 = 4 << 20;
/// Time until the application's I/O is seen, about.
const UNSEEN_NS: u64 = 5_000_000;
/// Returns met by the application may cost it one part in so many.
const COST_SHARE: u64 = 50;
/// Each doubling of the bound on the way back takes this long.
const RAMP_NS: u64 = 10_000_000;
/// Waiting for processors is judged over this time; the kernel counts it late.
const PROCESSOR_WINDOW_NS: u64 = 100_000_000;
/// The free rate is learned over this time.
const FREE_WINDOW: Length = Length { least_ns: 100_000_000, longest_ns: 100_000_000, lumps: 0 };
/// Thousandths of its time that the application may wait beyond its own doing before the mover halves, and below which it comes back.
const DELAY_HIGH_PERMILLE: f64 = 30.0;
const DELAY_LOW_PERMILLE: f64 = 10.0;
/// What comes and goes at the floor is not the mover's doing either, up to so many mean deviations.
const SPREADS: f64 = 2.0;
/// Windows in a row that must be fine before the bound rises.
const FINE_WINDOWS: u32 = 5;

/// What was seen since the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Length of the look, in nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes the application moved by its calls or to and from storage, whichever is more.
    pub io_bytes: u64,
    /// Its threads that wait for storage right now.
    pub waiting: u32,
    /// Time its threads ran, in nanoseconds.
    pub run_ns: u64,
    /// Time its threads could have run and had no processor, in nanoseconds.
    pub delay_ns: u64,
}

/// What the mover itself did and must do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Bytes it copied since it began.
    pub bytes: u64,
    /// How much it presses: 0 not at all, 1000 and more: giving way has ended. Rises while the source fills above its high mark.
    pub urgency_permille: u32,
    /// Rate it needs for its deadline, in bytes a second.
    pub needed_bytes_per_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No bound because of I/O.
    Free,
    /// At the floor.
    Yielding,
    /// Between the two: bound in bytes a second, and since when it is this one.
    Returning { bytes_per_s: u64, since_ns: u64 },
}

/// State of the control.
#[derive(Debug)]
pub struct Controller {
    stage: Stage,
    now_ns: u64,
    last_io_ns: u64,
    /// When a return was last met by the application's I/O.
    met_ns: Option<u64>,
    /// The mover's own rate when nothing held it back.
    free_bytes_per_s: u64,
    free: Windows,
    processor: Processor,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            stage: Stage::Free,
            now_ns: 0,
            last_io_ns: 0,
            met_ns: None,
            free_bytes_per_s: FREE_BYTES_PER_S,
            free: Windows::new(FREE_WINDOW),
            processor: Processor::default(),
        }
    }
}

impl Controller {
    /// The bound from now on, in bytes a second; `None`: full speed.
    pub fn decide(&mut self, seen: &Seen, own: &Own) -> Option<u64> {
        self.now_ns += seen.elapsed_ns;
        let floor = self.floor(own);
        self.follow_io(seen, floor);
        self.measure(own.bytes);
        let io = match self.stage {
            Stage::Free => None,
            Stage::Yielding => Some(floor),
            Stage::Returning { bytes_per_s, .. } => Some(bytes_per_s.max(floor)),
        };
        let processor = self.processor.decide(seen, io == Some(floor), floor, self.free_bytes_per_s);
        let bound = io.into_iter().chain(processor).min()?;
        (own.urgency_permille < 1000).then_some(bound)
    }

    fn follow_io(&mut self, seen: &Seen, floor: u64) {
        let idle_bytes = IDLE_BYTES
            .max(u64::try_from(u128::from(IDLE_BYTES_PER_S) * u128::from(seen.elapsed_ns) / 1_000_000_000).unwrap_or(u64::MAX));
        if seen.waiting > 0 || seen.io_bytes > idle_bytes {
            if self.stage != Stage::Yielding {
                self.met_ns = Some(self.now_ns);
            }
            (self.stage, self.last_io_ns) = (Stage::Yielding, self.now_ns);
            return;
        }
        match self.stage {
            Stage::Yielding if self.now_ns >= self.last_io_ns + QUIET_NS && self.may_return() => {
                let bytes_per_s = (self.free_bytes_per_s / 8).max(floor);
                self.stage = Stage::Returning { bytes_per_s, since_ns: self.now_ns };
            }
            Stage::Returning { bytes_per_s, since_ns } if self.now_ns >= since_ns + RAMP_NS => {
                let doubled = bytes_per_s.saturating_mul(2);
                self.stage = if doubled > self.free_bytes_per_s.saturating_mul(2) {
                    Stage::Free
                } else {
                    Stage::Returning { bytes_per_s: doubled, since_ns: self.now_ns }
                };
            }
            _ => {}
        }
    }

    /// Whether one more return may be met without all of them costing the application too much.
    fn may_return(&self) -> bool {
        let cost_ns = UNSEEN_NS + share_ns(IN_FLIGHT_BYTES, self.free_bytes_per_s);
        self.met_ns.is_none_or(|met_ns| self.now_ns >= met_ns + COST_SHARE * cost_ns)
    }

    fn floor(&self, own: &Own) -> u64 {
        let base = (self.free_bytes_per_s / FLOOR_SHARE).max(FLOOR_BYTES_PER_S);
        // By equal factors, not by equal steps: half pressed is an eighth of the free rate, not half of it.
        let span = self.free_bytes_per_s.max(base) as f64 / base as f64;
        let pressed = base as f64 * span.powf(f64::from(own.urgency_permille.min(1000)) / 1000.0);
        (pressed as u64).max(own.needed_bytes_per_s)
    }

    /// Learns the free rate from windows without any bound. It falls slowly: a lack of files is no slow device.
    fn measure(&mut self, bytes: u64) {
        if self.stage != Stage::Free || self.processor.bound.is_some() {
            self.free.begin_anew(self.now_ns);
        } else if let Some(done) = self.free.sample(self.now_ns, bytes) {
            let slowly = self.free_bytes_per_s - self.free_bytes_per_s / 256;
            self.free_bytes_per_s = done.per_second().max(slowly).max(FLOOR_BYTES_PER_S);
        }
    }
}

/// Nanoseconds that `bytes` take at a rate.
fn share_ns(bytes: u64, bytes_per_s: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1))).unwrap_or(u64::MAX)
}

/// The bound because of processors.
#[derive(Debug, Default)]
struct Processor {
    bound: Option<u64>,
    /// Thousandths of its time that the application waits by its own doing or that of others.
    own_permille: Level,
    window: Seen,
    at_floor: bool,
    fine: Streak,
}

impl Processor {
    fn decide(&mut self, seen: &Seen, at_floor: bool, floor: u64, free: u64) -> Option<u64> {
        self.at_floor =
            (self.at_floor || self.window.elapsed_ns == 0) && (at_floor || self.bound.is_some_and(|bound| bound <= floor));
        self.window.elapsed_ns += seen.elapsed_ns;
        self.window.run_ns += seen.run_ns;
        self.window.delay_ns += seen.delay_ns;
        if self.window.elapsed_ns >= PROCESSOR_WINDOW_NS {
            self.judge(floor, free);
            (self.window, self.at_floor) = (Seen::default(), false);
        }
        self.bound = self.bound.map(|bound| bound.max(floor));
        self.bound
    }

    fn judge(&mut self, floor: u64, free: u64) {
        let wanted_ns = self.window.run_ns + self.window.delay_ns;
        // A thousandth of the window is noise, not an application that computes.
        let delay =
            if wanted_ns < self.window.elapsed_ns / 1000 { 0.0 } else { self.window.delay_ns as f64 * 1000.0 / wanted_ns as f64 };
        if self.at_floor {
            self.own_permille.follow(delay);
        }
        let beyond = self.own_permille.excess(delay, SPREADS);
        let fine = self.fine.lasts(beyond < DELAY_LOW_PERMILLE, FINE_WINDOWS);
        if beyond > DELAY_HIGH_PERMILLE {
            self.bound = Some((self.bound.unwrap_or(free).min(free) / 2).max(floor));
        } else if fine {
            self.bound = self.bound.map(|bound| bound.saturating_add(bound / 2)).filter(|&bound| bound <= free.saturating_mul(2));
        }
    }
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
