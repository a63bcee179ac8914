//! The snapshots of a run, noted in its namespace: a process that is killed cannot remove them itself, and what they
//! are called is known nowhere else.
//!
//! One object, a line of JSON for each. The name of a pool's snapshot is noted before it is taken. The number of a
//! self-managed one comes with it, and is noted before the first write that carries it: until then it keeps nothing.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;

use super::pool::Pool;
use super::snapshots::{Taken, remove};
use crate::error::{Result, StorageError};

const NOTES: &CStr = c"TONNAGE-SNAPSHOTS";
const NOTES_NAME: &str = "TONNAGE-SNAPSHOTS";

/// Notes some more.
pub(super) fn add(pool: &Pool, taken: &[Taken]) -> Result<()> {
    let mut lines = Vec::new();
    for one in taken {
        serde_json::to_writer(&mut lines, one).expect("a number or a name");
        lines.push(b'\n');
    }
    pool.append(NOTES, &lines).map_err(|error| pool.failed("write", NOTES_NAME, error))
}

/// Removes every noted snapshot but those of `gone`, and then the notes. The first error, after all were tried: the
/// notes stay then.
pub(super) fn remove_noted(pool: &Pool, gone: &BTreeSet<Taken>) -> Result<()> {
    let text = pool.read_all(NOTES).map_err(|error| pool.failed("read", NOTES_NAME, error))?;
    let Some(text) = text else { return Ok(()) };
    let noted = parse(&pool.spec.namespace, &text).map_err(|why| StorageError::NotOurs { path: pool.path(NOTES_NAME), why })?;
    let mut left = noted.difference(gone).peekable();
    if left.peek().is_some() {
        // A snapshot of the pool is known by the cluster's map, and so is that there is none.
        pool.look_up_map().map_err(|error| pool.failed("look up", "", error))?;
    }
    let mut first = Ok(());
    for taken in left {
        let removed = remove(pool, taken);
        let silent = removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        first = first.and(removed);
        // Each of the others would be waited for as long.
        if silent {
            break;
        }
    }
    first.map_err(|error| pool.failed("remove a snapshot of", "", error))?;
    pool.remove(NOTES).map_err(|error| pool.failed("remove", NOTES_NAME, error))
}

/// The noted snapshots of a namespace, or why these are no notes of it.
fn parse(namespace: &str, text: &[u8]) -> std::result::Result<BTreeSet<Taken>, String> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| match serde_json::from_slice(line) {
            Ok(Taken::Pool(name)) if !name.starts_with(&format!("{namespace}.")) => {
                Err(format!("it notes the snapshot {name}, which is none of the run's"))
            }
            Ok(taken) => Ok(taken),
            Err(error) => Err(format!("it is damaged: {error}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_and_those_of_others_refused() {
        let lines = b"{\"self_managed\":7}\n{\"pool\":\"tonnage-1.r00000\"}\n{\"self_managed\":7}\n";
        let known = [Taken::SelfManaged(7), Taken::Pool("tonnage-1.r00000".to_owned())];
        assert_eq!(parse("tonnage-1", lines), Ok(known.into()));
        assert!(parse("tonnage-2", lines).expect_err("another's").contains("none of the run's"));
        for damaged in [&b"{\"self_managed\":7}\n{\"pool\":\"tonnage-1.r0"[..], b"7\n", b"{\"self_managed\":-1}"] {
            assert!(parse("tonnage-1", damaged).expect_err("damaged").contains("damaged"));
        }
    }
}
