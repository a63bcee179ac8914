//! One line: one path, and what was put there.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bytes::checksum;
use crate::file_version::{Kind, Version};
use crate::hex::{hex, unhex};
use crate::journal_entry::Placed;
use crate::path::TreePath;

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
    /// Of a directory that this mover made: its inode there.
    pub made_ino: Option<u64>,
    /// Of what is no directory: somebody else put it there, and this mover found it the same.
    pub of_others: bool,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_ino: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    of_others: bool,
    // A key whose name is damaged must not read as a file without a checksum.
    #[serde(deserialize_with = "Option::deserialize")]
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
            made_ino: None,
            of_others: false,
            checksum,
            staged_ns: since.as_nanos() as i64,
            host: host().to_owned(),
        }
    }

    /// The same for what the journal says was put there.
    #[must_use]
    pub fn of(path: &TreePath, version: &Version, placed: Option<&Placed>) -> Self {
        let made_ino = placed.filter(|_| version.kind == Kind::Directory).and_then(Placed::made_ino);
        let of_others = version.kind != Kind::Directory && placed.is_some_and(Placed::is_of_others);
        Self { made_ino, of_others, ..Self::now(path, version, placed.and_then(|placed| placed.checksum)) }
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
            made_ino: self.made_ino,
            of_others: self.of_others,
            blake3: self.checksum.map(|checksum| hex(&checksum)),
            staged_ns: self.staged_ns,
            host: self.host.clone(),
        };
        let begin = out.len();
        serde_json::to_writer(&mut *out, &keys).expect("text and numbers, written to memory");
        out.pop();
        let sum = sum_of(&out[begin..]);
        out.extend_from_slice(&sum);
    }

    /// Reads one line; why not, where it says what no mover writes.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let keys = keys_of(text)?;
        let path = match (keys.path, keys.path_hex) {
            (Some(path), None) => path.into_bytes(),
            (None, Some(digits)) => unhex(&digits).ok_or("path_hex is not hexadecimal")?,
            _ => return Err("it needs one of path and path_hex".to_owned()),
        };
        let path = TreePath::new(&path).filter(|path| !path.is_root()).ok_or("its path is not one below the tree")?;
        let checksum = match keys.blake3 {
            Some(digits) => Some(unhex(&digits).and_then(|bytes| bytes.try_into().ok()).ok_or("blake3 is not a checksum")?),
            None => None,
        };
        let kind = kind(keys.kind);
        if kind == Kind::Special || keys.mode > PERMISSIONS {
            return Err("kind or mode is none that is staged".to_owned());
        }
        if kind != Kind::Directory && keys.made_ino.is_some() {
            return Err("made_ino is of directories alone".to_owned());
        }
        let (size, mtime_ns, mode, made_ino, of_others) = (keys.size, keys.mtime_ns, keys.mode, keys.made_ino, keys.of_others);
        Ok(Self { path, kind, size, mtime_ns, mode, made_ino, of_others, checksum, staged_ns: keys.staged_ns, host: keys.host })
    }
}

/// The end of a line that begins with `text`: the checksum of that, as its last key.
fn sum_of(text: &[u8]) -> Vec<u8> {
    let sum = hex(&checksum(text)[..SUM]);
    format!(",\"{SUM_KEY}\":\"{sum}\"}}\n").into_bytes()
}

const SUM_KEY: &str = "line_blake3";
/// Bytes of that checksum.
const SUM: usize = 8;
/// All keys that lines had before they had a checksum.
const KNOWN: [&str; 9] = ["path", "path_hex", "kind", "size", "mtime_ns", "mode", "blake3", "staged_ns", "host"];

/// What a line says, its checksum looked at.
fn keys_of(text: &[u8]) -> Result<Keys, String> {
    let said = |error: serde_json::Error| error.to_string();
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let keys: Keys = serde_json::from_slice(whole).map_err(said)?;
    let names: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(whole).map_err(said)?;
    if names.contains_key(SUM_KEY) {
        let begin = whole.len().saturating_sub(sum_of(b"").len() - 1);
        let sum = sum_of(&whole[..begin]);
        return if whole[begin..] == sum[..sum.len() - 1] { Ok(keys) } else { Err("its checksum is another".to_owned()) };
    }
    // A line of an earlier version, and not one whose checksum has a damaged name.
    match names.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        Some(name) => Err(format!("it has a key {name:?} and no checksum")),
        None => Ok(keys),
    }
}

/// All bits that a mode may have.
const PERMISSIONS: u32 = 0o7777;

/// Whether `text`, which has no end of a line, can be what a crash left of one that was being written: the beginning of a line,
/// and zeros where the file system had given it room and no bytes.
pub(super) fn is_unfinished(text: &[u8]) -> bool {
    let written = text.iter().rposition(|&byte| byte != 0).map_or(&text[..0], |at| &text[..=at]);
    let begun = |error: serde_json::Error| error.is_eof();
    written.is_empty() || (written[0] == b'{' && serde_json::from_slice::<serde_json::Value>(written).err().is_some_and(begun))
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
