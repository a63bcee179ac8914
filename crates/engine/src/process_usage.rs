//! What the kernel accounts to this process.

/// CPU time and device reads of the whole process so far, `io_uring`'s kernel workers included (they are its threads).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    /// `read_bytes` of `/proc/self/io`: fetched from a device; `None` where the kernel does not account it.
    pub device_read_bytes: Option<u64>,
}

impl Usage {
    pub fn now() -> Self {
        // SAFETY: the structure is plain integers, for which zero is a value, and the call only writes into it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Self { cpu_user_ns: ns(usage.ru_utime), cpu_system_ns: ns(usage.ru_stime), device_read_bytes: device_read_bytes() }
    }

    pub fn since(&self, before: &Self) -> Self {
        Self {
            cpu_user_ns: self.cpu_user_ns.saturating_sub(before.cpu_user_ns),
            cpu_system_ns: self.cpu_system_ns.saturating_sub(before.cpu_system_ns),
            device_read_bytes: self.device_read_bytes.zip(before.device_read_bytes).map(|(a, b)| a.saturating_sub(b)),
        }
    }
}

fn device_read_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.trim().parse().ok()
}
