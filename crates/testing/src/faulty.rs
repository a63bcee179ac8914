//! A storage that fails by rule: the same failures at the same operations each time.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tonnage_storage::{Lane, OpenRequest, Storage};
use tonnage_workload::Op;

use crate::hooked::{Call, Hook, Hooked, Leave, Way};

/// One rule. Operations are counted from 1 in each lane, reads and writes apart; `nth` of 3 means the 3rd, 6th, 9th …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "op, nth, errno, offset, bytes, times and delay are what the rules say")]
pub enum Fault {
    /// Each nth operation fails.
    FailEvery { op: Op, nth: u64, errno: i32 },
    /// Operations that touch the byte at `offset` fail.
    FailAt { op: Op, offset: u64, errno: i32 },
    /// The storage is full (ENOSPC) when all lanes together wrote `bytes`; the last write before is cut short.
    FullAfter { bytes: u64 },
    /// Each nth operation moves only half of its bytes.
    ShortEvery { op: Op, nth: u64 },
    /// Each nth read gives one flipped bit, in the middle.
    FlipEvery { nth: u64 },
    /// Each nth operation takes so much longer.
    DelayEvery { op: Op, nth: u64, delay: Duration },
    /// Each nth act on a name (make, stat, rename, remove, list, open) fails; they are counted together.
    FailNameEvery { nth: u64, errno: i32 },
    /// Sync fails; nothing is synced.
    FailSync { errno: i32 },
    /// Close fails; the file is closed all the same.
    FailClose { errno: i32 },
    /// These bytes of the file are lost (they are zeros) at the first so many syncs and closes of lanes that write, all
    /// lanes together: the call is an EIO, and the lane tells what was lost. The storage has a lane for one operation at a time.
    Lose { offset: u64, bytes: u64, times: u64 },
}

/// The rules as one lane counts them.
pub struct Faulty {
    shared: Arc<Shared>,
    /// The lane that it is, if it writes.
    writer: Option<OpenRequest>,
    reads: u64,
    writes: u64,
    names: u64,
}

struct Shared {
    inner: Arc<dyn Storage>,
    faults: Vec<Fault>,
    written_bytes: AtomicU64,
    /// Syncs and closes of lanes that write.
    ends: AtomicU64,
}

impl Faulty {
    /// `inner` with these faults.
    #[must_use]
    pub fn storage(inner: Arc<dyn Storage>, faults: Vec<Fault>) -> Hooked<Self> {
        let (written_bytes, ends) = (AtomicU64::new(0), AtomicU64::new(0));
        let shared = Arc::new(Shared { inner: Arc::clone(&inner), faults, written_bytes, ends });
        Hooked::new(inner, move |way| {
            let writer = if let Way::Lane(request) = way { Some(*request) } else { None };
            let writer = writer.filter(|request| request.op == Op::Write);
            Self { shared: Arc::clone(&shared), writer, reads: 0, writes: 0, names: 0 }
        })
    }

    /// Judges the next operation; sleeps where a rule says so.
    fn judge(&mut self, op: Op, offset: u64, length: usize) -> Result<Leave, i32> {
        let count = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
        };
        *count += 1;
        let due = |on: Op, nth: u64| on == op && count.is_multiple_of(nth);
        let (mut allowed, mut alter) = (Ok(length), None);
        for fault in &self.shared.faults {
            match *fault {
                Fault::FailEvery { op: on, nth, errno } if due(on, nth) => allowed = Err(errno),
                Fault::FailAt { op: on, offset: at, errno } if on == op && at >= offset && at - offset < length as u64 => {
                    allowed = Err(errno);
                }
                Fault::FullAfter { bytes } if op == Op::Write => {
                    allowed = allowed.and_then(|length| self.shared.take(bytes, length));
                }
                Fault::ShortEvery { op: on, nth } if due(on, nth) => allowed = allowed.map(|length| length.div_ceil(2)),
                Fault::FlipEvery { nth } if due(Op::Read, nth) => alter = Some(flip as fn(&mut [u8])),
                Fault::DelayEvery { op: on, nth, delay } if due(on, nth) => thread::sleep(delay),
                _ => {}
            }
        }
        allowed.map(|length| Leave { length, alter, due: None })
    }

    fn first(&self, errno: impl FnMut(&Fault) -> Option<i32>) -> Result<Leave, i32> {
        let none = Leave { length: 0, alter: None, due: None };
        self.shared.faults.iter().find_map(errno).map_or(Ok(none), Err)
    }
}

impl Hook for Faulty {
    fn before(&mut self, call: Call) -> Result<Leave, i32> {
        match call {
            Call::Transfer(op, offset, length) | Call::OfNamed(op, offset, length) => self.judge(op, offset, length),
            Call::Name(_) => {
                self.names += 1;
                let names = self.names;
                self.first(|fault| match *fault {
                    Fault::FailNameEvery { nth, errno } if names.is_multiple_of(nth) => Some(errno),
                    _ => None,
                })
            }
            Call::Sync => self.first(|fault| if let Fault::FailSync { errno } = fault { Some(*errno) } else { None }),
            Call::Close => self.first(|fault| if let Fault::FailClose { errno } = fault { Some(*errno) } else { None }),
        }
    }

    fn lose(&mut self) -> Vec<Range<u64>> {
        let Some(request) = &self.writer else { return Vec::new() };
        let before = self.shared.ends.fetch_add(1, Ordering::Relaxed);
        let lost = self.shared.faults.iter().filter_map(|fault| match *fault {
            Fault::Lose { offset, bytes, times } if before < times => Some(offset..offset + bytes),
            _ => None,
        });
        let lost: Vec<_> = lost.collect();
        self.shared.clear(request, &lost);
        lost
    }
}

impl Shared {
    /// How many of `wanted` bytes there is still room for.
    fn take(&self, capacity: u64, wanted: usize) -> Result<usize, i32> {
        let before = self.written_bytes.fetch_add(wanted as u64, Ordering::Relaxed);
        match capacity.saturating_sub(before).min(wanted as u64) {
            0 if wanted > 0 => Err(libc::ENOSPC),
            room => Ok(room as usize),
        }
    }

    /// Overwrites `lost` bytes of a file with zeros, past the lane that has it open.
    fn clear(&self, request: &OpenRequest, lost: &[Range<u64>]) {
        if lost.is_empty() {
            return;
        }
        let Ok(Lane::Sync(mut file)) = self.inner.lane(&OpenRequest { queue_depth: 1, ..*request }) else {
            panic!("what loses bytes has lanes for one operation at a time");
        };
        file.open().expect("the file is there");
        for range in lost {
            file.write_at(range.start, &vec![0; (range.end - range.start) as usize]).expect("the bytes are there");
        }
    }
}

fn flip(bytes: &mut [u8]) {
    if let Some(byte) = bytes.get_mut(bytes.len() / 2) {
        *byte ^= 1;
    }
}
