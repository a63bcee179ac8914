//! The process groups of the copies that run now, so that a stop leaves nothing running.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// From asking a group to end to ending it.
const TIME_TO_END: Duration = Duration::from_secs(5);
/// How long after the end of its leader a group that was ended is waited for.
const LONGEST: Duration = Duration::from_secs(10);

/// Groups by the number of their leader. A leader is in the table only while nobody has reaped it, so that its number
/// cannot have become another's.
#[derive(Default)]
pub struct Groups(Mutex<Table>);

#[derive(Default)]
struct Table {
    running: Vec<(libc::pid_t, bool)>,
    /// When a stop was first asked for.
    asked: Option<Instant>,
}

impl Groups {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, leader: libc::pid_t) {
        self.table().running.push((leader, false));
    }

    pub fn remove(&self, leader: libc::pid_t) {
        self.table().running.retain(|(known, _)| *known != leader);
    }

    /// Asks every group to end, once; and ends those that have not [`TIME_TO_END`] after the first time. Call it again and
    /// again until the phase has ended.
    pub fn end(&self) {
        let mut table = self.table();
        let retrying = table.asked.get_or_insert_with(Instant::now).elapsed() < TIME_TO_END;
        for (leader, asked) in &mut table.running {
            if !retrying {
                signal(*leader, libc::SIGKILL);
            } else if !*asked {
                signal(*leader, libc::SIGTERM);
                *asked = true;
            }
        }
    }
}

fn signal(leader: libc::pid_t, signal: i32) {
    // SAFETY: a signal touches no memory. The group is that of a leader nobody has reaped.
    unsafe { libc::kill(-leader, signal) };
}

/// Waits until the ended `leader`, which nobody has reaped, is the last of its group.
pub fn outlive(leader: libc::pid_t) {
    let begun = Instant::now();
    while has_others(leader) && begun.elapsed() < LONGEST {
        thread::sleep(Duration::from_millis(20));
    }
}

fn has_others(leader: libc::pid_t) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    processes.flatten().any(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse::<libc::pid_t>().ok());
        number.is_some_and(|number| number != leader)
            && std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| lives_in(&stat, leader))
    })
}

/// Whether `/proc/<pid>/stat` is of a live process of a group. The program's name may hold anything, `)` included.
fn lives_in(stat: &str, group: libc::pid_t) -> bool {
    let Some((_, facts)) = stat.rsplit_once(')') else { return false };
    let mut facts = facts.split_ascii_whitespace();
    let state = facts.next();
    let their_group = facts.nth(1).and_then(|number| number.parse().ok());
    !matches!(state, Some("Z" | "X")) && their_group == Some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_a_group_is_known_whatever_its_name() {
        assert!(lives_in("12 (a b) S 3) R 1 77 77 0 -1", 77));
        assert!(!lives_in("12 (cat) S 1 78 77 0 -1", 77));
        assert!(!lives_in("12 (cat) Z 1 77 77 0 -1", 77), "it has ended");
        assert!(!lives_in("", 77));
    }
}
