//! Copies read back from the device, and never from memory that only repeats what was written to it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use blake3::Hasher;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Result as SysResult;

use super::Shared;
use super::ended::{self, Attempt};
use crate::bytes::stored::{Stored, hash_stored};
use crate::bytes::stream::{self, Buffer, Trouble};
use crate::path::TreePath;
use crate::version::Version;

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
        let failed = |errno| ended::target("read back", &self.parts.to, path, errno);
        let (plain, direct, version) = open(dir, name).map_err(failed)?;
        if version.size != size {
            return Ok(None);
        }
        let mut hasher = Hasher::new();
        let read = self.read_stored(plain.as_fd(), direct.as_ref().map(AsFd::as_fd), (0, size), &mut hasher, path, buffer)?;
        Ok((read == Stored::Whole).then(|| *hasher.finalize().as_bytes()))
    }

    /// Hashes the bytes of the range `(offset, end)` of a copy as the device has them: by `direct`, which was opened past the cache,
    /// or by `plain` once nothing of them is in memory. An error where that cannot be had.
    pub(super) fn read_stored(
        &self,
        plain: BorrowedFd,
        direct: Option<BorrowedFd>,
        (offset, end): (u64, u64),
        hasher: &mut Hasher,
        path: &TreePath,
        buffer: &mut Buffer,
    ) -> Attempt<Stored> {
        let mut leave = |_| !self.halted();
        match hash_stored(plain, direct, (offset, end), hasher, buffer, &mut leave) {
            Ok(Stored::Cached) => {
                let place = ended::place(&self.parts.to, path);
                let hint = "somebody may have it mapped; or stage with check=written, which reads nothing back";
                Err(ended::broken(format!("cannot read back {place}: it does not leave the cache; hint: {hint}")))
            }
            Ok(stored) => Ok(stored),
            Err(Trouble::Read(errno)) => Err(ended::target("read back", &self.parts.to, path, errno)),
            Err(trouble) => Err(self.trouble(path, trouble)),
        }
    }
}

/// The file `name` of `dir`, through the cache and, where that can be had, past it.
fn open(dir: BorrowedFd, name: &[u8]) -> SysResult<(OwnedFd, Option<OwnedFd>, Version)> {
    let (plain, version) = stream::reopen(dir, name, true)?;
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let direct = fs::openat(dir, name, flags, Mode::empty());
    let same = |direct: &OwnedFd| fs::fstat(direct).is_ok_and(|found| found.st_ino == version.ino);
    Ok((plain, direct.ok().filter(same), version))
}
