//! The functions of `shim.c`, which is compiled for the MPI of the site and loaded at run time.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libloading::Library;

use crate::error::{Result, StorageError};

/// What `shim.c` calls itself in this version.
const ABI: c_int = 2;
/// For a sentence of MPI.
const TEXT_ROOM: usize = 1024;
/// For all hints in effect.
const HINTS_ROOM: usize = 1 << 16;

/// The processes that open a file together.
pub(super) type Group = *mut c_void;
/// An open file.
pub(super) type Opened = *mut c_void;

/// A flag of `open`: the file is written to as well.
pub(super) const WRITES: c_int = 1;
/// A flag of `open`: nobody else has the file open.
pub(super) const UNIQUE: c_int = 2;

/// A flag of `open`: the file must not be there yet, and is made.
pub(super) const MAKES: c_int = 4;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*);)+) => {
        /// Each as `shim.c` has it; the result is a code of MPI.
        pub(super) struct Mpi {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)+
        }

        impl Mpi {
            fn find(library: &'static Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the types are those of `shim.c`, whose version was compared.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("tonnage_mpiio_", stringify!($name), "\0").as_bytes())?,)+
                    })
                }
            }

            fn at(addresses: &BTreeMap<String, usize>) -> Result<Self> {
                let at = |name: &str| {
                    addresses.get(name).copied().filter(|&address| address != 0)
                        .ok_or_else(|| StorageError::Unsupported(format!("mpiio: there is no function {name}")))
                };
                // SAFETY: whoever gives addresses says that functions of these types are there, and stay.
                unsafe {
                    Ok(Self {
                        $($name: std::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) -> c_int>(at(stringify!($name))?),)+
                    })
                }
            }
        }
    };
}

functions! {
    start: fn();
    version: fn(*mut c_char, c_int);
    error: fn(c_int, *mut c_char, c_int);
    group: fn(*const c_int, c_int, *mut Group);
    least: fn(Group, c_int, *mut c_int);
    open: fn(Group, *const c_char, c_int, *const c_char, *mut Opened);
    view: fn(Opened, i64, i64, i64);
    read: fn(Opened, i64, *mut c_void, i64, c_int, *mut i64);
    write: fn(Opened, i64, *const c_void, i64, c_int, *mut i64);
    preallocate: fn(Opened, i64);
    sync: fn(Opened);
    close: fn(Opened);
    remove: fn(*const c_char);
    hints: fn(Opened, *mut c_char, c_int);
}

impl Mpi {
    /// Nothing for `MPI_SUCCESS`, else what MPI says of it.
    pub(super) fn check(&self, code: c_int) -> io::Result<()> {
        if code == 0 { Ok(()) } else { Err(self.explain(code)) }
    }

    #[cold]
    fn explain(&self, code: c_int) -> io::Error {
        let mut number = 0;
        let said = text(TEXT_ROOM, |room, bytes| {
            // SAFETY: there is so much room.
            number = unsafe { (self.error)(code, room, bytes) };
        });
        // Which number it was is worth more than a sentence, but EIO is what MPI says of all that it has no name for.
        if number == 0 || number == libc::EIO { io::Error::other(said) } else { io::Error::from_raw_os_error(number) }
    }

    /// Name and version of the library.
    pub(super) fn version_text(&self) -> String {
        text(TEXT_ROOM, |room, bytes| {
            // SAFETY: there is so much room.
            unsafe { (self.version)(room, bytes) };
        })
    }

    /// The hints in effect of an open file.
    pub(super) fn hints_of(&self, opened: Opened) -> io::Result<Vec<(String, String)>> {
        let mut code = 0;
        let told = text(HINTS_ROOM, |room, bytes| {
            // SAFETY: the file is open, and there is so much room.
            code = unsafe { (self.hints)(opened, room, bytes) };
        });
        self.check(code)?;
        let lines: Vec<_> = told.lines().map(str::to_owned).collect();
        Ok(lines.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
    }
}

/// What `fill` puts into so much room.
fn text(room: usize, fill: impl FnOnce(*mut c_char, c_int)) -> String {
    let mut bytes = vec![0_u8; room];
    fill(bytes.as_mut_ptr().cast(), room as c_int);
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(room);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// How often a function is called to learn what a call costs.
const CALLS: u32 = 200;

/// Functions of somebody else, and what a call of one of them takes.
pub(super) fn mpi_at(addresses: &BTreeMap<String, usize>) -> Result<(&'static Mpi, Duration)> {
    static MADE: LazyLock<Mutex<HashMap<usize, &'static Mpi>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = Mpi::at(addresses)?;
    let mpi: &'static Mpi = made.entry(fresh.open as usize).or_insert_with(|| Box::leak(Box::new(fresh)));
    start(mpi)?;
    let began = Instant::now();
    for _ in 0..CALLS {
        start(mpi)?;
    }
    Ok((mpi, began.elapsed() / CALLS))
}

fn start(mpi: &Mpi) -> Result<()> {
    // SAFETY: nobody else starts MPI now: mpi4py did before, or is never imported.
    let started = mpi.check(unsafe { (mpi.start)() });
    started.map_err(|error| StorageError::Unsupported(format!("cannot use MPI ({}): {error}", mpi.version_text().trim_end())))
}

/// The library at `path`, loaded once and for good, with MPI started.
pub(super) fn mpi(path: &Path) -> Result<&'static Mpi> {
    static LOADED: LazyLock<Mutex<HashMap<PathBuf, &'static Mpi>>> = LazyLock::new(Mutex::default);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mpi) = loaded.get(path) {
        return Ok(mpi);
    }
    let mpi = load(path)?;
    start(mpi)?;
    loaded.insert(path.to_owned(), mpi);
    Ok(mpi)
}

fn load(path: &Path) -> Result<&'static Mpi> {
    let failed = |why: &dyn std::fmt::Display| {
        let path = path.display();
        StorageError::Unsupported(format!("cannot load {path} ({why}); remove it, and it is compiled anew"))
    };
    if !path.is_absolute() {
        return Err(failed(&"its path is not absolute"));
    }
    // SAFETY: it was compiled from `shim.c` in a directory that no other user writes to; loading it loads MPI.
    let library = unsafe { libloading::os::unix::Library::open(Some(path), libc::RTLD_NOW | libc::RTLD_GLOBAL) }
        .map_err(|error| failed(&error))?;
    let library: &'static Library = Box::leak(Box::new(library.into()));
    // SAFETY: the type is that of `shim.c`.
    let abi = unsafe { library.get::<unsafe extern "C" fn() -> c_int>(b"tonnage_mpiio_abi\0").map(|abi| abi()) };
    match abi {
        Ok(ABI) => {}
        Ok(other) => return Err(failed(&format!("it is of version {other}, not {ABI}"))),
        Err(error) => return Err(failed(&error)),
    }
    Ok(Box::leak(Box::new(Mpi::find(library).map_err(|error| failed(&error))?)))
}

/// Hints as `open` takes them.
pub(super) fn hints_text<'a>(hints: impl Iterator<Item = (&'a String, &'a String)>) -> Result<CString> {
    let mut text = String::new();
    for (name, value) in hints {
        if name.is_empty() || [name, value].iter().any(|word| word.contains(['\n', '\0'])) {
            return Err(StorageError::Unsupported(format!(
                "{name:?} = {value:?} is not a hint; give a name and a value of one line"
            )));
        }
        text.extend([name, "\n", value, "\n"]);
    }
    CString::new(text).map_err(|error| StorageError::Unsupported(error.to_string()))
}
