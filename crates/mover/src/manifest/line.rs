//! One line: one path, and what was put there.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::hex::{hex, unhex};
use crate::path::TreePath;
use crate::version::{Kind, Version};

/// What was put under a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where, from the tree's root.
    pub path: TreePath,
    /// What it is.
    pub kind: Kind,
    /// Bytes; of a link those of its text, of a directory or FIFO 0.
    pub size: u64,
    /// Last change of the source's bytes, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Permission bits.
    pub mode: u32,
    /// BLAKE3 of all bytes, of a link that of its text; `None` where none was asked for.
    pub checksum: Option<[u8; 32]>,
    /// When it was safe, nanoseconds since 1970.
    pub staged_ns: i64,
    /// Host it was staged from.
    pub host: String,
}

/// The keys, in the order they are written in.
#[derive(Serialize, Deserialize)]
struct Keys {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    kind: Name,
    size: u64,
    mtime_ns: i64,
    mode: u32,
    blake3: Option<String>,
    staged_ns: i64,
    host: String,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    File,
    Directory,
    Link,
    Fifo,
    Special,
}

impl Line {
    /// A line of `version` of `path`, staged now from this host.
    #[must_use]
    pub fn now(path: &TreePath, version: &Version, checksum: Option<[u8; 32]>) -> Self {
        let has_bytes = matches!(version.kind, Kind::File | Kind::Link);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            path: path.clone(),
            kind: version.kind,
            size: if has_bytes { version.size } else { 0 },
            mtime_ns: version.mtime_ns,
            mode: version.mode,
            checksum,
            staged_ns: since.as_nanos() as i64,
            host: host().to_owned(),
        }
    }

    /// Adds the line to `out`, its end included.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let text = std::str::from_utf8(self.path.bytes()).ok();
        let keys = Keys {
            path: text.map(str::to_owned),
            path_hex: text.is_none().then(|| hex(self.path.bytes())),
            kind: name(self.kind),
            size: self.size,
            mtime_ns: self.mtime_ns,
            mode: self.mode,
            blake3: self.checksum.map(|checksum| hex(&checksum)),
            staged_ns: self.staged_ns,
            host: self.host.clone(),
        };
        serde_json::to_writer(&mut *out, &keys).expect("text and numbers, written to memory");
        out.push(b'\n');
    }

    /// Reads one line; `None` where it is torn, or says what cannot be.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let keys: Keys = serde_json::from_slice(text).ok()?;
        let path = match (keys.path, keys.path_hex) {
            (Some(path), None) => path.into_bytes(),
            (None, Some(digits)) => unhex(&digits)?,
            _ => return None,
        };
        let checksum = match keys.blake3 {
            Some(digits) => Some(unhex(&digits)?.try_into().ok()?),
            None => None,
        };
        Some(Self {
            path: TreePath::new(&path)?,
            kind: kind(keys.kind),
            size: keys.size,
            mtime_ns: keys.mtime_ns,
            mode: keys.mode,
            checksum,
            staged_ns: keys.staged_ns,
            host: keys.host,
        })
    }
}

fn name(kind: Kind) -> Name {
    match kind {
        Kind::File => Name::File,
        Kind::Directory => Name::Directory,
        Kind::Link => Name::Link,
        Kind::Fifo => Name::Fifo,
        Kind::Special => Name::Special,
    }
}

fn kind(name: Name) -> Kind {
    match name {
        Name::File => Kind::File,
        Name::Directory => Kind::Directory,
        Name::Link => Kind::Link,
        Name::Fifo => Kind::Fifo,
        Name::Special => Kind::Special,
    }
}

fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}
