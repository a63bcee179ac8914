//! Paths below a tree's root: bytes, because a name may be any.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path relative to a tree's root: components separated by `/`, none of them empty, `.` or `..`. The root itself is empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreePath(Box<[u8]>);

impl TreePath {
    /// The tree's root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// `None` where `bytes` could lead out of a tree, or names one thing in two ways.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let fine = bytes.is_empty()
            || bytes.split(|&byte| byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0));
        fine.then(|| Self(bytes.into()))
    }

    /// The entry `name` of this directory. `name` comes from the system's directory listing and holds no `/`.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        debug_assert!(!name.contains(&b'/') && !matches!(name, b"" | b"." | b".."), "a name of a directory listing");
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        if !self.is_root() {
            bytes.extend_from_slice(&self.0);
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes.into())
    }

    /// Whether it is the tree's root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory it lies in; the root's is the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        self.0.iter().rposition(|&byte| byte == b'/').map_or_else(Self::root, |at| Self(self.0[..at].into()))
    }

    /// Its last component; the root's is empty.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.0.iter().rposition(|&byte| byte == b'/').map_or(&self.0, |at| &self.0[at + 1..])
    }

    /// Whether it is `directory` or lies below it.
    #[must_use]
    pub fn is_below(&self, directory: &Self) -> bool {
        directory.is_root() || self.0.strip_prefix(&*directory.0).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// The bytes, as the system takes them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// For calls that take a path; relative, and `.` for the root.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(if self.is_root() { b"." } else { &self.0 }))
    }
}

/// On one line and without loss: control characters, backslashes and bytes that are not UTF-8 are written `\xNN`.
impl fmt::Display for TreePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.0.utf8_chunks() {
            for letter in part.valid().chars() {
                if letter == '\\' {
                    out.write_str("\\\\")?;
                } else if letter.is_control() {
                    escape(out, letter.encode_utf8(&mut [0; 4]).as_bytes())?;
                } else {
                    write!(out, "{letter}")?;
                }
            }
            escape(out, part.invalid())?;
        }
        Ok(())
    }
}

fn escape(out: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}

impl fmt::Debug for TreePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &[u8]) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn a_path_that_leads_out_is_none() {
        for text in [&b"../a"[..], b"a/../b", b"/a", b"a/", b"a//b", b".", b"a/./b", b"a\0b"] {
            assert_eq!(TreePath::new(text), None, "{text:?}");
        }
    }

    #[test]
    fn parent_and_name_are_what_join_joined() {
        let file = path(b"a/b").join(b"c");
        assert_eq!((file.bytes(), file.parent(), file.name()), (&b"a/b/c"[..], path(b"a/b"), &b"c"[..]));
        assert_eq!(TreePath::root().join(b"c").parent(), TreePath::root());
    }

    #[test]
    fn below_means_components_not_letters() {
        assert!(path(b"a/b").is_below(&path(b"a")) && path(b"a").is_below(&path(b"a")) && path(b"a").is_below(&TreePath::root()));
        assert!(!path(b"ab").is_below(&path(b"a")));
    }

    #[test]
    fn any_name_prints_on_one_line_without_loss() {
        assert_eq!(path(b"a\nb\xff\\\xc3\xa9").to_string(), "a\\x0ab\\xff\\\\é");
    }
}
