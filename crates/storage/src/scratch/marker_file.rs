//! The marker of a directory on a file system: an open file with a lock that every process of the run shares, and that
//! whoever removes what a run left must have alone.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::{self, Errno};

use crate::error::{Result, StorageError};
use crate::fs::held_directories::{failed, is_regular};
use crate::scratch::changes::{changed_data, left_ns};
use crate::scratch::marker::{Bond, End, Lock, MARKER_BYTES, MARKER_NAME, Marker, Standing, State};

/// So long a process of a run waits for who looks whether the run is over.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(5);
/// A process that another thread has just forked holds every lock of its parent until it runs its own program.
const FORKED: Duration = Duration::from_millis(50);

const RESOLVED: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The marker of a held directory. While it lives this process shares the lock on it, where there are locks.
#[derive(Debug)]
pub(crate) struct MarkerFile {
    /// None where an open file that is removed would keep its directory from being removed.
    file: Option<OwnedFd>,
    locked: bool,
}

/// File systems that give an open file that is removed a hidden name in its directory: NFS, FUSE, SMB and its elder forms, 9p.
const HIDES: [u32; 6] = [0x6969, 0x6573_5546, 0xfe53_4d42, 0xff53_4d42, 0x517b, 0x0102_1997];

fn hides(file: &OwnedFd) -> bool {
    fs::fstatfs(file).is_ok_and(|found| HIDES.contains(&(found.f_type as u32)))
}

/// How a lock is held.
#[derive(Clone, Copy)]
enum Hold {
    Shared,
    Alone,
}

impl MarkerFile {
    /// Makes and locks the marker of a new `directory`; it must not be there yet.
    pub(crate) fn create(directory: impl AsFd, path: &Path, run_id: &str) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | RESOLVED;
        let file = fs::openat(&directory, MARKER_NAME, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed("write", &path.join(MARKER_NAME), errno))?;
        // Nobody judges a marker without text.
        let locked = !hides(&file) && lock(&file, Hold::Shared).is_ok_and(|lock| lock == Lock::Free);
        let made = Self { file: Some(file), locked };
        made.replace(directory, path, Marker::of_this_process(run_id))?;
        Ok(made.kept())
    }

    /// The same where an empty one may be there that nobody works with any more.
    pub(crate) fn fill(directory: impl AsFd, path: &Path, run_id: &str) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | RESOLVED;
        let file = fs::openat(&directory, MARKER_NAME, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| failed("write", &path.join(MARKER_NAME), errno))?;
        let lock = lock_alone(&file, path)?;
        if lock == Lock::Taken {
            return Err(not_ours(path, "another process works with its marker".to_owned()));
        }
        let stat = fs::fstat(&file).map_err(|errno| failed("measure", &path.join(MARKER_NAME), errno))?;
        if !is_regular(&stat) || stat.st_nlink != 1 || !has_no_text(&file, path)? {
            return Err(not_ours(path, "its marker was empty, and is no more".to_owned()));
        }
        require_named(&directory, &file, path)?;
        let made = Self { locked: lock == Lock::Free && !hides(&file), file: Some(file) };
        made.replace(directory, path, Marker::of_this_process(run_id))?;
        Ok(made.kept())
    }

    /// What is known of a run whose marker has no text; `None` where it has one.
    pub(crate) fn look_at_empty(directory: impl AsFd, path: &Path) -> Result<Option<Standing>> {
        let file = open(directory, path, OFlags::RDONLY)?;
        if !has_no_text(&file, path)? {
            return Ok(None);
        }
        Ok(Some(match ask(&file) {
            Lock::Taken => (State::Running, "still running: a process holds the lock on its marker".to_owned()),
            _ => (State::Unknown, "its marker is empty, so that nobody can tell whether its run goes on".to_owned()),
        }))
    }

    /// Opens the marker of a directory that a living run works in, and shares its lock.
    pub(crate) fn open(directory: impl AsFd, path: &Path) -> Result<(Self, Marker)> {
        // Some network file systems give a lock that is shared only to who may read, and one that is not to who may write.
        let file = open(directory, path, OFlags::RDONLY)?;
        let came = Instant::now();
        let lock = loop {
            match lock(&file, Hold::Shared).map_err(|errno| failed("lock", &path.join(MARKER_NAME), errno))? {
                Lock::Taken if came.elapsed() < PATIENCE => sleep(LOOK),
                other => break other,
            }
        };
        if lock == Lock::Taken {
            return Err(not_ours(path, "another process removes it".to_owned()));
        }
        let marker = read(&file, path)?;
        Ok((Self { file: Some(file), locked: lock == Lock::Free }.kept(), marker))
    }

    /// Held open, where that does not keep the directory from being removed.
    fn kept(self) -> Self {
        let Self { file, locked } = self;
        Self { file: file.filter(|file| !hides(file)), locked }
    }

    /// Works on the file that is held, or else on the one of the marker's name.
    fn on<T>(&self, directory: impl AsFd, path: &Path, work: impl FnOnce(&OwnedFd) -> Result<T>) -> Result<T> {
        match &self.file {
            Some(file) => work(file),
            None => work(&open(directory, path, OFlags::RDWR)?),
        }
    }

    /// Opens the marker of a directory whose run is over and makes it this process's; an error where that run is not
    /// known to be over, for what `end` does not take it all the same.
    pub(crate) fn take_over(directory: impl AsFd, path: &Path, end: End) -> Result<(Self, Marker)> {
        let file = open(&directory, path, OFlags::RDWR)?;
        let lock = lock_alone(&file, path)?;
        let (marker, standing) = judge(&directory, &file, path, lock)?;
        marker.require_over(standing, path, end)?;
        require_named(&directory, &file, path)?;
        let locked = lock == Lock::Free && !hides(&file);
        let held = Self { file: Some(file), locked };
        let stays = matches!(end, End::GoOn { stays: true } | End::RemoveKept) && (marker.kept || marker.stays);
        let stat = held.stat(&directory, path)?;
        if marker.kept
            && matches!(end, End::GoOn { .. })
            && let Some(changed) = changed_data(&directory, path, Some(left_ns(&stat)))?
        {
            let why = "is not as the run before left it, and this run would write over it".to_owned();
            return Err(StorageError::Name { path: changed, why });
        }
        let left = date(&stat);
        held.replace(&directory, path, Marker { stays, ..Marker::of_this_process(&marker.run_id) })?;
        if stays {
            // Whoever removes it asks what was changed since: also where this process is killed. A file system that takes no dates knows
            // of this run's beginning.
            let _ = held.set_date(&directory, path, left);
        }
        if let Some(file) = held.file.as_ref().filter(|_| locked) {
            self::lock(file, Hold::Shared).map_err(|errno| failed("lock", &path.join(MARKER_NAME), errno))?;
        }
        Ok((held.kept(), marker))
    }

    /// Replaces what the marker of `directory` says, in place: the lock stays.
    pub(crate) fn replace(&self, directory: impl AsFd, path: &Path, marker: Marker) -> Result<()> {
        let bond = Bond::of(&directory).map_err(|errno| failed("measure", path, errno))?;
        self.write(directory, path, &Marker { locked: self.locked, directory: Some(bond), ..marker })
    }

    /// The same, of another process that marked the directory before.
    pub(crate) fn write(&self, directory: impl AsFd, path: &Path, marker: &Marker) -> Result<()> {
        let text = marker.text();
        self.on(directory, path, |file| {
            let written = match io::pwrite(file, &text, 0) {
                Ok(written) if written == text.len() => Ok(()),
                Ok(_) => Err(Errno::NOSPC),
                Err(errno) => Err(errno),
            };
            written.map_err(|errno| failed("write", &path.join(MARKER_NAME), errno))
        })
    }

    /// When the marker was written last: of a directory that was left on purpose, when it was left.
    pub(crate) fn date(&self, directory: impl AsFd, path: &Path) -> Result<Timespec> {
        self.stat(directory, path).map(|stat| date(&stat))
    }

    fn stat(&self, directory: impl AsFd, path: &Path) -> Result<Stat> {
        self.on(directory, path, |file| fs::fstat(file).map_err(|errno| failed("measure", &path.join(MARKER_NAME), errno)))
    }

    /// Gives it the date of before.
    pub(crate) fn set_date(&self, directory: impl AsFd, path: &Path, date: Timespec) -> Result<()> {
        self.on(directory, path, |file| {
            let times = Timestamps { last_access: date, last_modification: date };
            fs::futimens(file, &times).map_err(|errno| failed("date", &path.join(MARKER_NAME), errno))
        })
    }

    /// What the marker says now, if the name still leads to it; an error if another one took its place.
    pub(crate) fn read_again(&self, directory: impl AsFd, path: &Path) -> Result<Marker> {
        self.on(&directory, path, |file| {
            require_named(&directory, file, path)?;
            read(file, path)
        })
    }

    /// Looks at the marker of a directory, for who removes what runs left, and changes nothing.
    pub(crate) fn look(directory: impl AsFd, path: &Path) -> Result<(Marker, Standing)> {
        let file = open(&directory, path, OFlags::RDONLY)?;
        let Ok(lock) = settled(|| Ok::<_, std::convert::Infallible>(ask(&file)));
        let (marker, standing) = judge(&directory, &file, path, lock)?;
        let standing = marker.to_remove(standing);
        Ok((marker, standing))
    }
}

fn date(stat: &Stat) -> Timespec {
    Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ }
}

fn judge(directory: impl AsFd, file: &OwnedFd, path: &Path, lock: Lock) -> Result<(Marker, Standing)> {
    let marker = read(file, path)?;
    let bond = Bond::of(directory).map_err(|errno| failed("measure", path, errno))?;
    let standing = marker.standing(lock, &bond);
    Ok((marker, standing))
}

fn not_ours(path: &Path, why: String) -> StorageError {
    StorageError::NotOurs { path: path.to_owned(), why }
}

/// Opens the marker; never a link, and nothing that waits.
fn open(directory: impl AsFd, path: &Path, how: OFlags) -> Result<OwnedFd> {
    let file = fs::openat(directory, MARKER_NAME, how | RESOLVED, Mode::empty())
        .map_err(|errno| not_ours(path, format!("its marker {MARKER_NAME} cannot be opened: {errno}")))?;
    if fs::fstat(&file).is_ok_and(|stat| is_regular(&stat)) {
        Ok(file)
    } else {
        Err(not_ours(path, format!("{MARKER_NAME} is not a regular file")))
    }
}

fn read(file: &OwnedFd, path: &Path) -> Result<Marker> {
    let mut text = [0; MARKER_BYTES];
    let length = io::pread(file, &mut text, 0).map_err(|errno| failed("read", &path.join(MARKER_NAME), errno))?;
    Marker::parse(&text[..length]).map_err(|why| not_ours(path, why))
}

/// Whether the file is empty, or holds zeros alone: a power cut may leave both.
fn has_no_text(file: &OwnedFd, path: &Path) -> Result<bool> {
    let mut text = [0; MARKER_BYTES + 1];
    let length = io::pread(file, &mut text, 0).map_err(|errno| failed("read", &path.join(MARKER_NAME), errno))?;
    Ok(length <= MARKER_BYTES && text[..length].iter().all(|&byte| byte == 0))
}

/// An error unless the marker's name in `directory` leads to `file`.
fn require_named(directory: impl AsFd, file: &OwnedFd, path: &Path) -> Result<()> {
    let (held, named) = (fs::fstat(file), fs::statat(directory, MARKER_NAME, AtFlags::SYMLINK_NOFOLLOW));
    match (held, named) {
        (Ok(held), Ok(named)) if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino) => Ok(()),
        _ => Err(not_ours(path, "another file took the place of its marker".to_owned())),
    }
}

/// The lock that nobody else may have.
fn lock_alone(file: &OwnedFd, path: &Path) -> Result<Lock> {
    settled(|| lock(file, Hold::Alone)).map_err(|errno| failed("lock", &path.join(MARKER_NAME), errno))
}

/// What is said of a lock, once it is not only taken for the moment between a fork and a new program.
fn settled<E>(look: impl Fn() -> std::result::Result<Lock, E>) -> std::result::Result<Lock, E> {
    let came = Instant::now();
    loop {
        match look()? {
            Lock::Taken if came.elapsed() < FORKED => sleep(LOOK),
            other => return Ok(other),
        }
    }
}

/// One byte behind the text, as some systems let nobody read what is locked. The lock belongs to the open file
/// (`F_OFD_SETLK`): it lasts until the process ends, and that of a forked child as well.
fn range(kind: libc::c_int) -> libc::flock {
    // SAFETY: all of it is integers, for which zeros are values; the pid has to be 0.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_start = MARKER_BYTES as libc::off_t;
    range.l_len = 1;
    range
}

/// Takes or changes a lock, without waiting. `Free`: it is held now.
fn lock(file: &OwnedFd, hold: Hold) -> rustix::io::Result<Lock> {
    let range = range(if matches!(hold, Hold::Alone) { libc::F_WRLCK } else { libc::F_RDLCK });
    loop {
        // SAFETY: the handle is open, and the call only reads the range.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) } == 0 {
            return Ok(Lock::Free);
        }
        match Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO) {
            Errno::INTR => {}
            Errno::AGAIN | Errno::ACCESS => return Ok(Lock::Taken),
            Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL => return Ok(Lock::Unknown),
            errno => return Err(errno),
        }
    }
}

/// Whether anybody has a lock, without taking one.
fn ask(file: &OwnedFd) -> Lock {
    let mut range = range(libc::F_WRLCK);
    // SAFETY: the handle is open, and the range lives as long as the call, which writes to it.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut range) };
    match asked {
        0 if range.l_type == libc::F_UNLCK as libc::c_short => Lock::Free,
        0 => Lock::Taken,
        _ => Lock::Unknown,
    }
}
