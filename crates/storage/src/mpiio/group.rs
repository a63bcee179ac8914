//! The processes that open a file together.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::library::{Group, Mpi};

/// Processes, by their ranks; this one alone where there are no ranks.
#[derive(Clone, Copy)]
pub(super) struct Partners {
    pub(super) mpi: &'static Mpi,
    pub(super) group: Group,
    alone: bool,
}

// SAFETY: MPI was started for calls of several threads.
unsafe impl Send for Partners {}

/// The groups that were made, by their ranks: they last as long as MPI does, and each process of one makes it only once.
static MADE: LazyLock<Mutex<HashMap<Vec<u32>, Partners>>> = LazyLock::new(Mutex::default);

impl Partners {
    /// All of them call it at the same time, and by then have made the same groups before.
    pub(super) fn of(mpi: &'static Mpi, ranks: &[u32]) -> io::Result<Self> {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.get(ranks) {
            return Ok(*known);
        }
        let numbers: Vec<c_int> = ranks.iter().map(|&rank| rank as c_int).collect();
        let mut group = ptr::null_mut();
        // SAFETY: there are so many ranks.
        mpi.check(unsafe { (mpi.group)(numbers.as_ptr(), numbers.len() as c_int, &raw mut group) })?;
        let partners = Self { mpi, group, alone: ranks.is_empty() };
        made.insert(ranks.to_vec(), partners);
        Ok(partners)
    }

    /// The least that one of them says. All of them call it.
    pub(super) fn least(self, value: c_int) -> io::Result<c_int> {
        if self.alone {
            return Ok(value);
        }
        let mut least = 0;
        // SAFETY: the group lasts.
        self.mpi.check(unsafe { (self.mpi.least)(self.group, value, &raw mut least) })?;
        Ok(least)
    }

    /// Whether all of them say yes. All of them call it.
    pub(super) fn agree(self, yes: bool) -> io::Result<bool> {
        self.least(c_int::from(yes)).map(|least| least == 1)
    }
}
