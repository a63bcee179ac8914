//! The rounds of a checkpoint as its tasks note them, and what becomes of that in the result.

use crate::latency::LatencyRecorder;
use crate::result::{CheckpointResult, Event, RoundWindow};

/// Snapshots that become events; a histogram knows all of them.
const MOST_EVENTS: usize = 10_000;

/// One task's rounds. Instants are on the run's clock.
#[derive(Debug, Clone)]
pub struct RoundLog {
    /// The task.
    pub task: u32,
    /// Begin and end of each round that it completed.
    pub rounds: Vec<(u64, u64)>,
    /// Round, begin and duration of each snapshot that it took or removed.
    pub takes: Vec<(u32, u64, u64)>,
    /// What its pauses took together.
    pub think_ns: u64,
    /// What the removal of the data took.
    pub leftovers_ns: u64,
}

impl RoundLog {
    /// Of a task that has done nothing.
    #[must_use]
    pub const fn new(task: u32) -> Self {
        Self { task, rounds: Vec::new(), takes: Vec::new(), think_ns: 0, leftovers_ns: 0 }
    }

    /// Latencies of its snapshots.
    #[must_use]
    pub fn recorder(&self) -> LatencyRecorder {
        let mut recorder = LatencyRecorder::new();
        self.takes.iter().for_each(|(.., took_ns)| recorder.record(*took_ns));
        recorder
    }

    /// Its snapshots as events of this kind.
    fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Event> + 'a {
        self.takes.iter().map(move |&(_, time_ns, took_ns)| Event {
            time_ns,
            kind: kind.to_owned(),
            task: Some(self.task),
            duration_ns: Some(took_ns),
            ..Event::default()
        })
    }

    fn window(&self, round: usize) -> RoundWindow {
        let (begin, end) = self.rounds[round];
        let took = self.takes.iter().find(|(of, ..)| *of as usize == round);
        RoundWindow {
            first_begin_ns: begin,
            last_begin_ns: begin,
            first_end_ns: end,
            last_end_ns: end,
            snapshot_ns: took.map_or(0, |(.., took_ns)| *took_ns),
        }
    }
}

impl CheckpointResult {
    /// What the logs of all tasks come to. Where they go `together`, a round lasts from its first beginning to its last end.
    #[must_use]
    pub fn of(step: &str, coordination: &str, together: bool, logs: &[RoundLog]) -> Self {
        let mut snapshots = LatencyRecorder::new();
        for log in logs {
            snapshots.add(&log.recorder());
        }
        let rounds = logs.iter().map(|log| log.rounds.len()).min().unwrap_or(0);
        let window = |round| logs.iter().map(|log| log.window(round)).reduce(RoundWindow::with);
        let written = |log: &RoundLog| log.rounds.iter().map(|(begin, end)| end - begin).sum::<u64>();
        let mut result = Self {
            step: step.to_owned(),
            coordination: coordination.to_owned(),
            rounds: rounds as u32,
            checkpoint_ns: logs.iter().map(written).max().unwrap_or(0),
            think_ns: logs.iter().map(|log| log.think_ns).max().unwrap_or(0),
            snapshot_ns: logs.iter().flat_map(|log| &log.takes).map(|(.., took_ns)| took_ns).sum(),
            snapshot: snapshots.summary(),
            leftovers_ns: logs.iter().map(|log| log.leftovers_ns).sum(),
            windows: (0..rounds).filter_map(window).collect(),
        };
        if together {
            result.checkpoint_ns = result.windows_ns();
        }
        result
    }
}

/// Of each round that all tasks completed: when the first of them began and when the last ended.
#[must_use]
pub fn round_spans(logs: &[RoundLog]) -> Vec<[u64; 2]> {
    let complete = logs.iter().map(|log| log.rounds.len()).min().unwrap_or(0);
    let window = |round| logs.iter().map(|log| log.window(round)).reduce(RoundWindow::with);
    (0..complete).filter_map(window).map(|window| [window.first_begin_ns, window.last_end_ns]).collect()
}

/// Each snapshot of all tasks as an event: taken, or removed where the step removes them.
#[must_use]
pub fn snapshot_events(logs: &[RoundLog], removed: bool) -> Vec<Event> {
    let kind = if removed { "snapshot-removed" } else { "snapshot" };
    logs.iter().flat_map(|log| log.events(kind)).take(MOST_EVENTS).collect()
}
