//! Which OSDs hold the objects of a phase: each object belongs to a placement group by the hash of its name, and the
//! cluster's map says which OSDs hold a group. So a few questions to a monitor place any number of objects.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::object::Name;
use super::pool::Pool;
use super::traffic::{Ledger, Map, Meter, lock};
use crate::object_placement::{PlacedObjects, Placement, Traffic};

/// Groups that a monitor is asked about after a phase, and how long that may take: what is left is not placed.
const QUESTIONS_MOST: usize = 4096;
const QUESTIONS_TIME: Duration = Duration::from_secs(5);
/// Objects whose names are kept.
const NAMES_KEPT: usize = 4096;
/// What a group without an OSD in one of its places has there.
const NO_OSD: i64 = 0x7fff_ffff;
/// `CEPH_STR_HASH_RJENKINS`, which pools have had for ever.
const JENKINS: u8 = 2;

impl Ledger {
    /// Where the objects are that were worked on since the last call; `None` where none was.
    pub(super) fn placement(&self, pool: &Pool) -> io::Result<Option<Placement>> {
        let traffic = std::mem::take(&mut *lock(&self.traffic));
        if traffic.objects.is_empty() {
            return Ok(None);
        }
        if self.monitor_is_silent.swap(false, Ordering::Relaxed) {
            // Nobody waits for it once more, at once.
            return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
        }
        lock(&self.map).place(pool, traffic).map(Some)
    }
}

/// What an object is called and what was sent for it.
type Sent = ((u32, u64), Traffic);

/// An answer to `osd map`.
#[derive(Deserialize)]
struct Mapped {
    epoch: u64,
    /// Pool and whole hash, such as `1.7fc1f406`.
    raw_pgid: String,
    /// Pool and group.
    pgid: String,
    acting: Vec<i64>,
    acting_primary: i64,
}

/// One of `osd pool ls detail`.
#[derive(Deserialize)]
struct PoolFacts {
    pool_name: String,
    pg_num: u32,
    object_hash: u8,
}

impl Map {
    fn place(&mut self, pool: &Pool, traffic: Meter) -> io::Result<Placement> {
        let mut objects: Vec<_> = traffic.objects.into_iter().collect();
        objects.sort_unstable_by_key(|(object, _)| *object);
        let ((file, number), _) = objects[0];
        self.renew(pool, &Name::new(file, number))?;
        let mut groups: BTreeMap<u32, Vec<Sent>> = BTreeMap::new();
        for ((file, number), traffic) in objects {
            let hash = hash_of(&pool.spec.namespace, Name::new(file, number).as_c_str());
            groups.entry(stable_mod(hash, self.groups)).or_default().push(((file, number), traffic));
        }
        let until = Instant::now() + QUESTIONS_TIME;
        let names_each = (NAMES_KEPT / groups.len()).max(1);
        let mut found =
            Placement { epoch: self.epoch, groups: self.groups, unplaced_objects: traffic.beyond, ..Placement::default() };
        for (group, objects) in groups {
            let ((file, number), _) = objects[0];
            let Some(osds) = self.osds_of(pool, group, &Name::new(file, number), until)? else {
                found.unplaced_objects += objects.len() as u64;
                continue;
            };
            let mut held = PlacedObjects { group, osds, objects: objects.len() as u64, ..PlacedObjects::default() };
            for ((file, number), traffic) in &objects {
                held.traffic.add(traffic);
                if held.names.len() < names_each {
                    held.names.push(Name::new(*file, *number).as_c_str().to_string_lossy().into_owned());
                }
            }
            found.held.push(held);
        }
        Ok(found)
    }

    /// Asks for one object, to see whether the map has changed since the last time.
    fn renew(&mut self, pool: &Pool, name: &Name) -> io::Result<()> {
        let now = ask(pool, name)?;
        if now.epoch == self.epoch {
            return Ok(());
        }
        let facts = pool_facts(pool)?;
        if facts.object_hash != JENKINS {
            return Err(io::Error::other("the pool hashes names in a way of its own"));
        }
        let hash = hash_of(&pool.spec.namespace, name.as_c_str());
        // What is computed here must be what the cluster says.
        if number_of(&now.raw_pgid) != Some(hash) || number_of(&now.pgid) != Some(stable_mod(hash, facts.pg_num)) {
            return Err(io::Error::other("a monitor places objects otherwise than is known here"));
        }
        *self = Self { epoch: now.epoch, groups: facts.pg_num, osds: HashMap::new() };
        self.keep(&now).map(drop)
    }

    /// The OSDs of a group; `None` where there is no more time to ask.
    fn osds_of(&mut self, pool: &Pool, group: u32, name: &Name, until: Instant) -> io::Result<Option<Vec<u32>>> {
        if let Some(known) = self.osds.get(&group) {
            return Ok(Some(known.clone()));
        }
        if self.osds.len() >= QUESTIONS_MOST || Instant::now() >= until {
            return Ok(None);
        }
        self.keep(&ask(pool, name)?).map(Some)
    }

    fn keep(&mut self, answer: &Mapped) -> io::Result<Vec<u32>> {
        let odd = || io::Error::other(format!("a monitor names a group {:?}", answer.pgid));
        let group = number_of(&answer.pgid).ok_or_else(odd)?;
        let others = answer.acting.iter().copied().filter(|&osd| osd != answer.acting_primary);
        let all = std::iter::once(answer.acting_primary).chain(others);
        let osds: Vec<u32> = all.filter(|&osd| osd != NO_OSD).filter_map(|osd| u32::try_from(osd).ok()).collect();
        self.osds.insert(group, osds.clone());
        Ok(osds)
    }
}

/// The hexadecimal number after the pool's, of `1.7fc1f406`.
fn number_of(group: &str) -> Option<u32> {
    group.rsplit_once('.').and_then(|(_, number)| u32::from_str_radix(number, 16).ok())
}

fn ask(pool: &Pool, name: &Name) -> io::Result<Mapped> {
    let object = name.as_c_str().to_string_lossy();
    let question = serde_json::json!({
        "prefix": "osd map", "pool": pool.spec.pool, "object": object, "nspace": pool.spec.namespace, "format": "json",
    });
    Ok(serde_json::from_slice(&pool.ask(&question.to_string())?)?)
}

fn pool_facts(pool: &Pool) -> io::Result<PoolFacts> {
    let question = serde_json::json!({"prefix": "osd pool ls", "detail": "detail", "format": "json"});
    let pools: Vec<PoolFacts> = serde_json::from_slice(&pool.ask(&question.to_string())?)?;
    let found = pools.into_iter().find(|facts| facts.pool_name == pool.spec.pool);
    found.ok_or_else(|| io::Error::other("a monitor does not know the pool any more"))
}

/// The hash by which Ceph places an object: of its namespace, a unit separator and its name.
fn hash_of(namespace: &str, name: &CStr) -> u32 {
    jenkins(&[namespace.as_bytes(), b"\x1f", name.to_bytes()].concat())
}

/// The group of a hash among `groups`: as that number grows, groups only ever split.
fn stable_mod(hash: u32, groups: u32) -> u32 {
    let mask = groups.next_power_of_two() - 1;
    if hash & mask < groups { hash & mask } else { hash & (mask >> 1) }
}

/// Bob Jenkins's hash of 1996 (lookup2), which he gave to the public domain, with a seed of 0.
fn jenkins(key: &[u8]) -> u32 {
    const GOLDEN: u32 = 0x9e37_79b9;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, &byte| (word << 8) | u32::from(byte));
    let mut state = [GOLDEN, GOLDEN, 0];
    let mut blocks = key.chunks_exact(12);
    for block in &mut blocks {
        for (part, bytes) in state.iter_mut().zip(block.chunks(4)) {
            *part = part.wrapping_add(word(bytes));
        }
        mix(&mut state);
    }
    let rest = blocks.remainder();
    // The lowest byte of the third word is for the length.
    for (part, (from, to)) in state.iter_mut().zip([(0, 4), (4, 8), (8, 11)]) {
        let bytes = rest.get(from.min(rest.len())..to.min(rest.len())).unwrap_or_default();
        let value = word(bytes);
        *part = part.wrapping_add(if from == 8 { value << 8 } else { value });
    }
    state[2] = state[2].wrapping_add(key.len() as u32);
    mix(&mut state);
    state[2]
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    for (right_a, left_b, right_c) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> right_a);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << left_b);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> right_c);
    }
    *state = [a, b, c];
}

#[cfg(test)]
mod tests {
    use tonnage_workload::Op;

    use super::*;

    #[test]
    fn names_hash_as_a_monitor_of_ceph_16_says() {
        for (namespace, name, hash) in [
            ("tonnage-abc", c"data.00000000.00000000", 0x404a_c00c),
            ("tonnage-00c0ffee", c"data.00000007.000000ab", 0xe210_39bd),
            ("tonnage-abcdef", c"data.99999999.ffffffff", 0x60a5_0baa),
            ("a", c"x", 0x52d8_02a5),
            ("ns", c"abcdefgh", 0x3942_8e94),
            ("ns", c"abcdefghi", 0xe37f_3e5f),
        ] {
            assert_eq!(hash_of(namespace, name), hash, "{namespace} {name:?}");
        }
    }

    #[test]
    fn groups_split_in_two_as_their_number_grows() {
        for hash in [0, 5, 0x404a_c00c, u32::MAX] {
            for groups in 1..200 {
                let (few, many) = (stable_mod(hash, groups), stable_mod(hash, groups + 1));
                assert!(few < groups && (many == few || many == groups), "{hash:x} {groups}");
            }
        }
        assert_eq!((stable_mod(0x404a_c00c, 32), stable_mod(0xff, 12)), (0xc, 7));
    }

    #[test]
    fn objects_beyond_the_limit_are_counted_and_not_told_apart() {
        let mut meter = Meter::default();
        meter.count(0, 0, Op::Write, 10);
        meter.count(0, 0, Op::Read, 4);
        let mut other = Meter { beyond: 3, ..Meter::default() };
        other.count(0, 0, Op::Write, 1);
        other.count(7, 0, Op::Write, 1);
        meter.add(other);
        let traffic = meter.objects[&(0, 0)];
        assert_eq!((traffic.writes, traffic.written_bytes, traffic.reads, traffic.read_bytes), (2, 11, 1, 4));
        assert_eq!((meter.objects.len(), meter.beyond), (2, 3));
    }
}
