//! A phase beside its company, on storages of their own.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{in_memory, null, on_disk, spec, streaming};
use tonnage_engine::{Beside, Phase};
use tonnage_records::{PhaseResult, StopReason};
use tonnage_storage::{Storage, StorageKind};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{Limit, Op, PhaseSpec, RateLimits};

const MS: u64 = 1_000_000;
const LEAD: Duration = Duration::from_millis(50);

/// Writes of 4 KiB that go on for so long.
fn writing(record: &str, tasks: u32, time_ms: u64) -> PhaseSpec {
    let limit = Limit { time_ns: Some(time_ms * MS), wrap: true, ..Limit::default() };
    let spec = PhaseSpec { record: record.to_owned(), limit, ..spec(Op::Write, tasks) };
    streaming(spec, |stream| stream.geometry.transfer_size = 4096)
}

fn company(operations_per_s: u64) -> PhaseSpec {
    let pace = RateLimits { operations_per_s: Some(operations_per_s), ..RateLimits::default() };
    PhaseSpec { pace, ..writing("0001-company", 3, 3_600_000) }
}

fn prepared(own: &Arc<dyn Storage>, other: &Arc<dyn Storage>, company: PhaseSpec) -> Beside {
    let other = Phase::prepare(Arc::clone(other), company, None).expect("prepared");
    let own = Phase::prepare(Arc::clone(own), writing("0001-write", 2, 200), None).expect("prepared");
    Beside::new(own, other, LEAD)
}

fn results(beside: &Beside) -> (PhaseResult, PhaseResult) {
    while !beside.wait(Duration::from_secs(60)) {}
    let (own, other) = beside.take_results().expect("there are results");
    (own.expect("it ran"), other.expect("it ran"))
}

fn ended(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.end_ns).max().expect("tasks")
}

fn began(result: &PhaseResult) -> u64 {
    result.tasks.iter().map(|task| task.start_ns).min().expect("tasks")
}

#[test]
fn each_counts_its_own_operations_and_company_is_there_from_before_to_the_end() {
    let (_parent, _scratch, own) = on_disk(StorageKind::Posix);
    let (_other_parent, _other_scratch, other) = on_disk(StorageKind::Posix);
    let mut beside = prepared(&own, &other, company(500));
    beside.go();
    let (measured, company) = results(&beside);
    assert_eq!((measured.tasks.len(), company.tasks.len()), (2, 3));
    assert!(began(&measured) >= began(&company), "company is up to speed first");
    assert!(ended(&company) >= ended(&measured), "and stays");
    let operations: u64 = company.tasks.iter().map(|task| task.operations).sum();
    let most = 500 * (ended(&company) - began(&company)) / 1_000_000_000 + 3;
    assert!((1..=most).contains(&operations), "{operations} of at most {most}");
    assert_eq!(company.latency.count, operations);
    assert_eq!((measured.stop_reason, company.stop_reason), (StopReason::Time, StopReason::Time));
    assert!(measured.first_error.is_none() && company.first_error.is_none());
}

#[test]
fn an_interrupt_ends_both_and_says_so_of_both() {
    let mut beside = prepared(&null(), &in_memory(), company(500));
    beside.go();
    beside.stop();
    let (measured, company) = results(&beside);
    assert_eq!((measured.stop_reason, company.stop_reason), (StopReason::Interrupted, StopReason::Interrupted));
}

#[test]
fn company_that_fails_is_told_of_and_the_measured_phase_ends_as_ever() {
    let broken: Arc<dyn Storage> =
        Arc::new(Faulty::storage(in_memory(), vec![Fault::FailEvery { op: Op::Write, nth: 5, errno: 5 }]));
    let mut beside = prepared(&null(), &broken, company(5000));
    beside.go();
    let (measured, company) = results(&beside);
    assert_eq!((measured.stop_reason, company.stop_reason), (StopReason::Time, StopReason::Error));
    assert!(company.first_error.is_some());
}

#[test]
fn phases_that_never_begin_go_home() {
    drop(prepared(&null(), &in_memory(), company(500)));
}
