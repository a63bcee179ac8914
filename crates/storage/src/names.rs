//! How the names of a tree of directories are spelled.
//!
//! ```text
//! tree.00000003/          tree 3: its root is directory 0
//! tree.00000003/d.1/d.5   directory 5, in directory 1
//! f.3.17  g.3.17          file 17 of task 3, by its first and its other name
//! i.3.17  j.3.17          the same for an item that is a directory
//! ```
//! Nothing else is ever made in a tree, and nothing else is removed.

use std::ffi::CStr;

use tonnage_workload::{ItemPlace, MAX_DEPTH, Tree};

use crate::api::{ItemKind, NamesRequest};

/// The most that a name needs: a letter, two points, the digits of a u32 and of a u64, and a zero.
const NAME_BYTES: usize = 3 + 10 + 20 + 1;

impl NamesRequest {
    /// Where a directory of the tree is, from the scratch directory.
    #[must_use]
    pub fn directory_path(&self, directory: u64) -> String {
        let mut path = tree_name(self.number);
        let mut line = [0; MAX_DEPTH as usize];
        for directory in ancestry(&self.tree, directory, &mut line) {
            path.push('/');
            path.push_str(&directory_name(*directory));
        }
        path
    }

    /// Where an item is, from the scratch directory.
    #[must_use]
    pub fn item_path(&self, place: ItemPlace, kind: ItemKind) -> String {
        let mut spelling = Spelling::new(self.owner);
        format!("{}/{}", self.directory_path(place.directory), spelling.of(kind, place.number).to_string_lossy())
    }
}

/// The directories on the way to `directory`, from below the root to itself.
fn ancestry<'a>(tree: &Tree, mut directory: u64, line: &'a mut [u64; MAX_DEPTH as usize]) -> &'a [u64] {
    let mut first = line.len();
    while directory > 0 && first > 0 {
        first -= 1;
        line[first] = directory;
        directory = parent_of(tree, directory);
    }
    &line[first..]
}

/// The directory that holds `directory`, which is not the root.
pub(crate) fn parent_of(tree: &Tree, directory: u64) -> u64 {
    (directory - 1) / u64::from(tree.branch.max(1))
}

/// Name of a tree's root.
pub(crate) fn tree_name(number: u32) -> String {
    format!("tree.{number:08}")
}

/// Name of a directory of the tree that is not its root.
pub(crate) fn directory_name(directory: u64) -> String {
    format!("d.{directory}")
}

/// What a name in a tree says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelled {
    TreeDirectory,
    ItemFile,
    ItemDirectory,
}

/// Whether `name` is exactly how a tree's root is spelled.
pub(crate) fn is_tree_name(name: &[u8]) -> bool {
    let number = name.strip_prefix(b"tree.").and_then(|digits| std::str::from_utf8(digits).ok());
    number.and_then(|digits| digits.parse().ok()).is_some_and(|number| tree_name(number).as_bytes() == name)
}

/// What `name` is in a tree; `None` if no name of ours is spelled so.
pub(crate) fn spelled(name: &[u8]) -> Option<Spelled> {
    let (letter, rest) = (name.first()?, name.get(1..)?.strip_prefix(b".")?);
    let mut numbers = std::str::from_utf8(rest).ok()?.split('.');
    let (first, second) = (number(numbers.next()?)?, numbers.next());
    if numbers.next().is_some() {
        return None;
    }
    match (letter, second) {
        (b'd', None) if (1..=1 << 32).contains(&first) => Some(Spelled::TreeDirectory),
        (b'f' | b'g', Some(second)) if u32::try_from(first).is_ok() => number(second).map(|_| Spelled::ItemFile),
        (b'i' | b'j', Some(second)) if u32::try_from(first).is_ok() => number(second).map(|_| Spelled::ItemDirectory),
        _ => None,
    }
}

/// Whether a path from the scratch directory is exactly how a file of a tree is spelled.
pub(crate) fn is_item_file(path: &str) -> bool {
    let mut parts = path.split('/');
    let (root, last) = (parts.next().unwrap_or_default(), parts.next_back().unwrap_or_default());
    let is = |part: &str, what| spelled(part.as_bytes()) == Some(what);
    is_tree_name(root.as_bytes()) && is(last, Spelled::ItemFile) && parts.all(|part| is(part, Spelled::TreeDirectory))
}

/// A number in its one spelling: no sign, no zero in front.
fn number(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

/// Spells the names of one task's items, in place: a few nanoseconds, and no memory.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    text: [u8; NAME_BYTES],
    /// Where the item's number begins.
    digits: usize,
}

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

impl Spelling {
    pub(crate) fn new(owner: u32) -> Self {
        let prefix = format!("f.{owner}.");
        let mut text = [0; NAME_BYTES];
        text[..prefix.len()].copy_from_slice(prefix.as_bytes());
        Self { text, digits: prefix.len() }
    }

    /// The name of an item, until the next call.
    #[inline]
    pub(crate) fn of(&mut self, kind: ItemKind, mut number: u64) -> &CStr {
        let mut reversed = [0; 20];
        let mut start = reversed.len();
        while number >= 100 {
            let pair = (number % 100) as usize * 2;
            number /= 100;
            start -= 2;
            reversed[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if number >= 10 {
            start -= 2;
            reversed[start..start + 2].copy_from_slice(&PAIRS[number as usize * 2..][..2]);
        } else {
            start -= 1;
            reversed[start] = b'0' + number as u8;
        }
        let count = reversed.len() - start;
        let end = self.digits + count;
        self.text[self.digits..end].copy_from_slice(&reversed[start..]);
        self.text[end] = 0;
        self.text[0] = kind as u8;
        // SAFETY: the text holds a letter, points and digits up to `end`, where the only zero is.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.text[..=end]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_made_is_known_again() {
        for owner in [0, 7, u32::MAX] {
            let mut spelling = Spelling::new(owner);
            for number in [0, 9, 10, 99, 100, 101, 12_345, 999_999, 1_000_000, u64::MAX] {
                for (kind, letter, what) in [
                    (ItemKind::File, 'f', Spelled::ItemFile),
                    (ItemKind::OtherFile, 'g', Spelled::ItemFile),
                    (ItemKind::Directory, 'i', Spelled::ItemDirectory),
                    (ItemKind::OtherDirectory, 'j', Spelled::ItemDirectory),
                ] {
                    let name = spelling.of(kind, number);
                    assert_eq!(name.to_str(), Ok(format!("{letter}.{owner}.{number}").as_str()));
                    assert_eq!(spelled(name.to_bytes()), Some(what));
                }
            }
        }
        assert_eq!(spelled(directory_name(1 << 32).as_bytes()), Some(Spelled::TreeDirectory));
        assert!(is_tree_name(tree_name(3).as_bytes()) && is_tree_name(tree_name(u32::MAX).as_bytes()));
    }

    #[test]
    fn no_other_spelling_is_ours() {
        for name in [
            "",
            "f",
            "f.",
            "f.1",
            "f.1.",
            "f.1.2.3",
            "f.01.2",
            "f.1.02",
            "f.+1.2",
            "f.-1.2",
            "f.1.x",
            "f.4294967296.0",
            "h.1.2",
            "f.1.18446744073709551616",
            "F.1.2",
            "d.",
            "d.0",
            "d.01",
            "d.4294967297",
            "d.1.2",
            "i.1",
            "f 1.2",
            "d.1/",
            "f.1.2\n",
        ] {
            assert_eq!(spelled(name.as_bytes()), None, "{name:?}");
        }
        for name in ["tree.", "tree.1", "tree.000000001", "tree.+0000001", "tree.0000000x", "tree.4294967296", "data.00000001"] {
            assert!(!is_tree_name(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn a_path_goes_from_the_root_to_the_directory() {
        let tree = Tree { depth: 3, branch: 3, items_per_directory: 1, leaves_only: false, shared: false };
        let request = NamesRequest { tree, number: 2, owner: 5, handles: 1, transfer_bytes: 0 };
        assert_eq!(request.directory_path(0), "tree.00000002");
        assert_eq!(request.directory_path(17), "tree.00000002/d.1/d.5/d.17");
        assert_eq!(request.item_path(ItemPlace { directory: 3, number: 8 }, ItemKind::File), "tree.00000002/d.3/f.5.8");
        let line = Tree { depth: 100, branch: 1, ..tree };
        assert!(NamesRequest { tree: line, ..request }.directory_path(100).ends_with("/d.99/d.100"));
    }
}
