//! How the objects of a file are called, and which of them an operation touches.

use std::ffi::CStr;
use std::io::Write;

use crate::names::is_item_file;

/// An object's name, spelled without an allocation.
pub(super) struct Name([u8; 32]);

impl Name {
    pub(super) fn new(file: u32, object: u64) -> Self {
        let mut bytes = [0; 32];
        // 5 + 10 + 1 + at most 15 digits: an object of one byte each in the largest file that an offset can name is far off.
        let _ = write!(&mut bytes[..31], "data.{file:08}.{object:08x}");
        Self(bytes)
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// Whether `name` is exactly how an object of a file is spelled.
pub(super) fn is_data(name: &CStr) -> bool {
    let numbers = || {
        let (file, object) = name.to_str().ok()?.strip_prefix("data.")?.split_once('.')?;
        Some((file.parse().ok()?, u64::from_str_radix(object, 16).ok()?))
    };
    numbers().is_some_and(|(file, object)| Name::new(file, object).as_c_str() == name)
}

/// Whether `name` is exactly how an object of a file, or of a tree, is spelled.
pub(super) fn is_ours(name: &CStr) -> bool {
    is_data(name) || name.to_str().is_ok_and(is_item_file)
}

/// A part of an operation that lies in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObjectPart {
    pub(super) object: u64,
    /// In the object.
    pub(super) offset: u64,
    /// In the operation's bytes.
    pub(super) start: usize,
    pub(super) length: usize,
}

/// The parts of `length` bytes from `offset`.
pub(super) fn parts(object_bytes: u64, offset: u64, length: usize) -> impl Iterator<Item = ObjectPart> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let at = offset + start as u64;
        let inside = at % object_bytes;
        let part = ObjectPart {
            object: at / object_bytes,
            offset: inside,
            start,
            length: (length - start).min((object_bytes - inside) as usize),
        };
        start += part.length;
        (part.length > 0).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_spelling_of_an_object_is_ours() {
        for (file, object) in [(0, 0), (7, 0xab), (u32::MAX, 1 << 40), (99_999_999, u64::from(u32::MAX))] {
            assert!(is_data(Name::new(file, object).as_c_str()));
        }
        for name in
            [c"data.00000000", c"data.00000000.0", c"data.00000000.0000000G", c"data.+0000001.00000000", c"TONNAGE-SCRATCH"]
        {
            assert!(!is_ours(name), "{name:?}");
        }
        assert!(!is_ours(c"data.00000000.000000AB"), "one spelling only");
        assert!(is_ours(c"tree.00000003/d.1/f.3.17"));
        assert!(!is_ours(c"tree.00000003/d.1/i.3.17"), "a directory is no object");
    }

    #[test]
    fn an_operation_is_parted_where_objects_meet() {
        let found: Vec<_> = parts(10, 18, 15).map(|part| (part.object, part.offset, part.start, part.length)).collect();
        assert_eq!(found, [(1, 8, 0, 2), (2, 0, 2, 10), (3, 0, 12, 3)]);
        assert_eq!(parts(10, 20, 10).count(), 1);
        assert_eq!(parts(10, 5, 0).count(), 0);
    }
}
