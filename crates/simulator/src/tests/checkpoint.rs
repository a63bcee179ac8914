use tonnage_records::PhaseResult;
use tonnage_workload::{
    Access, Checkpoint, CheckpointStep, Coordination, Durability, Geometry, Layout, Means, Op, PhaseSpec, Work,
};

use super::{MIB, near, phase, simulator, working};
use crate::{ModelSpec, SimulatorError};

const TASKS: u32 = 4;
const ROUNDS: u32 = 5;

fn rounds(change: impl FnOnce(&mut Checkpoint)) -> PhaseSpec {
    let Work::Stream(mut stream) = phase(Op::Write, 1, 0, "").work else { unreachable!("it is one") };
    stream.geometry = Geometry {
        transfer_size: MIB,
        block_size: 16 * MIB,
        segments: 1,
        layout: Layout::FilePerTask,
        access: Access::Sequential,
    };
    let mut work = Checkpoint {
        step: CheckpointStep::Checkpoint,
        rounds: ROUNDS,
        think_ns: 2_000_000_000,
        coordination: Coordination::Together,
        geometry: stream.geometry,
        queue_depth: 1,
        durability: Durability::None,
        cache: tonnage_workload::CachePolicy::Keep,
        payload: tonnage_workload::PayloadKind::Unique,
        verify: false,
        snapshot: Some(Means::Model {}),
        of_round: None,
        retry_ns: None,
    };
    change(&mut work);
    working(Work::Checkpoint(work), TASKS)
}

fn model() -> ModelSpec {
    let plateau = Some(1000 * MIB);
    ModelSpec { plateau_bytes_per_s: plateau, jitter: 0.0, snapshot_ns: 1_000_000_000, knee: Some(1), ..ModelSpec::default() }
}

fn run(model: ModelSpec, spec: &PhaseSpec) -> PhaseResult {
    simulator(model).run(spec, None).expect("runs")
}

#[test]
fn a_round_takes_its_bytes_at_the_plateau_and_the_planted_cost_whoever_coordinates_and_at_any_depth() {
    // All four write 64 MiB at 1000 MiB/s.
    let written_ns = 64_000_000_u64;
    for depth in [1, 4] {
        let together = run(model(), &rounds(|work| work.queue_depth = depth));
        let checkpoint = together.checkpoint.expect("it is one");
        assert_eq!((checkpoint.rounds, checkpoint.windows.len()), (ROUNDS, ROUNDS as usize));
        for window in &checkpoint.windows {
            let round_ns = window.last_end_ns - window.first_begin_ns;
            assert!(near(round_ns as f64, 1e9 + written_ns as f64, 0.001), "depth {depth}: {window:?}");
            assert_eq!(window.snapshot_ns, 1_000_000_000);
        }
        assert_eq!((checkpoint.snapshot_ns, checkpoint.snapshot.count), (5_000_000_000, 5));
        assert_eq!(checkpoint.checkpoint_ns, checkpoint.windows_ns());
        assert_eq!(together.events.iter().filter(|event| event.kind == "snapshot").count(), 5);
        assert!(together.events.iter().all(|event| event.kind == "snapshot"), "waiting is no stall: {:?}", together.events);
        assert_eq!(together.tasks.iter().map(|task| task.bytes).sum::<u64>(), u64::from(TASKS * ROUNDS) * 16 * MIB);
        let gaps = checkpoint.windows.windows(2).map(|two| two[1].first_begin_ns - two[0].last_end_ns);
        assert!(gaps.into_iter().all(|gap| gap == 2_000_000_000), "thinking is outside the rounds");
    }
    let each = run(model(), &rounds(|work| work.coordination = Coordination::Each)).checkpoint.expect("it is one");
    assert_eq!((each.snapshot.count, each.snapshot_ns), (20, 20_000_000_000), "every task takes its own");
    // Whoever is alone writes at four times the speed, so tasks that drift apart are done sooner, but never sooner than that.
    let range = 5_000_000_000 + 5 * 16_000_000..=5_000_000_000 + 5 * written_ns;
    assert!(range.contains(&each.checkpoint_ns), "{}", each.checkpoint_ns);
}

#[test]
fn tasks_that_never_pause_stay_together_and_come_to_an_end() {
    for (think_ns, snapshot) in [(0, Some(Means::Model {})), (0, None), (1, Some(Means::Model {}))] {
        let result = run(model(), &rounds(|work| (work.think_ns, work.snapshot) = (think_ns, snapshot.clone())));
        let checkpoint = result.checkpoint.expect("it is one");
        assert_eq!((checkpoint.rounds, checkpoint.windows.len()), (ROUNDS, ROUNDS as usize));
        assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), u64::from(TASKS * ROUNDS) * 16 * MIB);
    }
}

#[test]
fn without_snapshots_the_model_has_no_cost_and_only_the_newest_can_be_read() {
    let plain = rounds(|work| work.snapshot = None);
    let mut storage = simulator(model());
    let checkpoint = storage.run(&plain, None).expect("runs").checkpoint.expect("it is one");
    assert_eq!((checkpoint.snapshot_ns, checkpoint.snapshot.count), (0, 0));
    assert!(near(checkpoint.checkpoint_ns as f64, 5.0 * 64e6, 0.001));
    let restart = rounds(|work| (work.snapshot, work.step) = (None, CheckpointStep::Restart));
    let read = storage.run(&restart, None).expect("reads");
    assert_eq!(read.tasks.iter().map(|task| task.bytes).sum::<u64>(), 64 * MIB);
    let dropped = storage.run(&rounds(|work| work.step = CheckpointStep::Drop), None).expect("removes");
    assert_eq!(dropped.latency.count, u64::from(ROUNDS) + 1);
    assert!(storage.length(0).is_none(), "the data are gone");
}

#[test]
fn the_cost_varies_by_the_noise_and_its_mean_is_the_planted_one() {
    let noisy = ModelSpec { noise: 0.3, ..model() };
    let taken = |seed| {
        let spec = rounds(|work| work.rounds = 100);
        run(ModelSpec { seed, ..noisy.clone() }, &spec).checkpoint.expect("it is one")
    };
    let all: Vec<_> = (0..40).map(taken).collect();
    let mean = all.iter().map(|one| one.snapshot_ns).sum::<u64>() as f64 / 4000.0;
    assert!(near(mean, 1e9, 0.02), "{mean}");
    let (low, high) = (all[0].snapshot.p50_ns, all[0].snapshot.p90_ns);
    assert!(near(high as f64 / low as f64, (0.3_f64 * 1.2816).exp(), 0.12), "{low} {high}");
}

#[test]
fn a_model_takes_no_other_snapshots() {
    let error = simulator(model()).run(&rounds(|work| work.snapshot = Some(Means::Btrfs {})), None).expect_err("refused");
    assert!(matches!(error, SimulatorError::Means("btrfs")), "{error}");
}

#[test]
fn a_full_storage_and_a_fault_end_the_phase() {
    for model in [ModelSpec { full_after_bytes: Some(20 * MIB), ..model() }, ModelSpec { fault_every: 30, ..model() }] {
        let result = run(model, &rounds(|_| ()));
        assert_eq!(result.stop_reason, tonnage_records::StopReason::Error);
        assert!(result.checkpoint.expect("it is one").rounds < ROUNDS);
    }
}
