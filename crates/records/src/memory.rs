//! What a phase leaves behind where its process writes no files: kept here until it becomes a [`Share`](crate::Share).

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::histogram_tag::Tagged;
use crate::histograms::{Encoded, Encoder};
use crate::latency::LatencyRecorder;
use crate::series_row::SeriesRow;

/// Rows and histograms of one process.
#[derive(Debug, Default)]
pub(crate) struct PhaseRows {
    /// `start_ns`, length, `task`, `bytes`, `operations`, `latency_sum_ns`.
    pub series: Vec<[u64; 6]>,
    /// `start_ns`, length, bucket, `count`.
    pub heat: Vec<[u64; 4]>,
    /// `task`, `end_ns`, `latency_ns`.
    pub operations: Option<Vec<[u64; 3]>>,
    pub histograms: Vec<Encoded>,
    /// Of all tasks that work.
    pub total: LatencyRecorder,
    /// Of each kind of operation, where the phase mixes several.
    pub parts: Vec<(String, LatencyRecorder)>,
}

/// What was kept in memory of a phase, once it has ended.
#[derive(Debug, Clone, Default)]
pub struct Collected(Arc<Mutex<Option<PhaseRows>>>);

impl Collected {
    /// Once, and only of a phase that ended well.
    pub(crate) fn take(&self) -> Option<PhaseRows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Keeps rows and histograms while the phase runs.
pub(crate) struct Memory {
    rows: PhaseRows,
    collected: Collected,
}

impl Memory {
    pub fn new(keep_operations: bool) -> (Self, Collected) {
        let collected = Collected::default();
        let rows = PhaseRows { operations: keep_operations.then(Vec::new), ..PhaseRows::default() };
        (Self { rows, collected: collected.clone() }, collected)
    }

    pub fn operation(&mut self, row: [u64; 3]) {
        if let Some(operations) = &mut self.rows.operations {
            operations.push(row);
        }
    }

    pub fn series(&mut self, row: SeriesRow) {
        let SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns } = row;
        self.rows.series.push([start_ns, end_ns - start_ns, u64::from(task), bytes, operations, latency_sum_ns]);
    }

    pub fn heat(&mut self, [start_ns, end_ns, bucket, count]: [u64; 4]) {
        self.rows.heat.push([start_ns, end_ns - start_ns, bucket, count]);
    }

    pub fn part(&mut self, op: &str, latencies: &LatencyRecorder) {
        self.rows.parts.push((op.to_owned(), latencies.clone()));
    }

    pub fn finish<'a>(mut self, histograms: impl Iterator<Item = (Tagged, &'a LatencyRecorder)>) -> io::Result<()> {
        let mut encoder = Encoder::default();
        for (tag, recorder) in histograms {
            if matches!(tag, Tagged::Task(_)) {
                self.rows.total.add(recorder);
            }
            self.rows.histograms.push(encoder.encode(tag, recorder)?);
        }
        *self.collected.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.rows);
        Ok(())
    }
}
