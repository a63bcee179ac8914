//! Agreements with the tasks of other processes: points of a phase where nobody goes on before every process has said a
//! number, and knows the largest. How the numbers travel is the launcher's business: it asks for ours and brings the
//! one that was agreed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tonnage_workload::{PhaseSpec, Work};

use crate::phase_outcome::Finished;

/// How often a task that waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Tasks wait for others as long as these take; but where the launcher asks nothing at all for so long, it is gone.
const SILENCE: Duration = Duration::from_secs(600);

/// Where processes agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// All files are open.
    Opened,
    /// The time is up: how much the task that did most had done.
    Wall,
    /// All transfers are done.
    Transferred,
    /// One of the points that a kind of workload counts for itself.
    Numbered(u32),
}

/// The side of this process. Every process comes to the same points in the same order.
pub struct RemoteBarrier {
    points: Vec<Point>,
    state: Mutex<State>,
    changed: Condvar,
    /// Who waits for the phase wants to know of a meeting too.
    finished: Arc<Finished>,
    silence: Duration,
}

struct State {
    /// What this process says at the points that it has come to and that are not agreed.
    said: VecDeque<u64>,
    /// The launcher knows of the first of them.
    known: bool,
    agreed: Vec<u64>,
    /// When the launcher was last heard of.
    asked: Instant,
    gave_up: bool,
}

impl RemoteBarrier {
    /// The points of a phase that has tasks elsewhere; `None` where it has none, of either.
    pub fn of(spec: &PhaseSpec, finished: &Arc<Finished>) -> Option<Arc<Self>> {
        let wears = spec.limit.wear_out && matches!(spec.work, Work::Stream(_) | Work::Files(_));
        let meets = spec.work.meets();
        let points = [(meets, Point::Opened), (wears, Point::Wall), (meets, Point::Transferred)];
        let points = points.into_iter().filter_map(|(is, point)| is.then_some(point));
        let points: Vec<_> = points.chain((0..spec.work.meetings()).map(Point::Numbered)).collect();
        let apart = spec.tasks.here < spec.tasks.total && !points.is_empty();
        apart.then(|| Arc::new(Self::new(points, finished, SILENCE)))
    }

    fn new(points: Vec<Point>, finished: &Arc<Finished>, silence: Duration) -> Self {
        let (said, agreed) = (VecDeque::new(), Vec::new());
        let state = State { said, known: false, agreed, asked: Instant::now(), gave_up: false };
        Self { points, state: Mutex::new(state), changed: Condvar::new(), finished: Arc::clone(finished), silence }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last task here has come to the next point: what this process says there.
    pub fn say(&self, value: u64) {
        self.lock().said.push_back(value);
        self.finished.announce();
    }

    /// What this process says at the point where its tasks wait, if they do.
    pub fn meeting(&self) -> Option<u64> {
        let mut state = self.lock();
        state.asked = Instant::now();
        let said = state.said.front().copied();
        state.known = said.is_some();
        said
    }

    /// Whether there is a meeting that the launcher does not know of.
    pub fn has_news(&self) -> bool {
        let state = self.lock();
        !state.said.is_empty() && !state.known
    }

    /// The launcher is there.
    pub fn hear(&self) {
        self.lock().asked = Instant::now();
    }

    /// What all processes agreed on where the tasks here wait; does nothing where they do not.
    pub fn meet(&self, agreed: u64) {
        let mut state = self.lock();
        state.asked = Instant::now();
        if state.said.pop_front().is_some() {
            state.known = false;
            state.agreed.push(agreed);
            self.changed.notify_all();
        }
    }

    /// Waits for what is agreed at `point`; `None` where all are to stop. Sets `stop` itself where the launcher is gone.
    pub fn agreed(&self, point: Point, stop: &AtomicBool) -> Option<u64> {
        let index = self.points.iter().position(|known| *known == point)?;
        let mut state = self.lock();
        let came = Instant::now();
        while state.agreed.len() <= index && !stop.load(Ordering::Relaxed) {
            if state.asked.max(came).elapsed() >= self.silence {
                state.gave_up = true;
                stop.store(true, Ordering::Relaxed);
            }
            (state, _) = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        state.agreed.get(index).copied()
    }

    /// The tasks here have ended: waits for what is still to be agreed, for others may need to know what was done here.
    pub fn settle(&self, stop: &AtomicBool) {
        if let Some(&last) = self.points.last() {
            self.agreed(last, stop);
        }
    }

    /// Why the tasks here gave up waiting for the others, if they did.
    pub fn complaint(&self) -> Option<String> {
        let waited_s = self.silence.as_secs();
        self.lock().gave_up.then(|| format!("the launcher said nothing for {waited_s} s while tasks waited for those of others"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_give_up_where_nobody_asks_for_their_agreement() {
        let finished = Arc::new(Finished::default());
        let remote_barrier = RemoteBarrier::new(vec![Point::Wall], &finished, Duration::from_millis(120));
        let stop = AtomicBool::new(false);
        remote_barrier.say(3);
        assert!(remote_barrier.complaint().is_none());
        let began = Instant::now();
        assert_eq!(remote_barrier.agreed(Point::Wall, &stop), None);
        assert!(began.elapsed() >= Duration::from_millis(120) && stop.load(Ordering::Relaxed));
        assert!(remote_barrier.complaint().is_some());
    }

    #[test]
    fn a_meeting_is_news_once_and_there_until_it_is_agreed() {
        let remote_barrier = RemoteBarrier::new(vec![Point::Opened, Point::Wall], &Arc::default(), SILENCE);
        assert_eq!((remote_barrier.has_news(), remote_barrier.meeting()), (false, None));
        remote_barrier.say(0);
        remote_barrier.say(7);
        assert!(remote_barrier.has_news());
        assert_eq!((remote_barrier.meeting(), remote_barrier.has_news(), remote_barrier.meeting()), (Some(0), false, Some(0)));
        remote_barrier.meet(0);
        assert!(remote_barrier.has_news());
        assert_eq!(remote_barrier.meeting(), Some(7));
        remote_barrier.meet(9);
        assert_eq!(remote_barrier.agreed(Point::Wall, &AtomicBool::new(false)), Some(9));
        remote_barrier.meet(11);
        assert_eq!(remote_barrier.agreed(Point::Wall, &AtomicBool::new(false)), Some(9), "nobody waited for that");
    }
}
