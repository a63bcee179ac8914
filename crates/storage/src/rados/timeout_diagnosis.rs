//! What a monitor knows of an operation that nobody answered: which OSDs are down, or that it is silent as well.

use std::io;
use std::sync::atomic::Ordering;

use serde::Deserialize;

use super::pool::Pool;
use crate::error::StorageError;
use crate::wait::waits_are_over;

/// OSDs that are told by name; of the others, how many they are.
const NAMES_TOLD: usize = 8;

/// What is used of an answer to `osd dump`.
#[derive(Deserialize)]
struct Dump {
    osds: Vec<Osd>,
}

#[derive(Deserialize)]
struct Osd {
    osd: i64,
    up: u8,
}

/// Asks a monitor, once, about an operation that has timed out. `None` of any other error.
pub(super) fn explain(pool: &Pool, error: &io::Error) -> Option<String> {
    if error.raw_os_error() != Some(libc::ETIMEDOUT) || waits_are_over() {
        return None;
    }
    let waited_s = pool.operation_s();
    Some(format!("no answer within {waited_s} s; {}", known(pool)))
}

fn known(pool: &Pool) -> String {
    let question = serde_json::json!({"prefix": "osd dump", "format": "json"});
    let asked = pool.ask_soon(&question.to_string());
    let error = asked.as_ref().err().and_then(StorageError::io);
    let is_silent = error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    pool.ledger.monitor_is_silent.store(is_silent, Ordering::Relaxed);
    match asked {
        Ok(answer) => match serde_json::from_slice::<Dump>(&answer) {
            Ok(dump) => told(&dump.osds),
            Err(error) => format!("what a monitor says of its OSDs is not understood: {error}"),
        },
        Err(_) if is_silent => "the monitor does not answer either; try `ceph -s`".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn told(osds: &[Osd]) -> String {
    let down: Vec<i64> = osds.iter().filter(|osd| osd.up == 0).map(|osd| osd.osd).collect();
    let all = osds.len();
    if down.is_empty() {
        return format!("Ceph says that all {all} OSDs are up: one may hang; see `ceph health detail`");
    }
    let names: Vec<String> = down.iter().take(NAMES_TOLD).map(|osd| format!("osd.{osd}")).collect();
    let rest = if down.len() > names.len() { format!(" and {} more", down.len() - names.len()) } else { String::new() };
    let verb = if down.len() == 1 { "is" } else { "are" };
    format!("Ceph says that {}{rest} {verb} down ({} of {all} up)", names.join(", "), all - down.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn osds_that_are_down_are_named_as_far_as_one_reads() {
        let osds = |down: i64| (0..20).map(|osd| Osd { osd, up: u8::from(osd >= down) }).collect::<Vec<_>>();
        assert_eq!(told(&osds(1)), "Ceph says that osd.0 is down (19 of 20 up)");
        assert_eq!(told(&osds(2)), "Ceph says that osd.0, osd.1 are down (18 of 20 up)");
        assert!(told(&osds(10)).contains("osd.7 and 2 more are down (10 of 20 up)"), "{}", told(&osds(10)));
        assert!(told(&osds(0)).contains("all 20 OSDs are up"));
    }
}
