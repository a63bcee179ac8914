//! The three files of a record: series, heat and latency. Their formats are in `docs/record-format.md`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{CWD, Mode, OFlags, openat, renameat};

use crate::file_error::FileError;
use crate::histogram_tag::Tagged;
use crate::histograms::{Encoded, Encoder, write_log};
use crate::latency::{Bucket, LatencyRecorder, bucket_bounds};
use crate::memory::{Collected, Memory};
use crate::series_row::SeriesRow;
use crate::table::Table;

/// What is kept of one record while its phase runs: in its files, or in memory where another process writes them. An
/// engine takes an `Option<PhaseFiles>`: `None` keeps nothing.
///
/// Dropped without [`PhaseFiles::finish`], the files stay without footer or histograms, and readers call them unfinished.
pub struct PhaseFiles(Destination);

enum Destination {
    Files(Box<Files>),
    Memory(Box<Memory>),
}

/// The files themselves.
pub(crate) struct Files {
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
        Files::create(run_dir, record, replace).map(|files| Self(Destination::Files(Box::new(files))))
    }

    /// Touches no file: what was kept is in the second value once the phase has [finished](Self::finish).
    #[must_use]
    pub fn in_memory(keep_operations: bool) -> (Self, Collected) {
        let (memory, collected) = Memory::new(keep_operations);
        (Self(Destination::Memory(Box::new(memory))), collected)
    }

    /// Also keeps single operations, in `operations/<record>.parquet`; that directory exists.
    pub fn keep_operations(&mut self, run_dir: &Path, record: &str) -> Result<(), FileError> {
        match &mut self.0 {
            Destination::Files(files) => files.keep_operations(run_dir, record),
            Destination::Memory(_) => Ok(()),
        }
    }

    /// Adds one operation, if they are kept: when it ended, relative to the opening of the start line.
    pub fn operation(&mut self, task: u32, end_ns: u64, latency_ns: u64) -> Result<(), FileError> {
        let row = [u64::from(task), end_ns, latency_ns];
        match &mut self.0 {
            Destination::Files(files) => files.operation(row)?,
            Destination::Memory(memory) => memory.operation(row),
        }
        Ok(())
    }

    /// Adds a row to the series.
    pub fn series(&mut self, row: SeriesRow) -> Result<(), FileError> {
        match &mut self.0 {
            Destination::Files(files) => files.series(row)?,
            Destination::Memory(memory) => memory.series(row),
        }
        Ok(())
    }

    /// Counts `count` operations of a latency bucket in an interval. An empty bucket has no row.
    pub fn heat(&mut self, start_ns: u64, end_ns: u64, bucket: Bucket, count: u64) -> Result<(), FileError> {
        if count == 0 {
            return Ok(());
        }
        match &mut self.0 {
            Destination::Files(files) => files.heat(start_ns, end_ns, bucket, count)?,
            Destination::Memory(memory) => memory.heat([start_ns, end_ns, bucket as u64, count]),
        }
        Ok(())
    }

    /// The latencies of one kind of operation of a phase that mixes several. No file has them: the summaries in the
    /// result come from them, and those of several processes are added before.
    pub fn part(&mut self, op: &str, latencies: &LatencyRecorder) {
        if let Destination::Memory(memory) = &mut self.0 {
            memory.part(op, latencies);
        }
    }

    /// Writes the footers and the histograms, and makes everything durable.
    pub fn finish<T: Copy + Into<Tagged>>(self, histograms: &[(T, &LatencyRecorder)]) -> Result<(), FileError> {
        let recorders = histograms.iter().map(|&(tag, recorder)| (tag.into(), recorder));
        match self.0 {
            Destination::Files(files) => {
                let mut encoder = Encoder::default();
                files.finish(histograms.len(), recorders.map(|(tag, recorder)| encoder.encode(tag, recorder)))
            }
            Destination::Memory(memory) => memory.finish(recorders).map_err(|error| FileError::io(Path::new("(memory)"), error)),
        }
    }
}

impl Files {
    pub(crate) fn create(run_dir: &Path, record: &str, replace: bool) -> Result<Self, FileError> {
        check_name(record)?;
        let heat_path = run_dir.join(format!("heat/{record}.parquet"));
        let latency_path = run_dir.join(format!("latency/{record}.hlog"));
        let series = series_table(run_dir, record, replace)?;
        let heat = create_file(&heat_path, replace)?;
        let latency = create_file(&latency_path, replace)?;
        Ok(Self {
            series,
            heat: Table::new(heat_path, heat, ["start_ns", "end_ns", "low_ns", "high_ns", "count"])?,
            latency_path,
            latency,
            operations: None,
            end_ns: 0,
        })
    }

    pub(crate) fn keep_operations(&mut self, run_dir: &Path, record: &str) -> Result<(), FileError> {
        let path = run_dir.join(format!("operations/{record}.parquet"));
        let file = create_file(&path, true)?;
        self.operations = Some(Table::new(path, file, ["task", "end_ns", "latency_ns"])?);
        Ok(())
    }

    pub(crate) fn operation(&mut self, row: [u64; 3]) -> Result<(), FileError> {
        self.operations.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    pub(crate) fn series(&mut self, row: SeriesRow) -> Result<(), FileError> {
        self.end_ns = self.end_ns.max(row.end_ns);
        push_series(&mut self.series, row)
    }

    pub(crate) fn heat(&mut self, start_ns: u64, end_ns: u64, bucket: Bucket, count: u64) -> Result<(), FileError> {
        let (low, high) = bucket_bounds(bucket);
        self.heat.push([start_ns, end_ns, low, high, count])
    }

    pub(crate) fn finish(self, count: usize, histograms: impl Iterator<Item = io::Result<Encoded>>) -> Result<(), FileError> {
        self.series.finish()?;
        self.heat.finish()?;
        if let Some(operations) = self.operations {
            operations.finish()?;
        }
        write_log(&self.latency, count, histograms, self.end_ns)
            .and_then(|()| self.latency.sync_all())
            .map_err(|error| FileError::io(&self.latency_path, error))
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
    let file = create_file(&path, replace)?;
    Table::new(path, file, ["start_ns", "end_ns", "task", "bytes", "operations", "latency_sum_ns"])
}

fn push_series(table: &mut Table<6>, row: SeriesRow) -> Result<(), FileError> {
    let SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns } = row;
    table.push([start_ns, end_ns, u64::from(task), bytes, operations, latency_sum_ns])
}

/// A new, empty file, in a directory that is none by a link. With `replace`, another file of this name gives up the name
/// and is not written to: it may have further names, or be a link to a user's file. Without, it is an error.
pub fn create_file(path: &Path, replace: bool) -> Result<File, FileError> {
    let (parent, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, parent, flags, Mode::empty()).map_err(|error| FileError::io(parent, error.into()))?;
    let create = |name: &OsStr| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(&directory, name, flags, Mode::from_raw_mode(0o666)).map_err(io::Error::from)
    };
    let mut file = create(name);
    if replace && file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let fresh = OsString::from(format!(".{}.{}.{now}.tmp", name.display(), std::process::id()));
        file = create(&fresh).and_then(|file| Ok(renameat(&directory, &fresh, &directory, name).map(|()| file)?));
    }
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists(path.to_owned()),
        _ => FileError::io(path, error),
    })?;
    // The name itself has to survive a crash too, or a line in trials.jsonl would point at nothing.
    rustix::fs::fsync(&directory).map_err(|error| FileError::io(parent, error.into()))?;
    Ok(file.into())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
