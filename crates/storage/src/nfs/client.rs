//! One task's calls to a server, one at a time; of those that broke with their connection, again on another.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nfs3_types::nfs3::{
    self, ACCESS3args, ACCESS3resok, COMMIT3args, COMMIT3resok, CREATE3args, CREATE3resok, FSINFO3args, FSINFO3resok,
    FSSTAT3args, FSSTAT3resok, GETATTR3args, GETATTR3resok, LOOKUP3args, LOOKUP3resok, MKDIR3args, MKDIR3resok, NFS_PROGRAM,
    Nfs3Option, Nfs3Result, READDIR3args, READDIR3resok, REMOVE3args, REMOVE3resok, RENAME3args, RENAME3resok, RMDIR3args,
    RMDIR3resok, cookieverf3, createhow3, diropargs3, fattr3, filename3, ftype3, nfs_fh3, nfsstat3, sattr3, writeverf3,
};
use nfs3_types::xdr_codec::{Pack, Unpack};
use rustix::io::Errno;

use super::export::{Export, first_xid};
use super::rpc::{Procedure, Trouble, encode, errno, exchange};
use super::rpc_connection::Link;
use super::server_faults::{Mending, backoff};
use crate::wait::{SILENCE, given_up, go_on, nap};

/// One task's connection to an export.
pub(super) struct Client {
    pub(super) export: Arc<Export>,
    /// Taken out only when the client ends.
    link: Option<Link>,
    /// A server that is not heard of for so long is given up.
    pub(super) silence: Duration,
    xid: u32,
    message: Vec<u8>,
    /// The latest call went out more than once: the server may have executed an earlier one.
    repeated: bool,
    /// What this task sent again.
    pub(super) mending: Mending,
}

/// What a procedure of NFS gives, or why not.
type Answer<T, E> = Nfs3Result<T, E>;

/// A file or directory that was found or made.
pub(super) struct Found {
    pub(super) handle: nfs_fh3,
    pub(super) attributes: fattr3,
}

pub(super) const fn procedure(number: NFS_PROGRAM) -> Procedure {
    Procedure { program: nfs3::PROGRAM, version: nfs3::VERSION, number: number as u32 }
}

impl Client {
    /// For as long as nothing else is said, a server is given up that is not heard of for [`SILENCE`].
    pub(super) fn new(export: Arc<Export>) -> io::Result<Self> {
        Self::with_silence(export, SILENCE)
    }

    /// Gives a server up that is not heard of for `silence`, which is not 0.
    pub(super) fn with_silence(export: Arc<Export>, silence: Duration) -> io::Result<Self> {
        let link = Some(export.link(silence)?);
        let (xid, mending) = (first_xid(), Mending::default());
        Ok(Self { export, link, silence, xid, message: Vec::new(), repeated: false, mending })
    }

    /// As patient, on a connection of its own.
    pub(super) fn another(&self) -> io::Result<Self> {
        Self::with_silence(Arc::clone(&self.export), self.silence)
    }

    pub(super) fn link(&mut self) -> io::Result<&mut Link> {
        self.link.as_mut().ok_or_else(|| Errno::NOTCONN.into())
    }

    pub(super) fn next_xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(1);
        self.xid
    }

    /// Another connection, where this one broke; `since`: when the server was last heard of.
    /// On it, so many `calls` are sent again.
    pub(super) fn reconnect(&mut self, since: Instant, error: &io::Error, calls: usize) -> io::Result<()> {
        let broke = Instant::now();
        // A connection with an answer half read is of no use to anybody.
        self.link = None;
        self.link = Some(self.export.link_again(since, self.silence, error)?);
        self.export.troubles.sent_again(calls);
        self.mending.again(broke, calls, &format!("the connection to the server broke: {error}"));
        Ok(())
    }

    /// An answer came.
    #[inline]
    pub(super) fn answered(&mut self) {
        if self.mending.answered() {
            self.limit_silence(self.silence);
        }
    }

    /// The server asked for patience with a call, which is sent again, unless it has long said nothing else.
    pub(super) fn delayed(&mut self) -> io::Result<()> {
        go_on()?;
        if self.mending.lasts() >= self.silence {
            let text = format!("the server asked for patience (JUKEBOX) for {} s", self.silence.as_secs_f64());
            return Err(given_up(&text));
        }
        self.export.troubles.delayed();
        self.mending.again(Instant::now(), 1, "the server asked for patience (JUKEBOX)");
        Ok(())
    }

    /// Nothing may be expected on it any more: it is not for others.
    pub(super) fn abandon(&mut self) {
        self.link = None;
    }

    fn call<T: Unpack, E: Unpack>(&mut self, number: NFS_PROGRAM, args: &impl Pack) -> io::Result<T> {
        let (since, mut pauses) = (Instant::now(), backoff());
        self.repeated = false;
        let mut xid = self.next_xid();
        loop {
            let export = Arc::clone(&self.export);
            encode(&mut self.message, xid, procedure(number), &export.credential, 0, |out| args.pack(out));
            let link = self.link.as_mut().ok_or(Errno::NOTCONN)?;
            match exchange::<Answer<T, E>>(link, xid, &self.message) {
                Ok(Nfs3Result::Ok(value)) => {
                    self.answered();
                    return Ok(value);
                }
                Ok(Nfs3Result::Err((nfsstat3::NFS3ERR_JUKEBOX, _))) => {
                    self.delayed()?;
                    nap(pauses.next().unwrap_or_default().min(self.silence))?;
                    // By the same number the server would only repeat its answer.
                    xid = self.next_xid();
                }
                Ok(Nfs3Result::Err((status, _))) => {
                    self.answered();
                    return Err(errno(status));
                }
                Err(Trouble::Connection(error)) => {
                    self.reconnect(since, &error, 1)?;
                    self.repeated = true;
                }
                Err(Trouble::Answer(error)) => return Err(error),
            }
        }
    }

    /// Whether `error` is what a call says whose first try was executed although its answer was lost.
    fn done_before(&self, error: &io::Error, kind: io::ErrorKind) -> bool {
        self.repeated && error.kind() == kind
    }

    pub(super) fn attributes(&mut self, handle: &nfs_fh3) -> io::Result<fattr3> {
        let args = GETATTR3args { object: handle.clone() };
        let found: GETATTR3resok = self.call::<_, nfs3_types::xdr_codec::Void>(NFS_PROGRAM::NFSPROC3_GETATTR, &args)?;
        Ok(found.obj_attributes)
    }

    pub(super) fn lookup(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<Found> {
        let args = LOOKUP3args { what: at(directory, name) };
        let found: LOOKUP3resok = self.call::<_, nfs3::LOOKUP3resfail>(NFS_PROGRAM::NFSPROC3_LOOKUP, &args)?;
        self.found(found.object, found.obj_attributes)
    }

    fn found(&mut self, handle: nfs_fh3, attributes: Nfs3Option<fattr3>) -> io::Result<Found> {
        let attributes = match attributes {
            Nfs3Option::Some(attributes) => attributes,
            Nfs3Option::None => self.attributes(&handle)?,
        };
        Ok(Found { handle, attributes })
    }

    /// A regular file that is there.
    pub(super) fn open(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<Found> {
        regular(self.lookup(directory, name)?)
    }

    /// A regular file, made where there is none; with `exclusive`, there must be none.
    pub(super) fn create(&mut self, directory: &nfs_fh3, name: &[u8], exclusive: bool) -> io::Result<Found> {
        let attributes = sattr3 { mode: Nfs3Option::Some(0o600), ..sattr3::default() };
        let how = if exclusive { createhow3::GUARDED(attributes) } else { createhow3::UNCHECKED(attributes) };
        let args = CREATE3args { where_: at(directory, name), how };
        match self.call::<CREATE3resok, nfs3::CREATE3resfail>(NFS_PROGRAM::NFSPROC3_CREATE, &args) {
            Ok(CREATE3resok { obj: Nfs3Option::Some(handle), obj_attributes, .. }) => {
                regular(self.found(handle, obj_attributes)?)
            }
            Ok(_) => self.open(directory, name),
            Err(error) if self.done_before(&error, io::ErrorKind::AlreadyExists) => self.open(directory, name),
            Err(error) => Err(error),
        }
    }

    pub(super) fn make_directory(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<nfs_fh3> {
        let attributes = sattr3 { mode: Nfs3Option::Some(0o700), ..sattr3::default() };
        let args = MKDIR3args { where_: at(directory, name), attributes };
        match self.call::<MKDIR3resok, nfs3::MKDIR3resfail>(NFS_PROGRAM::NFSPROC3_MKDIR, &args) {
            Ok(MKDIR3resok { obj: Nfs3Option::Some(handle), .. }) => Ok(handle),
            Ok(_) => self.enter(directory, name),
            Err(error) if self.done_before(&error, io::ErrorKind::AlreadyExists) => self.enter(directory, name),
            Err(error) => Err(error),
        }
    }

    /// A directory that is there.
    pub(super) fn enter(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<nfs_fh3> {
        let found = self.lookup(directory, name)?;
        match found.attributes.type_ {
            ftype3::NF3DIR => Ok(found.handle),
            ftype3::NF3LNK => Err(Errno::LOOP.into()),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    pub(super) fn remove(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<()> {
        let args = REMOVE3args { object: at(directory, name) };
        let removed = self.call::<REMOVE3resok, nfs3::REMOVE3resfail>(NFS_PROGRAM::NFSPROC3_REMOVE, &args).map(drop);
        removed.or_else(|error| if self.done_before(&error, io::ErrorKind::NotFound) { Ok(()) } else { Err(error) })
    }

    pub(super) fn remove_directory(&mut self, directory: &nfs_fh3, name: &[u8]) -> io::Result<()> {
        let args = RMDIR3args { object: at(directory, name) };
        let removed = self.call::<RMDIR3resok, nfs3::RMDIR3resfail>(NFS_PROGRAM::NFSPROC3_RMDIR, &args).map(drop);
        removed.or_else(|error| if self.done_before(&error, io::ErrorKind::NotFound) { Ok(()) } else { Err(error) })
    }

    /// Within one directory.
    pub(super) fn rename(&mut self, directory: &nfs_fh3, from: &[u8], to: &[u8]) -> io::Result<()> {
        let args = RENAME3args { from: at(directory, from), to: at(directory, to) };
        let renamed = self.call::<RENAME3resok, nfs3::RENAME3resfail>(NFS_PROGRAM::NFSPROC3_RENAME, &args).map(drop);
        match renamed {
            Err(error) if self.done_before(&error, io::ErrorKind::NotFound) => self.lookup(directory, to).map(drop),
            other => other,
        }
    }

    /// Calls `each` with the names in a directory, `.` and `..` left out.
    pub(super) fn list(&mut self, directory: &nfs_fh3, count: u32, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let (mut cookie, mut cookieverf) = (0, cookieverf3::default());
        loop {
            let args = READDIR3args { dir: directory.clone(), cookie, cookieverf, count };
            let page: READDIR3resok<'_> = self.call::<_, nfs3::READDIR3resfail>(NFS_PROGRAM::NFSPROC3_READDIR, &args)?;
            cookieverf = page.cookieverf;
            let before = cookie;
            for entry in page.reply.entries.into_inner() {
                cookie = entry.cookie;
                if !matches!(entry.name.as_ref(), b"." | b"..") {
                    each(entry.name.as_ref());
                }
            }
            if page.reply.eof {
                return Ok(());
            }
            if cookie == before {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the server lists nothing and no end"));
            }
        }
    }

    /// Makes what was written to a file durable; the server's number for this time that it runs.
    ///
    /// As no workload tries it again and a server may be long about much, its patience is never less than the usual.
    pub(super) fn commit(&mut self, file: &nfs_fh3) -> io::Result<writeverf3> {
        let args = COMMIT3args { file: file.clone(), offset: 0, count: 0 };
        let silence = self.silence;
        self.limit_silence(silence.max(SILENCE));
        let done = self.call::<COMMIT3resok, nfs3::COMMIT3resfail>(NFS_PROGRAM::NFSPROC3_COMMIT, &args);
        self.limit_silence(silence);
        Ok(done?.verf)
    }

    fn limit_silence(&mut self, silence: Duration) {
        self.silence = silence;
        if let Some(link) = &mut self.link {
            // A connection that takes no limit is broken, as the next call on it will find.
            let _ = link.limit_silence(silence);
        }
    }

    pub(super) fn sizes(&mut self) -> io::Result<FSINFO3resok> {
        let args = FSINFO3args { fsroot: self.export.root.clone() };
        self.call::<_, nfs3::FSINFO3resfail>(NFS_PROGRAM::NFSPROC3_FSINFO, &args)
    }

    pub(super) fn space(&mut self) -> io::Result<FSSTAT3resok> {
        let args = FSSTAT3args { fsroot: self.export.root.clone() };
        self.call::<_, nfs3::FSSTAT3resfail>(NFS_PROGRAM::NFSPROC3_FSSTAT, &args)
    }

    /// Which of `wanted` this user may do with the export's directory.
    pub(super) fn access(&mut self, wanted: u32) -> io::Result<u32> {
        let args = ACCESS3args { object: self.export.root.clone(), access: wanted };
        let found: ACCESS3resok = self.call::<_, nfs3::ACCESS3resfail>(NFS_PROGRAM::NFSPROC3_ACCESS, &args)?;
        Ok(found.access)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            self.export.give_back(link);
        }
    }
}

fn at<'a>(directory: &nfs_fh3, name: &'a [u8]) -> diropargs3<'a> {
    diropargs3 { dir: directory.clone(), name: filename3::from(name) }
}

fn regular(found: Found) -> io::Result<Found> {
    match found.attributes.type_ {
        ftype3::NF3REG => Ok(found),
        ftype3::NF3LNK => Err(Errno::LOOP.into()),
        ftype3::NF3DIR => Err(Errno::ISDIR.into()),
        _ => Err(Errno::INVAL.into()),
    }
}
