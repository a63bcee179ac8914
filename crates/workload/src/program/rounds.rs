//! The rounds of a checkpoint, and the removal of what they left.

use crate::checkpoint::Checkpoint;

/// What a task does next in its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundStep {
    /// It pauses before the round of this number, and its writes get the round's payload.
    Think(u32),
    /// All tasks wait for each other at the point of this number.
    Meet(u32),
    /// The round's time begins; the file is opened.
    Open,
    /// All operations of the round.
    Write,
    /// What was written is made durable.
    Sync,
    /// It takes the snapshot of this round: its own, or that of all.
    Snapshot(u32),
    /// All tasks wait, at the point of this number, for the snapshot that one of them took for all.
    Agree(u32),
    /// The file is closed; the round's time ends.
    Close,
    /// After the round's time, whoever took its snapshot takes down where it is: nobody writes again before that.
    Note(u32),
}

/// One task's way through the rounds of a phase.
#[derive(Debug, Clone)]
pub struct Rounds {
    count: u32,
    is_together: bool,
    has_snapshots: bool,
    /// It takes the snapshots of all, or its own.
    takes: bool,
    round: u32,
    /// Meetings so far.
    met: u32,
    at: RoundState,
}

/// Where in a round it is: what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundState {
    /// Before it.
    Think,
    /// All begin it.
    Begin,
    /// Before its first operation.
    Open,
    /// Before its operations.
    Write,
    /// After them.
    Sync,
    /// All have written.
    Written,
    /// Before the snapshot.
    Snapshot,
    /// The snapshot is there.
    Agree,
    /// At its end.
    Close,
    /// Behind its end.
    Note,
}

impl Rounds {
    /// Those of `task`.
    #[must_use]
    pub fn new(work: &Checkpoint, task: u32) -> Self {
        Self {
            count: work.rounds,
            is_together: work.is_together(),
            has_snapshots: work.snapshot.is_some(),
            takes: work.snapshot.is_some() && (!work.is_together() || task == 0),
            round: 0,
            met: 0,
            at: RoundState::Think,
        }
    }

    const fn meeting(&mut self) -> u32 {
        self.met += 1;
        self.met - 1
    }
}

/// The steps, each after the one before it is done.
impl Iterator for Rounds {
    type Item = RoundStep;

    fn next(&mut self) -> Option<RoundStep> {
        loop {
            let at = self.at;
            self.at = match at {
                RoundState::Think => RoundState::Begin,
                RoundState::Begin => RoundState::Open,
                RoundState::Open => RoundState::Write,
                RoundState::Write => RoundState::Sync,
                RoundState::Sync => RoundState::Written,
                RoundState::Written => RoundState::Snapshot,
                RoundState::Snapshot => RoundState::Agree,
                RoundState::Agree => RoundState::Close,
                RoundState::Close => RoundState::Note,
                RoundState::Note => RoundState::Think,
            };
            return Some(match at {
                RoundState::Think if self.round == self.count => {
                    self.at = RoundState::Think;
                    return None;
                }
                RoundState::Think => RoundStep::Think(self.round),
                RoundState::Begin | RoundState::Written if self.is_together => RoundStep::Meet(self.meeting()),
                RoundState::Open => RoundStep::Open,
                RoundState::Write => RoundStep::Write,
                RoundState::Sync => RoundStep::Sync,
                RoundState::Snapshot if self.takes => RoundStep::Snapshot(self.round),
                RoundState::Agree if self.is_together && self.has_snapshots => RoundStep::Agree(self.meeting()),
                RoundState::Close => RoundStep::Close,
                RoundState::Note => {
                    self.round += 1;
                    if !self.takes {
                        continue;
                    }
                    RoundStep::Note(self.round - 1)
                }
                RoundState::Begin | RoundState::Written | RoundState::Snapshot | RoundState::Agree => continue,
            });
        }
    }
}

/// What a task does next to remove what the rounds left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalStep {
    /// It removes the snapshot of this round.
    Snapshot(u32),
    /// All tasks wait for each other, at the point of this number.
    Meet(u32),
    /// It removes the data.
    Data,
}

/// One task's removals: the snapshots that it took, the oldest first, and then, of the first task, the data.
#[derive(Debug, Clone)]
pub struct Removals {
    snapshots: std::ops::Range<u32>,
    has_met: bool,
    has_data: bool,
}

impl Removals {
    /// Those of `task`.
    #[must_use]
    pub fn new(work: &Checkpoint, task: u32) -> Self {
        let takes = work.snapshot.is_some() && (!work.is_together() || task == 0);
        Self { snapshots: 0..if takes { work.rounds } else { 0 }, has_met: false, has_data: task == 0 }
    }
}

/// The steps, each after the one before it is done.
impl Iterator for Removals {
    type Item = RemovalStep;

    fn next(&mut self) -> Option<RemovalStep> {
        if let Some(round) = self.snapshots.next() {
            return Some(RemovalStep::Snapshot(round));
        }
        if !std::mem::replace(&mut self.has_met, true) {
            return Some(RemovalStep::Meet(0));
        }
        std::mem::take(&mut self.has_data).then_some(RemovalStep::Data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{CheckpointStep, Coordination, Means};
    use crate::common_settings::{CachePolicy, Durability};
    use crate::geometry::{Access, Geometry, Layout};
    use crate::payload::PayloadKind;

    fn work(coordination: Coordination, snapshot: bool) -> Checkpoint {
        let (layout, access) = (Layout::FilePerTask, Access::Sequential);
        Checkpoint {
            step: CheckpointStep::Checkpoint,
            rounds: 2,
            think_ns: 0,
            coordination,
            geometry: Geometry { transfer_size: 1, block_size: 1, segments: 1, layout, access },
            queue_depth: 1,
            durability: Durability::Fsync,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            retry_ns: None,
            snapshot: snapshot.then_some(Means::Model {}),
            of_round: None,
        }
    }

    fn steps(work: &Checkpoint, task: u32) -> Vec<RoundStep> {
        Rounds::new(work, task).collect()
    }

    #[test]
    fn a_round_together_meets_as_often_as_the_phase_says() {
        use RoundStep::{Agree, Close, Meet, Note, Open, Snapshot, Sync, Think, Write};
        let one = |round, from| {
            let (begun, written, agreed) = (Meet(from), Meet(from + 1), Agree(from + 2));
            [Think(round), begun, Open, Write, Sync, written, Snapshot(round), agreed, Close, Note(round)]
        };
        assert_eq!(steps(&work(Coordination::Together, true), 0), [one(0, 0), one(1, 3)].concat());
        for (task, snapshot) in [(0, true), (1, true), (0, false)] {
            let work = work(Coordination::Together, snapshot);
            let met = steps(&work, task).iter().filter(|step| matches!(step, Meet(_) | Agree(_))).count();
            assert_eq!(met as u32, work.meetings(), "all meet, whoever takes the snapshot");
        }
    }

    #[test]
    fn a_round_each_meets_nobody_and_every_task_takes_its_own() {
        use RoundStep::{Close, Note, Open, Snapshot, Sync, Think, Write};
        let one = |round| [Think(round), Open, Write, Sync, Snapshot(round), Close, Note(round)];
        assert_eq!(steps(&work(Coordination::Each, true), 1), [one(0), one(1)].concat());
        assert_eq!(steps(&work(Coordination::Each, false), 1).len(), 10);
    }

    #[test]
    fn data_go_last_and_once() {
        use RemovalStep::{Data, Meet, Snapshot};
        let of = |coordination, task| Removals::new(&work(coordination, true), task).collect::<Vec<_>>();
        assert_eq!(of(Coordination::Together, 0), [Snapshot(0), Snapshot(1), Meet(0), Data]);
        assert_eq!(of(Coordination::Together, 1), [Meet(0)]);
        assert_eq!(of(Coordination::Each, 1), [Snapshot(0), Snapshot(1), Meet(0)]);
    }
}
