//! A file of JSON lines as rows, read whole and kept small.
//!
//! A run may have a million trials. As a map of its own each takes kilobytes, most of which they have in common: the names
//! of the keys, the setting, words such as `ok`. Here a row is one number for each key: an integer itself, or which of the
//! texts that were seen stands there. What is not an integer stays JSON until somebody asks for it. Numbers of one key lie
//! side by side, for who looks at all rows looks at one key after the other.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::str;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// Keys, and kinds of rows (the same keys in the same order), that a file may have: other lines are not what this is good
/// for.
const MAX_KEYS: usize = 256;
/// A value with fewer objects and lists than the library lets be nested needs no look at how deep they are.
const MAX_UNCHECKED_OPENINGS: usize = 64;
/// A column whose texts hardly ever come again is not searched for them any more, after so many.
const ENOUGH_LOOKUPS: u32 = 1000;
const MIN_HITS: u32 = 10;

/// Of [`Rows::numbers`], where there is none: no integer of 62 bits.
pub const NOTHING: i64 = i64::MIN;

/// Why a file was not read.
#[derive(Debug, Error)]
pub enum RowsError {
    /// The system's reason.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It may well be JSON; it is not lines of objects whose keys are plain and different, and much alike.
    #[error("line {0} is not a plain JSON object like the others")]
    Line(usize),
}

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that 62 bits hold.
    Integer(i64),
    /// Anything else, as valid JSON; `shared` names it where other rows may have the same.
    Text {
        /// As it stands in the line.
        json: &'a str,
        /// Its number.
        shared: Option<u32>,
    },
}

impl<'a> Value<'a> {
    /// Of JSON that is known to be valid.
    fn of(json: &'a str) -> Self {
        match Cell::plain(json) {
            Some(Cell::NULL) => Self::Null,
            Some(Cell::FALSE) => Self::Bool(false),
            Some(Cell::TRUE) => Self::Bool(true),
            Some(cell) => Self::Integer(cell.0 as i64 >> 2),
            None => Self::Text { json, shared: None },
        }
    }

    /// The members of an object whose keys are plain; `None` of anything else.
    #[must_use]
    pub fn members(self) -> Option<Vec<(&'a str, Value<'a>)>> {
        let Self::Text { json, .. } = self else { return None };
        let mut found = Vec::new();
        each_member(json, |key, json| {
            found.push((key, Self::of(json)));
            Some(())
        })?;
        Some(found)
    }

    /// What stands at the end of a path of keys into objects; itself at the end of none.
    fn within(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |value, key| last(&value.members()?, key))
    }

    /// A letter: `n` for null, `b` for a truth value, `i` for an integer (`k` below zero), `f` for another number, `s`, `a`,
    /// `o`; a capital where Python takes the value for true.
    #[must_use]
    pub fn kind(self) -> u8 {
        let (kind, holds) = match self {
            Self::Null => (b'n', false),
            Self::Bool(value) => (b'b', value),
            Self::Integer(value) => (if value < 0 { b'k' } else { b'i' }, value != 0),
            Self::Text { json, .. } => match json.as_bytes()[0] {
                b'"' => (b's', json.len() > 2),
                first @ (b'[' | b'{') => {
                    (if first == b'[' { b'a' } else { b'o' }, !json[1..json.len() - 1].trim_ascii().is_empty())
                }
                first if is_plain_integer(json) => (if first == b'-' { b'k' } else { b'i' }, true),
                _ => (b'f', json.parse() != Ok(0.0)),
            },
        };
        if holds { kind.to_ascii_uppercase() } else { kind }
    }

    /// Equal where Python reads the same text.
    fn same(self) -> (u8, i64, &'a str) {
        match self {
            Self::Integer(value) => (b'i', value, ""),
            Self::Text { json, .. } => (b't', 0, json),
            other => (other.kind(), 0, ""),
        }
    }
}

/// As Python reads an object in which a key is twice.
fn last<'a>(members: &[(&'a str, Value<'a>)], key: &str) -> Option<Value<'a>> {
    members.iter().rfind(|(name, _)| *name == key).map(|&(_, value)| value)
}

/// Two bits say which kind, 62 hold an integer or the number of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell(u64);

impl Cell {
    const NULL: Self = Self(0);
    const FALSE: Self = Self(4);
    const TRUE: Self = Self(8);
    /// The row has no such key.
    const MISSING: Self = Self(12);

    fn integer(value: i64) -> Option<Self> {
        ((value << 2) >> 2 == value).then_some(Self((value << 2) as u64 | 1))
    }

    /// Of what needs no text.
    fn plain(json: &str) -> Option<Self> {
        match json {
            "null" => Some(Self::NULL),
            "false" => Some(Self::FALSE),
            "true" => Some(Self::TRUE),
            _ if is_plain_integer(json) => json.parse().ok().and_then(Self::integer),
            _ => None,
        }
    }

    fn shared(text: u32) -> Self {
        Self(u64::from(text) << 2 | 2)
    }

    fn unique(text: u32) -> Self {
        Self(u64::from(text) << 2 | 3)
    }
}

/// Texts, each once as far as it pays.
#[derive(Debug, Default)]
struct Interner {
    bytes: String,
    ends: Vec<usize>,
    by_hash: HashMap<u64, u32>,
}

impl Interner {
    fn get(&self, text: u32) -> &str {
        let text = text as usize;
        let start = if text == 0 { 0 } else { self.ends[text - 1] };
        &self.bytes[start..self.ends[text]]
    }

    fn find(&self, json: &str) -> Option<u32> {
        self.by_hash.get(&hash(json.as_bytes())).copied().filter(|&text| self.get(text) == json)
    }

    /// `None` where it is nested too deep, or there are too many.
    fn add(&mut self, json: &str) -> Option<u32> {
        if is_deep(json) {
            return None;
        }
        let text = u32::try_from(self.ends.len()).ok()?;
        self.bytes.push_str(json);
        self.ends.push(self.bytes.len());
        Some(text)
    }

    /// Of a text in a column of which so much was looked for.
    fn cell(&mut self, lookups: &mut Lookups, json: &str) -> Option<Cell> {
        // Many columns have the same text all the way.
        if self.ends.len() > lookups.last as usize && self.get(lookups.last) == json {
            return Some(Cell::shared(lookups.last));
        }
        if lookups.made >= ENOUGH_LOOKUPS && lookups.hits < MIN_HITS {
            return self.add(json).map(Cell::unique);
        }
        lookups.made = lookups.made.saturating_add(1);
        if let Some(text) = self.find(json) {
            lookups.hits = lookups.hits.saturating_add(1);
            lookups.last = text;
        } else {
            lookups.last = self.add(json)?;
            self.by_hash.insert(hash(json.as_bytes()), lookups.last);
        }
        Some(Cell::shared(lookups.last))
    }
}

/// How often a column's texts were looked for, and found, and which came last.
#[derive(Debug, Clone, Copy, Default)]
struct Lookups {
    made: u32,
    hits: u32,
    last: u32,
}

/// What every row has under a key.
#[derive(Debug)]
struct Column {
    key: Box<str>,
    cells: Vec<Cell>,
    lookups: Lookups,
}

/// The lines of a file.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<Column>,
    places: HashMap<Box<str>, usize>,
    /// Columns of rows with the same keys in the same order…
    shapes: Vec<Vec<usize>>,
    /// …and which of these each row has.
    shape_of: Vec<u32>,
    texts: Interner,
}

impl Rows {
    /// Reads all whole lines. What follows the last newline is a line that is being written, or was when the machine stopped.
    pub fn read(mut file: impl BufRead) -> Result<Self, RowsError> {
        let mut rows = Self::default();
        let mut line = Vec::new();
        while file.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let number = rows.len() + 1;
            str::from_utf8(&line).ok().and_then(|text| rows.add(text)).ok_or(RowsError::Line(number))?;
            line.clear();
        }
        Ok(rows)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape_of.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape_of.is_empty()
    }

    /// The keys of a row, in their order.
    #[must_use]
    pub fn keys(&self, row: usize) -> impl ExactSizeIterator<Item = &str> {
        self.shapes[self.shape_of[row] as usize].iter().map(|&column| &*self.columns[column].key)
    }

    /// All keys of all rows.
    pub fn all_keys(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.key)
    }

    /// The value of a key; `None` where the row has no such key.
    #[must_use]
    pub fn get(&self, row: usize, key: &str) -> Option<Value<'_>> {
        self.value(self.columns[*self.places.get(key)?].cells[row])
    }

    /// What stands at the end of a path, a key and those in its object, in each of some rows; `None` where nothing does.
    pub fn values<'a>(&'a self, path: &[&str], rows: impl Iterator<Item = usize>) -> impl Iterator<Item = Option<Value<'a>>> {
        let column = path.first().and_then(|key| self.places.get(*key)).map(|&place| &self.columns[place]);
        let within = path.get(1..).unwrap_or_default();
        // An object that many rows have (a setting) is looked into once.
        let mut known = HashMap::new();
        rows.map(move |row| {
            let value = self.value(column?.cells[row])?;
            match value {
                _ if within.is_empty() => Some(value),
                Value::Text { shared: Some(text), .. } => *known.entry(text).or_insert_with(|| value.within(within)),
                _ => value.within(within),
            }
        })
    }

    /// The integers at a path in each of some rows, [`NOTHING`] where nothing is, or null; `None` where one has anything
    /// else.
    pub fn numbers(&self, path: &[&str], rows: impl Iterator<Item = usize>) -> Option<Vec<i64>> {
        self.values(path, rows)
            .map(|value| match value {
                None | Some(Value::Null) => Some(NOTHING),
                Some(Value::Integer(value)) => Some(value),
                Some(_) => None,
            })
            .collect()
    }

    /// The [`Value::kind`] of each row at a path; `-` where nothing is there.
    #[must_use]
    pub fn kinds(&self, path: &[&str]) -> Vec<u8> {
        self.values(path, 0..self.len()).map(|value| value.map_or(b'-', Value::kind)).collect()
    }

    /// For each row the number of its value at a path among all that are different, and these in the order of their first
    /// rows. What is not there counts as `null`.
    #[must_use]
    pub fn codes<'a>(&'a self, path: &[&str]) -> (Vec<u32>, Vec<Value<'a>>) {
        let (mut found, mut numbers, mut of_text) = (Vec::new(), HashMap::new(), HashMap::new());
        let mut number = |value: Value<'a>| {
            *numbers.entry(value.same()).or_insert_with(|| {
                found.push(value);
                found.len() as u32 - 1
            })
        };
        let codes = self
            .values(path, 0..self.len())
            .map(|value| match value.unwrap_or(Value::Null) {
                value @ Value::Text { shared: Some(text), .. } => *of_text.entry(text).or_insert_with(|| number(value)),
                value => number(value),
            })
            .collect();
        (codes, found)
    }

    fn value(&self, cell: Cell) -> Option<Value<'_>> {
        let text = (cell.0 >> 2) as u32;
        Some(match cell.0 & 3 {
            0 if cell == Cell::MISSING => return None,
            0 if cell == Cell::NULL => Value::Null,
            0 => Value::Bool(cell == Cell::TRUE),
            1 => Value::Integer(cell.0 as i64 >> 2),
            2 => Value::Text { json: self.texts.get(text), shared: Some(text) },
            _ => Value::Text { json: self.texts.get(text), shared: None },
        })
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let row = self.shape_of.len();
        // Most lines have the keys of the one before.
        let guess = self.shape_of.last().map_or(0, |&shape| shape as usize);
        let mut found = Vec::with_capacity(self.columns.len());
        each_member(line, |key, json| {
            let expected = self.shapes.get(guess).and_then(|shape| shape.get(found.len()));
            let place = match expected {
                Some(&place) if *self.columns[place].key == *key => place,
                _ => self.place(key, row)?,
            };
            let column = &mut self.columns[place];
            if column.cells.len() > row {
                return None; // twice in this line
            }
            column.cells.push(Cell::plain(json).or_else(|| self.texts.cell(&mut column.lookups, json))?);
            found.push(place);
            Some(())
        })?;
        for column in &mut self.columns {
            column.cells.resize(row + 1, Cell::MISSING);
        }
        let shape = if self.shapes.get(guess) == Some(&found) { guess } else { self.shape(found)? };
        self.shape_of.push(shape as u32);
        Some(())
    }

    /// The column of a key, which rows before this one may not have; `None` where there are too many.
    fn place(&mut self, key: &str, row: usize) -> Option<usize> {
        if let Some(&place) = self.places.get(key) {
            return Some(place);
        }
        let place = self.columns.len();
        self.columns.push(Column { key: key.into(), cells: vec![Cell::MISSING; row], lookups: Lookups::default() });
        self.places.insert(key.into(), place);
        (place < MAX_KEYS).then_some(place)
    }

    /// The shape with these columns; `None` where there are too many.
    fn shape(&mut self, columns: Vec<usize>) -> Option<usize> {
        if let Some(known) = self.shapes.iter().position(|shape| *shape == columns) {
            return Some(known);
        }
        self.shapes.push(columns);
        (self.shapes.len() <= MAX_KEYS).then(|| self.shapes.len() - 1)
    }
}

/// `-0` is a number of its own, and `007` is none.
fn is_plain_integer(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json).as_bytes();
    match digits {
        [b'0'] => digits.len() == json.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Hands each member of an object with plain keys to `take`, in their order, each value as it is written; `None` where this
/// is no such object, or `take` refuses one.
fn each_member<'a>(json: &'a str, take: impl FnMut(&'a str, &'a str) -> Option<()>) -> Option<()> {
    struct Members<F>(F);

    impl<'a, F: FnMut(&'a str, &'a str) -> Option<()>> Visitor<'a> for Members<F> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<(), M::Error> {
            while let Some(key) = map.next_key()? {
                let value: &RawValue = map.next_value()?;
                (self.0)(key, value.get()).ok_or_else(|| M::Error::custom("refused"))?;
            }
            Ok(())
        }
    }

    let mut source = serde_json::Deserializer::from_str(json);
    source.deserialize_map(Members(take)).ok()?;
    source.end().ok()
}

/// Whether it is nested deeper than any record, and than Python reads.
fn is_deep(json: &str) -> bool {
    let opened = json.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    opened > MAX_UNCHECKED_OPENINGS && serde_json::from_str::<serde_json::Value>(json).is_err()
}

/// Of which equal texts have the same. Two that differ and have it too are kept apart all the same: each is compared.
fn hash(text: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let whole =
        words.iter().fold(text.len() as u64, |hash, word| (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(ODD));
    (whole.rotate_left(5) ^ u64::from_le_bytes(last)).wrapping_mul(ODD)
}

#[path = "rows_members.rs"]
mod members;

#[path = "rows_parts.rs"]
mod parts;

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
