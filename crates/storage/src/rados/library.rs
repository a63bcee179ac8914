//! The functions of librados that are used, found at run time: who has no Ceph needs no library of it.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{Result, StorageError};

const NAME: &str = "librados.so.2";

/// `rados_t`, a connection to a cluster.
pub(super) type Cluster = *mut c_void;
/// `rados_ioctx_t`, a pool in it.
pub(super) type Context = *mut c_void;
/// `rados_completion_t`, an operation in flight.
pub(super) type Completion = *mut c_void;
/// `rados_list_ctx_t`.
pub(super) type List = *mut c_void;
/// `rados_write_op_t`.
pub(super) type WriteOp = *mut c_void;
/// `rados_callback_t`; called on a thread of the library.
pub(super) type Callback = extern "C" fn(Completion, *mut c_void);
type Text = *const c_char;

/// `struct rados_cluster_stat_t`.
#[repr(C)]
#[derive(Default)]
pub(super) struct Space {
    pub(super) kib: u64,
    kib_used: u64,
    pub(super) kib_available: u64,
    objects: u64,
}

/// What OSDs are told of an object with each write to it, so that they lay it out for that.
#[derive(Clone, Copy)]
pub(super) struct Hint {
    /// It will have so many bytes.
    pub(super) object_bytes: u64,
    /// `LIBRADOS_ALLOC_HINT_FLAG_…`.
    pub(super) flags: u32,
}

impl Hint {
    /// Written once from its beginning to its end, and read that way: what `rados bench` says.
    pub(super) const fn write_once(object_bytes: u64) -> Self {
        const SEQUENTIAL_WRITE: u32 = 1;
        const SEQUENTIAL_READ: u32 = 4;
        const APPEND_ONLY: u32 = 16;
        const IMMUTABLE: u32 = 32;
        Self { object_bytes, flags: SEQUENTIAL_WRITE | SEQUENTIAL_READ | APPEND_ONLY | IMMUTABLE }
    }
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Each as `rados/librados.h` declares it.
        pub(super) struct Rados {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Rados {
            fn find(library: &'static Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the types are those of the C declarations, which are the same since Ceph 14.
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!("rados_", stringify!($name), "\0").as_bytes())?,)+
                    })
                }
            }
        }
    };
}

functions! {
    create2: fn(*mut Cluster, Text, Text, u64) -> c_int;
    conf_read_file: fn(Cluster, Text) -> c_int;
    conf_parse_env: fn(Cluster, Text) -> c_int;
    conf_set: fn(Cluster, Text, Text) -> c_int;
    connect: fn(Cluster) -> c_int;
    shutdown: fn(Cluster);
    mon_command: fn(Cluster, *mut Text, usize, Text, usize, *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize) -> c_int;
    buffer_free: fn(*mut c_char);
    cluster_stat: fn(Cluster, *mut Space) -> c_int;
    ioctx_create: fn(Cluster, Text, *mut Context) -> c_int;
    ioctx_destroy: fn(Context);
    ioctx_set_namespace: fn(Context, Text);
    wait_for_latest_osdmap: fn(Cluster) -> c_int;
    ioctx_snap_create: fn(Context, Text) -> c_int;
    ioctx_snap_remove: fn(Context, Text) -> c_int;
    ioctx_snap_lookup: fn(Context, Text, *mut u64) -> c_int;
    ioctx_snap_set_read: fn(Context, u64);
    ioctx_selfmanaged_snap_create: fn(Context, *mut u64) -> c_int;
    ioctx_selfmanaged_snap_remove: fn(Context, u64) -> c_int;
    ioctx_selfmanaged_snap_set_write_ctx: fn(Context, u64, *mut u64, c_int) -> c_int;
    read: fn(Context, Text, *mut c_char, usize, u64) -> c_int;
    append: fn(Context, Text, Text, usize) -> c_int;
    stat: fn(Context, Text, *mut u64, *mut libc::time_t) -> c_int;
    remove: fn(Context, Text) -> c_int;
    create_write_op: fn() -> WriteOp;
    release_write_op: fn(WriteOp);
    write_op_create: fn(WriteOp, c_int, Text);
    write_op_assert_exists: fn(WriteOp);
    write_op_write: fn(WriteOp, Text, usize, u64);
    write_op_write_full: fn(WriteOp, Text, usize);
    write_op_set_alloc_hint2: fn(WriteOp, u64, u64, u32);
    write_op_operate: fn(WriteOp, Context, Text, *mut libc::time_t, c_int) -> c_int;
    aio_write_op_operate: fn(WriteOp, Context, Completion, Text, *mut libc::time_t, c_int) -> c_int;
    nobjects_list_open: fn(Context, *mut List) -> c_int;
    nobjects_list_next: fn(List, *mut Text, *mut Text, *mut Text) -> c_int;
    nobjects_list_close: fn(List);
    aio_create_completion2: fn(*mut c_void, Option<Callback>, *mut Completion) -> c_int;
    aio_release: fn(Completion);
    aio_get_return_value: fn(Completion) -> c_int;
    aio_read: fn(Context, Text, Completion, *mut c_char, usize, u64) -> c_int;
    aio_remove: fn(Context, Text, Completion) -> c_int;
    aio_wait_for_complete: fn(Completion) -> c_int;
}

/// The library, loaded once and for good: it has threads.
pub(super) fn rados() -> Result<&'static Rados> {
    static FOUND: OnceLock<std::result::Result<Rados, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: what the library does when it is loaded is what every Ceph client has it do.
        let library = unsafe { Library::new(NAME) }.map_err(|error| error.to_string())?;
        Rados::find(Box::leak(Box::new(library))).map_err(|error| error.to_string())
    });
    found
        .as_ref()
        .map_err(|why| StorageError::Unsupported(format!("cannot load {NAME} ({why}); install librados2 of Ceph 14 or newer")))
}
