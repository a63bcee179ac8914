//! The clock of the operations: the CPU's time-stamp counter where the kernel itself trusts it, else `CLOCK_MONOTONIC`.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The longest sleep: how soon a waiting task hears that it is to stop.
pub const NAP_NS: u64 = 50_000_000;

/// `CLOCK_MONOTONIC` in nanoseconds: the run's clock.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Reads ticks and turns differences of them into nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Nanoseconds of a tick × 2³², or 0 where a tick is a nanosecond of `CLOCK_MONOTONIC`.
    scale: u64,
}

impl Clock {
    /// The best clock of this machine. The first call takes 20 ms to compare the counter with `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn new() -> Self {
        static SCALE: OnceLock<u64> = OnceLock::new();
        Self { scale: *SCALE.get_or_init(|| if counter_is_trusted() { calibrate() } else { 0 }) }
    }

    /// What the ticks are, for the manifest: `tsc` or `monotonic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        if self.scale == 0 { "monotonic" } else { "tsc" }
    }

    /// The time now, in ticks.
    #[must_use]
    #[inline]
    pub fn ticks(self) -> u64 {
        if self.scale == 0 { monotonic_ns() } else { counter() }
    }

    /// Nanoseconds of a difference of ticks. Differences are 0 where the counter stepped back between two CPUs.
    #[must_use]
    #[inline]
    pub const fn ns_between(self, from: u64, to: u64) -> u64 {
        let ticks = to.saturating_sub(from);
        if self.scale == 0 { ticks } else { ((ticks as u128 * self.scale as u128) >> 32) as u64 }
    }

    /// Ticks of a number of nanoseconds.
    #[must_use]
    pub const fn ticks_of(self, ns: u64) -> u64 {
        if self.scale == 0 {
            return ns;
        }
        let ticks = ((ns as u128) << 32) / self.scale as u128;
        if ticks > u64::MAX as u128 { u64::MAX } else { ticks as u64 }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: the instruction exists on every x86-64 CPU and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    monotonic_ns()
}

/// The kernel uses the counter for its own clock only while it is synchronous on all CPUs and of constant rate.
fn counter_is_trusted() -> bool {
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|name| name.trim() == "tsc")
}

fn calibrate() -> u64 {
    let (ns0, ticks0) = paired_reading();
    std::thread::sleep(Duration::from_millis(20));
    let (ns1, ticks1) = paired_reading();
    let ticks = ticks1.saturating_sub(ticks0);
    if ticks == 0 {
        return 0;
    }
    (u128::from(ns1 - ns0) << 32).div_euclid(u128::from(ticks)) as u64
}

/// Both clocks at one moment: the tightest of some attempts, so that an interruption between the two does not count.
fn paired_reading() -> (u64, u64) {
    (0..16)
        .map(|_| {
            let before = counter();
            let ns = monotonic_ns();
            let after = counter();
            (after.wrapping_sub(before), ns, before + (after.wrapping_sub(before)) / 2)
        })
        .min()
        .map_or((0, 0), |(_, ns, ticks)| (ns, ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_agree_with_the_system_clock_within_a_tenth_of_a_percent() {
        let clock = Clock::new();
        let (ns0, ticks0) = (monotonic_ns(), clock.ticks());
        std::thread::sleep(Duration::from_millis(100));
        let (ticks1, ns1) = (clock.ticks(), monotonic_ns());
        let (ours, theirs) = (clock.ns_between(ticks0, ticks1), ns1 - ns0);
        assert!(ours.abs_diff(theirs) < theirs / 1000 + 100_000, "{ours} against {theirs} ns");
        assert!(clock.ticks_of(ours).abs_diff(ticks1 - ticks0) < 10);
    }

    #[test]
    fn a_counter_that_steps_back_is_no_latency() {
        assert_eq!(Clock::new().ns_between(100, 99), 0);
    }
}
