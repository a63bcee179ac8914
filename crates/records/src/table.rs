//! One Parquet file of required `INT64` columns, written as a stream.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::file_error::FileError;

/// Rows held in memory before they go to the file, so that an hour of series costs no more memory than a minute.
const GROUP_ROWS: usize = 64 << 10;

/// A table of `N` columns that grows by rows.
pub(crate) struct Table<const N: usize> {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: [Vec<i64>; N],
}

impl<const N: usize> Table<N> {
    /// Starts the file; `file` is empty and open for writing.
    pub fn new(path: PathBuf, file: File, names: [&str; N]) -> Result<Self, FileError> {
        let fields: Vec<String> = names.iter().map(|name| format!("required int64 {name};")).collect();
        let start = || {
            let schema = parse_message_type(&format!("message tonnage {{ {} }}", fields.join(" ")))?;
            let compression = Compression::ZSTD(ZstdLevel::try_new(1)?);
            let properties = WriterProperties::builder().set_compression(compression).build();
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
        };
        match start() {
            Ok(writer) => Ok(Self { path, writer, columns: std::array::from_fn(|_| Vec::with_capacity(GROUP_ROWS)) }),
            Err(error) => Err(FileError::io(&path, into_io(error))),
        }
    }

    /// Adds a row. Values above 2^63 (584 years, 8 EiB) count as that.
    pub fn push(&mut self, row: [u64; N]) -> Result<(), FileError> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(i64::try_from(value).unwrap_or(i64::MAX));
        }
        if self.columns[0].len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes what is left and the footer, and makes the file durable. A file without this call has no footer and
    /// does not open.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.flush()?;
        let Self { path, writer, .. } = self;
        let file = writer.into_inner().map_err(|error| FileError::io(&path, into_io(error)))?;
        file.sync_all().map_err(|error| FileError::io(&path, error))
    }

    fn flush(&mut self) -> Result<(), FileError> {
        if self.columns[0].is_empty() {
            return Ok(());
        }
        write_group(&mut self.writer, &self.columns).map_err(|error| FileError::io(&self.path, into_io(error)))?;
        self.columns.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

fn write_group(writer: &mut SerializedFileWriter<File>, columns: &[Vec<i64>]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else { break };
        column.typed::<Int64Type>().write_batch(values, None, None)?;
        column.close()?;
    }
    group.close().map(|_| ())
}

/// The system's error inside (a full disk keeps its errno), or the library's own text.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other),
    }
}
