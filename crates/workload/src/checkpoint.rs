//! `checkpoint`: rounds of computing, writing and perhaps a snapshot; reading one back; removing all of them.

use serde::{Deserialize, Serialize};

use crate::common_settings::MOST_ROUNDS;
use crate::common_settings::{CachePolicy, Durability, Op, TaskRange};
use crate::geometry::{Geometry, Layout};
use crate::integer_mixing::mix64;
use crate::payload::PayloadKind;
use crate::spec_error::SpecError;
use crate::stream::Stream;

/// Which part of a trial a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointStep {
    /// All rounds.
    Checkpoint,
    /// One of them is read back.
    Restart,
    /// Snapshots and data are removed.
    Drop,
}

impl CheckpointStep {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Restart => "restart",
            Self::Drop => "drop",
        }
    }
}

/// Who waits for whom in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coordination {
    /// All tasks begin and end a round together, and one of them takes the snapshot of all.
    Together,
    /// Nobody waits, and every task takes a snapshot of its own data.
    Each,
}

impl Coordination {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::Each => "each",
        }
    }
}

/// How a snapshot is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "means", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Means {
    /// Of a Ceph pool; the writers carry it along.
    RadosSelfManaged {},
    /// Of a Ceph pool, all of it.
    RadosPool {},
    /// A directory of `CephFS`.
    Cephfs {},
    /// A subvolume of Btrfs.
    Btrfs {},
    /// A copy of each file that shares its blocks (XFS, Btrfs and others).
    Reflink {},
    /// A program of the user.
    Command(SnapshotCommand),
    /// What the model of a storage says.
    Model {},
}

/// Programs that take and remove a snapshot. In each word `{round}`, `{task}`, `{directory}`, `{pool}` and `{namespace}`
/// stand for what they name; no shell is involved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotCommand {
    /// Takes one.
    pub argv: Vec<String>,
    /// Removes it; `None`: nothing does.
    #[serde(default)]
    pub remove_argv: Option<Vec<String>>,
    /// The directory in which the data files of a round are then found; `None`: only the newest round can be read.
    #[serde(default)]
    pub read_directory: Option<String>,
    /// A program that takes longer has failed, and is ended with all that it started; `None`: none does.
    #[serde(default)]
    pub timeout_ns: Option<u64>,
}

impl Means {
    /// The word for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RadosSelfManaged {} => "rados-self-managed",
            Self::RadosPool {} => "rados-pool",
            Self::Cephfs {} => "cephfs",
            Self::Btrfs {} => "btrfs",
            Self::Reflink {} => "reflink",
            Self::Command(_) => "command",
            Self::Model {} => "model",
        }
    }
}

/// Rounds of checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// What this phase does.
    pub step: CheckpointStep,
    /// How many there are. They count from 0.
    pub rounds: u32,
    /// Pause of each task before each round, outside the round's time.
    #[serde(default)]
    pub think_ns: u64,
    /// Who waits for whom.
    pub coordination: Coordination,
    /// What a task writes in a round, over what it wrote in the one before.
    pub geometry: Geometry,
    /// Operations in flight at once in each task; 1 is synchronous.
    #[serde(default = "one")]
    pub queue_depth: u32,
    /// fsync policy, before the snapshot.
    pub durability: Durability,
    /// Cache policy of a restart.
    #[serde(default = "keep")]
    pub cache: CachePolicy,
    /// Bytes that are written. Those of a round are no other's.
    #[serde(default)]
    pub payload: PayloadKind,
    /// A restart checks every byte.
    #[serde(default)]
    pub verify: bool,
    /// A read, write or opening that fails for a reason that may pass is tried again for so long; `None`: never. A
    /// snapshot is taken once.
    #[serde(default)]
    pub retry_ns: Option<u64>,
    /// Taken at the end of each round; `None`: only the newest round is there.
    #[serde(default)]
    pub snapshot: Option<Means>,
    /// What a restart reads; `None`: the newest.
    #[serde(default)]
    pub of_round: Option<u32>,
}

const fn one() -> u32 {
    1
}

const fn keep() -> CachePolicy {
    CachePolicy::Keep
}

impl Checkpoint {
    /// The operations of one round, or of a restart.
    #[must_use]
    pub fn stream(&self, op: Op) -> Stream {
        Stream {
            queue_depth: self.queue_depth,
            durability: self.durability,
            cache: self.cache,
            payload: self.payload,
            retry_ns: self.retry_ns,
            verify: self.verify && op == Op::Read,
            ..Stream::new(op, self.geometry.clone())
        }
    }

    /// Seed of the payload of a round, in a phase of this seed.
    #[must_use]
    pub const fn round_seed(seed: u64, round: u32) -> u64 {
        mix64(seed ^ mix64(round as u64 ^ 0x726f_756e_6473))
    }

    /// The round that a restart reads.
    #[must_use]
    pub const fn round(&self) -> u32 {
        match self.of_round {
            Some(round) => round,
            None => self.rounds - 1,
        }
    }

    /// Whether one snapshot is that of all tasks.
    #[must_use]
    pub fn is_together(&self) -> bool {
        self.coordination == Coordination::Together
    }

    /// How often all tasks meet in the phase: around the writing of each round, and once before the data go.
    #[must_use]
    pub fn meetings(&self) -> u32 {
        match self.step {
            CheckpointStep::Checkpoint if self.is_together() => self.rounds * if self.snapshot.is_some() { 3 } else { 2 },
            CheckpointStep::Drop => 1,
            _ => 0,
        }
    }

    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        self.stream(if self.step == CheckpointStep::Restart { Op::Read } else { Op::Write }).check(tasks)?;
        if self.rounds == 0 {
            return Err(SpecError::Zero("rounds"));
        }
        if self.rounds > MOST_ROUNDS {
            return Err(SpecError::Rounds(self.rounds));
        }
        if let Some(round) = self.of_round {
            if round >= self.rounds {
                return Err(SpecError::NoRound { round, rounds: self.rounds });
            }
            if self.snapshot.is_none() && round + 1 < self.rounds {
                return Err(SpecError::NoSnapshot(round));
            }
        }
        if self.snapshot.is_some() && !self.is_together() && self.geometry.layout == Layout::Shared {
            return Err(SpecError::SharedSnapshot);
        }
        match &self.snapshot {
            Some(Means::Command(command)) if command.argv.is_empty() => Err(SpecError::Zero("words of snapshot.argv")),
            Some(Means::Command(command)) if command.remove_argv.as_ref().is_some_and(Vec::is_empty) => {
                Err(SpecError::Zero("words of snapshot.remove_argv"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, PhaseSpec, RateLimits, Work};

    fn spec(text: &str) -> PhaseSpec {
        serde_json::from_str(
            &text.replace(
                "GEOMETRY",
                r#"{"transfer_size": 4, "block_size": 8, "layout": "file-per-task", "access": "sequential"}"#,
            ),
        )
        .expect("a phase")
    }

    fn three(change: impl FnOnce(&mut Checkpoint)) -> PhaseSpec {
        let mut spec = spec(
            r#"{"record": "0001-checkpoint", "tasks": {"here": 2, "total": 2}, "seed": 1, "work": {"kind": "checkpoint",
            "step": "checkpoint", "rounds": 3, "coordination": "together", "geometry": GEOMETRY, "durability": "fsync",
            "snapshot": {"means": "reflink"}}}"#,
        );
        let Work::Checkpoint(checkpoint) = &mut spec.work else { unreachable!("it is one") };
        change(checkpoint);
        spec
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(three(|_| ()).check(), Ok(()));
        let refused = |change: fn(&mut Checkpoint)| three(change).check().expect_err("refused");
        assert_eq!(refused(|work| work.rounds = 0), SpecError::Zero("rounds"));
        assert_eq!(refused(|work| work.rounds = 10_001), SpecError::Rounds(10_001));
        assert_eq!(refused(|work| work.of_round = Some(3)), SpecError::NoRound { round: 3, rounds: 3 });
        let unsaved = |work: &mut Checkpoint| (work.snapshot, work.of_round) = (None, Some(1));
        assert_eq!(refused(unsaved), SpecError::NoSnapshot(1));
        let shared = |work: &mut Checkpoint| (work.geometry.layout, work.coordination) = (Layout::Shared, Coordination::Each);
        assert_eq!(refused(shared), SpecError::SharedSnapshot);
        let limited = PhaseSpec { limit: Limit { time_ns: Some(1), ..Limit::default() }, ..three(|_| ()) };
        assert_eq!(limited.check(), Err(SpecError::LimitedRounds));
        let paced = PhaseSpec { pace: RateLimits { think_ns: 1, ..RateLimits::default() }, ..three(|_| ()) };
        assert_eq!(paced.check(), Err(SpecError::LimitedRounds));
    }

    #[test]
    fn every_round_has_a_payload_of_its_own() {
        let mut seeds: Vec<u64> = (0..MOST_ROUNDS).map(|round| Checkpoint::round_seed(5, round)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), MOST_ROUNDS as usize);
    }

    #[test]
    fn a_means_is_known_by_its_word() {
        for text in ["rados-self-managed", "rados-pool", "cephfs", "btrfs", "reflink", "model"] {
            let means: Means = serde_json::from_str(&format!(r#"{{"means": "{text}"}}"#)).expect("a means");
            assert_eq!(means.name(), text);
        }
        let command: Means = serde_json::from_str(r#"{"means": "command", "argv": ["true"]}"#).expect("a command");
        assert_eq!(command.name(), "command");
        assert!(serde_json::from_str::<Means>(r#"{"means": "reflink", "argv": []}"#).is_err());
    }
}
