//! What a storage took and lost, and what it tried again by itself, comes through every wrapper.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{geometry, request};
use tonnage_storage::{Completion, Cut, File, Lane, OpenRequest, Pieces, Queue, Request, Result, RetryReport, Slots, Storage};
use tonnage_testing::{Faulty, Stub, Throttled};
use tonnage_workload::{Access, Op};

const SIZE: usize = 4096;
const PIECE_BYTES: u64 = 2 * SIZE as u64;
/// Of each file, and told once.
const LOST: Range<u64> = 10..5000;

/// Whatever was written, part of it is lost when it is to be durable.
struct Losing {
    memory: Option<Slots>,
    written: bool,
    lost: Vec<Range<u64>>,
    retried: Vec<RetryReport>,
    done: Vec<Completion>,
}

impl Losing {
    fn new() -> Self {
        Self { memory: None, written: false, lost: Vec::new(), retried: Vec::new(), done: Vec::new() }
    }

    fn end(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.written) {
            return Ok(());
        }
        self.lost.push(LOST);
        let (since, lasted, why) = (Instant::now(), Duration::from_secs(1), "it restarted".to_owned());
        self.retried.push(RetryReport { since, lasted, attempts: 3, why });
        Err(io::Error::other("lost"))
    }
}

impl File for Losing {
    fn open(&mut self) -> Result<()> {
        Ok(())
    }
    fn read_at(&mut self, _offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn write_at(&mut self, _offset: u64, buffer: &[u8]) -> io::Result<usize> {
        self.written = true;
        Ok(buffer.len())
    }
    fn sync(&mut self) -> io::Result<()> {
        self.end()
    }
    fn close(&mut self) -> io::Result<()> {
        self.end()
    }
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lost)
    }
    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        std::mem::take(&mut self.retried)
    }
}

impl Queue for Losing {
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
        self.written = true;
        self.done.push(Completion { slot: request.slot, result: request.length as i32 });
    }
    fn submit_and_wait(&mut self, _wait_for: usize) -> io::Result<()> {
        Ok(())
    }
    fn submit_and_wait_for(&mut self, _wait_for: usize, _timeout: Duration) -> io::Result<()> {
        Ok(())
    }
    fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop()
    }
    fn sync(&mut self) -> io::Result<()> {
        self.end()
    }
    fn close(&mut self) -> io::Result<()> {
        self.end()
    }
    fn take_lost(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lost)
    }
    fn take_retry_reports(&mut self) -> Vec<RetryReport> {
        std::mem::take(&mut self.retried)
    }
}

/// Lanes that lose; queues where more than one operation is to be in flight.
fn server() -> Arc<dyn Storage> {
    Arc::new(Stub(|request: &OpenRequest| {
        if request.queue_depth > 1 { Lane::Queued(Box::new(Losing::new())) } else { Lane::Sync(Box::new(Losing::new())) }
    }))
}

fn lane(storage: &dyn Storage, depth: usize) -> Lane {
    let mut lane = storage.lane(&request(&geometry(SIZE, 6, Access::Sequential), Op::Write, depth)).unwrap();
    if let Lane::Queued(queue) = &mut lane {
        queue.set_memory(Slots::new(depth, SIZE).unwrap()).unwrap();
    }
    lane.open().unwrap();
    lane
}

fn write(lane: &mut Lane, offset: u64) {
    match lane {
        Lane::Sync(file) => assert_eq!(file.write_at(offset, &[1; SIZE]).unwrap(), SIZE),
        Lane::Queued(queue) => {
            queue.push(Request { slot: 0, op: Op::Write, offset, start: 0, length: SIZE });
            queue.submit_and_wait(1).unwrap();
            assert_eq!(queue.next_completion().map(|completion| completion.result), Some(SIZE as i32));
        }
    }
}

#[test]
fn every_wrapper_says_what_a_sync_or_close_found_to_be_lost() {
    let cut = Cut { count: 3, bytes: PIECE_BYTES };
    let wrappers: [(&str, Arc<dyn Storage>, &[usize]); 4] = [
        ("nothing", server(), &[1, 2]),
        ("faulty", Arc::new(Faulty::storage(server(), Vec::new())), &[1, 2]),
        ("throttled", Arc::new(Throttled::storage(server(), Some(1_000_000_000), None)), &[1, 2]),
        ("pieces", Arc::new(Pieces::new(server(), cut)), &[1]),
    ];
    for (name, storage, depths) in wrappers {
        for &depth in depths {
            for step in [Lane::sync, Lane::close] {
                let mut lane = lane(&*storage, depth);
                write(&mut lane, 0);
                assert!(step(&mut lane).is_err(), "{name}, depth {depth}");
                assert_eq!(lane.take_lost(), [LOST], "{name}, depth {depth}");
                assert_eq!(lane.take_lost(), [], "{name} tells it once");
                let attempts = |lane: &mut Lane| lane.take_retry_reports().iter().map(|retried| retried.attempts).sum::<u64>();
                assert_eq!((attempts(&mut lane), attempts(&mut lane)), (3, 0), "{name}, depth {depth}");
                step(&mut lane).expect("nothing was written since");
            }
        }
    }
}

#[test]
fn what_was_lost_of_a_piece_that_was_closed_is_told_with_its_place_in_the_whole() {
    for step in [Lane::sync, Lane::close] {
        let storage = Pieces::new(server(), Cut { count: 3, bytes: PIECE_BYTES });
        let mut lane = lane(&storage, 1);
        for transfer in 0..6 {
            write(&mut lane, transfer * SIZE as u64);
        }
        assert!(step(&mut lane).is_err());
        let of = |piece: u64| piece * PIECE_BYTES + LOST.start..piece * PIECE_BYTES + LOST.end;
        assert_eq!(lane.take_lost(), [of(0), of(1), of(2)]);
        assert_eq!(lane.take_retry_reports().len(), 3);
        // Written again, piece 1 is lost once more: nobody is told that it is safe.
        write(&mut lane, PIECE_BYTES);
        assert!(step(&mut lane).is_err());
        assert_eq!(lane.take_lost(), [of(1)]);
        step(&mut lane).expect("all that was lost was told");
    }
}
