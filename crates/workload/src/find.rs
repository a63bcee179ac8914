//! `find`: every file below a directory is looked at, by name and, where that is asked for, by size and time.

use serde::{Deserialize, Serialize};

use crate::common_settings::TaskRange;
use crate::integer_mixing::mix64;
use crate::spec_error::SpecError;

/// One search. An operation looks at one file; what lists a directory is part of the operation that needed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The directory, absolute. Links below it are files, and are not followed.
    pub root: String,
    /// Pattern of the name, with `*` for any bytes and `?` for one; `None`: every name.
    #[serde(default)]
    pub name: Option<String>,
    /// Bytes that a file has; `None`: any number.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// A file was made or changed then or later (ctime), in nanoseconds since 1970; `None`: at any time.
    #[serde(default)]
    pub changed_since_ns: Option<u64>,
    /// Files that are there where the storage is a model: file `n` has the name that [`Find::modelled_name`] says, and
    /// the size and the time that are asked for.
    #[serde(default)]
    pub files: u64,
}

impl Find {
    /// Whether a file's attributes are asked for, once its name matches.
    #[must_use]
    pub const fn needs_attributes(&self) -> bool {
        self.size_bytes.is_some() || self.changed_since_ns.is_some()
    }

    /// Whether the name matches.
    #[must_use]
    pub fn takes_name(&self, name: &[u8]) -> bool {
        self.name.as_ref().is_none_or(|pattern| matches(pattern.as_bytes(), name))
    }

    /// Whether the attributes match.
    #[must_use]
    pub fn takes(&self, size_bytes: u64, changed_ns: u64) -> bool {
        self.size_bytes.is_none_or(|size| size == size_bytes) && self.changed_since_ns.is_none_or(|since| changed_ns >= since)
    }

    /// Whether the tasks here look at a file of this name: of several processes each lists all directories, and each file
    /// belongs to one of them.
    #[must_use]
    pub fn is_of(name: &[u8], tasks: TaskRange) -> bool {
        if tasks.here == tasks.total {
            return true;
        }
        let number = name.iter().fold(name.len() as u64, |hash, &byte| mix64(hash ^ u64::from(byte)));
        let task = (number % u64::from(tasks.total)) as u32;
        (tasks.first..tasks.first + tasks.here).contains(&task)
    }

    /// The name of file `number` of a model.
    #[must_use]
    pub fn modelled_name(number: u64) -> String {
        format!("f.0.{number}")
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if self.root.is_empty() { Err(SpecError::Zero("the length of root")) } else { Ok(()) }
    }
}

/// Whether `name` is as `pattern` says. Of several stars only the last one that was met is tried again, so it takes at most
/// the product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while here < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at + 1, here));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[here] => {
                at += 1;
                here += 1;
            }
            _ => {
                let Some((after, from)) = &mut again else { return false };
                *from += 1;
                (at, here) = (*after, *from);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        for (pattern, name, expected) in [
            ("*01*", "f.0.101", true),
            ("*01*", "01", true),
            ("*01*", "f.0.110", false),
            ("f.?.1", "f.7.1", true),
            ("f.?.1", "f.77.1", false),
            ("*", "", true),
            ("?", "", false),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("a**", "a", true),
            ("*ab", "aab", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_file_belongs_to_one_process_however_the_tasks_are_split() {
        for split in [vec![5], vec![1, 4], vec![2, 1, 2], vec![1; 5]] {
            for number in 0..100 {
                let name = Find::modelled_name(number);
                let mut first = 0;
                let owners = split.iter().filter(|&&here| {
                    let tasks = TaskRange { first, here, total: 5 };
                    first += here;
                    Find::is_of(name.as_bytes(), tasks)
                });
                assert_eq!(owners.count(), 1, "{name} over {split:?}");
            }
        }
    }

    #[test]
    fn attributes_match_where_they_are_asked_for() {
        let find = Find { root: "/".into(), name: None, size_bytes: Some(3901), changed_since_ns: Some(7), files: 0 };
        assert!(find.needs_attributes() && find.takes(3901, 7) && find.takes(3901, 8));
        assert!(!find.takes(3900, 7) && !find.takes(3901, 6));
        let any = Find { size_bytes: None, changed_since_ns: None, ..find };
        assert!(!any.needs_attributes() && any.takes(0, 0));
    }
}
