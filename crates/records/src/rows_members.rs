//! What stands in the objects of a column: a latency has its quantiles, and no two rows have the same.

use std::ops::Range;
use std::thread;

use super::{NOTHING, Rows, Value, each_member};

/// Rows of which one thread looks into the objects; it is not worth another one for fewer.
const PART_ROWS: usize = 50_000;
/// Names that are told apart: objects with more are not figures.
const MOST_NAMES: usize = 64;

type Columns<'a> = Vec<(&'a str, Vec<i64>)>;

impl Rows {
    /// The members of all objects under a key, by their names in the order in which they came, 64 of them at most: of each
    /// row the integer, or [`NOTHING`].
    #[must_use]
    pub fn integers(&self, key: &str) -> Vec<(&str, Vec<i64>)> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        self.integers_in_parts(key, (self.len() / PART_ROWS).clamp(1, processors))
    }

    pub(super) fn integers_in_parts(&self, key: &str, parts: usize) -> Vec<(&str, Vec<i64>)> {
        let bound = |part| self.len() * part / parts;
        let found = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..parts).map(|part| scope.spawn(move || self.integers_of(key, bound(part)..bound(part + 1)))).collect();
            threads.into_iter().map(|thread| thread.join().expect("looking into rows does not panic")).collect::<Vec<_>>()
        });
        let mut all = Columns::new();
        for (part, columns) in found.into_iter().enumerate() {
            for (name, values) in columns {
                if let Some(column) = named(&mut all, name) {
                    column.resize(bound(part), NOTHING);
                    column.extend(values);
                }
            }
        }
        for (_, column) in &mut all {
            column.resize(self.len(), NOTHING);
        }
        all
    }

    fn integers_of<'a>(&'a self, key: &str, rows: Range<usize>) -> Columns<'a> {
        let (mut found, many) = (Columns::new(), rows.len());
        for (row, value) in self.values(&[key], rows).enumerate() {
            let Some(Value::Text { json, .. }) = value else { continue };
            each_member(json, |name, json| {
                let number = match Value::of(json) {
                    Value::Integer(number) => number,
                    _ => NOTHING,
                };
                if let Some(column) = named(&mut found, name) {
                    column.resize(row, NOTHING);
                    column.push(number);
                }
                Some(())
            });
        }
        for (_, column) in &mut found {
            column.resize(many, NOTHING);
        }
        found
    }
}

/// The column of a name, a new one where there is none; `None` where there are too many.
fn named<'a, 'b>(columns: &'b mut Columns<'a>, name: &'a str) -> Option<&'b mut Vec<i64>> {
    let known = columns.iter().position(|(other, _)| *other == name);
    if known.is_none() && columns.len() == MOST_NAMES {
        return None;
    }
    let place = known.unwrap_or_else(|| {
        columns.push((name, Vec::new()));
        columns.len() - 1
    });
    Some(&mut columns[place].1)
}
