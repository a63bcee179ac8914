//! Which export of NFS.

use serde::{Deserialize, Serialize};

/// Which export is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportSpec {
    /// Name or address of the server.
    pub server: String,
    /// A directory that it exports, or one in it: absolute.
    pub path: String,
    /// Where it listens for NFS; `None`: its portmapper knows.
    #[serde(default)]
    pub port: Option<u16>,
    /// Where it listens for mount requests; `None`: its portmapper knows.
    #[serde(default)]
    pub mount_port: Option<u16>,
    /// Bytes of a READ at most; the server may want fewer.
    #[serde(default)]
    pub rsize: Option<u32>,
    /// Bytes of a WRITE at most; the server may want fewer.
    #[serde(default)]
    pub wsize: Option<u32>,
}

impl ExportSpec {
    /// As a target is written.
    pub(crate) fn uri(&self) -> String {
        format!("nfs://{}{}", self.server, self.path)
    }
}
