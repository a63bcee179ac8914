//! What was sent for each object of a pool, and what is known of the cluster's map.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tonnage_workload::Op;

use crate::object_placement::Traffic;

/// Objects that a phase may tell apart; those beyond are counted only.
const OBJECTS_MOST: usize = 1 << 20;

/// What was sent for each object since the last look, and what is known of the map.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) traffic: Mutex<Meter>,
    pub(super) map: Mutex<Map>,
    /// The latest question about an error had no answer.
    pub(super) monitor_is_silent: AtomicBool,
}

/// What was sent for each object: file and number.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) objects: HashMap<(u32, u64), Traffic>,
    /// For objects that are not told apart.
    pub(super) beyond: u64,
}

impl Meter {
    /// With room for so many objects, or for as many as are told apart.
    pub(super) fn with_room(objects: u64) -> Self {
        let room = usize::try_from(objects).map_or(OBJECTS_MOST, |objects| objects.min(OBJECTS_MOST));
        Self { objects: HashMap::with_capacity(room), beyond: 0 }
    }

    /// Counts one request.
    pub(super) fn count(&mut self, file: u32, object: u64, op: Op, length: usize) {
        if self.objects.len() >= OBJECTS_MOST && !self.objects.contains_key(&(file, object)) {
            self.beyond += 1;
            return;
        }
        self.objects.entry((file, object)).or_default().count(op, length as u64);
    }

    pub(super) fn add(&mut self, other: Self) {
        self.beyond += other.beyond;
        if self.objects.is_empty() {
            self.objects = other.objects;
            return;
        }
        for (object, traffic) in other.objects {
            self.objects.entry(object).or_default().add(&traffic);
        }
    }
}

impl Ledger {
    /// A lane ends: what it sent.
    pub(super) fn take(&self, meter: &mut Meter) {
        lock(&self.traffic).add(std::mem::take(meter));
    }
}

/// What is known of the cluster's map: of one epoch of it.
#[derive(Default)]
pub(super) struct Map {
    pub(super) epoch: u64,
    pub(super) groups: u32,
    /// By number: the OSDs, the primary first.
    pub(super) osds: HashMap<u32, Vec<u32>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
