//! What a server exports: where its programs listen, the handle of the directory, and what it says of its sizes.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nfs3_types::mount::{self, dirpath, mountres3, mountstat3};
use nfs3_types::nfs3::{self, nfs_fh3};
use nfs3_types::portmap::{self, PMAP_PORT, PMAP_PROG, mapping};
use nfs3_types::rpc::{auth_unix, opaque_auth};
use nfs3_types::xdr_codec::{Opaque, Pack, Unpack};

use super::rpc::{Procedure, Trouble, encode, exchange};
use super::rpc_connection::Link;
use super::server_faults::{Troubles, backoff};
use crate::error::{Result, StorageError};
use crate::target::ExportSpec;
use crate::wait::{SILENCE, given_up, go_on, nap};

/// A server that does not answer within this time at the start is an error.
const CONNECT: Duration = Duration::from_secs(10);
/// Groups of a user that `AUTH_SYS` has room for.
const GROUPS: usize = 16;
/// Of one call at most, unless the user wants more: some servers prefer 64 times that, and a mounted client does not.
const PREFERRED_BYTES: u32 = 1 << 20;

/// An export that answers.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) spec: ExportSpec,
    address: SocketAddr,
    pub(super) credential: opaque_auth<'static>,
    /// The directory that `spec.path` names.
    pub(super) root: nfs_fh3,
    /// Connections on which nothing is under way.
    idle: Mutex<Vec<Link>>,
    pub(super) troubles: Troubles,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Export {
    /// Mounts it, in the sense of RFC 1813: learns the handle of its directory. Nothing is made.
    ///
    /// # Errors
    /// One line that says whether it was the name, the connection, the portmapper or the export.
    pub(super) fn open(spec: &ExportSpec) -> Result<Self> {
        let credential = credential();
        let cannot = |why: String| StorageError::Unsupported(format!("cannot use {}: {why}", spec.uri()));
        let address = |port| resolve(&spec.server, port).map_err(cannot);
        let mount_port = port_of(spec, spec.mount_port, mount::PROGRAM, mount::VERSION).map_err(cannot)?;
        let port = port_of(spec, spec.port, nfs3::PROGRAM, nfs3::VERSION).map_err(cannot)?;
        let mut link = connect(address(mount_port)?, "mount requests", CONNECT).map_err(cannot)?;
        let root = mounted(&mut link, spec, &credential).map_err(cannot)?;
        let address = address(port)?;
        let link = connect(address, "NFS", SILENCE).map_err(cannot)?;
        Ok(Self { spec: spec.clone(), address, credential, root, idle: Mutex::new(vec![link]), troubles: Troubles::default() })
    }

    /// One that nobody was asked for.
    #[cfg(test)]
    pub(super) fn unasked(address: SocketAddr) -> Self {
        let (path, port) = ("/".to_owned(), Some(address.port()));
        let spec = ExportSpec { server: address.ip().to_string(), path, port, mount_port: port, rsize: None, wsize: None };
        let (idle, troubles) = (Mutex::default(), Troubles::default());
        Self { spec, address, credential: credential(), root: nfs_fh3::default(), idle, troubles }
    }

    /// A connection on which nothing is under way.
    pub(super) fn link(&self, silence: Duration) -> io::Result<Link> {
        let idle = lock(&self.idle).pop();
        match idle {
            Some(mut link) => link.limit_silence(silence).map(|()| link),
            None => Link::connect(self.address, CONNECT.min(silence), silence),
        }
    }

    /// Keeps it for the next who asks.
    pub(super) fn give_back(&self, link: Link) {
        lock(&self.idle).push(link);
    }

    /// Another connection instead of one that broke, as soon as the server takes one. `since`: when the server was last
    /// heard of; an error once that is `silence` ago, and until then the new connection is not silent for longer.
    pub(super) fn link_again(&self, since: Instant, silence: Duration, error: &io::Error) -> io::Result<Link> {
        lock(&self.idle).clear();
        for pause in backoff() {
            go_on()?;
            let left = silence.saturating_sub(since.elapsed());
            if left.is_zero() {
                break;
            }
            if let Ok(link) = Link::connect(self.address, left.min(CONNECT), left) {
                self.troubles.reconnected(since.elapsed());
                return Ok(link);
            }
            nap(pause.min(left))?;
        }
        Err(given_up(&format!("the server did not come back within {} s ({error})", silence.as_secs_f64())))
    }

    /// Where something in it is, for messages.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.spec.uri().trim_end_matches('/')))
    }

    /// An error about something in it.
    pub(super) fn failed(&self, action: &'static str, name: &str, source: io::Error) -> StorageError {
        StorageError::Path { action, path: self.path(name), source }
    }

    /// Bytes of a READ or WRITE, of what the user and the server want.
    pub(super) fn size(asked: Option<u32>, preferred: u32, most: u32) -> u32 {
        let most = if most == 0 { PREFERRED_BYTES } else { most };
        let preferred = if preferred == 0 { PREFERRED_BYTES } else { preferred };
        asked.unwrap_or(preferred.min(PREFERRED_BYTES)).clamp(1, most)
    }
}

fn resolve(server: &str, port: u16) -> std::result::Result<SocketAddr, String> {
    let mut found = (server, port).to_socket_addrs().map_err(|_| format!("no address is known of {server}"))?;
    found.next().ok_or_else(|| format!("no address is known of {server}"))
}

fn connect(address: SocketAddr, what: &str, silence: Duration) -> std::result::Result<Link, String> {
    Link::connect(address, CONNECT, silence).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => format!("{address} (for {what}) did not answer within {} s", CONNECT.as_secs()),
        io::ErrorKind::ConnectionRefused => format!("nothing listens on {address} (for {what})"),
        _ => format!("{address} (for {what}) cannot be reached: {error}"),
    })
}

/// One call at the start, to a program that is no NFS.
fn ask<R: Unpack>(
    link: &mut Link,
    procedure: Procedure,
    credential: &opaque_auth<'_>,
    args: &impl Pack,
) -> std::result::Result<R, Trouble> {
    let (mut message, xid) = (Vec::new(), first_xid());
    encode(&mut message, xid, procedure, credential, 0, |out| args.pack(out));
    exchange(link, xid, &message)
}

/// Where a program listens: as the user says, or as the portmapper does.
fn port_of(spec: &ExportSpec, given: Option<u16>, program: u32, version: u32) -> std::result::Result<u16, String> {
    if let Some(port) = given {
        return Ok(port);
    }
    let silent = "give ?port=2049&mountport=20048 for a server without a portmapper";
    let mut link =
        connect(resolve(&spec.server, PMAP_PORT)?, "its portmapper", CONNECT).map_err(|why| format!("{why}; {silent}"))?;
    let number = PMAP_PROG::PMAPPROC_GETPORT as u32;
    let procedure = Procedure { program: portmap::PROGRAM, version: portmap::VERSION, number };
    let wanted = mapping { prog: program, vers: version, prot: portmap::IPPROTO_TCP, port: 0 };
    let found: u32 = ask(&mut link, procedure, &opaque_auth::default(), &wanted)
        .map_err(|trouble| format!("its portmapper gives no port: {}", trouble.into_io()))?;
    match u16::try_from(found) {
        Ok(port) if port > 0 => Ok(port),
        _ if program == nfs3::PROGRAM => Err("the server has no NFS version 3; one of version 4 only must be mounted".to_owned()),
        _ => Err(format!("its portmapper knows no mount service (program {program}, version {version}); {silent}")),
    }
}

fn mounted(link: &mut Link, spec: &ExportSpec, credential: &opaque_auth<'static>) -> std::result::Result<nfs_fh3, String> {
    let number = mount::MOUNT_PROGRAM::MOUNTPROC3_MNT as u32;
    let procedure = Procedure { program: mount::PROGRAM, version: mount::VERSION, number };
    let path = dirpath(Opaque::borrowed(spec.path.as_bytes()));
    let (server, path_text) = (&spec.server, &spec.path);
    match ask(link, procedure, credential, &path) {
        Ok(mountres3::Ok(found)) => Ok(nfs_fh3 { data: found.fhandle.0 }),
        Ok(mountres3::Err(why)) => Err(match why {
            mountstat3::MNT3ERR_NOENT => format!("{server} exports no {path_text}; see `showmount -e {server}`"),
            mountstat3::MNT3ERR_ACCES | mountstat3::MNT3ERR_PERM => {
                format!("{server} does not let this host mount {path_text}; see its list of exports")
            }
            mountstat3::MNT3ERR_NOTDIR => format!("{path_text} of {server} is no directory"),
            other => format!("{server} does not mount {path_text} ({other})"),
        }),
        Err(trouble) => Err(format!("{server} does not mount {path_text}: {}", trouble.into_io())),
    }
}

/// A number for a first call that no earlier connection is likely to have used.
pub(super) fn first_xid() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}

/// Who this process is: `AUTH_SYS`, which the server believes.
fn credential() -> opaque_auth<'static> {
    let host = rustix::system::uname().nodename().to_bytes().to_vec();
    let mut gids: Vec<u32> = rustix::process::getgroups().unwrap_or_default().iter().map(|gid| gid.as_raw()).collect();
    gids.truncate(GROUPS);
    opaque_auth::auth_unix(&auth_unix {
        stamp: first_xid(),
        machinename: Opaque::owned(host),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        gids,
    })
}
