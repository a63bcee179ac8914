//! Where the objects of a phase are, in a storage that spreads them over servers. Field names are those of
//! `docs/record-format.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Objects of a phase that are held by the same servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct HeldResult {
    pub group: u32,
    pub osds: Vec<u32>,
    pub objects: u64,
    pub names: Vec<String>,
    pub writes: u64,
    pub written_bytes: u64,
    pub reads: u64,
    pub read_bytes: u64,
}

/// Where all of them are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct PlacementResult {
    pub epoch: u64,
    pub groups: u32,
    pub unplaced_objects: u64,
    pub held: Vec<HeldResult>,
}

impl PlacementResult {
    /// With the objects of another process of the same phase. Those on which both worked count for each.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let mut held: BTreeMap<u32, HeldResult> = BTreeMap::new();
        for more in self.held.into_iter().chain(other.held) {
            let HeldResult { objects, writes, written_bytes, reads, read_bytes, .. } = more;
            match held.get_mut(&more.group) {
                None => drop(held.insert(more.group, more)),
                Some(sum) => {
                    sum.objects += objects;
                    sum.names.extend(more.names);
                    sum.writes += writes;
                    sum.written_bytes += written_bytes;
                    sum.reads += reads;
                    sum.read_bytes += read_bytes;
                }
            }
        }
        Self {
            epoch: self.epoch.max(other.epoch),
            groups: self.groups.max(other.groups),
            unplaced_objects: self.unplaced_objects + other.unplaced_objects,
            held: held.into_values().collect(),
        }
    }
}
