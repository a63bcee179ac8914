//! A row of `series/`.

/// What one task did in one interval. Times are relative to the opening of the start line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct SeriesRow {
    pub start_ns: u64,
    pub end_ns: u64,
    pub task: u32,
    pub bytes: u64,
    pub operations: u64,
    pub latency_sum_ns: u64,
}
