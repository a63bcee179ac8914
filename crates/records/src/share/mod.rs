//! One process's share of a phase, as it travels to the process that writes the files. Shares are merged pairwise, in
//! any order, until there is one: what several processes left behind then is what one would have.
//!
//! A share holds the result and rows of each process that it covers, packed and never opened on the way, and the sums
//! that cannot be made of results (histograms). So a merge costs a copy and a few additions, however many tasks there are.

mod combine;
mod process_share;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use thiserror::Error;

use crate::file_error::FileError;
use crate::files::Files;
use crate::histogram_tag::Tagged;
use crate::histograms::Encoder;
use crate::latency::LatencyRecorder;
use crate::memory::Collected;
use crate::result::PhaseResult;
use crate::series_row::SeriesRow;
use process_share::ProcessShare;

/// Shares of another layout are refused.
const FORMAT: u32 = 2;
/// The sum over all tasks that work; the others are named like the kinds of operation of a mix.
const TOTAL: &str = "total";

/// Why shares could not become a result.
#[derive(Debug, Error)]
pub enum ShareError {
    /// Cut on its way, or of another version of this program.
    #[error("a process's share of the phase is damaged, or comes from another version of Tonnage: {0}")]
    Damaged(String),
    /// Two processes say that they ran the same task.
    #[error("two processes ran task {0} of one phase; each needs tasks of its own")]
    Twice(u32),
    /// The phase kept nothing that could be shared.
    #[error("the phase was not started with share=True; take its result instead")]
    NotKept,
    /// The record could not be written.
    #[error(transparent)]
    Files(#[from] FileError),
}

fn damaged(what: &impl ToString) -> ShareError {
    ShareError::Damaged(what.to_string())
}

/// What one or several processes leave behind of a phase. Instants in it count from the opening of the start line, each
/// process's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share<'a> {
    format: u32,
    /// Histograms, by whose sum they are.
    totals: BTreeMap<String, ByteBuf>,
    /// In the order of their tasks.
    #[serde(borrow)]
    processes: Vec<PackedShare<'a>>,
}

/// What one process left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PackedShare<'a> {
    first_task: u32,
    #[serde(borrow, with = "serde_bytes")]
    bytes: Cow<'a, [u8]>,
}

impl Share<'static> {
    /// The share of a process whose start line opened at `line_ns` of its clock, and whose phase was given the other end
    /// of `collected`.
    pub fn new(result: PhaseResult, line_ns: u64, collected: &Collected) -> Result<Self, ShareError> {
        let rows = collected.take().ok_or(ShareError::NotKept)?;
        let mut encoder = Encoder::default();
        let mut totals = BTreeMap::new();
        let all = [(TOTAL, &rows.total)];
        for (name, recorder) in rows.parts.iter().map(|(op, recorder)| (op.as_str(), recorder)).chain(all) {
            totals.insert(name.to_owned(), ByteBuf::from(encoder.bytes(recorder).map_err(|error| damaged(&error))?));
        }
        let first_task = result.tasks.first().map_or(0, |task| task.task);
        let bytes = Cow::Owned(ProcessShare::new(result, line_ns, rows).pack()?);
        Ok(Self { format: FORMAT, totals, processes: vec![PackedShare { first_task, bytes }] })
    }
}

impl<'a> Share<'a> {
    /// What [`to_bytes`](Self::to_bytes) gave.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ShareError> {
        let share: Self = postcard::from_bytes(bytes).map_err(|error| damaged(&error))?;
        if share.format == FORMAT { Ok(share) } else { Err(damaged(&format!("its format is {}", share.format))) }
    }

    /// As it travels.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ShareError> {
        postcard::to_allocvec(self).map_err(|error| damaged(&error))
    }

    /// Both together. The order of merging makes no difference.
    pub fn merge(mut self, other: Self) -> Result<Self, ShareError> {
        let mut encoder = Encoder::default();
        for (name, bytes) in other.totals {
            let sum = match self.totals.get(&name) {
                None => bytes,
                Some(ours) => {
                    let mut sum = LatencyRecorder::decode(ours).map_err(ShareError::Damaged)?;
                    sum.add(&LatencyRecorder::decode(&bytes).map_err(ShareError::Damaged)?);
                    ByteBuf::from(encoder.bytes(&sum).map_err(|error| damaged(&error))?)
                }
            };
            self.totals.insert(name, sum);
        }
        self.processes.extend(other.processes);
        self.processes.sort_by_key(|process| process.first_task);
        match self.processes.windows(2).find(|pair| pair[0].first_task == pair[1].first_task) {
            Some(pair) => Err(ShareError::Twice(pair[0].first_task)),
            None => Ok(self),
        }
    }

    /// The result of the whole phase, with the start line at `line_ns` of the run's clock. With `run_dir`, its files are
    /// written there as [`PhaseFiles`](crate::PhaseFiles) does, those of a phase that never ended overwritten.
    pub fn write(self, run_dir: Option<&Path>, record: &str, line_ns: u64) -> Result<PhaseResult, ShareError> {
        let totals = self.totals.iter().map(|(name, bytes)| {
            let recorder = LatencyRecorder::decode(bytes).map_err(ShareError::Damaged)?;
            Ok((name.clone(), recorder.summary()))
        });
        let totals: BTreeMap<_, _> = totals.collect::<Result<_, ShareError>>()?;
        let mut processes =
            self.processes.iter().map(|packed| ProcessShare::unpack(&packed.bytes)).collect::<Result<Vec<_>, _>>()?;
        let mut tasks = processes.iter().flat_map(|process| &process.result.tasks).map(|task| task.task);
        let mut before = tasks.next();
        for task in tasks {
            if before.replace(task) >= Some(task) {
                return Err(ShareError::Twice(task));
            }
        }
        if let Some(run_dir) = run_dir {
            write_files(&mut processes, run_dir, record)?;
        }
        let results = processes.into_iter().map(|process| process.result).collect();
        combine::combine(results, &totals, line_ns).ok_or_else(|| damaged(&"it covers no process"))
    }
}

/// Rows in the order of time, as a single process writes them. Intervals of different processes have different bounds.
fn write_files(processes: &mut [ProcessShare], run_dir: &Path, record: &str) -> Result<(), FileError> {
    let mut files = Files::create(run_dir, record, true)?;
    if processes.iter().any(|process| process.operations.is_some()) {
        files.keep_operations(run_dir, record)?;
    }
    let mut series: Vec<_> = processes.iter_mut().flat_map(|process| process.series.take()).collect();
    series.sort_by_key(|row| (row[0], row[2]));
    for [start_ns, length_ns, task, bytes, operations, latency_sum_ns] in series {
        let (end_ns, task) = (start_ns + length_ns, task as u32);
        files.series(SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns })?;
    }
    let mut heat: Vec<_> = processes.iter_mut().flat_map(|process| process.heat.take()).collect();
    heat.sort_by_key(|row| (row[0], row[2]));
    for [start_ns, length_ns, bucket, count] in heat {
        files.heat(start_ns, start_ns + length_ns, bucket as usize, count)?;
    }
    for operations in processes.iter_mut().filter_map(|process| process.operations.as_mut()) {
        operations.take().into_iter().try_for_each(|row| files.operation(row))?;
    }
    let mut histograms: Vec<_> = processes.iter_mut().flat_map(|process| std::mem::take(&mut process.histograms)).collect();
    histograms.sort_by_key(|histogram| matches!(histogram.tag, Tagged::Lag(_) | Tagged::Snapshot(_)));
    files.finish(histograms.len(), histograms.into_iter().map(Ok))
}

#[cfg(test)]
mod tests;
