//! Copies and sources compared by their bytes; what `bytes` finds, in an attempt's words.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs;

use super::Shared;
use super::attempt_error::{self, Attempt};
use super::source::Source;
use crate::bytes::stored::{self, Stored};
use crate::bytes::stream::{self, Buffer, Trouble};
use crate::file_version::{Kind, Version};
use crate::journal_entry::{Outcome, Placed};
use crate::options::Check;
use crate::path::TreePath;

impl Shared {
    /// BLAKE3 of the file `name` of a directory of the destination, as the device has it; `None` if it is not `size` bytes long.
    pub(super) fn on_device(
        &self,
        dir: BorrowedFd,
        name: &[u8],
        size: u64,
        path: &TreePath,
        buffer: &mut Buffer,
    ) -> Attempt<Option<[u8; 32]>> {
        self.of_device(path, stored::hash_file(dir, name, size, buffer, &mut |_| !self.halted()))
    }

    /// What was read back of `path`; `None` where there was less of it. An error where the device could not be asked.
    pub(super) fn of_device<T>(&self, path: &TreePath, read: Result<Stored<T>, Trouble>) -> Attempt<Option<T>> {
        match read {
            Ok(Stored::Whole(found)) => Ok(Some(found)),
            Ok(Stored::Short) => Ok(None),
            Ok(Stored::Cached) => {
                let place = attempt_error::place(&self.parts.to, path);
                let hint = "somebody may have it mapped; or stage with check=written, which reads nothing back";
                Err(attempt_error::broken(format!("cannot read back {place}: it does not leave the cache; hint: {hint}")))
            }
            Err(Trouble::Read(errno)) => Err(attempt_error::target("read back", &self.parts.to, path, errno)),
            Err(trouble) => Err(self.trouble(path, trouble)),
        }
    }

    /// Whether the regular file `there` has the bytes that were copied; if so they are durable.
    pub(super) fn holds(
        &self,
        dir: BorrowedFd,
        path: &TreePath,
        there: &Version,
        new: &Placed,
        buffer: &mut Buffer,
    ) -> Attempt<bool> {
        let Some(checksum) = new.checksum else { return Ok(false) };
        if there.kind != Kind::File || there.size != new.size {
            return Ok(false);
        }
        Ok(self.hash_target(dir, path, there, buffer)? == Some(checksum))
    }

    /// Whether the foreign file `there` has the source's bytes. If so they are made durable, and its checksum comes back.
    pub(super) fn compare(
        &self,
        source: &Source,
        dir: BorrowedFd,
        path: &TreePath,
        there: &Version,
        buffer: &mut Buffer,
    ) -> Attempt<Option<[u8; 32]>> {
        let found = self.hash_target(dir, path, there, buffer)?;
        let read = self.hash_source(source, path, buffer)?;
        Ok((found == Some(read)).then_some(read))
    }

    /// BLAKE3 of the source as it is read now.
    pub(super) fn hash_source(&self, source: &Source, path: &TreePath, buffer: &mut Buffer) -> Attempt<[u8; 32]> {
        let mut leave = |bytes| self.take(bytes, 0).is_ok();
        let read = stream::hash(source.file.as_fd(), source.version.size, buffer, &mut leave);
        Ok(read.map_err(|trouble| self.trouble(path, trouble))?.ok_or(Outcome::Changed)?)
    }

    /// BLAKE3 of what has the name at the destination, made durable; `None` if it is no longer `there`.
    pub(super) fn hash_target(
        &self,
        dir: BorrowedFd,
        path: &TreePath,
        there: &Version,
        buffer: &mut Buffer,
    ) -> Attempt<Option<[u8; 32]>> {
        self.hash_name(dir, path.name(), path, there, buffer)
    }

    /// The same of any name of a directory; `path` is for messages.
    pub(super) fn hash_name(
        &self,
        dir: BorrowedFd,
        name: &[u8],
        path: &TreePath,
        there: &Version,
        buffer: &mut Buffer,
    ) -> Attempt<Option<[u8; 32]>> {
        let failed = |errno| attempt_error::target("read", &self.parts.to, path, errno);
        let (file, opened) = stream::reopen(dir, name, false).map_err(failed)?;
        if opened != *there {
            return Ok(None);
        }
        fs::fsync(&file).map_err(failed)?;
        let mut leave = |bytes| self.take(bytes, 0).is_ok();
        if self.parts.options.check == Check::ReadBack {
            let stored = self.on_device(dir, path.name(), there.size, path, buffer)?;
            return Ok(stored.filter(|_| Version::of(&file).is_ok_and(|now| now.same_bytes(there))));
        }
        let found = stream::hash(file.as_fd(), there.size, buffer, &mut leave).map_err(|trouble| match trouble {
            Trouble::Read(errno) => failed(errno),
            other => self.trouble(path, other),
        })?;
        let unchanged = Version::of(&file).map_err(failed)?.same_bytes(there);
        Ok(found.filter(|_| unchanged))
    }

    /// What ended the transfer of `path`.
    pub(super) fn trouble(&self, path: &TreePath, trouble: Trouble) -> attempt_error::Ended {
        match trouble {
            Trouble::Read(errno) => attempt_error::source("read", &self.parts.from, path, errno),
            Trouble::Write(errno) => attempt_error::target("write", &self.parts.to, path, errno),
            Trouble::Short => Outcome::Changed.into(),
            Trouble::Halted => Outcome::Halted.into(),
        }
    }
}
