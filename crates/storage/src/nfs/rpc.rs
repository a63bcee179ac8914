//! Calls and replies of ONC RPC (RFC 5531), and what a server may answer instead.

use std::io;

use nfs3_types::nfs3::nfsstat3;
use nfs3_types::rpc::{RPC_VERSION_2, accept_stat_data, call_body, msg_body, opaque_auth, rejected_reply, reply_body, rpc_msg};
use nfs3_types::xdr_codec::{self, Pack, Unpack};
use rustix::io::Errno;

use super::rpc_connection::Link;

/// Which procedure of a server is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Procedure {
    pub(super) program: u32,
    pub(super) version: u32,
    pub(super) number: u32,
}

/// Why a call has no result.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection broke or fell silent: nobody knows what became of the call.
    Connection(io::Error),
    /// The server answered, and the answer is no result.
    Answer(io::Error),
}

impl Trouble {
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Connection(error) | Self::Answer(error) => error,
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<xdr_codec::Error> for Trouble {
    fn from(error: xdr_codec::Error) -> Self {
        match error {
            xdr_codec::Error::Io(error) => Self::Connection(error),
            other => Self::Answer(io::Error::new(io::ErrorKind::InvalidData, format!("an answer that is none of NFS: {other}"))),
        }
    }
}

/// Puts a call into `out`, with the mark of a record of one fragment; `payload` bytes are to follow what `pack` adds.
pub(super) fn encode(
    out: &mut Vec<u8>,
    xid: u32,
    procedure: Procedure,
    credential: &opaque_auth<'_>,
    payload: usize,
    pack: impl FnOnce(&mut Vec<u8>) -> xdr_codec::Result<usize>,
) {
    let cred = opaque_auth { flavor: credential.flavor, body: xdr_codec::Opaque::borrowed(credential.body.0.as_ref()) };
    let Procedure { program: prog, version: vers, number } = procedure;
    let call = call_body { rpcvers: RPC_VERSION_2, prog, vers, proc: number, cred, verf: opaque_auth::default() };
    out.clear();
    out.extend([0; 4]);
    let packed = rpc_msg { xid, body: msg_body::CALL(call) }.pack(out).and_then(|_| pack(out));
    // It fails for what is longer than 4 GiB, and nothing here is.
    packed.expect("memory takes what is packed");
    let length = (out.len() - 4 + payload) as u32;
    out[..4].copy_from_slice(&(length | 1 << 31).to_be_bytes());
}

/// Reads the head of a reply: which call it answers, and whether the call was executed.
pub(super) fn reply(link: &mut Link) -> Result<(u32, io::Result<()>), Trouble> {
    link.next_record()?;
    let (message, _) = rpc_msg::unpack(link)?;
    let refused = |errno: Errno, text: &str| Err(io::Error::new(io::Error::from(errno).kind(), text.to_owned()));
    let executed = match message.body {
        msg_body::CALL(_) => refused(Errno::PROTO, "the server calls instead of answering"),
        msg_body::REPLY(reply_body::MSG_DENIED(rejected_reply::AUTH_ERROR(why))) => {
            refused(Errno::ACCESS, &format!("the server does not take plain user numbers (AUTH_SYS: {why:?})"))
        }
        msg_body::REPLY(reply_body::MSG_DENIED(_)) => refused(Errno::PROTO, "the server speaks another version of RPC"),
        msg_body::REPLY(reply_body::MSG_ACCEPTED(accepted)) => match accepted.reply_data {
            accept_stat_data::SUCCESS => Ok(()),
            accept_stat_data::PROG_UNAVAIL => refused(Errno::OPNOTSUPP, "the server has no such program there"),
            accept_stat_data::PROG_MISMATCH { low, high } => {
                refused(Errno::OPNOTSUPP, &format!("the server has versions {low} to {high} of it only"))
            }
            other => refused(Errno::IO, &format!("the server could not do it ({other:?})")),
        },
    };
    Ok((message.xid, executed))
}

/// One call on a connection on which no other is under way.
pub(super) fn exchange<R: Unpack>(link: &mut Link, xid: u32, message: &[u8]) -> Result<R, Trouble> {
    link.send_all(&[message])?;
    loop {
        let (answered, executed) = reply(link)?;
        if answered == xid {
            executed.map_err(Trouble::Answer)?;
            return Ok(R::unpack(link)?.0);
        }
    }
}

/// The system's error for what a server says. Most have the numbers of Unix.
pub(super) fn errno(status: nfsstat3) -> io::Error {
    let number = match status {
        nfsstat3::NFS3ERR_NAMETOOLONG => libc::ENAMETOOLONG,
        nfsstat3::NFS3ERR_NOTEMPTY => libc::ENOTEMPTY,
        nfsstat3::NFS3ERR_DQUOT => libc::EDQUOT,
        nfsstat3::NFS3ERR_STALE | nfsstat3::NFS3ERR_BADHANDLE => libc::ESTALE,
        nfsstat3::NFS3ERR_REMOTE => libc::EREMOTE,
        nfsstat3::NFS3ERR_NOTSUPP => libc::EOPNOTSUPP,
        nfsstat3::NFS3ERR_TOOSMALL | nfsstat3::NFS3ERR_BAD_COOKIE | nfsstat3::NFS3ERR_NOT_SYNC | nfsstat3::NFS3ERR_BADTYPE => {
            libc::EINVAL
        }
        nfsstat3::NFS3ERR_SERVERFAULT => libc::EREMOTEIO,
        nfsstat3::NFS3ERR_JUKEBOX => libc::ETIMEDOUT,
        other => other as i32,
    };
    io::Error::from_raw_os_error(number)
}
