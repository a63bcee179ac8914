//! Reads the files of a record back, for the analysis.

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::catch_unwind;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry};
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::file_error::FileError;
use crate::histograms::COUNT_HEADER;

/// One histogram: its tag, and (highest equivalent value in ns, count) of each value that occurred, ascending.
pub type TaggedCounts = (String, Vec<(u64, u64)>);

/// The columns of a `series/` or `heat/` file, in file order, by name.
pub fn read_table(path: &Path) -> Result<Vec<(String, Vec<i64>)>, FileError> {
    let file = File::open(path).map_err(|error| FileError::io(path, error))?;
    // The Parquet library asserts some of what a damaged header breaks; for whoever reads, that is damage too.
    catch_unwind(|| read_columns(file))
        .map_err(|_| FileError::damaged(path, &"its headers contradict each other"))?
        .map_err(|error| FileError::damaged(path, &error))
}

fn read_columns(file: File) -> Result<Vec<(String, Vec<i64>)>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut table: Vec<_> = schema.columns().iter().map(|column| (column.name().to_owned(), Vec::new())).collect();
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let rows = usize::try_from(group.metadata().num_rows())?;
        for (column, (name, values)) in table.iter_mut().enumerate() {
            let ColumnReader::Int64ColumnReader(mut column) = group.get_column_reader(column)? else {
                return Err(ParquetError::General(format!("column {name} is not INT64")));
            };
            let wanted = values.len() + rows;
            column.read_records(rows, None, None, values)?;
            if values.len() != wanted {
                return Err(ParquetError::General(format!("column {name} has {} of {wanted} values", values.len())));
            }
        }
    }
    Ok(table)
}

/// The histograms of a `latency/` file, in file order. A histogram without a tag has the tag `""`.
pub fn read_histograms(path: &Path) -> Result<Vec<TaggedCounts>, FileError> {
    let log = std::fs::read(path).map_err(|error| FileError::io(path, error))?;
    let mut histograms = Vec::new();
    for entry in IntervalLogIterator::new(&log) {
        match entry {
            Ok(LogEntry::Interval(interval)) => {
                histograms.push(decode(&interval).map_err(|what| FileError::damaged(path, &what))?);
            }
            Ok(_) => {}
            Err(error) => return Err(FileError::damaged(path, &format!("not an HdrHistogram log line: {error:?}"))),
        }
    }
    match announced(&log) {
        Some(count) if count != histograms.len() => {
            Err(FileError::damaged(path, &format!("{} of {count} histograms", histograms.len())))
        }
        None if histograms.is_empty() => Err(FileError::damaged(path, &"no histogram in it")),
        _ => Ok(histograms),
    }
}

/// All histograms of a `latency/` file whose tags begin with `prefix` as one: (highest equivalent value in ns, count),
/// ascending. Of a trial on thousands of nodes they are thousands; nobody looks at each.
pub fn read_merged(path: &Path, prefix: &str) -> Result<Vec<(u64, u64)>, FileError> {
    let mut merged = BTreeMap::new();
    for (_, counts) in read_histograms(path)?.into_iter().filter(|(tag, _)| tag.starts_with(prefix)) {
        for (value, count) in counts {
            *merged.entry(value).or_insert(0) += count;
        }
    }
    Ok(merged.into_iter().collect())
}

/// How many histograms the header promises; `None` in a log that another program wrote.
fn announced(log: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(log).ok()?;
    let line = text.lines().take_while(|line| line.starts_with('#')).find_map(|line| line[1..].strip_prefix(COUNT_HEADER))?;
    line.strip_suffix(']')?.parse().ok()
}

fn decode(interval: &IntervalLogHistogram) -> Result<TaggedCounts, String> {
    let tag = interval.tag().map_or("", |tag| tag.as_str());
    let bytes = STANDARD.decode(interval.encoded_histogram()).map_err(|error| format!("histogram {tag:?}: {error}"))?;
    let histogram: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| format!("histogram {tag:?}: {error}"))?;
    let counts = histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
    Ok((tag.to_owned(), counts))
}
