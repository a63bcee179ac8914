//! A storage of known speed: another one, slowed to a rate that all lanes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tonnage_storage::Storage;

use crate::hooked::{Call, Hook, Hooked, Leave};

/// Time that an idle or late storage may catch up on; more would be a burst above the rate.
const CREDIT_NS: u64 = 10_000_000;

/// At most at these rates. Each act on a name counts as an operation; reads and writes of the file that one opened only as
/// their bytes.
pub struct Throttled {
    meter: Arc<Meter>,
}

impl Throttled {
    /// `inner` at no more than so many bytes and operations a second, over all its lanes. `None`: no limit.
    #[must_use]
    pub fn storage(inner: Arc<dyn Storage>, bytes_per_s: Option<u64>, operations_per_s: Option<u64>) -> Hooked<Self> {
        let meter = Arc::new(Meter {
            origin: Instant::now(),
            ns_per_byte: bytes_per_s.map_or(0.0, |rate| 1e9 / rate.max(1) as f64),
            ns_per_operation: operations_per_s.map_or(0.0, |rate| 1e9 / rate.max(1) as f64),
            bytes_until_ns: AtomicU64::new(0),
            operations_until_ns: AtomicU64::new(0),
        });
        Hooked::new(inner, move |_| Self { meter: Arc::clone(&meter) })
    }
}

impl Hook for Throttled {
    fn before(&mut self, call: Call) -> Result<Leave, i32> {
        let (length, due_ns) = match call {
            Call::Transfer(_, _, length) => (length, self.meter.take(length)),
            Call::OfNamed(_, _, length) => (length, self.meter.take_bytes(length)),
            Call::Name(_) => (0, self.meter.take(0)),
            Call::Sync | Call::Close => (0, 0),
        };
        Ok(Leave { length, alter: None, due: Some(self.meter.origin + Duration::from_nanos(due_ns)) })
    }
}

/// Two buckets, each kept as the time until which its tokens are spent.
struct Meter {
    origin: Instant,
    ns_per_byte: f64,
    ns_per_operation: f64,
    bytes_until_ns: AtomicU64,
    operations_until_ns: AtomicU64,
}

impl Meter {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Takes tokens for one operation; when it may complete.
    fn take(&self, bytes: usize) -> u64 {
        let by_bytes = self.take_bytes(bytes);
        by_bytes.max(spend(&self.operations_until_ns, self.now_ns(), self.ns_per_operation))
    }

    /// Takes tokens for bytes alone.
    fn take_bytes(&self, bytes: usize) -> u64 {
        spend(&self.bytes_until_ns, self.now_ns(), bytes as f64 * self.ns_per_byte)
    }
}

/// Spends `cost` nanoseconds of a bucket from `now` on (or from a little before, if it had time left).
fn spend(until_ns: &AtomicU64, now_ns: u64, cost_ns: f64) -> u64 {
    let cost = cost_ns.round() as u64;
    let next = |until: u64| until.max(now_ns.saturating_sub(CREDIT_NS)) + cost;
    let before = until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(next(until)));
    next(before.unwrap_or_else(|same| same))
}
