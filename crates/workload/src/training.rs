//! `training`: accelerators that are fed with samples from files, with the terms of the benchmarks DLIO and `MLPerf`
//! Storage.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, CheckpointStep, Coordination};
use crate::common_settings::{CachePolicy, Durability, MOST_ROUNDS, TaskRange};
use crate::geometry::{Access, Geometry, Layout};
use crate::integer_mixing::{SplitMix64, mix64};
use crate::payload::PayloadKind;
use crate::permutation::Permutation;
use crate::spec_error::SpecError;

/// Samples begin at multiples of so many bytes and are read to the next one, so that reads can go past the page cache.
pub const SAMPLE_STEP: u64 = 4096;
/// How many standard deviations a sample's size is away from the mean at most…
const DEVIATIONS: f64 = 3.0;
/// …and the least part of the mean that it has.
const LEAST: f64 = 1.0 / 16.0;
/// Accelerators of a phase, and readers of an accelerator: what a host could ever have.
const MOST: u32 = 1 << 16;
/// Epochs of a phase: the result has a window of each accelerator in each.
const MOST_WINDOWS: u64 = 1 << 20;

/// What a phase does with the data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingStep {
    /// Writes its files.
    LayOut,
    /// Feeds the accelerators.
    Train,
}

/// In which order samples are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shuffle {
    /// File after file, and in a file from its first to its last.
    No,
    /// The files in random order, and in a file from its first to its last.
    Files,
    /// All samples in random order.
    Samples,
}

/// The samples and their files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// How many files.
    pub files: u32,
    /// Samples in each.
    pub samples_per_file: u32,
    /// Bytes of a sample on average.
    pub sample_bytes: u64,
    /// Standard deviation of these.
    #[serde(default)]
    pub spread_bytes: u64,
}

/// Where a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of its file.
    pub file: u32,
    /// Where it begins there.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// The next sample that its reader reads is behind it in the same file.
    pub goes_on: bool,
}

/// Checkpoints between the steps of a training: all accelerators pause while one is written, each over the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saving {
    /// After every so many steps of an epoch.
    pub every_steps: u64,
    /// Tasks that write it, numbered after the readers.
    pub writers: u32,
    /// Bytes that each of them writes; whole transfers.
    pub writer_bytes: u64,
}

/// Accelerators, each with readers of its own: tasks are readers, those of an accelerator have neighbouring numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// What is done.
    pub step: TrainingStep,
    /// What is read.
    pub dataset: Dataset,
    /// Bytes of one call.
    pub transfer_size: u64,
    /// How many accelerators.
    pub accelerators: u32,
    /// Readers of each of them.
    pub readers: u32,
    /// Samples that an accelerator takes at once.
    pub batch_samples: u32,
    /// Batches of each accelerator that may be read, or be in reading, and are not taken.
    pub prefetch_batches: u32,
    /// How long an accelerator computes on a batch.
    pub compute_ns: u64,
    /// Batches that each accelerator takes in an epoch; `None`: as many as the data set has for all of them.
    #[serde(default)]
    pub steps: Option<u64>,
    /// How often the accelerators begin anew, with nothing read ahead.
    #[serde(default = "one")]
    pub epochs: u32,
    /// In which order.
    pub shuffle: Shuffle,
    /// Number of the first pass over the data set: each shuffled pass has an order of its own, so that trials that begin
    /// with different passes are as unlike as epochs are.
    #[serde(default)]
    pub first_pass: u64,
    /// What becomes of the files' pages in the cache before.
    pub cache: CachePolicy,
    /// What is written between the steps; `None`: nothing.
    #[serde(default)]
    pub saving: Option<Saving>,
}

const fn one() -> u32 {
    1
}

impl Dataset {
    /// All samples.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.files as u64 * self.samples_per_file as u64
    }

    /// Size of sample `number` of the data set that `seed` names. Two that follow each other are as far from the average,
    /// one above and one below it: few samples have that average as well as many.
    #[must_use]
    pub fn bytes_of(&self, number: u64, seed: u64) -> u64 {
        let alone = number.is_multiple_of(2) && number + 1 == self.samples();
        if self.spread_bytes == 0 || alone {
            return self.sample_bytes.next_multiple_of(SAMPLE_STEP);
        }
        let mut random = SplitMix64::new(mix64(seed ^ 0x7361_6d70_6c65_7321) ^ mix64(number / 2));
        // A standard normal (Box and Muller 1958).
        let radius = (-2.0 * (1.0 - random.next_f64()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random.next_f64()).cos();
        let mean = self.sample_bytes as f64;
        let most = (mean * (1.0 - LEAST)).min(DEVIATIONS * self.spread_bytes as f64);
        let apart = (self.spread_bytes as f64 * normal).abs().min(most);
        let drawn = if number.is_multiple_of(2) { mean + apart } else { mean - apart };
        (drawn as u64).max(1).next_multiple_of(SAMPLE_STEP)
    }

    /// Where sample `place` of a file is; what its reader reads next is not behind it.
    #[must_use]
    pub fn sample(&self, file: u32, place: u32, seed: u64) -> Sample {
        let first = u64::from(file) * u64::from(self.samples_per_file);
        let offset = if self.spread_bytes == 0 {
            u64::from(place) * self.bytes_of(first, seed)
        } else {
            (first..first + u64::from(place)).map(|number| self.bytes_of(number, seed)).sum()
        };
        Sample { file, offset, bytes: self.bytes_of(first + u64::from(place), seed), goes_on: false }
    }

    /// Bytes of a file.
    #[must_use]
    pub fn file_bytes(&self, file: u32, seed: u64) -> u64 {
        let end = self.sample(file, self.samples_per_file - 1, seed);
        end.offset + end.bytes
    }
}

impl Training {
    /// Batches that each accelerator takes in an epoch.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let all = self.dataset.samples() / (u64::from(self.accelerators) * u64::from(self.batch_samples)).max(1);
        self.steps.unwrap_or(all)
    }

    /// Tasks that read.
    #[must_use]
    pub const fn all_readers(&self) -> u32 {
        self.accelerators.saturating_mul(self.readers)
    }

    /// The rounds of those that write checkpoints, as a `checkpoint` has them; `None` where nothing is written.
    #[must_use]
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let saving = self.saving?;
        let rounds = (self.steps() / saving.every_steps).saturating_mul(u64::from(self.epochs));
        Some(Checkpoint {
            step: CheckpointStep::Checkpoint,
            rounds: rounds.min(u64::from(MOST_ROUNDS)) as u32,
            think_ns: 0,
            coordination: Coordination::Each,
            geometry: Geometry {
                transfer_size: self.transfer_size,
                block_size: saving.writer_bytes,
                segments: 1,
                layout: Layout::FilePerTask,
                access: Access::Sequential,
            },
            queue_depth: 1,
            durability: Durability::Fsync,
            cache: CachePolicy::Keep,
            payload: PayloadKind::Unique,
            verify: false,
            retry_ns: None,
            snapshot: None,
            of_round: None,
        })
    }

    /// The numbers of all files that are read.
    #[must_use]
    pub fn files(&self) -> Vec<u32> {
        (0..self.dataset.files).collect()
    }

    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        for (name, value) in [
            ("dataset.files", u64::from(self.dataset.files)),
            ("dataset.samples_per_file", u64::from(self.dataset.samples_per_file)),
            ("dataset.sample_bytes", self.dataset.sample_bytes),
            ("transfer_size", self.transfer_size),
            ("accelerators", u64::from(self.accelerators)),
            ("readers", u64::from(self.readers)),
            ("batch_samples", u64::from(self.batch_samples)),
            ("prefetch_batches", u64::from(self.prefetch_batches)),
            ("compute_ns", self.compute_ns),
            ("epochs", u64::from(self.epochs)),
        ] {
            if value == 0 {
                return Err(SpecError::Zero(name));
            }
        }
        if self.transfer_size > 1 << 30 {
            return Err(SpecError::TransferTooLarge(self.transfer_size));
        }
        let largest = self.dataset.sample_bytes.saturating_add(self.dataset.spread_bytes.saturating_mul(3));
        let file = largest.saturating_add(SAMPLE_STEP).saturating_mul(u64::from(self.dataset.samples_per_file));
        if file > i64::MAX as u64 {
            return Err(SpecError::TooLarge);
        }
        if self.step == TrainingStep::LayOut {
            return Ok(());
        }
        if self.steps() == 0 {
            return Err(SpecError::NoBatch { samples: self.dataset.samples(), accelerators: self.accelerators });
        }
        let windows = u64::from(self.epochs) * u64::from(self.accelerators);
        let many = self.accelerators > MOST || self.readers > MOST || windows > MOST_WINDOWS;
        let readers = u64::from(self.accelerators) * u64::from(self.readers);
        let writers = u64::from(self.saving.map_or(0, |saving| saving.writers));
        if many || tasks.first != 0 || tasks.here != tasks.total || u64::from(tasks.total) != readers + writers {
            return Err(SpecError::TrainingApart);
        }
        self.saving.map_or(Ok(()), |saving| self.check_saving(&saving))
    }

    fn check_saving(&self, saving: &Saving) -> Result<(), SpecError> {
        if saving.writers == 0 || saving.writer_bytes == 0 {
            return Err(SpecError::Zero("what saving writes"));
        }
        // The first step after a checkpoint counts for nothing.
        if saving.every_steps < 2 || saving.every_steps > self.steps() {
            return Err(SpecError::SavingSteps { every: saving.every_steps, steps: self.steps() });
        }
        if !saving.writer_bytes.is_multiple_of(self.transfer_size) || self.dataset.files.checked_add(saving.writers).is_none() {
            return Err(SpecError::TooLarge);
        }
        let rounds = (self.steps() / saving.every_steps).saturating_mul(u64::from(self.epochs));
        if rounds > u64::from(MOST_ROUNDS) {
            return Err(SpecError::Rounds(rounds.min(u64::from(u32::MAX)) as u32));
        }
        Ok(())
    }
}

/// The samples of one accelerator, dealt to its readers; endless, one pass over the data set after another.
#[derive(Debug)]
pub(crate) struct Deal {
    accelerators: u64,
    accelerator: u64,
    /// The next of what it gets: samples or files, as they are shuffled.
    next: u64,
    first_pass: u64,
    /// Of the pass in hand.
    order: Option<(u64, Permutation)>,
    /// Of each reader, the file in hand, its next sample and where that begins.
    held: Vec<Option<(u32, u32, u64)>>,
}

impl Deal {
    pub(crate) fn new(training: &Training, accelerator: u32) -> Self {
        let held = vec![None; training.readers as usize];
        let (accelerators, first_pass) = (u64::from(training.accelerators), training.first_pass);
        Self { accelerators, accelerator: u64::from(accelerator), next: 0, first_pass, order: None, held }
    }

    /// What `reader` of the accelerator reads next.
    pub(crate) fn take(&mut self, training: &Training, reader: usize, seed: u64) -> Sample {
        let dataset = &training.dataset;
        let per_file = dataset.samples_per_file;
        if training.shuffle == Shuffle::Samples {
            let number = self.draw(dataset.samples(), true, seed);
            return dataset.sample((number / u64::from(per_file)) as u32, (number % u64::from(per_file)) as u32, seed);
        }
        let (file, place, offset) = match self.held[reader].take() {
            Some(held) => held,
            None => (self.draw(u64::from(dataset.files), training.shuffle == Shuffle::Files, seed) as u32, 0, 0),
        };
        let bytes = dataset.bytes_of(u64::from(file) * u64::from(per_file) + u64::from(place), seed);
        let goes_on = place + 1 < per_file;
        self.held[reader] = goes_on.then_some((file, place + 1, offset + bytes));
        Sample { file, offset, bytes, goes_on }
    }

    /// The next of `count` things.
    fn draw(&mut self, count: u64, shuffled: bool, seed: u64) -> u64 {
        let at = self.accelerator + self.next * self.accelerators;
        self.next += 1;
        let (pass, index) = (self.first_pass + at / count, at % count);
        if !shuffled {
            return index;
        }
        if self.order.as_ref().is_none_or(|(known, _)| *known != pass) {
            self.order = Some((pass, Permutation::new(count, mix64(seed ^ 0x6f72_6465_7221) ^ mix64(pass))));
        }
        self.order.as_ref().map_or(index, |(_, order)| order.apply(index))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn training(shuffle: Shuffle) -> Training {
        Training {
            step: TrainingStep::Train,
            dataset: Dataset { files: 12, samples_per_file: 5, sample_bytes: 100_000, spread_bytes: 30_000 },
            transfer_size: 1 << 20,
            accelerators: 3,
            readers: 2,
            batch_samples: 4,
            prefetch_batches: 2,
            compute_ns: 1_000_000,
            steps: None,
            epochs: 1,
            shuffle,
            first_pass: 0,
            cache: CachePolicy::Drop,
            saving: None,
        }
    }

    #[test]
    fn each_pass_gives_every_sample_to_one_accelerator() {
        for shuffle in [Shuffle::No, Shuffle::Files, Shuffle::Samples] {
            let training = training(shuffle);
            let mut seen = BTreeSet::new();
            for accelerator in 0..3 {
                let mut deal = Deal::new(&training, accelerator);
                for turn in 0..20 {
                    let sample = deal.take(&training, turn % 2, 7);
                    assert!(seen.insert((sample.file, sample.offset)), "{shuffle:?}: {sample:?} again");
                }
            }
            assert_eq!(seen.len(), 60, "{shuffle:?}");
        }
    }

    #[test]
    fn what_begins_with_another_pass_has_another_order() {
        let order = |first_pass| {
            let training = Training { first_pass, ..training(Shuffle::Samples) };
            let mut deal = Deal::new(&training, 0);
            (0..20).map(|_| deal.take(&training, 0, 7)).map(|sample| (sample.file, sample.offset)).collect::<Vec<_>>()
        };
        assert_eq!(order(0), order(0));
        assert_ne!(order(0), order(1));
    }

    #[test]
    fn samples_fill_their_files_without_a_gap_and_have_the_spread_that_was_asked_for() {
        let dataset = Dataset { files: 400, samples_per_file: 5, ..training(Shuffle::No).dataset };
        let mut sizes = Vec::new();
        for file in 0..400 {
            let mut end = 0;
            for place in 0..5 {
                let sample = dataset.sample(file, place, 3);
                assert_eq!((sample.offset, sample.bytes % SAMPLE_STEP), (end, 0));
                end = sample.offset + sample.bytes;
                sizes.push(sample.bytes as f64);
            }
            assert_eq!(dataset.file_bytes(file, 3), end);
        }
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let spread = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / sizes.len() as f64).sqrt();
        // Half a step more on average, for sizes are rounded up.
        assert!((mean / 102_048.0 - 1.0).abs() < 0.001, "{mean}");
        assert!((spread / 30_000.0 - 1.0).abs() < 0.06, "{spread}");
        let even = Dataset { spread_bytes: 0, ..dataset };
        assert_eq!(even.sample(3, 4, 1), Sample { file: 3, offset: 4 * 102_400, bytes: 102_400, goes_on: false });
    }

    #[test]
    fn what_cannot_be_trained_is_refused() {
        let tasks = TaskRange { first: 0, here: 6, total: 6 };
        let well = training(Shuffle::No);
        assert_eq!((well.check(tasks), well.steps()), (Ok(()), 5));
        assert_eq!(well.check(TaskRange { total: 12, ..tasks }), Err(SpecError::TrainingApart));
        let few = Training { batch_samples: 30, ..well.clone() };
        assert_eq!(few.check(tasks), Err(SpecError::NoBatch { samples: 60, accelerators: 3 }));
        assert_eq!(Training { readers: 0, ..well }.check(tasks), Err(SpecError::Zero("readers")));
    }
}
