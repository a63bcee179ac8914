//! Memory held during a phase. Alone in its process, whose memory it looks at.

#[allow(dead_code, reason = "this program uses a part of it")]
#[path = "engine/support/mod.rs"]
mod support;

use std::time::Duration;

use support::{MIB, null, spec};
use tonnage_engine::Phase;
use tonnage_workload::{Limit, Op, PhaseSpec};

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_hog_is_resident_from_before_the_start_line_until_the_phase_has_ended_and_not_more_than_there_is() {
    let limit = Limit { time_ns: Some(50_000_000), wrap: true, ..Limit::default() };
    let hogging = |hog_bytes| PhaseSpec { hog_bytes, limit, ..spec(Op::Write, 1) };
    let before = resident_bytes();
    let mut phase = Phase::prepare(null(), hogging(200 * MIB), None).expect("prepared");
    assert!(resident_bytes() >= before + 200 * MIB, "every page is there at the start line");
    phase.go();
    assert!(phase.wait(Duration::from_secs(60)));
    assert!(resident_bytes() < before + 100 * MIB, "freed when the phase has ended");
    drop(phase);

    let waiting = Phase::prepare(null(), hogging(200 * MIB), None).expect("prepared");
    drop(waiting);
    assert!(resident_bytes() < before + 100 * MIB, "freed with a phase that never began");

    let refused = Phase::prepare(null(), hogging(1 << 60), None).err().expect("nobody has that").to_string();
    assert!(refused.starts_with("cannot hold 1152921504606846976 bytes of memory: "), "{refused}");
    assert!(refused.ends_with(" bytes are available; give a smaller hog"), "{refused}");
}
