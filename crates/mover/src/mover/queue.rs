//! What is to be copied next, in memory: numbers of journal entries, never paths, so that a million of them are small.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::rules::Key;

/// Entries that are not safe yet, each ready, kept or in flight.
#[derive(Debug, Default)]
pub struct Queue {
    /// May hold numbers that have moved on; `places` decides.
    ready: BinaryHeap<Reverse<(Key, i64)>>,
    places: HashMap<i64, EntryState>,
    kept: HashMap<i64, Wait>,
    flying: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    Ready(Key),
    /// `again`: it was seen changed while it was on its way.
    Flying {
        again: bool,
    },
}

/// What keeps an entry, and since when. Outlives the moments in which it is tried again.
#[derive(Clone, Debug)]
pub struct Wait {
    /// When it is looked at again, in nanoseconds of the monotonic clock.
    pub due_ns: u64,
    /// Since when it has been kept.
    pub since_ns: u64,
    /// What keeps it.
    pub reason: String,
    key: Key,
}

impl Queue {
    /// Puts an entry among the ready ones. One in flight goes again after it has landed.
    pub fn push(&mut self, id: i64, key: Key) {
        match self.places.get_mut(&id) {
            Some(EntryState::Flying { again }) => *again = true,
            Some(EntryState::Ready(known)) if *known == key => {}
            Some(EntryState::Ready(_)) | None => {
                self.places.insert(id, EntryState::Ready(key));
                self.ready.push(Reverse((key, id)));
            }
        }
    }

    /// Whether it is here already, ready, kept or in flight.
    pub fn holds(&self, id: i64) -> bool {
        self.places.contains_key(&id) || self.kept.contains_key(&id)
    }

    /// Whether it is in flight.
    pub fn flies(&self, id: i64) -> bool {
        matches!(self.places.get(&id), Some(EntryState::Flying { .. }))
    }

    /// All that are in flight.
    pub fn all_flying(&self) -> Vec<i64> {
        self.places.iter().filter(|(_, place)| matches!(place, EntryState::Flying { .. })).map(|(&id, _)| id).collect()
    }

    /// Takes the next ones off, at most `count`, with whether it is for the first time. Each is in flight until it has landed or is
    /// kept.
    pub fn take(&mut self, count: usize) -> Vec<(i64, bool)> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let Some(Reverse((key, id))) = self.ready.pop() else { break };
            if self.places.get(&id) == Some(&EntryState::Ready(key)) {
                self.places.insert(id, EntryState::Flying { again: false });
                self.flying += 1;
                taken.push((id, !self.kept.contains_key(&id)));
            }
        }
        taken
    }

    /// Takes back one that was taken and not begun.
    pub fn give_back(&mut self, id: i64, key: Key) {
        self.flying -= usize::from(matches!(self.places.remove(&id), Some(EntryState::Flying { .. })));
        self.push(id, key);
    }

    /// An entry in flight is through, whatever became of it; `true` if it was seen changed meanwhile.
    pub fn land(&mut self, id: i64) -> bool {
        self.kept.remove(&id);
        match self.places.remove(&id) {
            Some(EntryState::Flying { again }) => {
                self.flying -= 1;
                again
            }
            _ => false,
        }
    }

    /// An entry in flight, or a new one, cannot go before `due_ns`.
    pub fn keep(&mut self, id: i64, key: Key, now_ns: u64, due_ns: u64, reason: String) {
        if let Some(EntryState::Flying { .. }) = self.places.remove(&id) {
            self.flying -= 1;
        }
        let since_ns = self.kept_since_ns(id).unwrap_or(now_ns);
        self.kept.insert(id, Wait { due_ns, since_ns, reason, key });
    }

    /// What was kept before it was ever taken may go.
    pub fn release(&mut self, id: i64, key: Key) {
        self.kept.remove(&id);
        self.push(id, key);
    }

    /// Since when an entry has been kept, tried in between or not.
    pub fn kept_since_ns(&self, id: i64) -> Option<u64> {
        self.kept.get(&id).map(|wait| wait.since_ns)
    }

    /// Makes the kept ones ready whose time has come; how many.
    pub fn wake(&mut self, now_ns: u64) -> usize {
        let due: Vec<(i64, Key)> = self
            .kept
            .iter()
            .filter(|(id, wait)| wait.due_ns <= now_ns && !self.places.contains_key(id))
            .map(|(&id, wait)| (id, wait.key))
            .collect();
        for &(id, key) in &due {
            self.push(id, key);
        }
        due.len()
    }

    /// What keeps entries, in no order.
    pub fn waits(&self) -> impl Iterator<Item = (i64, &Wait)> {
        self.kept.iter().map(|(&id, wait)| (id, wait))
    }

    /// Number of ready ones.
    pub fn ready(&self) -> usize {
        self.places.len() - self.flying
    }

    /// Number in flight.
    pub fn flying(&self) -> usize {
        self.flying
    }

    /// Whether nothing is ready, kept or in flight.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.kept.is_empty()
    }
}
