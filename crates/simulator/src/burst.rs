//! A burst buffer in front of the device.

/// Takes writes fast while it has room. The device moves its plateau at most: what writes past the buffer leave of it
/// drains the buffer, so nothing is moved twice in the same time.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    capacity: f64,
    backlog: f64,
    drained_at_ns: u64,
}

impl Burst {
    /// An empty buffer of `capacity` bytes.
    pub fn new(capacity: u64) -> Self {
        Self { capacity: capacity as f64, ..Self::default() }
    }

    /// Lets it drain until `now_ns` at `bytes_per_s`.
    pub fn drain(&mut self, now_ns: u64, bytes_per_s: f64) {
        let elapsed = now_ns.saturating_sub(self.drained_at_ns) as f64 / 1e9;
        self.backlog = (self.backlog - elapsed * bytes_per_s).max(0.0);
        self.drained_at_ns = self.drained_at_ns.max(now_ns);
    }

    /// Takes a transfer if there is room; false if it goes to the device. Either way the device has it to move: what is
    /// kept is the device's backlog, so that over time it never moves more than its plateau.
    pub fn take(&mut self, bytes: u64) -> bool {
        let fits = self.backlog + bytes as f64 <= self.capacity;
        self.backlog += bytes as f64;
        fits
    }
}
