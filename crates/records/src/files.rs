//! The three files of a record: series, heat and latency. Their formats are in `docs/record-format.md`.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use thiserror::Error;

use crate::latency::{Bucket, LatencyRecorder, bucket_bounds};
use crate::table::Table;

/// Why a file of a record could not be written or read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The record has its files already.
    #[error("{} is there already, and a record is written once; resume the run, or begin a new one", .0.display())]
    Exists(PathBuf),
    /// The file is not what its name says.
    #[error("{} is damaged or unfinished: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The name would lead out of the run directory.
    #[error("{0:?} is not a record name; use letters, digits, '-', '_' and '.', not first")]
    Name(String),
}

impl FileError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: &impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}

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

/// Whose histogram it is: its tag in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagged {
    /// Latencies of a task that works: `task-<n>`. All of these together are the phase's.
    Task(u32),
    /// Latencies of a task that follows: `follow-<n>`.
    Follow(u32),
    /// How far a follower was behind: `lag-<n>`.
    Lag(u32),
}

impl From<u32> for Tagged {
    fn from(task: u32) -> Self {
        Self::Task(task)
    }
}

impl fmt::Display for Tagged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(out, "task-{task}"),
            Self::Follow(task) => write!(out, "follow-{task}"),
            Self::Lag(task) => write!(out, "lag-{task}"),
        }
    }
}

/// The files of one record while its phase runs. An engine takes an `Option<PhaseFiles>`: `None` keeps no files.
///
/// Dropped without [`PhaseFiles::finish`], the files stay without footer or histograms, and readers call them unfinished.
pub struct PhaseFiles {
    series: Table<6>,
    heat: Table<5>,
    latency_path: PathBuf,
    latency: File,
    operations: Option<Table<3>>,
    /// Latest end of a row: the length of the interval that the histograms span.
    end_ns: u64,
}

impl PhaseFiles {
    /// Opens `series/<record>.parquet`, `heat/<record>.parquet` and `latency/<record>.hlog` below `run_dir`, whose
    /// three directories exist. With `replace`, what a phase that never ended left in their place is overwritten;
    /// without, it is an error.
    pub fn create(run_dir: &Path, record: &str, replace: bool) -> Result<Self, FileError> {
        check_name(record)?;
        let heat_path = run_dir.join(format!("heat/{record}.parquet"));
        let latency_path = run_dir.join(format!("latency/{record}.hlog"));
        let series = series_table(run_dir, record, replace)?;
        let heat = open(&heat_path, replace)?;
        let latency = open(&latency_path, replace)?;
        Ok(Self {
            series,
            heat: Table::new(heat_path, heat, ["start_ns", "end_ns", "low_ns", "high_ns", "count"])?,
            latency_path,
            latency,
            operations: None,
            end_ns: 0,
        })
    }

    /// Also keeps single operations, in `operations/<record>.parquet`; that directory exists.
    pub fn keep_operations(&mut self, run_dir: &Path, record: &str) -> Result<(), FileError> {
        let path = run_dir.join(format!("operations/{record}.parquet"));
        let file = open(&path, true)?;
        self.operations = Some(Table::new(path, file, ["task", "end_ns", "latency_ns"])?);
        Ok(())
    }

    /// Adds one operation, if they are kept: when it ended, relative to the opening of the start line.
    pub fn operation(&mut self, task: u32, end_ns: u64, latency_ns: u64) -> Result<(), FileError> {
        self.operations.as_mut().map_or(Ok(()), |table| table.push([u64::from(task), end_ns, latency_ns]))
    }

    /// Adds a row to the series.
    pub fn series(&mut self, row: SeriesRow) -> Result<(), FileError> {
        self.end_ns = self.end_ns.max(row.end_ns);
        push_series(&mut self.series, row)
    }

    /// Counts `count` operations of a latency bucket in an interval. An empty bucket has no row.
    pub fn heat(&mut self, start_ns: u64, end_ns: u64, bucket: Bucket, count: u64) -> Result<(), FileError> {
        if count == 0 {
            return Ok(());
        }
        let (low, high) = bucket_bounds(bucket);
        self.heat.push([start_ns, end_ns, low, high, count])
    }

    /// Writes the footers and the histograms, and makes everything durable.
    pub fn finish<T: Copy + Into<Tagged>>(self, histograms: &[(T, &LatencyRecorder)]) -> Result<(), FileError> {
        self.series.finish()?;
        self.heat.finish()?;
        if let Some(operations) = self.operations {
            operations.finish()?;
        }
        let path = &self.latency_path;
        write_histograms(&self.latency, histograms, Duration::from_nanos(self.end_ns))
            .and_then(|()| self.latency.sync_all())
            .map_err(|error| FileError::io(path, error))
    }
}

/// Writes `series/<record>.parquet` whole, and no other file: of a phase that a program of another's ran. What a phase
/// that never ended left in its place is overwritten.
pub fn write_series(run_dir: &Path, record: &str, rows: &[SeriesRow]) -> Result<(), FileError> {
    check_name(record)?;
    let mut table = series_table(run_dir, record, true)?;
    for row in rows {
        push_series(&mut table, *row)?;
    }
    table.finish()
}

fn check_name(record: &str) -> Result<(), FileError> {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if record.is_empty() || record.starts_with('.') || !record.chars().all(harmless) {
        return Err(FileError::Name(record.to_owned()));
    }
    Ok(())
}

fn series_table(run_dir: &Path, record: &str, replace: bool) -> Result<Table<6>, FileError> {
    let path = run_dir.join(format!("series/{record}.parquet"));
    let file = open(&path, replace)?;
    Table::new(path, file, ["start_ns", "end_ns", "task", "bytes", "operations", "latency_sum_ns"])
}

fn push_series(table: &mut Table<6>, row: SeriesRow) -> Result<(), FileError> {
    let SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns } = row;
    table.push([start_ns, end_ns, u64::from(task), bytes, operations, latency_sum_ns])
}

/// The header line that says how many histograms follow, so that a file cut at the end of a line is still found out.
pub(crate) const COUNT_HEADER: &str = "[Histograms: ";

fn write_histograms<T: Copy + Into<Tagged>>(
    file: &File,
    histograms: &[(T, &LatencyRecorder)],
    length: Duration,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("{COUNT_HEADER}{}]", histograms.len()))
        .begin_log_with(&mut out, &mut serializer)?;
    for (whose, recorder) in histograms {
        let tag = (*whose).into().to_string();
        log.write_histogram(recorder.histogram(), Duration::ZERO, length, Tag::new(&tag)).map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
        })?;
    }
    out.flush()
}

fn open(path: &Path, replace: bool) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if replace {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => FileError::io(path, error),
    })?;
    // The name itself has to survive a crash too, or a line in trials.jsonl would point at nothing.
    let directory = path.parent().unwrap_or(Path::new("."));
    File::open(directory).and_then(|d| d.sync_all()).map_err(|error| FileError::io(directory, error))?;
    Ok(file)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
