//! A file of rows read by several threads, each a part of its lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::thread;

use super::{Cell, Interner, Rows, RowsError, hash};

/// Less of a file is read by one thread.
const PART_BYTES: u64 = 16 << 20;
const BUFFER_BYTES: usize = 1 << 20;

impl Rows {
    /// Reads all whole lines of a file, with as many threads as there are processors for them.
    ///
    /// # Errors
    /// As [`Rows::read`].
    pub fn open(path: &Path) -> Result<Self, RowsError> {
        let processors = thread::available_parallelism().map_or(1, usize::from) as u64;
        let length = File::open(path)?.metadata()?.len();
        Self::in_parts(path, length, (length / PART_BYTES).clamp(1, processors))
    }

    pub(super) fn in_parts(path: &Path, length: u64, parts: u64) -> Result<Self, RowsError> {
        // A run may be writing its last line: what came after the file's length was asked for is for the next look.
        let end = |part| Ok(end_of_line(path, length * part / parts)?.min(length));
        let mut ends = (1..parts).map(end).collect::<Result<Vec<_>, RowsError>>()?;
        ends.push(length);
        let mut start = 0;
        let ranges: Vec<_> = ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = ranges.into_iter().map(|range| scope.spawn(|| part(path, range))).collect();
            let mut all: Option<Self> = None;
            for thread in threads {
                let found = thread.join().expect("reading lines does not panic");
                match &mut all {
                    None => all = Some(found?),
                    Some(all) => {
                        let before = all.len();
                        let more = found.map_err(|error| error.after(before))?;
                        all.append(more).ok_or(RowsError::Line(before + 1))?;
                    }
                }
            }
            Ok(all.unwrap_or_default())
        })
    }

    /// `None` where there are too many keys, texts or kinds of rows.
    fn append(&mut self, mut other: Self) -> Option<()> {
        let before = self.len();
        let texts = self.texts.append(&other.texts)?;
        let mut places = Vec::with_capacity(other.columns.len());
        for column in &mut other.columns {
            let place = self.place(&column.key, before)?;
            let cells = std::mem::take(&mut column.cells);
            self.columns[place].cells.extend(cells.into_iter().map(|cell| cell.renumbered(&texts)));
            places.push(place);
        }
        for column in &mut self.columns {
            column.cells.resize(before + other.len(), Cell::MISSING);
        }
        let mut shapes = Vec::with_capacity(other.shapes.len());
        for shape in &other.shapes {
            shapes.push(self.shape(shape.iter().map(|&column| places[column]).collect())? as u32);
        }
        self.shape_of.extend(other.shape_of.iter().map(|&shape| shapes[shape as usize]));
        Some(())
    }
}

impl Interner {
    /// For each of the other's texts its number here.
    fn append(&mut self, other: &Self) -> Option<Vec<u32>> {
        self.bytes.reserve(other.bytes.len());
        let mut numbers = Vec::with_capacity(other.ends.len());
        for text in 0..u32::try_from(other.ends.len()).ok()? {
            let json = other.get(text);
            let looked_for = other.by_hash.get(&hash(json.as_bytes())) == Some(&text);
            if let Some(known) = looked_for.then(|| self.find(json)).flatten() {
                numbers.push(known);
                continue;
            }
            let number = self.add(json)?;
            if looked_for {
                self.by_hash.insert(hash(json.as_bytes()), number);
            }
            numbers.push(number);
        }
        Some(numbers)
    }
}

impl Cell {
    fn renumbered(self, texts: &[u32]) -> Self {
        match self.0 & 3 {
            kind @ 2.. => Self(u64::from(texts[(self.0 >> 2) as usize]) << 2 | kind),
            _ => self,
        }
    }
}

impl RowsError {
    /// Of a file whose first lines somebody else read.
    fn after(self, lines: usize) -> Self {
        match self {
            Self::Line(line) => Self::Line(lines + line),
            error @ Self::Io(_) => error,
        }
    }
}

fn part(path: &Path, range: Range<u64>) -> Result<Rows, RowsError> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(range.start))?;
    Rows::read(BufReader::with_capacity(BUFFER_BYTES, file.take(range.end - range.start)))
}

/// Where the line ends that `offset` lies in.
fn end_of_line(path: &Path, offset: u64) -> Result<u64, RowsError> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(offset + BufReader::new(file).skip_until(b'\n')? as u64)
}
