//! A connection to a pool, and objects in one namespace of it.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::library::{Cluster, Completion, Context, Hint, List, Rados, Space, WriteOp, rados};
use super::traffic::Ledger;
use crate::error::{Result, StorageError};
use crate::target::PoolSpec;

/// At the start, and of what went wrong, a monitor that does not answer within this time does not answer; by default
/// librados waits for five minutes.
const QUESTION_S: u64 = 10;
/// Objects that are removed at once.
const REMOVED_AT_ONCE: usize = 64;
/// `LIBRADOS_CREATE_EXCLUSIVE`.
pub(super) const EXCLUSIVE: libc::c_int = 1;
/// `LIBRADOS_ALL_NSPACES`.
const ALL_NAMESPACES: &CStr = c"\x01";

/// An open pool.
pub(super) struct Pool {
    pub(super) library: &'static Rados,
    cluster: Cluster,
    pub(super) context: Context,
    pub(super) spec: PoolSpec,
    /// Whose connection it is, where it is not its own.
    lender: Option<Arc<Pool>>,
    /// What was sent for each object.
    pub(super) ledger: Arc<Ledger>,
}

// SAFETY: librados' handles may be used by several threads at once; the context is changed only before it is shared.
unsafe impl Send for Pool {}
unsafe impl Sync for Pool {}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(&self.spec).finish()
    }
}

/// The result of a call, which is an error where it is negative.
pub(super) fn done(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}

fn text(value: &str) -> Result<CString> {
    CString::new(value).map_err(|_| StorageError::Unsupported(format!("{value:?} holds a null character")))
}

impl Pool {
    /// Connects.
    ///
    /// # Errors
    /// One line that says whether it was the library, the configuration, the cluster or the pool.
    pub(super) fn open(spec: &PoolSpec) -> Result<Self> {
        let library = rados()?;
        let refused = |what: String, why: &io::Error| StorageError::Unsupported(format!("{what}: {why}"));
        let (user, pool, namespace) = (text(&spec.user)?, text(&spec.pool)?, text(&spec.namespace)?);
        let conf = spec.conf.as_ref().map(|path| text(&path.to_string_lossy())).transpose()?;
        let (cluster, context, ledger) = (null_mut(), null_mut(), Arc::<Ledger>::default());
        let mut found = Self { library, cluster, context, spec: spec.clone(), lender: None, ledger };
        // SAFETY: of each call by its declaration; `found` ends what was begun, whatever fails.
        unsafe {
            done((library.create2)(&raw mut found.cluster, c"ceph".as_ptr(), user.as_ptr(), 0))
                .map_err(|why| refused(format!("cannot be {} of a Ceph cluster", spec.user), &why))?;
            let path = conf.as_ref().map_or(null(), |path| path.as_ptr());
            done((library.conf_read_file)(found.cluster, path)).map_err(|why| {
                let name = spec.conf.as_ref().map_or("Ceph's configuration".to_owned(), |path| path.display().to_string());
                refused(format!("cannot read {name}"), &why)
            })?;
            (library.conf_parse_env)(found.cluster, null());
            // What goes wrong is told here, once; the library would tell it as well, in lines of its own.
            for option in [c"log_to_stderr", c"err_to_stderr"] {
                (library.conf_set)(found.cluster, option.as_ptr(), c"false".as_ptr());
            }
            found.limit(c"client_mount_timeout", QUESTION_S)?;
            // A snapshot is one of a monitor, which may be away for as long as an OSD may.
            found.limit(c"rados_mon_op_timeout", found.operation_s())?;
            found.limit(c"rados_osd_op_timeout", found.operation_s())?;
            done((library.connect)(found.cluster)).map_err(|why| {
                let hint = match why.raw_os_error() {
                    Some(libc::ETIMEDOUT) => format!("no monitor answered within {QUESTION_S} s"),
                    Some(libc::ENOENT) => format!("no keyring of {} was found", spec.user),
                    Some(libc::EACCES | libc::EPERM) => format!("{} is not let in", spec.user),
                    _ => why.to_string(),
                };
                StorageError::Unsupported(format!("cannot connect to Ceph: {hint}; try `ceph -s` as {}", spec.user))
            })?;
            done((library.ioctx_create)(found.cluster, pool.as_ptr(), &raw mut found.context)).map_err(|why| {
                match why.raw_os_error() {
                    Some(libc::ENOENT) => {
                        StorageError::Unsupported(format!("Ceph has no pool {}; see `ceph osd pool ls`", spec.pool))
                    }
                    _ => refused(format!("cannot open the pool {}", spec.pool), &why),
                }
            })?;
            (library.ioctx_set_namespace)(found.context, namespace.as_ptr());
        }
        Ok(found)
    }

    /// How long an operation is waited for. Whole seconds: the library takes no parts of one, and 0 for never.
    pub(super) fn operation_s(&self) -> u64 {
        self.spec.timeout_ns.div_ceil(1_000_000_000).max(1)
    }

    /// Sets one of the library's limits.
    fn limit(&self, option: &CStr, limit_s: u64) -> Result<()> {
        let limit = text(&limit_s.to_string())?;
        // SAFETY: two strings.
        done(unsafe { (self.library.conf_set)(self.cluster, option.as_ptr(), limit.as_ptr()) }).map_err(|why| {
            let option = option.to_string_lossy();
            StorageError::Unsupported(format!("librados does not take {limit_s} s for {option}: {why}"))
        })?;
        Ok(())
    }

    /// The same objects by the same connection, with a context of their own: other snapshots are read or carried.
    pub(super) fn another(self: &Arc<Self>) -> Result<Self> {
        self.beside(&self.spec.namespace)
    }

    /// Another namespace by the same connection.
    pub(super) fn beside(self: &Arc<Self>, namespace: &str) -> Result<Self> {
        let namespace = text(namespace)?;
        self.context_of(&namespace).map_err(|error| self.failed("open the pool of", "", error))
    }

    fn context_of(self: &Arc<Self>, namespace: &CStr) -> io::Result<Self> {
        let pool = CString::new(self.spec.pool.as_str())?;
        let mut context = null_mut();
        // SAFETY: of each call by its declaration; a new context, which nobody else knows.
        unsafe {
            done((self.library.ioctx_create)(self.cluster, pool.as_ptr(), &raw mut context))?;
            (self.library.ioctx_set_namespace)(context, namespace.as_ptr());
        }
        let spec = PoolSpec { namespace: namespace.to_string_lossy().into_owned(), ..self.spec.clone() };
        let (library, cluster, ledger) = (self.library, self.cluster, Arc::clone(&self.ledger));
        Ok(Self { library, cluster, context, spec, lender: Some(Arc::clone(self)), ledger })
    }

    /// Takes a snapshot of the whole pool.
    pub(super) fn take_snapshot(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: a name.
        done(unsafe { (self.library.ioctx_snap_create)(self.context, name.as_ptr()) }).map(drop)
    }

    pub(super) fn remove_snapshot(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: a name.
        done(unsafe { (self.library.ioctx_snap_remove)(self.context, name.as_ptr()) }).map(drop)
    }

    pub(super) fn snapshot_number(&self, name: &CStr) -> io::Result<u64> {
        let mut number = 0;
        // SAFETY: a name, and a place to write to.
        done(unsafe { (self.library.ioctx_snap_lookup)(self.context, name.as_ptr(), &raw mut number) }).map(|_| number)
    }

    /// Reads are from that snapshot from now on. Before the context is shared.
    pub(super) fn read_snapshot(&self, number: u64) {
        // SAFETY: nothing is in flight.
        unsafe { (self.library.ioctx_snap_set_read)(self.context, number) };
    }

    /// Takes a self-managed snapshot, which is one of what the writers that carry it write over; its number.
    pub(super) fn take_own_snapshot(&self) -> io::Result<u64> {
        let mut number = 0;
        // SAFETY: a place to write to.
        done(unsafe { (self.library.ioctx_selfmanaged_snap_create)(self.context, &raw mut number) }).map(|_| number)
    }

    pub(super) fn remove_own_snapshot(&self, number: u64) -> io::Result<()> {
        // SAFETY: a number.
        done(unsafe { (self.library.ioctx_selfmanaged_snap_remove)(self.context, number) }).map(drop)
    }

    /// Writes carry these from now on, the newest first. With nothing in flight.
    pub(super) fn carry_snapshots(&self, numbers: &[u64]) -> io::Result<()> {
        let (mut numbers, newest) = (numbers.to_vec(), numbers.first().copied().unwrap_or(0));
        let count = numbers.len() as libc::c_int;
        // SAFETY: as many numbers as is said, which are copied.
        let set =
            unsafe { (self.library.ioctx_selfmanaged_snap_set_write_ctx)(self.context, newest, numbers.as_mut_ptr(), count) };
        done(set).map(drop)
    }

    /// Learns what the monitors say of the pools now.
    pub(super) fn look_up_map(&self) -> io::Result<()> {
        // The library waits for a map without any limit, so first there must be somebody who answers.
        self.ask(r#"{"prefix": "osd stat", "format": "json"}"#)?;
        // SAFETY: a call without arguments.
        done(unsafe { (self.library.wait_for_latest_osdmap)(self.cluster) }).map(drop)
    }

    /// Where an object is, for messages.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("rados://{}/{}/{name}", self.spec.pool, self.spec.namespace))
    }

    /// An error about an object.
    pub(super) fn failed(&self, action: &'static str, name: &str, source: io::Error) -> StorageError {
        StorageError::Path { action, path: self.path(name), source }
    }

    /// Makes an object that is not there; `AlreadyExists` where it is.
    pub(super) fn make(&self, name: &CStr, contents: &[u8]) -> io::Result<()> {
        self.compound(name, |library, operation| {
            // SAFETY: the bytes outlive the operation.
            unsafe {
                (library.write_op_create)(operation, EXCLUSIVE, null());
                (library.write_op_write_full)(operation, contents.as_ptr().cast(), contents.len());
            }
        })
    }

    /// Several steps on one object, all of them or none.
    pub(super) fn compound(&self, name: &CStr, steps: impl FnOnce(&Rados, WriteOp)) -> io::Result<()> {
        // SAFETY: the operation is released.
        unsafe {
            let operation = (self.library.create_write_op)();
            steps(self.library, operation);
            let result = (self.library.write_op_operate)(operation, self.context, name.as_ptr(), null_mut(), 0);
            (self.library.release_write_op)(operation);
            done(result).map(drop)
        }
    }

    /// Bytes that the cluster has left; `None` where nobody counts them (a cluster without a manager).
    pub(super) fn free_bytes(&self) -> io::Result<Option<u64>> {
        let mut found = Space::default();
        // SAFETY: one struct to write to.
        done(unsafe { (self.library.cluster_stat)(self.cluster, &raw mut found) })?;
        Ok((found.kib > 0).then_some(found.kib_available * 1024))
    }

    /// A monitor's answer to a question in JSON.
    pub(super) fn ask(&self, question: &str) -> io::Result<Vec<u8>> {
        let question = CString::new(question)?;
        let mut words = question.as_ptr();
        let (mut answer, mut length) = (null_mut(), 0);
        // SAFETY: one question; the answer is copied and freed.
        unsafe {
            let ask = self.library.mon_command;
            let result =
                ask(self.cluster, &raw mut words, 1, null(), 0, &raw mut answer, &raw mut length, null_mut(), null_mut());
            let told = if answer.is_null() { Vec::new() } else { std::slice::from_raw_parts(answer.cast(), length).to_vec() };
            (self.library.buffer_free)(answer);
            done(result).map(|_| told)
        }
    }

    /// The same, and for no longer than a question may take, where an operation may be long in coming: once nothing is
    /// under way any more, as the library has one limit for all.
    pub(super) fn ask_soon(&self, question: &str) -> Result<Vec<u8>> {
        self.limit(c"rados_mon_op_timeout", self.operation_s().min(QUESTION_S))?;
        let answer = self.ask(question).map_err(|error| self.failed("ask a monitor of", "", error));
        self.limit(c"rados_mon_op_timeout", self.operation_s())?;
        answer
    }

    /// Bytes read at an offset; 0 behind the end.
    pub(super) fn read(&self, name: &CStr, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is as long as is said.
        let result =
            unsafe { (self.library.read)(self.context, name.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len(), offset) };
        done(result).map(|count| count as usize)
    }

    /// Writes all of it; it is on all replicas then.
    pub(super) fn write(&self, name: &CStr, offset: u64, buffer: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is as long as is said.
        self.compound(name, |_, operation| unsafe { self.put(operation, buffer.as_ptr(), buffer.len(), offset) })
    }

    /// What OSDs are told of each object that is written to.
    pub(super) fn hint(&self) -> Option<Hint> {
        self.spec.write_once.then(|| Hint::write_once(self.spec.object_bytes))
    }

    /// Has an operation write a copy of the bytes at `start`.
    ///
    /// # Safety
    /// `length` bytes lie there.
    pub(super) unsafe fn put(&self, operation: WriteOp, start: *const u8, length: usize, offset: u64) {
        // SAFETY: as above.
        unsafe {
            if let Some(hint) = self.hint() {
                (self.library.write_op_set_alloc_hint2)(operation, hint.object_bytes, length as u64, hint.flags);
            }
            (self.library.write_op_write)(operation, start.cast(), length, offset);
        }
    }

    /// Begins a write of a copy of the bytes at `start`.
    ///
    /// # Safety
    /// As for `put`, and the completion is of the library.
    pub(super) unsafe fn begin_write(
        &self,
        name: &CStr,
        completion: Completion,
        start: *const u8,
        length: usize,
        offset: u64,
    ) -> libc::c_int {
        // SAFETY: as above; the library keeps what it needs of the operation.
        unsafe {
            let operation = (self.library.create_write_op)();
            self.put(operation, start, length, offset);
            let context = self.context;
            let begun = (self.library.aio_write_op_operate)(operation, context, completion, name.as_ptr(), null_mut(), 0);
            (self.library.release_write_op)(operation);
            begun
        }
    }

    /// Writes all of it behind the end of an object, which is made where there is none.
    pub(super) fn append(&self, name: &CStr, buffer: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is as long as is said.
        done(unsafe { (self.library.append)(self.context, name.as_ptr(), buffer.as_ptr().cast(), buffer.len()) }).map(drop)
    }

    /// A whole object; `None` where there is none.
    pub(super) fn read_all(&self, name: &CStr) -> io::Result<Option<Vec<u8>>> {
        let Some(bytes) = self.size(name)? else { return Ok(None) };
        let mut contents = vec![0; bytes as usize];
        let count = self.read(name, 0, &mut contents)?;
        contents.truncate(count);
        Ok(Some(contents))
    }

    /// Bytes of an object; `None` where there is none.
    pub(super) fn size(&self, name: &CStr) -> io::Result<Option<u64>> {
        let (mut bytes, mut time) = (0, 0);
        // SAFETY: two places to write to.
        match done(unsafe { (self.library.stat)(self.context, name.as_ptr(), &raw mut bytes, &raw mut time) }) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes an object; `NotFound` where there is none.
    pub(super) fn remove_known(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: a name.
        done(unsafe { (self.library.remove)(self.context, name.as_ptr()) }).map(drop)
    }

    /// Removes an object; one that is not there any more is no error.
    pub(super) fn remove(&self, name: &CStr) -> io::Result<()> {
        match self.remove_known(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Names of all objects in the namespace.
    pub(super) fn list(&self) -> io::Result<Vec<CString>> {
        let mut found = Vec::new();
        self.each(|name, _| found.push(name.to_owned()))?;
        Ok(found)
    }

    /// The namespaces in which there is an object of that name; the whole pool is looked through.
    pub(super) fn namespaces_with(self: &Arc<Self>, name: &CStr) -> io::Result<Vec<String>> {
        let everywhere = self.context_of(ALL_NAMESPACES)?;
        let mut found = Vec::new();
        everywhere.each(|here, namespace| {
            if here == name {
                found.push(namespace.to_string_lossy().into_owned());
            }
        })?;
        Ok(found)
    }

    /// Calls with the name and the namespace of each object that the context leads to.
    fn each(&self, mut call: impl FnMut(&CStr, &CStr)) -> io::Result<()> {
        let mut list: List = null_mut();
        // SAFETY: the list is closed; an entry is valid until the next call.
        unsafe {
            done((self.library.nobjects_list_open)(self.context, &raw mut list))?;
            let end = loop {
                let (mut entry, mut namespace): (*const c_char, *const c_char) = (null(), null());
                match done((self.library.nobjects_list_next)(list, &raw mut entry, null_mut(), &raw mut namespace)) {
                    Ok(_) => call(CStr::from_ptr(entry), CStr::from_ptr(namespace)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            (self.library.nobjects_list_close)(list);
            end
        }
    }

    /// Removes objects, several at once; the first error, after all were tried.
    pub(super) fn remove_all(&self, names: &[CString]) -> io::Result<()> {
        let mut first = Ok(());
        for some in names.chunks(REMOVED_AT_ONCE) {
            let mut begun: Vec<Completion> = Vec::with_capacity(some.len());
            // SAFETY: each completion is waited for and released; the names outlive it.
            unsafe {
                for name in some {
                    let mut completion: Completion = null_mut();
                    done((self.library.aio_create_completion2)(null_mut(), None, &raw mut completion))?;
                    match done((self.library.aio_remove)(self.context, name.as_ptr(), completion)) {
                        Ok(_) => begun.push(completion),
                        Err(error) => {
                            (self.library.aio_release)(completion);
                            first = first.and(Err(error));
                        }
                    }
                }
                for completion in begun {
                    (self.library.aio_wait_for_complete)(completion);
                    let result = done((self.library.aio_get_return_value)(completion));
                    (self.library.aio_release)(completion);
                    if let Err(error) = result
                        && error.kind() != io::ErrorKind::NotFound
                    {
                        first = first.and(Err(error));
                    }
                }
            }
        }
        first
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: nothing is in flight: every lane waits for its own and holds the pool.
        unsafe {
            if !self.context.is_null() {
                (self.library.ioctx_destroy)(self.context);
            }
            if !self.cluster.is_null() && self.lender.is_none() {
                (self.library.shutdown)(self.cluster);
            }
        }
    }
}
