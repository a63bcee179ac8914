//! The application first: lowers the bound while its I/O or its processor time suffers.
//!
//! [`CpuPriority::step_back`] is what each worker does once; [`Gentle`] is what one thread of the mover asks again and again.

mod application_watch;
mod cpu_priority;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use cpu_priority::{CpuPriority, SteppedBack};

use crate::controllers::throttle::{Controller, Own};
use crate::rate_limiter::Limiter;
use application_watch::Application;

/// Least time between two looks.
const LOOK_NS: u64 = 5_000_000;
/// Looking may take one part in so many of a processor; with many threads to watch the looks become rarer.
const LOOK_SHARE: u64 = 200;
/// Most time between two looks.
const LOOK_MOST_NS: u64 = 100_000_000;
/// Between two looks at what the application's threads are bound to.
const BOUND_NS: u64 = 1_000_000_000;

/// Watches one application and says how fast the mover may be.
#[derive(Debug)]
pub struct Gentle {
    application: Application,
    law: Controller,
    cpu_priority: Arc<CpuPriority>,
    began: Instant,
    bound_ns: u64,
}

impl Gentle {
    /// Of the application whose first process is `pid`, with all its descendants; without it, of every other process of this user.
    #[must_use]
    pub fn new(pid: Option<u32>, cpu_priority: Arc<CpuPriority>) -> Self {
        Self { application: Application::new(pid), law: Controller::default(), cpu_priority, began: Instant::now(), bound_ns: 0 }
    }

    /// One look: the bound from now on, and when to look again. The bound is `None` for full speed; it all is once nobody is left.
    pub fn look(&mut self, own: &Own) -> Option<(Option<u64>, Duration)> {
        let now_ns = elapsed_ns(self.began);
        let seen = self.application.look(now_ns)?;
        let bound = self.law.decide(&seen, own);
        if now_ns >= self.bound_ns {
            self.cpu_priority.keep_off(self.application.threads());
            self.bound_ns = now_ns + BOUND_NS;
        }
        let took_ns = elapsed_ns(self.began) - now_ns;
        Some((bound, Duration::from_nanos((took_ns * LOOK_SHARE).clamp(LOOK_NS, LOOK_MOST_NS))))
    }

    /// Looks until `halt` is set or the application is gone, and keeps `limiter` to what is found. For a thread of its own, which must
    /// not step back: it has to see the application begin while that uses every processor. `own` is asked at each look.
    pub fn run(mut self, limiter: &Limiter, halt: &AtomicBool, mut own: impl FnMut() -> Own) {
        while !halt.load(Ordering::Relaxed) {
            let Some((bound, wait)) = self.look(&own()) else { break };
            if bound != limiter.gentle() {
                limiter.set_gentle(bound);
            }
            thread::sleep(wait);
        }
        limiter.set_gentle(None);
        self.cpu_priority.come_forward();
    }
}

fn elapsed_ns(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::controllers::throttle::FLOOR_BYTES_PER_S;

    /// A child that does not outlive its test.
    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn the_bound_falls_while_an_application_writes_and_goes_when_it_has_ended() {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=64k"]).stdin(Stdio::null()).stderr(Stdio::null());
        let application = Ended(command.spawn().unwrap());
        let (limiter, halt) = (Limiter::new(None, None), AtomicBool::new(false));
        thread::scope(|scope| {
            let gentle = Gentle::new(Some(application.0.id()), Arc::default());
            let watching = scope.spawn(|| gentle.run(&limiter, &halt, Own::default));
            while limiter.gentle().is_none() && !watching.is_finished() {
                thread::yield_now();
            }
            assert!(limiter.gentle().is_some_and(|bound| bound >= FLOOR_BYTES_PER_S));
            drop(application);
            watching.join().unwrap();
        });
        assert_eq!(limiter.gentle(), None);
    }

    #[test]
    fn a_halt_ends_the_watch_and_lifts_the_bound() {
        let (limiter, halt) = (Limiter::new(None, None), AtomicBool::new(true));
        limiter.set_gentle(Some(1));
        Gentle::new(Some(std::process::id()), Arc::default()).run(&limiter, &halt, Own::default);
        assert_eq!(limiter.gentle(), None);
    }
}
