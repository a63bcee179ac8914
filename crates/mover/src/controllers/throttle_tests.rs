//! The law on a modelled application and device, in virtual time.

use super::*;

const MS: u64 = 1_000_000;
const LOOK_MS: u64 = 5;
const GIB: u64 = 1 << 30;

/// An application that computes, then writes a checkpoint to a device that it shares with the mover.
struct SharedDevice {
    device_bytes_per_s: u64,
    compute_ms: u64,
    checkpoint_bytes: u64,
    own: Own,
    mover: bool,
}

struct Ran {
    steps_ms: Vec<u64>,
    /// Share of the time without application I/O that the mover used.
    used: f64,
    /// Changes from full speed to a bound.
    dips: usize,
}

impl Ran {
    fn step_ms(&self, share: f64) -> u64 {
        let mut steps = self.steps_ms.clone();
        steps.sort_unstable();
        steps[((steps.len() - 1) as f64 * share) as usize]
    }
}

impl SharedDevice {
    fn new(compute_ms: u64, checkpoint_bytes: u64) -> Self {
        Self { device_bytes_per_s: GIB, compute_ms, checkpoint_bytes, own: Own::default(), mover: true }
    }

    fn run(&mut self, seconds: u64) -> Ran {
        let mut law = Controller::default();
        let (mut bound, mut seen) = (None, Seen::default());
        let (mut steps_ms, mut began_ms, mut dips) = (Vec::new(), 0, 0);
        let (mut to_compute, mut to_write, mut in_flight) = (self.compute_ms, 0, 0);
        let (mut quiet_ms, mut moved_quiet) = (0, 0);
        let device = self.device_bytes_per_s / 1000;
        for now_ms in 1..=seconds * 1000 {
            let wanted = if self.mover { bound.map_or(device, |bound: u64| (bound / 1000).min(device)) } else { 0 };
            if to_compute > 0 {
                (to_compute, quiet_ms) = (to_compute - 1, quiet_ms + 1);
                (self.own.bytes, moved_quiet) = (self.own.bytes + wanted, moved_quiet + wanted);
                seen.run_ns += MS;
                if to_compute == 0 {
                    to_write = self.checkpoint_bytes;
                    in_flight = if wanted == device { IN_FLIGHT_BYTES } else { 0 };
                }
            } else {
                // What the mover has in flight goes first; then both get half as long as the mover is not bound.
                let mover = if in_flight > 0 { device } else { wanted.min(device / 2) };
                in_flight = in_flight.saturating_sub(device);
                let application = (device - mover).min(to_write);
                self.own.bytes += mover;
                to_write -= application;
                seen.io_bytes += application;
                seen.waiting = 1;
            }
            if to_compute == 0 && to_write == 0 {
                steps_ms.push(now_ms - began_ms);
                (began_ms, to_compute) = (now_ms, self.compute_ms);
            }
            if now_ms % LOOK_MS == 0 {
                let next = law.decide(&Seen { elapsed_ns: LOOK_MS * MS, ..seen }, &self.own);
                dips += usize::from(bound.is_none() && next.is_some());
                (bound, seen) = (next, Seen::default());
            }
        }
        Ran { steps_ms, used: moved_quiet as f64 / (device * quiet_ms.max(1)) as f64, dips }
    }
}

#[test]
fn a_checkpoint_loop_slows_by_three_per_cent_at_most_whatever_its_period() {
    for (compute_ms, mib) in [(5000, 1024), (1000, 256), (500, 128), (200, 64), (100, 32), (60, 16), (20, 4)] {
        let world = |mover| SharedDevice { mover, ..SharedDevice::new(compute_ms, mib << 20) };
        let (alone, beside) = (world(false).run(60), world(true).run(60));
        for (share, most) in [(0.5, 1.03), (0.99, 1.10)] {
            let ratio = beside.step_ms(share) as f64 / alone.step_ms(share) as f64;
            assert!(ratio <= most, "{compute_ms} ms, {mib} MiB: {ratio:.3} at {share}");
        }
    }
}

#[test]
fn the_mover_uses_most_of_the_time_that_the_application_leaves() {
    for (compute_ms, mib, least) in [(5000, 1024, 0.95), (1000, 256, 0.75), (500, 128, 0.30)] {
        let ran = SharedDevice::new(compute_ms, mib << 20).run(60);
        assert!(ran.used >= least, "{compute_ms} ms, {mib} MiB: {:.2} used", ran.used);
    }
}

#[test]
fn a_steady_writer_is_met_once_and_the_mover_still_gets_on() {
    let mut world = SharedDevice { own: Own::default(), ..SharedDevice::new(1, GIB) };
    let ran = world.run(30);
    assert!(ran.dips <= 2 && world.own.bytes >= 30 * FLOOR_BYTES_PER_S, "{} dips, {} bytes", ran.dips, world.own.bytes);
}

#[test]
fn a_log_line_here_and_there_is_no_reason_to_give_way() {
    let mut law = Controller::default();
    for _ in 0..1000 {
        let seen = Seen { elapsed_ns: LOOK_MS * MS, io_bytes: 4096, run_ns: LOOK_MS * MS, ..Seen::default() };
        assert_eq!(law.decide(&seen, &Own::default()), None);
    }
}

#[test]
fn the_first_sight_of_waiting_is_enough_and_quiet_must_last() {
    let mut law = Controller::default();
    let look = |law: &mut Controller, waiting| {
        law.decide(&Seen { elapsed_ns: LOOK_MS * MS, waiting, ..Seen::default() }, &Own::default())
    };
    let floor = Some(FREE_BYTES_PER_S / FLOOR_SHARE);
    assert_eq!(look(&mut law, 0), None);
    assert_eq!(look(&mut law, 1), floor);
    for _ in 0..1000 {
        // A gap of 30 ms within a checkpoint.
        (0..30 / LOOK_MS).for_each(|_| assert_eq!(look(&mut law, 0), floor));
        assert_eq!(look(&mut law, 2), floor);
    }
}

#[test]
fn the_way_back_rises_and_ends_without_a_bound() {
    let mut law = Controller::default();
    let mut look = |waiting| law.decide(&Seen { elapsed_ns: LOOK_MS * MS, waiting, ..Seen::default() }, &Own::default());
    look(1);
    let bounds: Vec<Option<u64>> = (0..400).map(|_| look(0)).collect();
    assert!(bounds.is_sorted_by_key(|bound| bound.unwrap_or(u64::MAX)), "{bounds:?}");
    assert_eq!(bounds.last(), Some(&None));
}

#[test]
fn the_floor_rises_with_urgency_and_with_what_the_deadline_needs() {
    let bound = |own: Own| Controller::default().decide(&Seen { elapsed_ns: MS, waiting: 1, ..Seen::default() }, &own);
    let pressed = |urgency_permille| bound(Own { urgency_permille, ..Own::default() });
    let floors: Vec<u64> = [0, 250, 500, 750, 999].into_iter().map(|urgency| pressed(urgency).unwrap()).collect();
    assert!(floors.is_sorted_by(|a, b| a < b) && floors[0] >= FLOOR_BYTES_PER_S, "{floors:?}");
    assert_eq!(pressed(1000), None);
    assert_eq!(bound(Own { needed_bytes_per_s: 300 << 20, ..Own::default() }), Some(300 << 20));
}

/// Waits for processors: `by_mover` at full speed in proportion to the mover's rate, `by_itself` always. Returns bounds.
fn delayed(by_itself: f64, by_mover: f64, seconds: u64) -> Vec<Option<u64>> {
    delayed_by(|_| by_itself, by_mover, seconds)
}

fn delayed_by(by_itself: impl Fn(u64) -> f64, by_mover: f64, seconds: u64) -> Vec<Option<u64>> {
    let (mut law, mut own, mut bound) = (Controller::default(), Own::default(), None);
    let mut bounds = Vec::new();
    for look in 0..seconds * 1000 / LOOK_MS {
        let rate = bound.map_or(GIB, |bound: u64| bound.min(GIB));
        own.bytes += rate * LOOK_MS / 1000;
        let delay = by_itself(look * LOOK_MS) + by_mover * rate as f64 / GIB as f64;
        let look_ns = LOOK_MS * MS;
        let delay_ns = (delay * look_ns as f64) as u64;
        bound = law.decide(&Seen { elapsed_ns: look_ns, run_ns: look_ns - delay_ns, delay_ns, ..Seen::default() }, &own);
        bounds.push(bound);
    }
    bounds
}

#[test]
fn waiting_for_processors_because_of_the_mover_is_kept_low_without_stopping_it() {
    let bounds = delayed(0.0, 0.4, 60);
    let late: Vec<f64> =
        bounds[bounds.len() / 2..].iter().map(|bound| bound.unwrap_or(GIB).min(GIB) as f64 / GIB as f64).collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!(0.4 * mean < 0.05, "waits {} of its time", 0.4 * mean);
    assert!(late.iter().all(|&share| share >= 1.0 / FLOOR_SHARE as f64), "below the floor");
}

#[test]
fn waiting_for_processors_by_its_own_doing_ends_in_full_speed() {
    let bounds = delayed(0.3, 0.0, 60);
    assert!(bounds[bounds.len() / 2..].iter().filter(|bound| bound.is_some()).count() * 10 < bounds.len() / 2, "still held back");
}

#[test]
fn waiting_that_comes_and_goes_by_the_doing_of_others_ends_in_full_speed_too() {
    // Other programs come and go: a share of 0 to 60 %, another every 100 ms (a multiplicative hash draws it).
    let others = |now_ms: u64| ((now_ms / 100).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as f64 / 2_f64.powi(32) * 0.6;
    let bounds = delayed_by(others, 0.0, 120);
    let late = &bounds[bounds.len() / 2..];
    let bound = late.iter().filter(|bound| bound.is_some_and(|bound| bound < GIB / 2)).count();
    assert!(bound * 4 < late.len(), "below half of its rate in {bound} of {} looks", late.len());
}
