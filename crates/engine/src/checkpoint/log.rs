//! What the tasks note of their rounds, and what becomes of it.

use tonnage_records::{CheckpointResult, Event, LatencyRecorder, RoundWindow};
use tonnage_workload::{Checkpoint, CheckpointStep};

/// Snapshots that become events; a histogram knows all of them.
const MOST_EVENTS: usize = 10_000;

/// One task's rounds. Instants are on the run's clock.
pub struct RoundLog {
    pub task: u32,
    /// Begin and end of each round that it completed.
    pub rounds: Vec<(u64, u64)>,
    /// Round, begin and duration of each snapshot that it took or removed.
    pub takes: Vec<(u32, u64, u64)>,
    pub think_ns: u64,
    pub leftovers_ns: u64,
}

impl RoundLog {
    pub const fn new(task: u32) -> Self {
        Self { task, rounds: Vec::new(), takes: Vec::new(), think_ns: 0, leftovers_ns: 0 }
    }

    /// Latencies of its snapshots.
    pub fn recorder(&self) -> LatencyRecorder {
        let mut recorder = LatencyRecorder::new();
        self.takes.iter().for_each(|(.., took_ns)| recorder.record(*took_ns));
        recorder
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

/// Each snapshot as an event.
pub fn events(logs: &[RoundLog], step: CheckpointStep) -> Vec<Event> {
    let kind = if step == CheckpointStep::Drop { "snapshot-removed" } else { "snapshot" };
    let event = |task: u32, &(_, time_ns, took_ns): &(u32, u64, u64)| Event {
        time_ns,
        kind: kind.to_owned(),
        task: Some(task),
        duration_ns: Some(took_ns),
        ..Event::default()
    };
    let all = logs.iter().flat_map(|log| log.takes.iter().map(move |take| event(log.task, take)));
    all.take(MOST_EVENTS).collect()
}

/// What the phase's result says of them.
pub fn result(work: &Checkpoint, logs: &[RoundLog]) -> CheckpointResult {
    let mut snapshots = LatencyRecorder::new();
    for log in logs {
        snapshots.add(&log.recorder());
    }
    let rounds = logs.iter().map(|log| log.rounds.len()).min().unwrap_or(0);
    let window = |round| logs.iter().map(|log| log.window(round)).reduce(RoundWindow::with);
    let windows: Vec<_> = (0..rounds).filter_map(window).collect();
    let written = |log: &RoundLog| log.rounds.iter().map(|(begin, end)| end - begin).sum::<u64>();
    let mut result = CheckpointResult {
        step: work.step.name().to_owned(),
        coordination: work.coordination.name().to_owned(),
        rounds: rounds as u32,
        checkpoint_ns: logs.iter().map(written).max().unwrap_or(0),
        think_ns: logs.iter().map(|log| log.think_ns).max().unwrap_or(0),
        snapshot_ns: logs.iter().flat_map(|log| &log.takes).map(|(.., took_ns)| took_ns).sum(),
        snapshot: snapshots.summary(),
        leftovers_ns: logs.iter().map(|log| log.leftovers_ns).sum(),
        windows,
    };
    if work.is_together() {
        result.checkpoint_ns = result.windows_ns();
    }
    result
}
