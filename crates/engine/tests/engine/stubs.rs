//! Storages that behave as no real one can be made to.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{null, run_with_latencies, spec, streaming};
use tonnage_engine::{EngineError, Phase};
use tonnage_storage::{Completion, File, Lane, OpenRequest, Queue, Request, Result, Slots, Storage};
use tonnage_testing::{Call, Hook, Hooked, Leave, Stub};
use tonnage_workload::{Limit, Op, PhaseSpec, RateLimits};

const LATENCY: Duration = Duration::from_millis(400);

/// Every operation takes [`LATENCY`], however many there are.
struct Distant;

impl Hook for Distant {
    fn before(&mut self, call: Call) -> std::result::Result<Leave, i32> {
        let length = if let Call::Transfer(_, _, length) = call { length } else { 0 };
        Ok(Leave { length, alter: None, due: Some(Instant::now() + LATENCY) })
    }
}

#[test]
fn a_paced_queue_starts_operations_in_time_while_others_are_in_flight() {
    let storage: Arc<dyn Storage> = Arc::new(Hooked::new(null(), |_| Distant));
    let pace = RateLimits { operations_per_s: Some(12), ..RateLimits::default() };
    let limit = Limit { operations: Some(30), ..Limit::default() };
    let phase = streaming(PhaseSpec { pace, limit, ..spec(Op::Write, 1) }, |stream| stream.queue_depth = 16);
    let (result, latencies) = run_with_latencies(&storage, phase);
    // Four or five are always in flight. Started only when another ends, half of them would be late by more than 200 ms,
    // which is more than a busy machine keeps a thread from its processor.
    let late: u64 = latencies.iter().filter(|(ns, _)| *ns > 600_000_000).map(|(_, count)| count).sum();
    assert!(late < 10, "{late} of 30 operations began late: {:?}", result.latency);
    let elapsed = result.tasks[0].transfer_ns;
    assert!(elapsed >= 2_816_000_000, "29 intervals and one operation: {elapsed} ns");
}

/// What was asked of a queue, each with how many operations were in flight.
type QueueLog = Arc<Mutex<Vec<(&'static str, usize)>>>;

/// Its first wait fails, with operations in flight; the later ones as well, or they bring all of them back.
struct Failing {
    memory: Option<Slots>,
    in_flight: VecDeque<Completion>,
    waits: u32,
    comes_back: bool,
    asked: QueueLog,
}

impl Failing {
    fn note(&self, what: &'static str) {
        self.asked.lock().unwrap().push((what, self.in_flight.len()));
    }
}

impl Queue for Failing {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn set_memory(&mut self, memory: Slots) -> Result<()> {
        self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self, slot: u32) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| memory.bytes(slot))
    }

    fn push(&mut self, request: Request) {
        self.in_flight.push_back(Completion { slot: request.slot, result: request.length as i32 });
    }

    fn submit_and_wait(&mut self, _wait_for: usize) -> io::Result<()> {
        self.waits += 1;
        if self.waits > 1 && self.comes_back { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EIO)) }
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, _timeout: Duration) -> io::Result<()> {
        self.submit_and_wait(wait_for)
    }

    fn next_completion(&mut self) -> Option<Completion> {
        if self.waits > 1 && self.comes_back { self.in_flight.pop_front() } else { None }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.note("sync");
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.note("close");
        Ok(())
    }
}

#[test]
fn a_file_is_not_synced_or_closed_with_operations_in_flight_after_a_wait_that_failed() {
    for (comes_back, expected) in [(true, vec![("sync", 0), ("close", 0)]), (false, vec![])] {
        let asked = QueueLog::default();
        let told = Arc::clone(&asked);
        let queue = move |_: &OpenRequest| {
            let (memory, in_flight, asked) = (None, VecDeque::new(), Arc::clone(&told));
            Lane::Queued(Box::new(Failing { memory, in_flight, waits: 0, comes_back, asked }))
        };
        let storage: Arc<dyn Storage> = Arc::new(Stub(queue));
        let phase = streaming(spec(Op::Write, 1), |stream| {
            stream.queue_depth = 4;
            stream.durability = tonnage_workload::Durability::Fsync;
        });
        let (result, _) = run_with_latencies(&storage, phase);
        assert_eq!(*asked.lock().unwrap(), expected, "comes back: {comes_back}");
        assert!(result.first_error.is_some());
    }
}

/// Writes, or panics where it is the second task's.
struct Panicking(u32);

impl File for Panicking {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        assert_eq!(self.0, 0, "this panic is part of a test");
        Ok(buffer.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_task_that_panics_keeps_no_other_waiting_for_it() {
    let storage = Arc::new(Stub(|request: &OpenRequest| Lane::Sync(Box::new(Panicking(request.file)))));
    let limit = Limit { time_ns: Some(50_000_000), wear_out: true, ..Limit::default() };
    let endless = streaming(PhaseSpec { limit, ..spec(Op::Write, 2) }, |stream| stream.geometry.block_size = 1 << 50);
    let mut phase = Phase::prepare(storage, endless, None).expect("prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(10)), "the other task waits for ever");
    assert!(matches!(phase.take_result().expect("a result"), Err(EngineError::Panic)));
}
