//! What the kinds with files share: names, opening, direct or not, settling, clearing.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::{self, Advice, OFlags};
use rustix::io::Errno;
use tonnage_workload::{CachePolicy, Op};

use crate::direct::{self, Support};
use crate::directory::{Directory, failed, is_regular};
use crate::error::{Result, StorageError};
use crate::residency::cached_bytes;
use crate::{DirectMode, Facts, OpenRequest, Residency, TargetSpec};

/// The data files of one scratch directory.
#[derive(Debug)]
pub(crate) struct Files {
    directory: Directory,
    direct: DirectMode,
    support: OnceLock<Support>,
    facts: Mutex<Facts>,
}

impl Files {
    /// Holds the scratch directory that `spec` names; it must be a marked one.
    pub(crate) fn new(spec: &TargetSpec) -> Result<Self> {
        let Some(path) = &spec.directory else {
            let text = format!("a storage of kind {:?} needs a scratch directory", spec.kind).to_lowercase();
            return Err(StorageError::Unsupported(text));
        };
        let (support, facts) = (OnceLock::new(), Mutex::default());
        Ok(Self { directory: Directory::open(path)?, direct: spec.direct, support, facts })
    }

    pub(crate) const fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Whether `request` will go past the page cache; an error if it must and cannot.
    pub(crate) fn decide_direct(&self, request: &OpenRequest) -> Result<bool> {
        if self.direct == DirectMode::No {
            self.set_direct(false, None);
            return Ok(false);
        }
        let support = self.support.get_or_init(|| direct::probe(&self.directory));
        match (direct::obstacle(support, request), self.direct) {
            (None, _) => self.set_direct(true, None),
            (Some((_, why)), DirectMode::Yes) => {
                let text = format!("{why}; ask for direct = \"auto\" or \"no\", or choose another size or file system");
                return Err(StorageError::Unsupported(text));
            }
            (Some((code, why)), _) => {
                self.set_direct(false, Some((code, format!("{why}; the page cache was used instead"))));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records how the latest lanes go; what was true of an earlier phase is no longer.
    pub(crate) fn set_direct(&self, direct: bool, note: Option<(&'static str, String)>) {
        self.with_facts(|facts| {
            facts.direct = direct;
            facts.notes.retain(|(code, _)| !direct::CODES.contains(code));
            facts.notes.extend(note);
        });
    }

    /// Records a named fact; the latest lane's counts.
    pub(crate) fn set_flag(&self, name: &'static str, value: bool) {
        self.with_facts(|facts| {
            facts.flags.retain(|(known, _)| *known != name);
            facts.flags.push((name, value));
        });
    }

    /// Records a fallback once.
    pub(crate) fn note(&self, code: &'static str, text: impl FnOnce() -> String) {
        self.with_facts(|facts| {
            if facts.notes.iter().all(|(known, _)| *known != code) {
                facts.notes.push((code, text()));
            }
        });
    }

    fn with_facts(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.facts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens (for a write creates) the file of `request`, and checks that a read finds what it needs.
    pub(crate) fn open(&self, request: &OpenRequest, extra: OFlags) -> Result<OwnedFd> {
        let flags = match request.op {
            Op::Read => OFlags::RDONLY,
            Op::Write => OFlags::RDWR | OFlags::CREATE,
        };
        let handle = match self.directory.open_data(request.file, flags | extra) {
            Err(Errno::INVAL) if extra.contains(OFlags::DIRECT) && self.direct == DirectMode::Auto => {
                let why = "this file cannot be opened with O_DIRECT; the page cache was used instead".to_owned();
                self.set_direct(false, Some((direct::NO_DIRECT, why)));
                self.directory.open_data(request.file, flags)
            }
            other => other,
        }
        .map_err(|errno| failed("open", &self.directory.data_path(request.file), errno))?;
        if request.op == Op::Read {
            self.check_length(request, &handle)?;
        }
        Ok(handle)
    }

    fn check_length(&self, request: &OpenRequest, handle: &OwnedFd) -> Result<()> {
        let path = || self.directory.data_path(request.file);
        let stat = fs::fstat(handle).map_err(|errno| failed("measure", &path(), errno))?;
        if !is_regular(&stat) {
            return Err(failed("read as a data file", &path(), Errno::INVAL));
        }
        let (needed, actual) = (request.file_bytes, stat.st_size as u64);
        if actual < needed { Err(StorageError::TooShort { file: request.file, needed, actual }) } else { Ok(()) }
    }

    /// Applies the cache policy, then counts what is cached.
    pub(crate) fn settle(&self, files: &[u32], cache: CachePolicy) -> Result<Residency> {
        let mut cached = Some(0);
        let mut examined = 0;
        for &file in files {
            let name = |action, errno| failed(action, &self.directory.data_path(file), errno);
            let handle = self.directory.open_data(file, OFlags::RDONLY).map_err(|errno| name("open", errno))?;
            if cache == CachePolicy::Drop {
                // Dirty pages cannot be dropped.
                fs::fdatasync(&handle).map_err(|errno| name("flush", errno))?;
                fs::fadvise(&handle, 0, None, Advice::DontNeed).map_err(|errno| name("drop the cache of", errno))?;
            }
            let length = fs::fstat(&handle).map_err(|errno| name("measure", errno))?.st_size as u64;
            examined += length;
            cached = cached.zip(cached_bytes(&handle, length)).map(|(sum, bytes): (u64, u64)| sum + bytes);
        }
        Ok(Residency { cached_bytes: cached, examined_bytes: Some(examined) })
    }

    pub(crate) fn length(&self, file: u32) -> Result<u64> {
        self.directory.length(file)
    }

    /// Removes the data files. What is not one stays and is no error here: the directory stays as well.
    pub(crate) fn clear(&self) -> Result<()> {
        self.directory.remove_data().map(drop)
    }
}
