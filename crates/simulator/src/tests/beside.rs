//! Two workloads on one model, against what their costs say in closed form.

use tonnage_records::{PhaseResult, StopReason};
use tonnage_workload::{Access, Op, PhaseSpec, RateLimits};

use super::files::{churn, make_tree_of_churn};
use super::{MIB, phase, rate, simulator, streaming};
use crate::{ModelSpec, SimulatorError};

const LEAD_NS: u64 = 250_000_000;

/// A storage whose plateau is 1000 transfers of 1 MiB a second, from 4 tasks on.
fn model() -> ModelSpec {
    ModelSpec { knee: Some(4), plateau_bytes_per_s: Some(1000 * MIB), ..ModelSpec::default() }
}

fn offered(spec: PhaseSpec, operations_per_s: u64) -> PhaseSpec {
    PhaseSpec { pace: RateLimits { operations_per_s: Some(operations_per_s), ..RateLimits::default() }, ..spec }
}

fn beside(measured: &PhaseSpec, company: &PhaseSpec) -> (PhaseResult, PhaseResult) {
    let (mut own, mut other) = (simulator(model()), simulator(model()));
    make_tree_of_churn(&mut other);
    own.run_beside((measured, None), &mut other, (company, None), LEAD_NS).expect("both run")
}

fn operations(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.operations).sum()
}

#[test]
fn tasks_beyond_the_knee_have_what_their_company_leaves() {
    for (share, size) in [(0.25, MIB), (0.5, MIB), (0.5, 4 * MIB), (0.75, MIB / 4)] {
        let company = streaming(phase(Op::Write, 32, 1000, "0001-company"), |stream| {
            stream.geometry.transfer_size = size;
        });
        let company = offered(company, (share * 1000.0 * MIB as f64 / size as f64) as u64);
        let (measured, other) = beside(&phase(Op::Write, 8, 20, "0001-write"), &company);
        let found = rate(&measured) / (1000.0 * MIB as f64);
        // How long an operation takes is settled as it begins, so crowds that come and go cost a little more than the mean.
        assert!((found / (1.0 - share) - 1.0).abs() < 0.05, "{share} in {size}: {found}");
        let kept = rate(&other) / (share * 1000.0 * MIB as f64);
        assert!((kept - 1.0).abs() < 0.01, "{share}: the company reached {kept} of what it was offered");
    }
}

#[test]
fn names_and_bytes_share_the_device_by_what_they_cost() {
    // 20,000 creations a second are all of it, and a file that is made, looked at and removed is 2.6 of them.
    let (measured, _) = beside(&phase(Op::Write, 8, 20, "0001-write"), &offered(churn(8, 1000), 3846));
    let found = rate(&measured) / (1000.0 * MIB as f64);
    assert!((found / 0.5 - 1.0).abs() < 0.03, "{found}");
}

#[test]
fn below_the_knee_there_is_room_for_company() {
    // Two tasks ask for 0.95 · 2 ÷ 3.5 of the plateau and keep it as long as there are 3.5 ÷ 0.95 operations in flight at most.
    let alone = 0.95 * 2.0 / 3.5;
    let company = offered(phase(Op::Write, 8, 1000, "0001-company"), 200);
    let (measured, _) = beside(&phase(Op::Write, 2, 20, "0001-write"), &company);
    let found = rate(&measured) / (1000.0 * MIB as f64);
    assert!((found / alone - 1.0).abs() < 0.03, "{found} of {alone}");
}

#[test]
fn no_operation_of_one_is_counted_by_the_other_and_company_is_there_from_before_to_the_end() {
    let company = offered(phase(Op::Write, 3, 1000, "0001-company"), 100);
    let (measured, other) = beside(&phase(Op::Write, 5, 2, "0001-write"), &company);
    assert_eq!((measured.tasks.len(), other.tasks.len()), (5, 3));
    assert!((220..=235).contains(&operations(&other)), "{}", operations(&other));
    let began = |result: &PhaseResult| result.tasks.iter().map(|task| task.start_ns).min();
    assert_eq!(began(&measured), began(&other).map(|ns| ns + LEAD_NS));
    let ended = |result: &PhaseResult| result.tasks.iter().map(|task| task.end_ns).max().expect("tasks");
    assert!(ended(&other).abs_diff(ended(&measured)) < 50_000_000);
    assert_eq!((measured.stop_reason, other.stop_reason), (StopReason::Time, StopReason::Time));
}

#[test]
fn company_that_is_offered_too_much_falls_behind_and_says_so() {
    let company = offered(phase(Op::Write, 2, 1000, "0001-company"), 2000);
    let (_, other) = beside(&phase(Op::Write, 8, 5, "0001-write"), &company);
    assert!(rate(&other) < 0.3 * 1000.0 * MIB as f64, "two of ten operations in flight: {}", rate(&other));
}

#[test]
fn the_same_seeds_give_the_same_results() {
    let company = streaming(phase(Op::Write, 4, 1000, "0001-company"), |stream| stream.geometry.access = Access::Random);
    let company = offered(company, 500);
    let own = phase(Op::Write, 8, 2, "0001-write");
    let (first, second) = (beside(&own, &company), beside(&own, &company));
    assert_eq!((operations(&first.0), first.0.latency), (operations(&second.0), second.0.latency));
    assert_eq!((operations(&first.1), first.1.latency), (operations(&second.1), second.1.latency));
}

#[test]
fn both_clocks_stand_at_the_end() {
    let (mut own, mut other) = (simulator(model()), simulator(model()));
    other.add_time(7_000_000_000);
    let company = offered(phase(Op::Write, 3, 1000, "0001-company"), 100);
    own.run_beside((&phase(Op::Write, 5, 2, "0001-write"), None), &mut other, (&company, None), LEAD_NS).expect("both run");
    assert!(own.now_ns() > 9_000_000_000);
    assert_eq!(own.now_ns(), other.now_ns());
}

#[test]
fn what_the_model_has_no_law_for_is_refused() {
    let nodes = ModelSpec { node_plateau_bytes_per_s: Some(1 << 30), ..model() };
    let (mut own, mut other) = (simulator(nodes.clone()), simulator(nodes));
    let spec = phase(Op::Write, 4, 1, "0001-write");
    let refused = own.run_beside((&spec, None), &mut other, (&spec, None), LEAD_NS);
    assert!(matches!(refused, Err(SimulatorError::Beside(_))));
}
