//! A file of JSON lines as rows, read whole and kept small.
//!
//! A run may have a million trials. As a map of its own each takes kilobytes, most of which they have in common: the names
//! of the keys, the setting, words such as `ok`. Here a row is one number for each key: an integer itself, or which of the
//! texts that were seen stands there. What is not an integer stays JSON until somebody asks for it.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::str;

use memchr::memchr2;
use serde::de::IgnoredAny;
use thiserror::Error;

/// Kinds of rows (the same keys in the same order) that a file may have: other lines are not what this is good for.
const MOST_SHAPES: usize = 256;
/// How deep a value may be nested: no record comes near it.
const DEEPEST: usize = 64;
/// A column whose texts hardly ever come again is not searched for them any more, after so many.
const TRIED: u32 = 1000;
const SEEN_AGAIN: u32 = 10;

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
        let mut members = Members { rest: json.strip_prefix('{')?, may_end: true };
        let mut found = Vec::new();
        while let Some((key, json)) = members.next()? {
            found.push((key, Self::of(json)));
        }
        Some(found)
    }
}

/// What a value may have to be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer of at least 0.
    Count,
    /// An integer, or nothing.
    IntegerOrNull,
    /// Words.
    String,
    /// A map.
    Object,
}

impl Kind {
    fn holds(self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Count, Value::Integer(value)) => value >= 0,
            (Self::Count, Value::Text { json, .. }) => is_plain_integer(json) && !json.starts_with('-'),
            (Self::IntegerOrNull, Value::Integer(_) | Value::Null) => true,
            (Self::IntegerOrNull, Value::Text { json, .. }) => is_plain_integer(json),
            (Self::String, Value::Text { json, .. }) => json.starts_with('"'),
            (Self::Object, Value::Text { json, .. }) => json.starts_with('{'),
            _ => false,
        }
    }
}

/// Two bits say which kind, 62 hold an integer or the number of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell(u64);

impl Cell {
    const NULL: Self = Self(0);
    const FALSE: Self = Self(4);
    const TRUE: Self = Self(8);

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

    fn own(text: u32) -> Self {
        Self(u64::from(text) << 2 | 3)
    }
}

#[derive(Debug)]
struct Shape {
    keys: Vec<Box<str>>,
    places: HashMap<Box<str>, usize>,
}

/// Texts, each once as far as it pays.
#[derive(Debug, Default)]
struct Texts {
    bytes: String,
    ends: Vec<usize>,
    by_hash: HashMap<u64, u32>,
}

impl Texts {
    fn get(&self, text: u32) -> &str {
        let text = text as usize;
        let start = if text == 0 { 0 } else { self.ends[text - 1] };
        &self.bytes[start..self.ends[text]]
    }

    fn find(&self, json: &str) -> Option<u32> {
        self.by_hash.get(&hash(json.as_bytes())).copied().filter(|&text| self.get(text) == json)
    }

    /// `None` where it is not JSON, or there are too many.
    fn add(&mut self, json: &str) -> Option<u32> {
        if !is_json(json) {
            return None;
        }
        let text = u32::try_from(self.ends.len()).ok()?;
        self.bytes.push_str(json);
        self.ends.push(self.bytes.len());
        Some(text)
    }
}

/// How often a column's texts were looked for, and found.
#[derive(Debug, Clone, Copy, Default)]
struct Habit {
    tried: u32,
    found: u32,
}

/// The lines of a file.
#[derive(Debug, Default)]
pub struct Rows {
    cells: Vec<Cell>,
    starts: Vec<(usize, u32)>,
    shapes: Vec<Shape>,
    habits: Vec<Vec<Habit>>,
    texts: Texts,
}

impl Rows {
    /// Reads all whole lines. What follows the last newline is a line that is being written, or was when the machine stopped.
    pub fn read(mut file: impl BufRead) -> Result<Self, RowsError> {
        let mut rows = Self::default();
        let mut line = Vec::new();
        while file.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let number = rows.starts.len() + 1;
            str::from_utf8(&line).ok().and_then(|text| rows.add(text)).ok_or(RowsError::Line(number))?;
            line.clear();
        }
        Ok(rows)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The keys of a row, in their order.
    #[must_use]
    pub fn keys(&self, row: usize) -> &[Box<str>] {
        &self.shapes[self.starts[row].1 as usize].keys
    }

    /// The value of a key; `None` where the row has no such key.
    #[must_use]
    pub fn get(&self, row: usize, key: &str) -> Option<Value<'_>> {
        let (start, shape) = self.starts[row];
        let place = *self.shapes[shape as usize].places.get(key)?;
        Some(self.value(self.cells[start + place]))
    }

    /// Rows, in their order, in which a key has a value that Python takes for true: neither `null`, `false`, 0 nor empty.
    pub fn having<'a>(&'a self, key: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.cells_of(key).filter(|(_, cell)| !self.is_false(*cell)).map(|(row, _)| row)
    }

    /// Rows, in their order, in which a key is missing or has a value of another kind.
    pub fn unlike<'a>(&'a self, key: &'a str, kind: Kind) -> impl Iterator<Item = usize> + 'a {
        let places = self.places(key);
        self.starts.iter().enumerate().filter_map(move |(row, &(start, shape))| {
            let value = places[shape as usize].map(|place| self.value(self.cells[start + place]));
            (!value.is_some_and(|value| kind.holds(value))).then_some(row)
        })
    }

    /// Every value of a key, each that rows share once; rows without the key have none.
    #[must_use]
    pub fn distinct(&self, key: &str) -> Vec<Value<'_>> {
        let mut seen = HashSet::new();
        self.cells_of(key).filter(|(_, cell)| cell.0 & 3 == 3 || seen.insert(cell.0)).map(|(_, cell)| self.value(cell)).collect()
    }

    /// All keys of all rows.
    #[must_use]
    pub fn all_keys(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        self.shapes.iter().flat_map(|shape| &shape.keys).map(|key| &**key).filter(|key| seen.insert(*key)).collect()
    }

    /// Rows, in their order, in which a key has just this text, an integer or words.
    pub fn equal<'a>(&'a self, key: &'a str, json: &'a str) -> impl Iterator<Item = usize> + 'a {
        let shared = self.texts.find(json).map(Cell::shared);
        let integer = json.parse().ok().and_then(Cell::integer);
        self.cells_of(key)
            .filter(move |&(_, cell)| match cell.0 & 3 {
                1 => Some(cell) == integer,
                2 => Some(cell) == shared,
                3 => self.texts.get((cell.0 >> 2) as u32) == json,
                _ => false,
            })
            .map(|(row, _)| row)
    }

    fn cells_of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (usize, Cell)> + 'a {
        let places = self.places(key);
        self.starts
            .iter()
            .enumerate()
            .filter_map(move |(row, &(start, shape))| Some((row, self.cells[start + places[shape as usize]?])))
    }

    /// Where each shape has a key.
    fn places(&self, key: &str) -> Vec<Option<usize>> {
        self.shapes.iter().map(|shape| shape.places.get(key).copied()).collect()
    }

    fn is_false(&self, cell: Cell) -> bool {
        match self.value(cell) {
            Value::Null | Value::Bool(false) | Value::Integer(0) => true,
            Value::Text { json, .. } => matches!(json, "\"\"" | "[]" | "{}" | "0.0" | "-0.0" | "-0"),
            _ => false,
        }
    }

    fn value(&self, cell: Cell) -> Value<'_> {
        let text = (cell.0 >> 2) as u32;
        match cell.0 & 3 {
            0 if cell == Cell::NULL => Value::Null,
            0 => Value::Bool(cell == Cell::TRUE),
            1 => Value::Integer(cell.0 as i64 >> 2),
            2 => Value::Text { json: self.texts.get(text), shared: Some(text) },
            _ => Value::Text { json: self.texts.get(text), shared: None },
        }
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let start = self.cells.len();
        // Most lines have the keys of the one before.
        let guess = self.starts.last().map_or(0, |&(_, shape)| shape as usize);
        let (mut same, mut keys) = (true, Vec::new());
        let mut members = Members { rest: line.trim_ascii().strip_prefix('{')?, may_end: true };
        while let Some((key, json)) = members.next()? {
            let place = self.cells.len() - start;
            let expected = self.shapes.get(guess).and_then(|shape| shape.keys.get(place));
            same &= expected.is_some_and(|expected| **expected == *key);
            keys.push(key);
            let cell = Cell::plain(json).or_else(|| self.text(guess, place, json))?;
            self.cells.push(cell);
        }
        same &= self.shapes.get(guess).is_some_and(|shape| shape.keys.len() == keys.len());
        let shape = if same { guess } else { self.shape(&keys)? };
        self.starts.push((start, shape as u32));
        Some(())
    }

    /// The shape with these keys; `None` where a key is there twice, or there are too many shapes.
    fn shape(&mut self, keys: &[&str]) -> Option<usize> {
        let known = self.shapes.iter().position(|shape| shape.keys.iter().map(|key| &**key).eq(keys.iter().copied()));
        if known.is_some() {
            return known;
        }
        let places: HashMap<Box<str>, usize> = keys.iter().enumerate().map(|(place, &key)| (key.into(), place)).collect();
        if places.len() < keys.len() || self.shapes.len() == MOST_SHAPES {
            return None;
        }
        self.shapes.push(Shape { keys: keys.iter().map(|&key| key.into()).collect(), places });
        Some(self.shapes.len() - 1)
    }

    fn text(&mut self, shape: usize, place: usize, json: &str) -> Option<Cell> {
        if self.habits.len() <= shape {
            self.habits.resize_with(shape + 1, Vec::new);
        }
        let habits = &mut self.habits[shape];
        if habits.len() <= place {
            habits.resize(place + 1, Habit::default());
        }
        let habit = &mut habits[place];
        if habit.tried >= TRIED && habit.found < SEEN_AGAIN {
            return self.texts.add(json).map(Cell::own);
        }
        habit.tried = habit.tried.saturating_add(1);
        if let Some(text) = self.texts.find(json) {
            habit.found = habit.found.saturating_add(1);
            return Some(Cell::shared(text));
        }
        let text = self.texts.add(json)?;
        self.texts.by_hash.insert(hash(json.as_bytes()), text);
        Some(Cell::shared(text))
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

/// The members of an object, cut apart; whether each value is JSON is for others to say.
struct Members<'a> {
    rest: &'a str,
    may_end: bool,
}

impl<'a> Members<'a> {
    /// The next key and its value; `Some(None)` at the end, `None` where this is no object with plain keys.
    #[expect(clippy::option_option, reason = "an end, and no object at all, are two things")]
    fn next(&mut self) -> Option<Option<(&'a str, &'a str)>> {
        let rest = self.rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix('}') {
            return (self.may_end && after.is_empty()).then_some(None);
        }
        let after = rest.strip_prefix('"')?;
        let length = after.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let key = &after[..length];
        let value = after[length..].strip_prefix('"')?.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let (json, after) = value.split_at(value_length(value.as_bytes())?);
        self.may_end = false;
        self.rest = match after.trim_ascii_start() {
            "}" => {
                self.may_end = true;
                "}"
            }
            more => more.strip_prefix(',')?,
        };
        Some(Some((key, json.trim_ascii_end())))
    }
}

/// Bytes up to the comma or brace that ends a value.
fn value_length(value: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        at += value[at..].iter().position(|&byte| STRUCTURE[usize::from(byte)])?;
        match value[at] {
            b'"' => at += string_length(&value[at..])? - 1,
            b'{' | b'[' if depth == DEEPEST => return None,
            b'{' | b'[' => depth += 1,
            b',' if depth > 0 => {}
            b'}' | b']' if depth > 0 => depth -= 1,
            b'}' | b',' => return (at > 0).then_some(at),
            _ => return None,
        }
        at += 1;
    }
}

/// What a value's end depends on.
const STRUCTURE: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 6 {
        table[b"\"{}[],"[at] as usize] = true;
        at += 1;
    }
    table
};

/// Bytes of a string with both its quotes.
fn string_length(value: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', value.get(at..)?)?;
        if value[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
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

/// Whether it is JSON. Nearly all are strings without escapes or flat objects of plain values, which is soon seen.
fn is_json(text: &str) -> bool {
    let plain = |text: &str| text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).is_some_and(is_plain_string);
    plain(text)
        || Value::Text { json: text, shared: None }.members().is_some_and(|members| {
            members.iter().all(|(_, value)| match *value {
                Value::Text { json, .. } => plain(json),
                _ => true,
            })
        })
        || serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn is_plain_string(inside: &str) -> bool {
    inside.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
