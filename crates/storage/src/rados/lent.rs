//! Bytes that librados sends from where they are.
//!
//! The C functions copy what is written before they send it, which for objects of megabytes is a part of each write that
//! `rados bench` does not pay. The library's public C++ interface (`rados/librados.hpp`, `rados/buffer.h`) takes
//! memory that it counts the users of. It is called here by its exported names, each of which holds the version of
//! the layout behind it, and only after a trial has shown that layout; where either is missing, writes are copied.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use libloading::Library;

use super::library::{Completion, Context};
use super::pool::Pool;
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

/// `librados::ObjectWriteOperation`: what is done to one object at once.
#[repr(C)]
struct Operation {
    methods: *const c_void,
    parts: *mut c_void,
    unused: *mut c_void,
}

/// What is called of the C++ interface.
pub(super) struct Lending {
    allocate: unsafe extern "C" fn(*mut Part, c_uint),
    bytes: unsafe extern "C" fn(*mut Part) -> *mut c_char,
    release: unsafe extern "C" fn(*mut Part),
    users: unsafe extern "C" fn(*const Part) -> c_int,
    append: unsafe extern "C" fn(*mut List, *const Part, c_uint, c_uint),
    become_part_of: unsafe extern "C" fn(*mut List, *const List, c_uint, c_uint),
    forget_sums: unsafe extern "C" fn(*mut List),
    begin: unsafe extern "C" fn(*mut Operation),
    hint: unsafe extern "C" fn(*mut Operation, u64, u64, c_uint),
    write: unsafe extern "C" fn(*mut Operation, u64, *const List),
    operate: unsafe extern "C" fn(*mut Context, *const Text, *mut Completion, *mut Operation) -> c_int,
    end: unsafe extern "C" fn(*mut Operation),
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
                begin: *library.get(b"_ZN8librados7v14_2_015ObjectOperationC2Ev\0").ok()?,
                hint: *library.get(b"_ZN8librados7v14_2_020ObjectWriteOperation15set_alloc_hint2Emmj\0").ok()?,
                write: *library.get(b"_ZN8librados7v14_2_020ObjectWriteOperation5writeEmRKN4ceph6buffer7v15_2_04listE\0").ok()?,
                operate: *library
                    .get(
                        b"_ZN8librados7v14_2_05IoCtx11aio_operateERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPNS0_13\
AioCompletionEPNS0_20ObjectWriteOperationE\0",
                    )
                    .ok()?,
                end: *library.get(b"_ZN8librados7v14_2_015ObjectOperationD2Ev\0").ok()?,
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

/// Sums and sends of megabytes find their pages sooner. Memory that the kernel has no such pages for stays as it is.
fn in_huge_pages(start: *mut u8, length: usize) {
    const HUGE: usize = 2 << 20;
    let first = (start as usize).next_multiple_of(HUGE);
    let end = (start as usize + length) / HUGE * HUGE;
    if first < end {
        // SAFETY: it lies in the memory, and what is in it stays.
        unsafe { libc::madvise(first as *mut c_void, end - first, libc::MADV_HUGEPAGE) };
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
            (lending.bytes)(&raw mut part).cast::<u8>()
        };
        in_huge_pages(start, length as usize);
        Self { lending, part, start }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the part is as long as that, and lives as `self` does.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.part.length as usize) }
    }

    /// Begins a write of `length` bytes of the memory from `start`.
    ///
    /// # Safety
    /// The completion is of the library, and the bytes lie in the memory and are not written to before it.
    pub(super) unsafe fn begin_write(
        &self,
        pool: &Pool,
        name: &CStr,
        mut completion: Completion,
        start: usize,
        length: usize,
        offset: u64,
    ) -> c_int {
        let mut context = pool.context;
        let name = Text { start: name.as_ptr(), length: name.count_bytes(), room: name.count_bytes(), rest: 0 };
        let begin = |list| {
            let mut operation = Operation { methods: null(), parts: null_mut(), unused: null_mut() };
            let (with, operation) = (self.lending, &raw mut operation);
            // SAFETY: as above; an `IoCtx` and an `AioCompletion` are each one pointer to what the C interface calls
            // so. The sums that the library knows are of what was there before.
            unsafe {
                (with.forget_sums)(list);
                (with.begin)(operation);
                if let Some(hint) = pool.hint() {
                    (with.hint)(operation, hint.object_bytes, length as u64, hint.flags);
                }
                (with.write)(operation, offset, list);
                let begun = (with.operate)(&raw mut context, &raw const name, &raw mut completion, operation);
                (with.end)(operation);
                begun
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
