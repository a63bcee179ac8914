//! `kv-cache` in virtual time: of each turn of a user, what it reads and what it writes is an operation on the device each.

use tonnage_records::{CacheFacts, KvCacheResult, PhaseFiles};
use tonnage_workload::{KvCache, KvCacheStep, Op, PhaseSpec, Turn};

use crate::event_loop::{EIO, EventHandler, EventLoop};
use crate::model::ModelSpec;
use crate::state::{Outcome, SimulatorError, State};

/// What a user is at.
#[derive(Clone, Copy)]
enum Doing {
    /// It waits for its next turn, or has not begun.
    Waits,
    /// It reads or writes of a turn, from when on; 0 if that will succeed, else the error.
    Moves { op: Op, from_ns: u64, errno: i32 },
}

struct KvCachePlay<'a> {
    kv_cache: &'a KvCache,
    turns: Vec<Vec<Turn>>,
    /// Of each user, the number of its next turn, or of the one in hand.
    next: Vec<usize>,
    doing: Vec<Doing>,
    /// Bytes a second that the device takes of many, and gives to many.
    plateaus: [f64; 2],
    /// After the start.
    time_ns: u64,
    result: KvCacheResult,
    times_ns: Vec<u64>,
}

/// Serves the users from `start_ns` on. Laying out takes no time of a model, whose files are as long as they are read.
pub(crate) fn run(
    model: &ModelSpec,
    state: &mut State,
    spec: &PhaseSpec,
    kv_cache: &KvCache,
    start_ns: u64,
    files: Option<PhaseFiles>,
) -> Result<Outcome, SimulatorError> {
    let mut event_loop = EventLoop::new(model, spec, start_ns, &mut state.counters, files);
    if kv_cache.step == KvCacheStep::LayOut {
        return Ok(Outcome::of(event_loop.finish()?));
    }
    let users = spec.tasks.here as usize;
    let mut play = KvCachePlay {
        kv_cache,
        turns: kv_cache.turns_of(spec.tasks.total, spec.seed),
        next: vec![0; users],
        doing: vec![Doing::Waits; users],
        plateaus: [Op::Write, Op::Read].map(|op| model.plateau(op, kv_cache.transfer_size)),
        time_ns: spec.limit.time_ns.unwrap_or(u64::MAX),
        result: KvCacheResult { users: users as u32, ..KvCacheResult::default() },
        times_ns: Vec::new(),
    };
    event_loop.run(users, &mut play)?;
    let result = play.result.with_times(play.times_ns);
    // A model has no cache of files that it never wrote.
    let cache = CacheFacts {
        cached_before_bytes: Some(0),
        examined_bytes: None,
        device_bytes: Some(result.read_bytes),
        hole_bytes: Some(0),
    };
    Ok(Outcome { cache: Some(cache), kv_cache: Some(result), ..Outcome::of(event_loop.finish()?) })
}

impl EventHandler for KvCachePlay<'_> {
    fn is_in_flight(&self, lane: usize) -> bool {
        matches!(self.doing[lane], Doing::Moves { .. })
    }

    fn step(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        if let Doing::Moves { op, from_ns, errno } = self.doing[lane] {
            self.doing[lane] = Doing::Waits;
            event_loop.alight(lane);
            event_loop.arrive(lane, now_ns);
            let turn = self.turns[lane][self.next[lane]];
            if errno != 0 {
                let verb = if op == Op::Read { "read" } else { "write" };
                event_loop.fail(lane, (self.kv_cache.file(turn.slot, 0), 0), verb, errno);
                return None;
            }
            self.count(op, turn, now_ns - from_ns);
            if op == Op::Read && !event_loop.is_stopping() {
                return Some(self.begin(event_loop, lane, Op::Write, now_ns));
            }
            self.next[lane] += 1;
            let latency_ns = now_ns - event_loop.start_ns - turn.due_ns;
            self.times_ns.push(latency_ns);
            event_loop.record(lane, now_ns, latency_ns, u64::from(turn.read + turn.written) * self.kv_cache.turn_bytes);
        }
        if event_loop.is_stopping() {
            return None;
        }
        self.next_turn(event_loop, lane, now_ns)
    }
}

impl KvCachePlay<'_> {
    /// What is due next of a user that waits.
    fn next_turn(&mut self, event_loop: &mut EventLoop, lane: usize, now_ns: u64) -> Option<u64> {
        let (start_ns, time_ns) = (event_loop.start_ns, self.time_ns);
        while let Some(turn) = self.turns[lane].get(self.next[lane]).copied().filter(|turn| turn.due_ns < time_ns) {
            if start_ns + turn.due_ns > now_ns {
                return Some(start_ns + turn.due_ns);
            }
            self.result.turns += 1;
            self.result.returning += u64::from(turn.read > 0 || turn.is_miss());
            self.result.found += u64::from(turn.read > 0);
            if now_ns - start_ns < time_ns {
                event_loop.wake(lane, now_ns);
                let op = if turn.read > 0 { Op::Read } else { Op::Write };
                return Some(self.begin(event_loop, lane, op, now_ns));
            }
            self.result.unserved += 1;
            self.times_ns.push(time_ns - turn.due_ns);
            self.next[lane] += 1;
            event_loop.runners[lane].timed_out = true;
        }
        let (ended_ns, timed_out) = (event_loop.runners[lane].end_ns, event_loop.runners[lane].timed_out);
        event_loop.ended(lane, ended_ns, timed_out);
        None
    }

    /// When what begins now ends.
    fn begin(&mut self, event_loop: &mut EventLoop, lane: usize, op: Op, now_ns: u64) -> u64 {
        let turn = self.turns[lane][self.next[lane]];
        let (first, files) = if op == Op::Read { (0, turn.read) } else { (turn.read, turn.written) };
        let bytes = u64::from(files) * self.kv_cache.turn_bytes;
        event_loop.board(lane, 1);
        let mean_ns = event_loop.speed.device_ns(bytes as f64 / self.plateaus[op as usize], now_ns);
        let end_ns = event_loop.end_of(lane, now_ns, mean_ns);
        let errno = if event_loop.draws_fault() { EIO } else { 0 };
        self.doing[lane] = Doing::Moves { op, from_ns: now_ns, errno };
        event_loop.visit(lane, (Some(op), self.kv_cache.file(turn.slot, first), 0, bytes), now_ns, end_ns);
        end_ns
    }

    fn count(&mut self, op: Op, turn: Turn, lasted_ns: u64) {
        let result = &mut self.result;
        if op == Op::Read {
            result.read_bytes += u64::from(turn.read) * self.kv_cache.turn_bytes;
            result.read_ns += lasted_ns;
        } else {
            result.write_bytes += u64::from(turn.written) * self.kv_cache.turn_bytes;
            result.write_ns += lasted_ns;
        }
    }
}
