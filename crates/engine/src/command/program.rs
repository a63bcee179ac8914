//! A program in a process of its own, started without a copy of this one.
//!
//! `fork` copies the tables of all of this process's memory for each copy of a command, and runs what libraries asked to
//! have run around it: `OpenBLAS` joins its threads there, and of two tasks that fork at once one then waits forever. So
//! the child borrows this process's memory until it is its program, as the one of `posix_spawn` does, which however
//! knows no signal at the end of the parent.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

/// Runs a file that may be executed and has no other interpreter, as `execvp` has it.
const SHELL: &CStr = c"/bin/sh";
/// Where a program is looked for without a `PATH`, as the C library does.
const USUAL_PATH: &str = "/bin:/usr/bin";
/// The child calls the kernel and little else.
const STACK_BYTES: usize = 64 << 10;
/// Ignored by an interpreter such as Python; a program has them as a shell would have left them.
const AS_USUAL: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// What is to run and where. The child becomes the leader of a process group, and is sent a SIGTERM when the thread that
/// started it ends.
pub struct Program {
    candidates: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: CString,
    streams: [OwnedFd; 3],
}

impl Program {
    /// The first of `arguments` is the program: a path, or a name that is looked for in the `PATH` of `environment`.
    ///
    /// # Errors
    /// A zero byte in any of it.
    pub fn new(
        arguments: Vec<String>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        directory: &str,
        streams: [OwnedFd; 3],
    ) -> io::Result<Self> {
        let mut path = OsString::from(USUAL_PATH);
        let mut spelled = Vec::new();
        for (name, value) in environment {
            spelled.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?);
            if name == "PATH" {
                path = value;
            }
        }
        let name = arguments.first().map_or("", String::as_str);
        Ok(Self {
            candidates: candidates(name, &path)?,
            arguments: arguments.into_iter().map(CString::new).collect::<Result<_, _>>()?,
            environment: spelled,
            directory: CString::new(directory)?,
            streams,
        })
    }

    /// The number of the process, which is this program by now.
    ///
    /// # Errors
    /// Why it cannot be: there is no process then.
    pub fn start(&self) -> io::Result<libc::pid_t> {
        let arguments = pointers(&self.arguments);
        let mut script = vec![SHELL.as_ptr(), null()];
        script.extend_from_slice(&arguments[1..]);
        let environment = pointers(&self.environment);
        let mut child = Child {
            program: self,
            arguments: arguments.as_ptr(),
            script: script.as_mut_ptr(),
            environment: environment.as_ptr(),
            parent: std::process::id() as libc::pid_t,
            errno: AtomicI32::new(0),
        };
        let pid = child.beget()?;
        match child.errno.load(Ordering::Relaxed) {
            0 => Ok(pid),
            errno => {
                // SAFETY: nobody else knows of this child.
                unsafe { libc::waitpid(pid, null_mut(), 0) };
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }
}

/// The files that a name may mean, in the order in which they are tried.
fn candidates(name: &str, path: &OsStr) -> io::Result<Vec<CString>> {
    if name.is_empty() || name.contains('/') {
        return Ok(vec![CString::new(name)?]);
    }
    let found =
        std::env::split_paths(path).map(|directory: PathBuf| CString::new(directory.join(name).into_os_string().into_vec()));
    Ok(found.collect::<Result<_, _>>()?)
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([null()]).collect()
}

/// What the child reads in the memory that it borrows, and writes: why it did not become its program.
struct Child<'a> {
    program: &'a Program,
    arguments: *const *const c_char,
    /// `/bin/sh`, room for the file, the other arguments.
    script: *mut *const c_char,
    environment: *const *const c_char,
    parent: libc::pid_t,
    errno: AtomicI32,
}

impl Child<'_> {
    /// Makes the process; this thread goes on when it has its own memory, or is gone.
    fn beget(&mut self) -> io::Result<libc::pid_t> {
        let mut stack = vec![MaybeUninit::<u128>::uninit(); STACK_BYTES / size_of::<u128>()];
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the stack and all that the child reads outlive its use of them, since CLONE_VFORK keeps this thread
        // waiting. No handler of this process can run in the child: signals are blocked until it has none.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let pid = libc::clone(become_program, top, flags, (&raw mut *self).cast());
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
            if pid < 0 { Err(error) } else { Ok(pid) }
        }
    }

    /// In the child: only system calls, no memory is allocated and no lock taken. Returns why it failed.
    ///
    /// # Safety
    /// The pointers are valid, and this is the child.
    unsafe fn settle(&self) -> Result<(), ()> {
        let done = |result: c_int| if result < 0 { Err(()) } else { Ok(()) };
        // SAFETY: of the calls, by what `Child` holds.
        unsafe {
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
            if libc::getppid() != self.parent {
                // It died in between, and its signal was sent before there was one to send.
                *libc::__errno_location() = libc::ESRCH;
                return Err(());
            }
            done(libc::setpgid(0, 0))?;
            done(libc::chdir(self.program.directory.as_ptr()))?;
            for (number, stream) in self.program.streams.iter().enumerate() {
                done(libc::dup2(stream.as_raw_fd(), number as c_int))?;
            }
            forget_handlers();
            let mut none = MaybeUninit::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            done(libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), null_mut()))
        }
    }

    /// Tries each file; returns when none of them can be executed.
    ///
    /// # Safety
    /// As `settle`.
    unsafe fn execute(&self) {
        let mut denied = false;
        for file in &self.program.candidates {
            // SAFETY: the arrays end with a null, and `script` has room for the file.
            let errno = unsafe {
                libc::execve(file.as_ptr(), self.arguments, self.environment);
                if *libc::__errno_location() == libc::ENOEXEC {
                    *self.script.add(1) = file.as_ptr();
                    libc::execve(SHELL.as_ptr(), self.script, self.environment);
                }
                *libc::__errno_location()
            };
            match errno {
                libc::EACCES => denied = true,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => return,
            }
        }
        if denied {
            // SAFETY: this thread's own.
            unsafe { *libc::__errno_location() = libc::EACCES };
        }
    }
}

extern "C" fn become_program(child: *mut c_void) -> c_int {
    // SAFETY: it is the `Child` that `beget` gave, whose thread waits.
    unsafe {
        let child = &*child.cast::<Child<'_>>();
        if child.settle().is_ok() {
            child.execute();
        }
        child.errno.store(*libc::__errno_location(), Ordering::Relaxed);
        libc::_exit(127)
    }
}

/// A handler of this process must not run in the child, which shares its memory.
///
/// # Safety
/// In the child, whose table of handlers is its own.
unsafe fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the calls read and write one `sigaction`, which is plain integers; those of the kernel's and the C
        // library's own are refused.
        unsafe {
            if libc::sigaction(signal, null(), action.as_mut_ptr()) < 0 {
                continue;
            }
            let mut action = action.assume_init();
            let ignored = action.sa_sigaction == libc::SIG_IGN && !AS_USUAL.contains(&signal);
            if !ignored && action.sa_sigaction != libc::SIG_DFL {
                action.sa_sigaction = libc::SIG_DFL;
                action.sa_flags = 0;
                libc::sigaction(signal, &raw const action, null_mut());
            }
        }
    }
}
