//! Rounds of checkpoints: what is in a round's time, what is read back, and what ends the trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::support::{in_memory, null, on_disk, run, spec};
use tonnage_engine::{EngineError, Phase};
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{Result, SnapshotRequest, Snapshots, Storage, StorageError, StorageKind, Wrapper};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{
    CachePolicy, Checkpoint, CheckpointStep, Coordination, Durability, Means, Op, PayloadKind, PhaseSpec, SnapshotCommand, Work,
};

const COST: Duration = Duration::from_millis(30);
const TASKS: u32 = 3;
const EIO: i32 = 5;

fn phase(step: CheckpointStep, change: impl FnOnce(&mut Checkpoint)) -> PhaseSpec {
    let plain = spec(Op::Write, TASKS);
    let Work::Stream(stream) = plain.work else { unreachable!("it is one") };
    let mut work = Checkpoint {
        step,
        rounds: 4,
        think_ns: 0,
        coordination: Coordination::Together,
        geometry: tonnage_workload::Geometry { block_size: 1 << 18, ..stream.geometry },
        queue_depth: 1,
        durability: Durability::None,
        cache: CachePolicy::Keep,
        payload: PayloadKind::Unique,
        verify: true,
        snapshot: Some(Means::Model {}),
        of_round: None,
        retry_ns: None,
    };
    change(&mut work);
    PhaseSpec { work: Work::Checkpoint(work), ..plain }
}

/// Memory whose snapshots take their time and do nothing.
struct Slow {
    inner: Arc<dyn Storage>,
    asked: Arc<AtomicU32>,
    taken: Arc<AtomicU32>,
    removed: Arc<AtomicU32>,
    noted: Arc<AtomicU32>,
    fails_at: Option<u32>,
}

struct SlowSnapshots {
    taken: Arc<AtomicU32>,
    removed: Arc<AtomicU32>,
    noted: Arc<AtomicU32>,
    fails_at: Option<u32>,
}

impl Snapshots for SlowSnapshots {
    fn take(&mut self, round: u32) -> Result<u64> {
        std::thread::sleep(COST);
        if self.fails_at == Some(round) {
            return Err(StorageError::Unsupported("no more snapshots here".to_owned()));
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(0)
    }

    fn at(&mut self, _round: u32) -> Result<Option<Arc<dyn Storage>>> {
        Ok(None)
    }

    fn note(&mut self, _round: u32) -> Result<()> {
        std::thread::sleep(COST);
        self.noted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn remove(&mut self, _round: u32) -> Result<()> {
        self.removed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Wrapper for Slow {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn snapshots(&self, _request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (taken, removed, noted) = (Arc::clone(&self.taken), Arc::clone(&self.removed), Arc::clone(&self.noted));
        Ok(Box::new(SlowSnapshots { taken, removed, noted, fails_at: self.fails_at }))
    }
}

fn slow(fails_at: Option<u32>) -> (Arc<Slow>, Arc<dyn Storage>) {
    let (asked, taken, removed, noted) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
    let slow = Arc::new(Slow { inner: in_memory(), asked, taken, removed, noted, fails_at });
    (Arc::clone(&slow), slow)
}

fn refused(storage: &Arc<dyn Storage>, spec: PhaseSpec) -> String {
    match Phase::prepare(Arc::clone(storage), spec, None) {
        Err(EngineError::Storage(error @ StorageError::Unsupported(_))) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

fn all_verified(result: &PhaseResult) {
    assert_eq!(result.stop_reason, StopReason::Size, "{:?}", result.first_error);
    let verify = result.verify.as_ref().expect("it was verified");
    assert_eq!((verify.checked_bytes, verify.damaged_operations), (u64::from(TASKS) << 18, 0), "{:?}", verify.first_damage);
}

#[test]
fn together_one_task_takes_the_snapshot_and_all_wait_for_it() {
    let (slow, storage) = slow(None);
    let result = run(&storage, phase(CheckpointStep::Checkpoint, |work| work.think_ns = 20_000_000), None);
    let checkpoint = result.checkpoint.as_ref().expect("it is one");
    assert_eq!((slow.asked.load(Ordering::Relaxed), slow.taken.load(Ordering::Relaxed)), (1, 4));
    assert_eq!((checkpoint.rounds, checkpoint.snapshot.count, checkpoint.windows.len()), (4, 4, 4));
    assert_eq!(slow.noted.load(Ordering::Relaxed), 4);
    for pair in checkpoint.windows.windows(2) {
        let pause_ns = pair[1].first_begin_ns - pair[0].first_end_ns;
        let least_ns = 20_000_000 + COST.as_nanos() as u64;
        assert!(pause_ns + 1_000_000 >= least_ns, "all think, and wait for the note, between rounds: {pair:?}");
    }
    for window in &checkpoint.windows {
        assert!(window.snapshot_ns >= COST.as_nanos() as u64, "{window:?}");
        assert!(window.first_end_ns - window.last_begin_ns >= COST.as_nanos() as u64, "nobody ends before it: {window:?}");
    }
    assert_eq!(checkpoint.checkpoint_ns, checkpoint.windows_ns());
    assert!(checkpoint.think_ns >= 80_000_000);
    assert!(result.events.iter().all(|event| event.kind == "snapshot" && event.task == Some(0)));
    assert_eq!(result.events.len(), 4);
    assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), u64::from(TASKS) << 20);
    let dropped = run(&storage, phase(CheckpointStep::Drop, |_| ()), None);
    assert_eq!((slow.removed.load(Ordering::Relaxed), dropped.latency.count), (4, 5));
    assert!(storage.length(0).is_err(), "the data went as well");
}

#[test]
fn each_task_takes_its_own_and_waits_for_nobody() {
    let (slow, storage) = slow(None);
    let each = |work: &mut Checkpoint| work.coordination = Coordination::Each;
    let result = run(&storage, phase(CheckpointStep::Checkpoint, each), None);
    let checkpoint = result.checkpoint.as_ref().expect("it is one");
    assert_eq!((slow.asked.load(Ordering::Relaxed), slow.taken.load(Ordering::Relaxed)), (TASKS, 4 * TASKS));
    assert_eq!(slow.noted.load(Ordering::Relaxed), 4 * TASKS);
    assert!(checkpoint.checkpoint_ns >= 4 * COST.as_nanos() as u64);
    let longest = result.tasks.iter().map(|task| task.end_ns - task.start_ns).max().expect("tasks");
    assert!(checkpoint.checkpoint_ns <= longest);
    run(&storage, phase(CheckpointStep::Drop, each), None);
    assert_eq!(slow.removed.load(Ordering::Relaxed), 4 * TASKS);
}

#[test]
fn a_snapshot_that_fails_ends_the_trial_with_its_reason_and_nobody_waits_for_ever() {
    for coordination in [Coordination::Together, Coordination::Each] {
        let (_, storage) = slow(Some(2));
        let result = run(&storage, phase(CheckpointStep::Checkpoint, |work| work.coordination = coordination), None);
        assert_eq!(result.stop_reason, StopReason::Error);
        assert!(result.first_error.expect("an error").message.contains("no more snapshots here"));
        assert_eq!(result.checkpoint.expect("it is one").rounds, 2);
    }
}

#[test]
fn a_restart_finds_the_bytes_of_the_newest_round_and_no_others() {
    for depth in [1, 8] {
        let (_parent, _scratch, storage) = on_disk(StorageKind::Uring);
        let plain = |work: &mut Checkpoint| (work.snapshot, work.queue_depth) = (None, depth);
        let durable = |work: &mut Checkpoint| {
            plain(work);
            work.durability = Durability::Fsync;
        };
        run(&storage, phase(CheckpointStep::Checkpoint, durable), None);
        all_verified(&run(&storage, phase(CheckpointStep::Restart, plain), None));
        // A phase that believes in one round fewer expects other bytes.
        let fewer = |work: &mut Checkpoint| (work.snapshot, work.rounds) = (None, 3);
        let damaged = run(&storage, phase(CheckpointStep::Restart, fewer), None).verify.expect("verified");
        assert_eq!(damaged.damaged_operations, u64::from(TASKS) << 2);
    }
}

#[test]
fn rounds_and_a_restart_try_again_what_may_pass_and_say_so() {
    for depth in [1, 8] {
        let faults = [Op::Write, Op::Read].map(|op| Fault::FailEvery { op, nth: 3, errno: EIO });
        let storage: Arc<dyn Storage> = Arc::new(Faulty::storage(in_memory(), faults.to_vec()));
        let retrying = |work: &mut Checkpoint| {
            (work.snapshot, work.queue_depth, work.retry_ns) = (None, depth, Some(10_000_000_000));
        };
        let written = run(&storage, phase(CheckpointStep::Checkpoint, retrying), None);
        assert_eq!(written.stop_reason, StopReason::Size, "{:?}", written.first_error);
        let read = run(&storage, phase(CheckpointStep::Restart, retrying), None);
        all_verified(&read);
        // Of 4 rounds of 4 writes, and of 4 reads: each third attempt fails.
        for (result, retries) in [(written, 7), (read, 1)] {
            for task in &result.tasks {
                assert_eq!((task.errors, task.retries), (0, retries), "depth {depth}");
                let own = result.events.iter().filter(|event| event.kind == "retry" && event.task == Some(task.task));
                assert_eq!(own.filter_map(|event| event.attempts).sum::<u64>(), retries, "depth {depth}");
            }
        }
        let impatient = run(&storage, phase(CheckpointStep::Checkpoint, |work| work.snapshot = None), None);
        assert_eq!(impatient.stop_reason, StopReason::Error);
    }
}

#[test]
fn what_takes_no_snapshots_says_so_before_the_start() {
    for storage in [in_memory(), null()] {
        for means in [Means::Reflink {}, Means::Btrfs {}, Means::Cephfs {}, Means::RadosPool {}, Means::Model {}] {
            let name = means.name();
            let text = refused(&storage, phase(CheckpointStep::Checkpoint, |work| work.snapshot = Some(means)));
            assert!(text.contains(name), "{text}");
        }
    }
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let text = refused(&storage, phase(CheckpointStep::Checkpoint, |work| work.snapshot = Some(Means::RadosSelfManaged {})));
    assert!(text.contains("rados://"), "{text}");
}

fn command(argv: &[&str], remove: Option<&[&str]>, read: Option<&str>) -> Means {
    let words = |argv: &[&str]| argv.iter().map(|word| (*word).to_owned()).collect();
    let (remove_argv, read_directory) = (remove.map(words), read.map(str::to_owned));
    Means::Command(SnapshotCommand { argv: words(argv), remove_argv, read_directory, timeout_ns: None })
}

#[test]
fn a_program_of_the_user_takes_them_and_old_rounds_are_read_where_it_put_them() {
    let (parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let saved = parent.path().join("saved");
    let place = format!("{}/{{round}}", saved.display());
    std::fs::create_dir(&saved).expect("a directory");
    let means = command(&["cp", "-r", "{directory}", &place], Some(&["rm", "-r", &place]), Some(&place));
    let with = |work: &mut Checkpoint| work.snapshot = Some(means.clone());
    let result = run(&storage, phase(CheckpointStep::Checkpoint, with), None);
    assert_eq!(result.checkpoint.expect("it is one").snapshot.count, 4, "{:?}", result.first_error);
    for round in [0, 2, 3] {
        let of = |work: &mut Checkpoint| {
            with(work);
            work.of_round = Some(round);
        };
        all_verified(&run(&storage, phase(CheckpointStep::Restart, of), None));
    }
    run(&storage, phase(CheckpointStep::Drop, with), None);
    assert_eq!(std::fs::read_dir(&saved).expect("listed").count(), 0, "its programs removed them");
}

#[test]
fn a_program_that_hangs_fails_the_trial_when_its_time_is_up() {
    for coordination in [Coordination::Together, Coordination::Each] {
        let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
        let mut hanging = command(&["sleep", "1000"], None, None);
        if let Means::Command(command) = &mut hanging {
            command.timeout_ns = Some(200_000_000);
        }
        let change = |work: &mut Checkpoint| (work.snapshot, work.coordination) = (Some(hanging), coordination);
        let result = run(&storage, phase(CheckpointStep::Checkpoint, change), None);
        assert_eq!(result.stop_reason, StopReason::Error);
        let message = result.first_error.expect("an error").message;
        assert!(message.contains("take a snapshot with") && message.contains("after 200ms"), "{message}");
        assert_eq!(result.checkpoint.expect("it is one").rounds, 0);
    }
}

#[test]
fn a_program_that_hangs_does_not_keep_whoever_interrupts() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let hanging = command(&["sleep", "1000"], None, None);
    let spec = phase(CheckpointStep::Checkpoint, |work| work.snapshot = Some(hanging));
    let mut phase = Phase::prepare(storage, spec, None).expect("prepared");
    phase.go();
    std::thread::sleep(Duration::from_millis(200));
    phase.stop();
    assert!(phase.wait(Duration::from_secs(30)), "the phase ends");
    let result = phase.take_result().expect("a result").expect("it ran");
    assert_eq!((result.stop_reason, result.first_error.map(|error| error.message)), (StopReason::Interrupted, None));
}

#[test]
fn a_program_that_fails_or_is_not_there_is_told_in_a_line() {
    let (_parent, _scratch, storage) = on_disk(StorageKind::Posix);
    let failing = command(&["ls", "/no/such/file/{round}"], None, None);
    let result = run(&storage, phase(CheckpointStep::Checkpoint, |work| work.snapshot = Some(failing)), None);
    let message = result.first_error.expect("an error").message;
    assert!(message.contains("/no/such/file/0") && !message.contains('\n'), "{message}");
    let missing = command(&["no-such-program-anywhere"], None, None);
    let text = refused(&storage, phase(CheckpointStep::Checkpoint, |work| work.snapshot = Some(missing)));
    assert!(text.contains("no-such-program-anywhere"), "{text}");
}

/// Memory of which a snapshot is being taken when everybody is to stop.
struct Interrupted {
    inner: Arc<dyn Storage>,
    begun: Sender<()>,
    noted: Arc<AtomicU32>,
}

struct InterruptedSnapshots {
    begun: Sender<()>,
    noted: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl Snapshots for InterruptedSnapshots {
    fn take(&mut self, _round: u32) -> Result<u64> {
        let _ = self.begun.send(());
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(0)
    }

    fn at(&mut self, _round: u32) -> Result<Option<Arc<dyn Storage>>> {
        Ok(None)
    }

    fn note(&mut self, _round: u32) -> Result<()> {
        self.noted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn remove(&mut self, _round: u32) -> Result<()> {
        Ok(())
    }
}

impl Wrapper for Interrupted {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn snapshots(&self, request: &SnapshotRequest) -> Result<Box<dyn Snapshots>> {
        let (begun, noted, stop) = (self.begun.clone(), Arc::clone(&self.noted), Arc::clone(&request.stop));
        Ok(Box::new(InterruptedSnapshots { begun, noted, stop }))
    }
}

#[test]
fn a_snapshot_that_was_taken_while_all_are_to_stop_is_noted_all_the_same() {
    let (begun, heard) = channel();
    let noted = Arc::<AtomicU32>::default();
    let storage: Arc<dyn Storage> = Arc::new(Interrupted { inner: in_memory(), begun, noted: Arc::clone(&noted) });
    let each = phase(CheckpointStep::Checkpoint, |work| work.coordination = Coordination::Each);
    let mut running = Phase::prepare(storage, each, None).expect("it is prepared");
    running.go();
    for _ in 0..TASKS {
        heard.recv_timeout(Duration::from_secs(60)).expect("each task takes one");
    }
    running.stop();
    assert!(running.wait(Duration::from_secs(60)), "it ends");
    let result = running.take_result().expect("it ended").expect("a result");
    assert_eq!((result.stop_reason, noted.load(Ordering::Relaxed)), (StopReason::Interrupted, TASKS));
}
