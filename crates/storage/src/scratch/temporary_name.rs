//! The name that a scratch directory has before its marker says whose it is, and after that is gone: it says so itself.
//!
//! A directory is made under this name, gets its marker, and then its own name; it gets this name again before the marker
//! goes. So a process that is killed at any moment leaves a directory that has a whole marker, or a name that tells
//! whether the process runs. Only file systems that cannot rename a directory have another order.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, RenameFlags};
use rustix::io::Errno;

use crate::error::Result;
use crate::fs::held_directories::{failed, is_regular};
use crate::scratch::PREFIX;
use crate::scratch::marker::{MARKER_NAME, State};
use crate::scratch::process_identity::{Here, own_start_ticks, runs};

/// Between the run and what tells of its process.
const MARK: char = '+';
/// Bytes that a name may have.
const LONGEST: usize = 255;

/// What such a name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aside<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) pid: u32,
    start_ticks: u64,
    boot: u64,
    host: u64,
    pid_namespace: u64,
}

impl<'a> Aside<'a> {
    /// Of this process; `None` where this system does not tell enough of it, or the name would be too long.
    pub(crate) fn of_this_process(run_id: &'a str) -> Option<Self> {
        let here = Here::now();
        let aside = Self {
            run_id,
            pid: std::process::id(),
            start_ticks: own_start_ticks(),
            boot: digest(&[here.boot.as_deref()?]),
            host: host_digest(&here),
            pid_namespace: digest(&[here.pid_namespace.as_deref()?]),
        };
        (aside.name().len() <= LONGEST).then_some(aside)
    }

    pub(crate) fn name(&self) -> String {
        let Self { run_id, pid, start_ticks, boot, host, pid_namespace } = self;
        format!("{PREFIX}{run_id}{MARK}{pid}-{start_ticks}-{boot:08x}-{host:08x}-{pid_namespace:08x}")
    }

    /// What `name` tells; `None` where no process gave it.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (run_id, facts) = name.strip_prefix(PREFIX)?.rsplit_once(MARK)?;
        let mut facts = facts.split('-');
        let pid = facts.next()?.parse().ok()?;
        let start_ticks = facts.next()?.parse().ok()?;
        let mut digits = || u64::from_str_radix(facts.next()?, 16).ok();
        let aside = Self { run_id, pid, start_ticks, boot: digits()?, host: digits()?, pid_namespace: digits()? };
        // Other spellings of a number, and more than five facts, are none.
        (!run_id.is_empty() && aside.name() == name).then_some(aside)
    }

    /// The host of its process, as far as that is known here.
    pub(crate) fn host_name(&self) -> String {
        let here = Here::now();
        if self.host == host_digest(&here) { here.host } else { "another host".to_owned() }
    }

    /// What is known of its process.
    pub(crate) fn standing(&self) -> (State, String) {
        let here = Here::now();
        let unknown = |why: &str| (State::Unknown, why.to_owned());
        let Some(boot) = here.boot.as_deref() else { return unknown("this system does not tell who made it") };
        if self.host != host_digest(&here) {
            return unknown("a process of another host made it");
        }
        if self.boot != digest(&[boot]) {
            // In a container the installation is not told, and a host's name alone may come again.
            return if here.machine.is_some() { dead() } else { unknown("a process of another start of the system made it") };
        }
        if here.pid_namespace.as_deref().is_none_or(|namespace| self.pid_namespace != digest(&[namespace])) {
            return unknown("a process of another PID namespace made it");
        }
        match runs(self.pid, self.start_ticks) {
            Some(true) => (State::Running, "still running".to_owned()),
            Some(false) => dead(),
            None => unknown("this user may not see whether its process runs"),
        }
    }
}

fn dead() -> (State, String) {
    (State::Dead, "dead, before it marked the directory or after it took the mark off".to_owned())
}

fn host_digest(here: &Here) -> u64 {
    digest(&[&here.host, here.machine.as_deref().unwrap_or_default()])
}

/// 32 bits (FNV-1a) of texts that are only ever compared.
fn digest(texts: &[&str]) -> u64 {
    let mut found: u32 = 0x811c_9dc5;
    for byte in texts.iter().flat_map(|text| text.bytes().chain([0])) {
        found = (found ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    u64::from(found)
}

/// Whether a directory holds nothing, or nothing but a marker without text.
pub(crate) fn is_blank(directory: &OwnedFd, path: &Path) -> Result<bool> {
    for entry in Dir::read_from(directory).map_err(|errno| failed("list", path, errno))? {
        let entry = entry.map_err(|errno| failed("list", path, errno))?;
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            name if name == MARKER_NAME.as_bytes() => {
                let stat = fs::statat(directory, MARKER_NAME, AtFlags::SYMLINK_NOFOLLOW)
                    .map_err(|errno| failed("measure", &path.join(MARKER_NAME), errno))?;
                if !is_regular(&stat) || stat.st_size != 0 {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Gives a directory another name, which must be free: `EXIST` where it is not.
pub(crate) fn rename_new(parent: &OwnedFd, from: &str, to: &str) -> rustix::io::Result<()> {
    match fs::renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
        // NFS and others do not know the flag. What has a marker in it takes no place but that of an empty directory.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::statat(parent, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => fs::renameat(parent, from, parent, to),
            Ok(_) => Err(Errno::EXIST),
            Err(errno) => Err(errno),
        },
        Err(Errno::NOTEMPTY) => Err(Errno::EXIST),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_it_was_made_of_and_no_other_spelling_does() {
        let own = Aside::of_this_process("a+1").unwrap();
        let name = own.name();
        assert_eq!(Aside::parse(&name), Some(own));
        assert_eq!(own.standing().0, State::Running);
        for other in
            [&*format!("{name}-0"), &name.replace('+', "+0"), &name.to_uppercase(), ".tonnage-a1", ".tonnage-a1+", &name[1..]]
        {
            assert_eq!(Aside::parse(other), None, "{other}");
        }
        assert_eq!(Aside::of_this_process(&"a".repeat(220)), None);
    }

    #[test]
    fn only_the_end_of_its_process_makes_it_dead() {
        let own = Aside::of_this_process("a1").unwrap();
        let ended = Aside { start_ticks: own.start_ticks + 1, ..own };
        assert_eq!(ended.standing().0, State::Dead);
        for elsewhere in [Aside { host: own.host ^ 1, ..ended }, Aside { pid_namespace: own.pid_namespace ^ 1, ..ended }] {
            assert_eq!(elsewhere.standing().0, State::Unknown, "{elsewhere:?}");
        }
    }
}
