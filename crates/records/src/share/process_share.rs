//! What one process left behind of a phase, packed.

use serde::{Deserialize, Serialize};

use super::{ShareError, damaged};
use crate::histograms::Encoded;
use crate::memory::PhaseRows;
use crate::result::PhaseResult;

/// Fast: shares are mostly numbers that were deflated or are noise.
const ZSTD_LEVEL: i32 = 1;

/// One process's result and rows; instants count from the opening of its start line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessShare {
    pub result: PhaseResult,
    pub series: DeltaColumns,
    pub heat: DeltaColumns,
    pub operations: Option<DeltaColumns>,
    pub histograms: Vec<Encoded>,
}

/// A table by columns, each value as its difference from the one above: most are small then, or the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeltaColumns(Vec<Vec<i64>>);

impl DeltaColumns {
    fn new<const N: usize>(rows: &[[u64; N]]) -> Self {
        let column = |index: usize| {
            let mut above = 0_u64;
            let below = |row: &[u64; N]| row[index].wrapping_sub(std::mem::replace(&mut above, row[index])) as i64;
            rows.iter().map(below).collect()
        };
        Self((0..N).map(column).collect())
    }

    fn is_table<const N: usize>(&self) -> bool {
        self.0.len() == N && self.0.iter().all(|column| column.len() == self.0[0].len())
    }

    /// The rows, which are gone then.
    pub fn take<const N: usize>(&mut self) -> Vec<[u64; N]> {
        let columns = std::mem::take(&mut self.0);
        let mut above = [0_u64; N];
        let mut row = |index: usize| {
            for (value, column) in above.iter_mut().zip(&columns) {
                *value = value.wrapping_add(column[index] as u64);
            }
            above
        };
        (0..columns.first().map_or(0, Vec::len)).map(&mut row).collect()
    }
}

impl ProcessShare {
    pub fn new(mut result: PhaseResult, line_ns: u64, rows: PhaseRows) -> Self {
        shift(&mut result, |time_ns| time_ns.saturating_sub(line_ns));
        Self {
            result,
            series: DeltaColumns::new(&rows.series),
            heat: DeltaColumns::new(&rows.heat),
            operations: rows.operations.map(|operations| DeltaColumns::new(&operations)),
            histograms: rows.histograms,
        }
    }

    pub fn pack(&self) -> Result<Vec<u8>, ShareError> {
        let bytes = postcard::to_allocvec(self).map_err(|error| damaged(&error))?;
        zstd::encode_all(bytes.as_slice(), ZSTD_LEVEL).map_err(|error| damaged(&error))
    }

    pub fn unpack(bytes: &[u8]) -> Result<Self, ShareError> {
        let bytes = zstd::decode_all(bytes).map_err(|error| damaged(&error))?;
        let share: Self = postcard::from_bytes(&bytes).map_err(|error| damaged(&error))?;
        let operations = share.operations.as_ref().is_none_or(DeltaColumns::is_table::<3>);
        if share.series.is_table::<6>() && share.heat.is_table::<4>() && operations {
            Ok(share)
        } else {
            Err(damaged(&"its columns are not of one length"))
        }
    }
}

/// Moves all instants.
pub(super) fn shift(result: &mut PhaseResult, moved: impl Fn(u64) -> u64) {
    for task in &mut result.tasks {
        (task.start_ns, task.end_ns) = (moved(task.start_ns), moved(task.end_ns));
    }
    for copy in &mut result.copies {
        (copy.start_ns, copy.end_ns) = (moved(copy.start_ns), moved(copy.end_ns));
    }
    for event in &mut result.events {
        event.time_ns = moved(event.time_ns);
    }
    for window in result.checkpoint.iter_mut().flat_map(|checkpoint| &mut checkpoint.windows) {
        (window.first_begin_ns, window.last_begin_ns) = (moved(window.first_begin_ns), moved(window.last_begin_ns));
        (window.first_end_ns, window.last_end_ns) = (moved(window.first_end_ns), moved(window.last_end_ns));
    }
}
