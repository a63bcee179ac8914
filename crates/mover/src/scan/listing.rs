//! The names of one directory, in one piece of memory: a million of them take some 45 MB.

use std::os::fd::AsFd;

use rustix::fs::{FileType, RawDir};
use rustix::io::Result as SysResult;

/// Bytes that one `getdents64` may bring.
const READ_BYTES: usize = 64 << 10;

/// Names without `.` and `..`.
#[derive(Debug, Default)]
pub(super) struct Listing {
    bytes: Vec<u8>,
    names: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    ino: u64,
    start: usize,
    length: u16,
    type_known: bool,
    directory: bool,
}

impl Listing {
    /// Lists `directory`, in the order of inodes: they then lie side by side where they must be read from a device.
    pub(super) fn of(directory: impl AsFd) -> SysResult<Self> {
        let mut listing = Self::default();
        let mut buffer = Box::new_uninit_slice(READ_BYTES);
        let mut entries = RawDir::new(directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                listing.names.push(Name {
                    ino: entry.ino(),
                    start: listing.bytes.len(),
                    length: name.len() as u16,
                    type_known: entry.file_type() != FileType::Unknown,
                    directory: entry.file_type() == FileType::Directory,
                });
                listing.bytes.extend_from_slice(name);
            }
        }
        listing.names.sort_unstable_by_key(|name| name.ino);
        Ok(listing)
    }

    /// Each name, and whether it can be a directory.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.names.iter().map(|name| (self.text(name), name.directory || !name.type_known))
    }

    /// Brings them into the order of their bytes, as the journal has them.
    pub(super) fn sort_by_name(&mut self) {
        let bytes = &self.bytes;
        self.names.sort_unstable_by_key(|name| &bytes[name.start..][..name.length.into()]);
    }

    fn text(&self, name: &Name) -> &[u8] {
        &self.bytes[name.start..][..name.length.into()]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::fs::{File, create_dir};
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn every_name_is_listed_once_whatever_reads_it_takes_and_in_the_order_of_bytes_if_wanted() {
        let directory = tempfile::tempdir().unwrap();
        let names: BTreeSet<Vec<u8>> = (0..3000).map(|number| format!("{number:0>100}").into_bytes()).collect();
        for name in &names {
            File::create(directory.path().join(OsStr::from_bytes(name))).unwrap();
        }
        create_dir(directory.path().join("~below")).unwrap();
        let mut listing = Listing::of(File::open(directory.path()).unwrap()).unwrap();
        assert_eq!(listing.iter().filter(|(_, directory)| !directory).count(), names.len());
        listing.sort_by_name();
        let expected = names.iter().map(|name| (name.as_slice(), false)).chain([(&b"~below"[..], true)]);
        assert!(listing.iter().eq(expected));
    }
}
