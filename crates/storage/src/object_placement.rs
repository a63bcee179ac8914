//! Where a storage that spreads objects over servers by itself has put those of a phase.

use tonnage_workload::Op;

/// What was sent for some objects: requests, and the bytes asked for, whatever became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "docs/record-format.md")]
pub struct Traffic {
    pub writes: u64,
    pub written_bytes: u64,
    pub reads: u64,
    pub read_bytes: u64,
}

impl Traffic {
    /// Counts a request.
    pub const fn count(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Write => (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes),
            Op::Read => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes),
        }
    }

    /// Counts what another counted.
    pub const fn add(&mut self, other: &Self) {
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
    }
}

/// Objects that are held by the same servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlacedObjects {
    /// Number of the placement group.
    pub group: u32,
    /// Numbers of the servers that hold a copy or a part, the one that is asked first.
    pub osds: Vec<u32>,
    /// How many objects.
    pub objects: u64,
    /// Names of them: all, or the first ones.
    pub names: Vec<String>,
    /// For all of them.
    pub traffic: Traffic,
}

/// Where the objects of a phase are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Of the map that says so.
    pub epoch: u64,
    /// How many the pool has.
    pub groups: u32,
    /// Those that objects of the phase are in, ascending.
    pub held: Vec<PlacedObjects>,
    /// Objects that were not looked up: too many, or too long a look.
    pub unplaced_objects: u64,
}
