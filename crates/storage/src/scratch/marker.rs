//! What makes a directory ours: the file `TONNAGE-SCRATCH`, one JSON object padded with newlines. Whether its run is over.

use std::path::Path;

use rustix::fs;
use serde::{Deserialize, Serialize};

use crate::error::{Result, StorageError};
use crate::fs::ownership_mark::Look;
use crate::scratch::process_identity::{Here, own_start_ticks, runs};

pub(crate) const MARKER_NAME: &str = "TONNAGE-SCRATCH";

/// A fixed size, so that taking over is one write in place: a crash leaves the old marker or the new one.
pub(crate) const MARKER_BYTES: usize = 1024;

/// Who made a scratch directory, or took it over. What older versions did not write is `None` or false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) run_id: String,
    pub(crate) pid: u32,
    /// When that process started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`): a pid comes again.
    pub(crate) pid_start_ticks: u64,
    pub(crate) host: String,
    #[serde(default)]
    pub(crate) boot: Option<String>,
    #[serde(default)]
    pub(crate) machine: Option<String>,
    #[serde(default)]
    pub(crate) pid_namespace: Option<String>,
    /// Each process of the run holds a lock on the file while it lives.
    #[serde(default)]
    pub(crate) locked: bool,
    /// Which directory it marks; a marker that was copied, linked or mounted elsewhere marks nothing.
    #[serde(default)]
    pub(crate) directory: Option<Bond>,
    /// Its run has ended and left it for a later one, on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) kept: bool,
    /// An earlier run left it on purpose, and the one that works in it leaves it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stays: bool,
}

/// Which directory, as far as its file system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bond {
    /// `st_dev`: of a mounted file system, until it is unmounted.
    device: u64,
    /// `f_fsid`: of a file system, also after that; 0 where it has none. A snapshot's is another.
    file_system: u64,
    inode: u64,
    /// 0 where the file system keeps no time of birth.
    born_ns: i64,
}

impl Bond {
    pub(crate) fn of(directory: impl std::os::fd::AsFd) -> rustix::io::Result<Self> {
        let look = Look::at(&directory)?;
        let device = fs::fstat(&directory)?.st_dev;
        let file_system = fs::fstatvfs(&directory).map_or(0, |facts| facts.f_fsid);
        Ok(Self { device, file_system, inode: look.identity.inode, born_ns: look.identity.born_ns as i64 })
    }

    /// Whether the two are surely one directory (`Some(true)`), or surely not.
    fn same(&self, now: &Self, same_boot: bool) -> Option<bool> {
        let mounted = self.device == now.device && same_boot;
        let born = self.born_ns != 0 && now.born_ns != 0;
        if born && (self.inode, self.born_ns) != (now.inode, now.born_ns) {
            return Some(false);
        }
        let there = mounted || (self.file_system != 0 && self.file_system == now.file_system);
        // Without a time of birth a number may have come again, or may change with each mount.
        (self.inode == now.inode && if born { there } else { mounted }).then_some(true)
    }
}

/// What became of the lock on a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Another open file has one.
    Taken,
    /// Nobody has.
    Free,
    /// The file system, or the storage, has no locks.
    Unknown,
}

/// What is known of the run that a marker names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    Running,
    /// None of its processes is left.
    Dead,
    /// It ended and left what is marked to later runs.
    Kept,
    /// It marked another directory: this marker is a copy, or was mounted here.
    Copy,
    /// Nobody here can know.
    Unknown,
}

/// What is to be done with what a run left.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// Remove it; `force`: also where nobody can know whether the run is over.
    Remove { force: bool },
    /// Remove it, also where it was left on purpose.
    RemoveKept,
    /// Work on in it; `stays`: and leave it to later runs again.
    GoOn { stays: bool },
}

/// A state and a clause that says why.
pub(crate) type Standing = (State, String);

fn unknown(why: &str) -> Standing {
    (State::Unknown, why.to_owned())
}

impl Marker {
    /// A marker that names this process and nothing that it marks.
    pub(crate) fn of_this_process(run_id: &str) -> Self {
        let Here { host, boot, machine, pid_namespace } = Here::now();
        Self {
            run_id: run_id.to_owned(),
            pid: std::process::id(),
            pid_start_ticks: own_start_ticks(),
            host,
            boot,
            machine,
            pid_namespace,
            locked: false,
            directory: None,
            kept: false,
            stays: false,
        }
    }

    /// Who marked the directory, and when: no other marker says the same.
    pub(crate) fn mark(&self) -> String {
        let Self { run_id, pid, pid_start_ticks, host, .. } = self;
        format!("run {run_id} of process {pid}/{pid_start_ticks} on {host}")
    }

    /// What the file holds.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("a marker is plain text and numbers");
        text.resize(MARKER_BYTES, b'\n');
        text
    }

    /// The marker that a file or an object holds; why there is none.
    pub(crate) fn parse(text: &[u8]) -> std::result::Result<Self, String> {
        let marker: Self = serde_json::from_slice(text).map_err(|error| format!("its marker is damaged: {error}"))?;
        if marker.is_plain() {
            Ok(marker)
        } else {
            Err("its marker is damaged: no run has such an id, or no host such a name".to_owned())
        }
    }

    /// Whether its names are some that can be: they are printed.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |text: &str| text.len() <= 255 && !text.contains(|c: char| c.is_control() || c == '/');
        plain(&self.run_id) && plain(&self.host)
    }

    /// What is known of its run, from here. `lock` is the one on the marker, and `bond` the directory it was found in.
    pub(crate) fn standing(&self, lock: Lock, bond: &Bond) -> Standing {
        let here = Here::now();
        let same_boot = self.boot.is_some() && self.boot == here.boot;
        let same = self.directory.and_then(|directory| directory.same(bond, same_boot));
        if same == Some(false) {
            return (State::Copy, "a copy: its marker was made for another directory".to_owned());
        }
        if lock == Lock::Taken {
            return (State::Running, "still running: a process holds the lock on its marker".to_owned());
        }
        if self.kept {
            return (State::Kept, "kept for later runs".to_owned());
        }
        // The lock tells of processes that /proc does not show, where both are asked of one kernel about one file.
        let told = same_boot && self.locked && lock == Lock::Free && self.directory.is_some_and(|at| at.device == bond.device);
        match self.process(&here) {
            (State::Dead, _) => {}
            (State::Unknown, _) if told => {}
            other => return other,
        }
        if !self.locked || lock != Lock::Free {
            return unknown("its file system takes no locks, so that other processes of its run may still work in it");
        }
        match same {
            None => unknown("its marker may be a copy: its file system does not tell, or was mounted anew"),
            Some(_) => (State::Dead, "dead".to_owned()),
        }
    }

    /// What is known of the process that it names alone, from `process_identity`.
    fn process(&self, here: &Here) -> Standing {
        let dead = || (State::Dead, "dead".to_owned());
        let running = || (State::Running, "still running".to_owned());
        if self.boot.is_none() {
            let seen = self.host == here.host && runs(self.pid, self.pid_start_ticks) == Some(true);
            return if seen { running() } else { unknown("of an older version, which does not tell who works in it") };
        }
        if self.boot != here.boot {
            let here_before = self.host == here.host && self.machine.is_some() && self.machine == here.machine;
            return if here_before { dead() } else { unknown("of another host") };
        }
        if self.pid_namespace.is_none() || self.pid_namespace != here.pid_namespace {
            return unknown("of another PID namespace, whose processes are not seen here");
        }
        match runs(self.pid, self.pid_start_ticks) {
            Some(true) => running(),
            Some(false) => dead(),
            None => unknown("this user may not see whether its process runs"),
        }
    }

    /// What is known of the run where nothing holds a lock and nothing can be copied, as in a pool.
    pub(crate) fn standing_alone(&self) -> Standing {
        if self.kept { (State::Kept, "kept for later runs".to_owned()) } else { self.process(&Here::now()) }
    }

    /// Whether this process, or one before it in the same run of this program, wrote it.
    pub(crate) fn is_own(&self) -> bool {
        *self == Self { run_id: self.run_id.clone(), ..Self::of_this_process("") }
    }

    /// The same for who removes what runs left: what one left on purpose goes only if that is asked for.
    pub(crate) fn to_remove(&self, (state, why): Standing) -> Standing {
        if state == State::Dead && self.stays {
            (State::Kept, "an earlier run left it on purpose".to_owned())
        } else {
            (state, why)
        }
    }

    /// An error unless the directory or pool at `path`, with this standing, may be taken for that end.
    pub(crate) fn require_over(&self, standing: Standing, path: &Path, end: End) -> Result<()> {
        let (state, why) = if matches!(end, End::Remove { .. }) { self.to_remove(standing) } else { standing };
        match (state, end) {
            (State::Dead, _)
            | (State::Unknown, End::Remove { force: true })
            | (State::Kept, End::GoOn { .. } | End::RemoveKept) => Ok(()),
            _ => {
                let why = format!("process {} of run {} on {}: {why}", self.pid, self.run_id, self.host);
                Err(StorageError::NotOurs { path: path.to_owned(), why })
            }
        }
    }

    /// Which other process works, or may work, on what it marks; `None` if none does.
    pub(crate) fn worker(&self) -> Option<String> {
        let Self { pid, run_id, host, .. } = self;
        if self.is_own() {
            return None;
        }
        match self.standing_alone() {
            (State::Running, _) => Some(format!("process {pid} of run {run_id} still works on it")),
            (State::Unknown, why) => Some(format!("process {pid} of run {run_id} on host {host} may still work on it ({why})")),
            _ => None,
        }
    }
}
