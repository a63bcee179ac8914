//! Storages that behave as no real one can be made to.

mod support;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use support::{run_with_latencies, spec, streaming};
use tonnage_engine::{EngineError, Phase};
use tonnage_storage::{
    Buffer, Completion, Facts, File, Lane, Names, NamesRequest, Note, OpenRequest, Queue, Request, Residency, Result, Storage,
};
use tonnage_workload::{CachePolicy, Limit, Op, Pace, PhaseSpec};

/// What each lane of the stub is.
struct Stub(fn(&OpenRequest) -> Lane);

impl Storage for Stub {
    fn lane(&self, request: &OpenRequest) -> Result<Lane> {
        Ok(self.0(request))
    }

    fn names(&self, _request: &NamesRequest) -> Result<Box<dyn Names>> {
        unreachable!("streams have no names")
    }

    fn length(&self, _file: u32) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn prepare_write(&self, _files: &[u32]) -> Result<()> {
        Ok(())
    }

    fn settle(&self, _files: &[u32], _cache: CachePolicy) -> Result<Residency> {
        Ok(Residency::default())
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<Vec<Note>> {
        Ok(Vec::new())
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }
}

const LATENCY: Duration = Duration::from_millis(50);

/// Every operation takes [`LATENCY`], however many there are.
#[derive(Default)]
struct Distant {
    memory: Option<Buffer>,
    flying: VecDeque<(Instant, Completion)>,
}

impl Queue for Distant {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }

    fn set_memory(&mut self, memory: Buffer) -> Result<()> {
        self.memory = Some(memory);
        Ok(())
    }

    fn memory(&mut self) -> &mut [u8] {
        self.memory.as_deref_mut().unwrap_or_default()
    }

    fn push(&mut self, request: Request) {
        let completion = Completion { slot: request.slot, result: request.length as i32 };
        self.flying.push_back((Instant::now() + LATENCY, completion));
    }

    fn submit_and_wait(&mut self, wait_for: usize) -> io::Result<()> {
        self.submit_and_wait_for(wait_for, Duration::MAX)
    }

    fn submit_and_wait_for(&mut self, wait_for: usize, timeout: Duration) -> io::Result<()> {
        let last = wait_for.checked_sub(1).and_then(|last| self.flying.get(last));
        let wait = last.map_or(Duration::ZERO, |(due, _)| due.saturating_duration_since(Instant::now()));
        std::thread::sleep(wait.min(timeout));
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let (due, _) = self.flying.front()?;
        if *due > Instant::now() { None } else { self.flying.pop_front().map(|(_, completion)| completion) }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_paced_queue_starts_operations_in_time_while_others_are_in_flight() {
    let storage: std::sync::Arc<dyn Storage> = std::sync::Arc::new(Stub(|_| Lane::Queued(Box::<Distant>::default())));
    let pace = Pace { operations_per_s: Some(100), ..Pace::default() };
    let limit = Limit { operations: Some(60), ..Limit::default() };
    let phase = streaming(PhaseSpec { pace, limit, ..spec(Op::Write, 1) }, |stream| stream.queue_depth = 16);
    let (result, latencies) = run_with_latencies(&storage, phase);
    // Five or six are always in flight. Started only when another ends, they would be late by up to 50 ms.
    let late: u64 = latencies.iter().filter(|(ns, _)| *ns > 65_000_000).map(|(_, count)| count).sum();
    assert!(late < 20, "{late} of 60 operations began late: {:?}", result.latency);
    let elapsed = result.tasks[0].transfer_ns;
    assert!((640_000_000..900_000_000).contains(&elapsed), "{elapsed} ns");
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
    let storage = std::sync::Arc::new(Stub(|request| Lane::Sync(Box::new(Panicking(request.file)))));
    let limit = Limit { time_ns: Some(50_000_000), wear_out: true, ..Limit::default() };
    let endless = streaming(PhaseSpec { limit, ..spec(Op::Write, 2) }, |stream| stream.geometry.block_size = 1 << 50);
    let mut phase = Phase::prepare(storage, endless, None).expect("prepared");
    phase.go();
    assert!(phase.wait(Duration::from_secs(10)), "the other task waits for ever");
    assert!(matches!(phase.take_result().expect("a result"), Err(EngineError::Panic)));
}
