//! What the mover (`crates/mover`) leaves in a scratch directory when it stages data files from one to another: its
//! state directory, and where it was killed the temporaries beside the data. They go with the data files.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Dir};
use rustix::io::Errno;

use crate::error::Result;
use crate::fs::held_directories::{failed, is_regular, open_below};

/// The same as in `crates/mover/src/lib.rs`.
pub(crate) const STATE_DIRECTORY: &std::ffi::CStr = c".tonnage-stage";

/// Whether `name` is exactly how the mover spells a temporary: `.tonnage-<8 hex digits>-<number>.part`.
pub(crate) fn is_temporary(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b".tonnage-").and_then(|rest| rest.strip_suffix(b".part")) else { return false };
    rest.split_at_checked(8).is_some_and(|(mover, entry)| {
        is_hex(mover)
            && entry.strip_prefix(b"-").is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    })
}

/// Removes the state directory in `parent`, which is at `path` and on file system `device`. Gives the first thing in
/// it that no mover makes; that stays.
pub(crate) fn remove_state(parent: impl AsFd, path: &Path, device: u64) -> Result<Option<PathBuf>> {
    let path = path.join(".tonnage-stage");
    let held = match open_below(&parent, STATE_DIRECTORY) {
        Ok(held) => held,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return Ok(Some(path)),
        Err(errno) => return Err(failed("open the directory", &path, errno)),
    };
    if fs::fstat(&held).map_err(|errno| failed("measure", &path, errno))?.st_dev != device {
        return Ok(Some(path));
    }
    let mut foreign = None;
    for entry in Dir::read_from(&held).map_err(|errno| failed("list", &path, errno))? {
        let entry = entry.map_err(|errno| failed("list", &path, errno))?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let ours =
            is_state(name.to_bytes()) && fs::statat(&held, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is_regular(&stat));
        if !ours {
            foreign.get_or_insert_with(|| path.join(name.to_string_lossy().as_ref()));
        } else if let Err(errno) = fs::unlinkat(&held, name, AtFlags::empty())
            && errno != Errno::NOENT
        {
            return Err(failed("remove", &path, errno));
        }
    }
    match fs::unlinkat(&parent, STATE_DIRECTORY, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(foreign.or(Some(path))),
        Err(errno) => Err(failed("remove the directory", &path, errno)),
    }
}

/// Journal, lock, the trees' tokens, marks and manifests: what a mover keeps in its state directory and at the destination.
fn is_state(name: &[u8]) -> bool {
    let manifest = name.strip_prefix(b"manifest-").and_then(|rest| rest.strip_suffix(b".jsonl"));
    let mark = name.strip_prefix(b"mover-");
    matches!(name, b"journal.sqlite" | b"journal.sqlite-wal" | b"journal.sqlite-shm")
        || matches!(name, b"reserve" | b"lock" | b"id" | b"trees.json")
        || manifest.or(mark).is_some_and(is_hex)
}

fn is_hex(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_movers_own_spelling_is_a_temporary() {
        assert!(is_temporary(b".tonnage-0123abcd-17.part"));
        for other in ["data.part", ".tonnage-0123abcd-.part", ".tonnage-0123abc-17.part", ".tonnage-0123abcd-1x.part"] {
            assert!(!is_temporary(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_state_of_a_mover_goes_and_what_it_did_not_make_stays() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join(".tonnage-stage");
        let device = || std::os::unix::fs::MetadataExt::dev(&home.path().metadata().unwrap());
        let held = crate::fs::held_directories::open_directory(fs::CWD, home.path()).unwrap();
        for foreign in [false, true] {
            std::fs::create_dir(&state).unwrap();
            for name in
                ["journal.sqlite", "journal.sqlite-wal", "lock", "trees.json", "mover-0123abcd", "manifest-0123abcd.jsonl"]
            {
                std::fs::File::create_new(state.join(name)).unwrap();
            }
            if foreign {
                std::fs::File::create_new(state.join("notes.txt")).unwrap();
            }
            let stays = remove_state(&held, home.path(), device()).unwrap();
            assert_eq!(stays, foreign.then(|| state.join("notes.txt")));
            assert_eq!(state.exists(), foreign);
        }
    }
}
