//! Which pool of Ceph.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How long an operation waits for an OSD, or a monitor, where nothing else is said; by default librados waits forever.
const OPERATION_NS: u64 = 60_000_000_000;

/// Which objects are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    /// Name of the pool, which is there.
    pub pool: String,
    /// The run's own namespace in it.
    pub namespace: String,
    /// Bytes of an object; a file has as many as it needs.
    pub object_bytes: u64,
    /// Ceph's configuration file; `None`: where Ceph looks for it.
    #[serde(default)]
    pub conf: Option<PathBuf>,
    /// Ceph's name for who asks, such as `client.admin`.
    #[serde(default = "admin")]
    pub user: String,
    /// OSDs are told with each write that the object is written once, in order, and read that way.
    #[serde(default)]
    pub write_once: bool,
    /// An operation that no OSD, and no monitor, has answered for so long has failed.
    #[serde(default = "default_timeout")]
    pub timeout_ns: u64,
}

const fn default_timeout() -> u64 {
    OPERATION_NS
}

fn admin() -> String {
    "client.admin".to_owned()
}
