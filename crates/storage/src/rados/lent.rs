//! Bytes that librados sends from where they are.
//!
//! The C functions copy what is written before they send it, which for objects of megabytes is a part of each write that
//! `rados bench` does not pay. The library's public C++ interface (`rados/librados.hpp`, `rados/buffer.h`) takes
//! memory that it counts the users of. It is called here by its exported names, each of which holds the version of
//! the layout behind it, and only after a trial has shown that layout; where either is missing, writes are copied.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use libloading::Library;

use super::library::{Completion, Context};
use crate::Buffer;

/// Writes shorter than this are copied: that takes no more time than to lend them.
const LEAST: usize = 32 << 10;

/// Whether writes of so many bytes are lent, where they can be.
pub(super) const fn is_worth_it(length: usize) -> bool {
    length >= LEAST
}

/// `ceph::buffer::ptr`: a part of memory that is counted.
#[repr(C)]
struct Part {
    memory: *mut c_void,
    offset: c_uint,
    length: c_uint,
}

/// `ceph::buffer::list`, which knows its own address: made and used in place.
#[repr(C)]
struct List {
    first: *mut c_void,
    last: *mut c_void,
    appended_to: *mut c_void,
    length: c_uint,
    parts: c_uint,
}

/// `std::string` of libstdc++ whose characters are elsewhere.
#[repr(C)]
struct Text {
    start: *const c_char,
    length: usize,
    room: usize,
    rest: usize,
}

type AioWrite = unsafe extern "C" fn(*mut Context, *const Text, *mut Completion, *const List, usize, u64) -> c_int;

/// What is called of the C++ interface.
pub(super) struct Lending {
    allocate: unsafe extern "C" fn(*mut Part, c_uint),
    bytes: unsafe extern "C" fn(*mut Part) -> *mut c_char,
    release: unsafe extern "C" fn(*mut Part),
    users: unsafe extern "C" fn(*const Part) -> c_int,
    append: unsafe extern "C" fn(*mut List, *const Part, c_uint, c_uint),
    become_part_of: unsafe extern "C" fn(*mut List, *const List, c_uint, c_uint),
    forget_sums: unsafe extern "C" fn(*mut List),
    aio_write: AioWrite,
    nothing: *mut c_void,
}

// SAFETY: functions, and the address of a constant.
unsafe impl Send for Lending {}
// SAFETY: as above.
unsafe impl Sync for Lending {}

impl Lending {
    /// `None` where the library has another version of it, and on processors where this was never tried.
    pub(super) fn find(library: &'static Library) -> Option<Self> {
        if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
            return None;
        }
        // SAFETY: the types are those of the declarations for which the names are made.
        let found = unsafe {
            Self {
                allocate: *library.get(b"_ZN4ceph6buffer7v15_2_03ptrC1Ej\0").ok()?,
                bytes: *library.get(b"_ZN4ceph6buffer7v15_2_03ptr5c_strEv\0").ok()?,
                release: *library.get(b"_ZN4ceph6buffer7v15_2_03ptr7releaseEv\0").ok()?,
                users: *library.get(b"_ZNK4ceph6buffer7v15_2_03ptr8raw_nrefEv\0").ok()?,
                append: *library.get(b"_ZN4ceph6buffer7v15_2_04list6appendERKNS1_3ptrEjj\0").ok()?,
                become_part_of: *library.get(b"_ZN4ceph6buffer7v15_2_04list9substr_ofERKS2_jj\0").ok()?,
                forget_sums: *library.get(b"_ZN4ceph6buffer7v15_2_04list14invalidate_crcEv\0").ok()?,
                aio_write: *library
                    .get(
                        b"_ZN8librados7v14_2_05IoCtx9aio_writeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPNS0_13\
AioCompletionERKN4ceph6buffer7v15_2_04listEmm\0",
                    )
                    .ok()?,
                nothing: *library.get(b"_ZN4ceph6buffer7v15_2_04list17always_empty_bptrE\0").ok()?,
            }
        };
        found.is_as_declared().then_some(found)
    }

    /// Whether parts and lists are laid out as they are here.
    fn is_as_declared(&self) -> bool {
        let lent = Lent::new(self, 64);
        // SAFETY: 16 to 48 lie in it.
        let seen = unsafe {
            self.with_list(&lent.part, 16, 32, |list| {
                ((*list).length, (*list).parts, (*list).first == (*list).last, (*list).first == list.cast(), self.users_of(&lent))
            })
        };
        lent.part.offset == 0 && lent.part.length == 64 && seen == (32, 1, true, false, 2) && self.users_of(&lent) == 1
    }

    fn users_of(&self, lent: &Lent<'_>) -> c_int {
        // SAFETY: a part that is there.
        unsafe { (self.users)(&raw const lent.part) }
    }

    /// Calls with a list of one part of the memory, which is gone afterwards.
    ///
    /// # Safety
    /// The bytes from `start` lie in the part.
    unsafe fn with_list<T>(&self, of: &Part, start: usize, length: usize, call: impl FnOnce(*mut List) -> T) -> T {
        let (mut list, mut empty) = (MaybeUninit::<List>::uninit(), MaybeUninit::<List>::uninit());
        // SAFETY: both stay where they are; a list without parts leads to itself.
        unsafe {
            for list in [list.as_mut_ptr(), empty.as_mut_ptr()] {
                list.write(List { first: list.cast(), last: list.cast(), appended_to: self.nothing, length: 0, parts: 0 });
            }
            (self.append)(list.as_mut_ptr(), of, start as c_uint, length as c_uint);
            let result = call(list.as_mut_ptr());
            // It forgets its own parts first.
            (self.become_part_of)(list.as_mut_ptr(), empty.as_ptr(), 0, 0);
            result
        }
    }
}

/// Memory of the library, which keeps it for as long as one of its messages needs it.
pub(super) struct Lent<'a> {
    lending: &'a Lending,
    part: Part,
    start: *mut u8,
}

// SAFETY: the count of its users is atomic, and its bytes are borrowed as `self` is.
unsafe impl Send for Lent<'_> {}

impl<'a> Lent<'a> {
    /// So many bytes, at most 4 GiB.
    pub(super) fn new(lending: &'a Lending, length: u32) -> Self {
        let mut part = Part { memory: null_mut(), offset: 0, length: 0 };
        // SAFETY: a place for one part.
        let start = unsafe {
            (lending.allocate)(&raw mut part, length);
            (lending.bytes)(&raw mut part).cast()
        };
        Self { lending, part, start }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the part is as long as that, and lives as `self` does.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.part.length as usize) }
    }

    /// Begins a write of `length` bytes of the memory from `start`; as `rados_aio_write`.
    ///
    /// # Safety
    /// The handles are open, and the bytes lie in the memory and are not written to before the completion.
    pub(super) unsafe fn aio_write(
        &self,
        mut context: Context,
        name: &CStr,
        mut completion: Completion,
        start: usize,
        length: usize,
        offset: u64,
    ) -> c_int {
        let name = Text { start: name.as_ptr(), length: name.count_bytes(), room: name.count_bytes(), rest: 0 };
        let begin = |list| {
            // SAFETY: as above; an `IoCtx` and an `AioCompletion` are each one pointer to what the C interface calls
            // so. The sums that the library knows are of what was there before.
            unsafe {
                (self.lending.forget_sums)(list);
                (self.lending.aio_write)(&raw mut context, &raw const name, &raw mut completion, list, length, offset)
            }
        };
        // SAFETY: as above.
        unsafe { self.lending.with_list(&self.part, start, length, begin) }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // SAFETY: one user less.
        unsafe { (self.lending.release)(&raw mut self.part) };
    }
}

/// What a queue's operations work on.
pub(super) enum Memory {
    /// Copied by each write.
    Own(Buffer),
    Lent(Lent<'static>),
}

impl Memory {
    /// The same bytes, as memory of the library. More than it can count stay where they are.
    pub(super) fn lent_by(lending: &'static Lending, own: Buffer) -> Self {
        let Ok(length) = u32::try_from(own.len()) else { return Self::Own(own) };
        let mut lent = Lent::new(lending, length);
        lent.bytes().copy_from_slice(&own);
        Self::Lent(lent)
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Own(own) => own,
            Self::Lent(lent) => lent.bytes(),
        }
    }

    /// What sends `length` bytes from where they are, if anything does.
    pub(super) const fn lent(&self, length: usize) -> Option<&Lent<'static>> {
        match self {
            Self::Lent(lent) if is_worth_it(length) => Some(lent),
            _ => None,
        }
    }
}
