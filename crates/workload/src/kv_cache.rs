//! `kv-cache`: users of an inference server whose key–value cache is kept on a storage, with the terms of `MLPerf` Storage.
//!
//! A user has one conversation after the other. Each turn reads what the cache holds of the turns before it and writes
//! what it adds. The instants at which turns are intended to begin are fixed beforehand, and so is which conversation is
//! evicted: all of it follows from the seed, whatever the storage does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};

use crate::common_settings::{CachePolicy, TaskRange};
use crate::integer_mixing::{SplitMix64, mix64};
use crate::spec_error::SpecError;

/// Turns of all users in a phase at most: the result has the latency of each.
const MOST_TURNS: u64 = 1 << 24;
/// Files of the cache at most.
const MOST_FILES: u64 = 1 << 24;
/// Conversations that each user has before the phase, so that the cache is in the state that it keeps.
const BEFORE: u64 = 2;

/// What a phase does with the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KvCacheStep {
    /// Writes its files.
    LayOut,
    /// Serves the users.
    Serve,
}

/// Users, each a task, and the cache that their conversations share. A conversation has a slot of the cache, and what a
/// turn adds to it is a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvCache {
    /// What is done.
    pub step: KvCacheStep,
    /// Bytes that a turn adds to a conversation.
    pub turn_bytes: u64,
    /// Turns of a conversation.
    pub turns: u32,
    /// Conversations that the cache has room for.
    pub slots: u32,
    /// Slots whose files are there and need not be laid out.
    #[serde(default)]
    pub laid_out: u32,
    /// Time from the intended start of a user's turn to that of the next, on average: a third of it to five thirds.
    pub think_ns: u64,
    /// Turns are intended to begin for so long.
    pub serve_ns: u64,
    /// Bytes of one call.
    pub transfer_size: u64,
    /// What becomes of the files' pages in the cache of the system before.
    pub cache: CachePolicy,
}

/// One turn of a user: it reads `read` files of its slot, the first ones, and writes the `written` ones behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// When it is intended to begin, after the start of the phase.
    pub due_ns: u64,
    /// Of its conversation.
    pub slot: u32,
    /// Files of the turns before it; 0 where the conversation begins, or was evicted.
    pub read: u32,
    /// Its own file, and where the conversation was evicted those of the turns before it.
    pub written: u32,
}

impl Turn {
    /// Whether the conversation was evicted, so that all of it is written anew.
    #[must_use]
    pub const fn is_miss(&self) -> bool {
        self.read == 0 && self.written > 1
    }
}

/// One user while the turns are dealt.
struct User {
    random: SplitMix64,
    /// Turns of the conversation so far.
    turn: u32,
    /// Of the conversation, and when it was last used.
    slot: Option<(u32, u64)>,
}

impl KvCache {
    /// Number of the file that turn `turn` of the conversation in `slot` adds.
    #[must_use]
    pub const fn file(&self, slot: u32, turn: u32) -> u32 {
        slot * self.turns + turn
    }

    /// The numbers of the files that the step works on.
    #[must_use]
    pub fn files(&self) -> Vec<u32> {
        let first = if self.step == KvCacheStep::LayOut { self.laid_out * self.turns } else { 0 };
        (first..self.slots * self.turns).collect()
    }

    /// The turns of each of `users` users, in their order.
    #[must_use]
    pub fn turns_of(&self, users: u32, seed: u64) -> Vec<Vec<Turn>> {
        let before_ns = BEFORE * u64::from(self.turns) * self.think_ns;
        let mut dealt = vec![Vec::new(); users as usize];
        let mut all: Vec<User> = (0..users).map(|user| self.user(user, seed)).collect();
        let mut due: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::with_capacity(users as usize);
        for (user, held) in all.iter_mut().enumerate() {
            due.push(Reverse(((held.random.next_f64() * self.think_ns as f64) as u64, user as u32)));
        }
        let mut free: Vec<u32> = (0..self.slots.min(users)).rev().collect();
        // When a slot was last used, and by whom: the first one is evicted.
        let mut used: BTreeMap<u64, u32> = BTreeMap::new();
        let mut number = 0;
        while let Some(Reverse((now_ns, user))) = due.pop() {
            if now_ns >= before_ns + self.serve_ns {
                continue;
            }
            number += 1;
            let held = &mut all[user as usize];
            let turn = held.turn;
            held.turn = (turn + 1) % self.turns;
            let was_held = held.slot.take();
            let slot = if let Some((slot, last)) = was_held {
                used.remove(&last);
                slot
            } else if let Some(slot) = free.pop() {
                slot
            } else {
                let evicted = used.pop_first().and_then(|(_, other)| all[other as usize].slot.take());
                evicted.map_or(0, |(slot, _)| slot)
            };
            let held = &mut all[user as usize];
            held.slot = Some((slot, number));
            used.insert(number, user);
            let gap = self.think_ns as f64 * (1.0 + 4.0 * held.random.next_f64()) / 3.0;
            due.push(Reverse((now_ns + (gap as u64).max(1), user)));
            if let Some(due_ns) = now_ns.checked_sub(before_ns) {
                let read = if was_held.is_some() { turn } else { 0 };
                dealt[user as usize].push(Turn { due_ns, slot, read, written: turn + 1 - read });
            }
        }
        dealt
    }

    fn user(&self, user: u32, seed: u64) -> User {
        let mut random = SplitMix64::new(mix64(seed ^ 0x6b76_2075_7365_7273) ^ mix64(u64::from(user)));
        let turn = (random.next_u64() % u64::from(self.turns)) as u32;
        User { random, turn, slot: None }
    }

    pub(crate) fn check(&self, tasks: TaskRange) -> Result<(), SpecError> {
        for (name, value) in [
            ("turn_bytes", self.turn_bytes),
            ("turns", u64::from(self.turns)),
            ("slots", u64::from(self.slots)),
            ("think_ns", self.think_ns),
            ("serve_ns", self.serve_ns),
            ("transfer_size", self.transfer_size),
        ] {
            if value == 0 {
                return Err(SpecError::Zero(name));
            }
        }
        if self.transfer_size > 1 << 30 {
            return Err(SpecError::TransferTooLarge(self.transfer_size));
        }
        let files = u64::from(self.slots) * u64::from(self.turns);
        if files > MOST_FILES || files.saturating_mul(self.turn_bytes) > i64::MAX as u64 {
            return Err(SpecError::CacheTooLarge);
        }
        if self.step == KvCacheStep::LayOut {
            return if self.laid_out < self.slots { Ok(()) } else { Err(SpecError::Zero("slots")) };
        }
        if tasks.first != 0 || tasks.here != tasks.total {
            return Err(SpecError::UsersApart);
        }
        let before_ns = u128::from(BEFORE * u64::from(self.turns)) * u128::from(self.think_ns);
        let turns = u128::from(tasks.total) * (u128::from(self.serve_ns) + before_ns) / u128::from(self.think_ns);
        if turns > u128::from(MOST_TURNS) { Err(SpecError::TooManyTurns(MOST_TURNS)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv_cache(slots: u32) -> KvCache {
        KvCache {
            step: KvCacheStep::Serve,
            turn_bytes: 4096,
            turns: 8,
            slots,
            laid_out: 0,
            think_ns: 1_000_000,
            serve_ns: 1_000_000_000,
            transfer_size: 4096,
            cache: CachePolicy::Drop,
        }
    }

    #[test]
    fn turns_of_users_follow_each_other_and_come_at_the_rate_that_was_asked_for() {
        let dealt = kv_cache(10).turns_of(10, 3);
        let all: usize = dealt.iter().map(Vec::len).sum();
        assert!((all as f64 / 10_000.0 - 1.0).abs() < 0.02, "{all}");
        for turns in &dealt {
            for pair in turns.windows(2) {
                let gap = pair[1].due_ns - pair[0].due_ns;
                assert!((333_000..=1_667_000).contains(&gap), "{gap}");
                // With room for all, each turn reads what the one before it had and wrote, or begins anew.
                assert_eq!(pair[1].read, (pair[0].read + 1) % 8);
                assert_eq!((pair[1].written, pair[1].slot), (1, pair[0].slot));
            }
        }
        let slots: std::collections::BTreeSet<_> = dealt.iter().map(|turns| turns[0].slot).collect();
        assert_eq!(slots.len(), 10);
    }

    #[test]
    fn a_user_is_the_same_beside_others_and_another_one_with_another_seed() {
        let kv_cache = kv_cache(64);
        let due = |users, seed| kv_cache.turns_of(users, seed)[0].iter().map(|turn| turn.due_ns).collect::<Vec<_>>();
        assert_eq!(due(1, 5), due(64, 5));
        assert_ne!(due(1, 5), due(1, 6));
    }

    #[test]
    fn what_there_is_no_room_for_is_evicted_and_written_anew() {
        let users = 40;
        let dealt = kv_cache(10).turns_of(users, 3);
        let all: Vec<Turn> = dealt.iter().flatten().copied().collect();
        assert!(all.iter().all(|turn| turn.slot < 10 && turn.read + turn.written <= 8));
        // Where all come back after about as long, the ten used last are gone when one does.
        let found = all.iter().filter(|turn| turn.read > 0).count();
        let missed = all.iter().filter(|turn| turn.is_miss()).count();
        assert!(missed > 20 * found, "{missed} {found}");
        // At any time a slot is of the conversation that used it last.
        let mut by_time: Vec<(u64, usize, Turn)> =
            dealt.iter().enumerate().flat_map(|(user, turns)| turns.iter().map(move |turn| (turn.due_ns, user, *turn))).collect();
        by_time.sort_unstable_by_key(|&(due_ns, user, _)| (due_ns, user));
        let mut owner = BTreeMap::new();
        for (_, user, turn) in by_time {
            if turn.read > 0 {
                assert_eq!(owner.get(&turn.slot).copied().unwrap_or(user), user);
            }
            owner.insert(turn.slot, user);
        }
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let tasks = TaskRange { first: 0, here: 6, total: 6 };
        assert_eq!(kv_cache(1).check(tasks), Ok(()));
        assert_eq!(kv_cache(1).check(TaskRange { total: 12, ..tasks }), Err(SpecError::UsersApart));
        assert_eq!(kv_cache(0).check(tasks), Err(SpecError::Zero("slots")));
        assert_eq!(kv_cache(1 << 22).check(tasks), Err(SpecError::CacheTooLarge));
        let long = KvCache { serve_ns: 1 << 50, ..kv_cache(1) };
        assert_eq!(long.check(tasks), Err(SpecError::TooManyTurns(MOST_TURNS)));
    }
}
