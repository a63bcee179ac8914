//! Copies of real commands.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::run;
use tonnage_engine::Phase;
use tonnage_records::{PhaseResult, StopReason, TaskResult};
use tonnage_storage::{StorageKind, TargetSpec, open};
use tonnage_workload::{Command, Limit, PhaseSpec, RateLimits, TaskRange, Work};

const MS: u64 = 1_000_000;

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        for name in ["work", "output"] {
            std::fs::create_dir(place.path().join(name)).expect("a directory");
        }
        Self(place)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("plain").to_owned()
    }

    fn spec(&self, argv: &[&str], copies: u32, tasks: u32) -> PhaseSpec {
        PhaseSpec {
            record: "0000-command".to_owned(),
            tasks: TaskRange { first: 0, here: tasks, total: tasks },
            tasks_per_node: None,
            limit: Limit::default(),
            pace: RateLimits::default(),
            hog_bytes: 0,
            operation_log: 0,
            seed: 5,
            interval_ns: 10 * MS,
            work: Work::Command(Command {
                argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
                copies,
                directory: self.path("work"),
                environment: BTreeMap::new(),
                output: Some(self.path("output")),
            }),
        }
    }

    fn run(&self, argv: &[&str], copies: u32, tasks: u32) -> PhaseResult {
        perform(self.spec(argv, copies, tasks))
    }

    fn said(&self, copy: u32) -> String {
        std::fs::read_to_string(self.path(&format!("output/{copy}.out"))).expect("its output was kept")
    }
}

fn perform(spec: PhaseSpec) -> PhaseResult {
    run(&open(&TargetSpec::new(StorageKind::Null)).expect("null"), spec, None)
}

/// Started and not waited for.
fn start(spec: PhaseSpec) -> Phase {
    let mut phase = Phase::prepare(open(&TargetSpec::new(StorageKind::Null)).expect("null"), spec, None).expect("prepared");
    phase.go();
    phase
}

fn commanding(mut spec: PhaseSpec, change: impl FnOnce(&mut Command)) -> PhaseSpec {
    let Work::Command(command) = &mut spec.work else { unreachable!("these phases are commands") };
    change(command);
    spec
}

fn message(result: &PhaseResult) -> &str {
    &result.first_error.as_ref().expect("an error is kept").message
}

/// Live processes whose command line holds `mark`.
fn processes_with(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("procfs").flatten();
    all.filter(|entry| std::fs::read_to_string(entry.path().join("cmdline")).is_ok_and(|line| line.contains(mark))).count()
}

#[test]
fn fifty_copies_of_gzip_run_eight_at_once_and_each_is_accounted() {
    let place = Fixture::new();
    let data: Vec<u8> = (0..200_000_u32).flat_map(|number| (number ^ (number << 7)).to_le_bytes()).collect();
    std::io::Write::write_all(&mut std::fs::File::create(place.path("work/data")).expect("a file"), &data).expect("written");
    let result = place.run(&["gzip", "-c", "data"], 50, 8);
    assert_eq!((result.stop_reason, &result.first_error), (StopReason::Size, &None));
    assert_eq!(result.copies.iter().map(|copy| copy.copy).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    assert_eq!(result.tasks.iter().map(|task| task.operations).sum::<u64>(), 50);
    assert_eq!(result.latency.count, 50);
    assert!(result.copies.iter().all(|copy| copy.exit_code == Some(0) && copy.signal.is_none() && copy.error.is_none()));
    assert!(result.copies.iter().all(|copy| copy.read_call_bytes >= Some(data.len() as u64)));
    let packed = Path::new(&place.path("output/49.out")).metadata().expect("kept").len();
    assert!(packed > 1000 && result.copies.iter().all(|copy| copy.write_call_bytes == Some(packed)));
    let at_once = |now: u64| result.copies.iter().filter(|copy| copy.start_ns <= now && now < copy.end_ns).count();
    let most = result.copies.iter().map(|copy| at_once(copy.start_ns)).max();
    assert!((Some(2)..=Some(8)).contains(&most), "{most:?}");
    let cpu: u64 = result.copies.iter().map(|copy| copy.cpu_user_ns + copy.cpu_system_ns).sum();
    assert_eq!(result.cpu_user_ns + result.cpu_system_ns, cpu);
    assert!(result.events.is_empty(), "{:?}", result.events);
}

#[test]
fn what_dd_moved_is_what_the_kernel_accounted() {
    let place = Fixture::new();
    let result = place.run(&["dd", "if=/dev/zero", "of=big.{copy}", "bs=64k", "count=128"], 2, 2);
    for copy in &result.copies {
        let written = copy.write_call_bytes.expect("accounted");
        assert!((8 << 20..(8 << 20) + 4096).contains(&written), "{written}: 8 MiB and a few lines of text");
        let read = copy.read_call_bytes.expect("accounted");
        assert!((8 << 20..(8 << 20) + (1 << 20)).contains(&read), "{read}: 8 MiB and its libraries");
        let calls = [copy.read_calls, copy.write_calls].map(|calls| calls.expect("accounted"));
        assert!(calls.iter().all(|calls| (128..160).contains(calls)), "{calls:?}: 128 blocks, libraries and lines of text");
        assert_eq!(Path::new(&place.path(&format!("work/big.{}", copy.copy))).metadata().expect("made").len(), 8 << 20);
    }
    let moved: u64 = result.copies.iter().filter_map(|copy| Some(copy.read_call_bytes? + copy.write_call_bytes?)).sum();
    assert_eq!(result.tasks.iter().map(|task| task.bytes).sum::<u64>(), moved);
}

#[test]
fn copies_that_share_processors_wait_for_them() {
    let place = Fixture::new();
    let more = 2 * std::thread::available_parallelism().map_or(1, usize::from) as u32 + 1;
    let busy = place.run(&["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], more, more);
    let delays = busy.copies.iter().map(|copy| copy.run_delay_ns.expect("accounted")).collect::<Vec<_>>();
    assert!(delays.iter().sum::<u64>() > 1_000_000, "{delays:?}");
    assert!(busy.copies.iter().all(|copy| copy.run_delay_ns <= Some(copy.end_ns - copy.start_ns)), "{delays:?}");
}

#[test]
fn children_that_a_copy_waited_for_are_in_its_account() {
    let place = Fixture::new();
    let line = "dd if=/dev/zero of=one bs=64k count=64 2>/dev/null; dd if=/dev/zero of=two bs=64k count=64 2>/dev/null";
    let result = place.run(&["sh", "-c", line], 1, 1);
    assert!(result.copies[0].write_call_bytes >= Some(8 << 20), "{:?}", result.copies[0]);
}

#[test]
fn the_time_of_a_busy_copy_is_counted_and_that_of_a_sleeping_one_is_not() {
    let place = Fixture::new();
    let busy = place.run(&["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"], 1, 1);
    let copy = &busy.copies[0];
    let (cpu, elapsed) = (copy.cpu_user_ns + copy.cpu_system_ns, copy.end_ns - copy.start_ns);
    assert!(cpu > 50 * MS && cpu <= elapsed + 20 * MS, "{cpu} of {elapsed} ns");
    let asleep = place.run(&["sleep", "0.3"], 1, 1);
    assert!(asleep.cpu_user_ns + asleep.cpu_system_ns < 100 * MS);
    assert!(asleep.latency.min_ns >= 299 * MS, "its latency is its elapsed time");
}

#[test]
fn arguments_arrive_as_they_were_given() {
    let place = Fixture::new();
    let odd = ["two words", "a 'b' \"c\"", "line\nbreak", "$HOME `id` $(id) ; & | > *", "", "ü{copy}", "\\"];
    let mut argv = vec!["python3", "-c", "import sys, json; print(json.dumps(sys.argv[1:]))"];
    argv.extend(odd);
    let result = place.run(&argv, 12, 1);
    assert_eq!(result.first_error, None);
    let expected = r#"["two words", "a 'b' \"c\"", "line\nbreak", "$HOME `id` $(id) ; & | > *", "", "\u00fc11", "\\"]"#;
    assert_eq!(place.said(11).trim(), expected);
}

#[test]
fn a_copy_runs_in_its_directory_with_its_environment_and_without_input() {
    let place = Fixture::new();
    let spec = place.spec(&["sh", "-c", "pwd; echo $GIVEN $TONNAGE_COPY $TONNAGE_TASK; wc -c"], 2, 1);
    let result = perform(commanding(spec, |command| {
        command.environment.insert("GIVEN".to_owned(), "a  b".to_owned());
    }));
    assert_eq!(result.first_error, None);
    let real = std::fs::canonicalize(place.path("work")).expect("there");
    assert_eq!(place.said(1), format!("{}\na b 1 0\n0\n", real.display()));
}

#[test]
fn the_programs_path_is_the_one_it_is_given_and_a_script_needs_no_first_line() {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let place = Fixture::new();
    let written = |name: &str, text: &str, mode: u32| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(place.path(name)).expect("made");
        file.write_all(text.as_bytes()).expect("written");
    };
    std::fs::create_dir(place.path("closed")).expect("a directory");
    written("closed/greet", "#!/bin/sh\necho wrong\n", 0o644);
    written("work/greet", "echo \"$0\" \"$@\"\n", 0o755);
    let path = format!("{}:/no/such/place:{}", place.path("closed"), place.path("work"));
    let given = |path: String| {
        let spec = place.spec(&["greet", "a  b", "{copy}"], 1, 1);
        perform(commanding(spec, |command| drop(command.environment.insert("PATH".to_owned(), path))))
    };
    assert_eq!(given(path).first_error, None);
    assert_eq!(place.said(0), format!("{} a  b 0\n", place.path("work/greet")));
    let denied = given(format!("{}:/no/such/place", place.path("closed")));
    assert!(message(&denied).starts_with("copy 0 of greet did not run: Permission denied"), "{}", message(&denied));
    let relative = place.run(&["./greet", "near"], 1, 1);
    assert_eq!(relative.first_error, None, "a relative path begins where the copy runs");
    assert_eq!(place.said(0), "./greet near\n");
}

#[test]
fn a_copy_has_the_signals_of_a_shell_whatever_this_process_does_with_its_own() {
    const LINE: &str =
        "import signal as s; print([int(s.getsignal(n)) for n in (s.SIGUSR1, s.SIGTERM)], s.pthread_sigmask(0, []))";
    extern "C" fn handle(_: libc::c_int) {}
    let place = Fixture::new();
    let usual = handle as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(libc::SIGUSR1, usual as libc::sighandler_t) };
    let result = place.run(&["python3", "-c", LINE], 1, 1);
    assert_eq!(result.first_error, None);
    assert_eq!(place.said(0), "[0, 0] set()\n");
    // SAFETY: only looked at.
    let still = unsafe { libc::signal(libc::SIGUSR1, libc::SIG_DFL) };
    assert_eq!(still, usual as libc::sighandler_t, "this process's own is as it was");
}

/// A library such as `OpenBLAS` stops its threads around a fork; two tasks that fork at once made it wait forever.
#[test]
fn no_library_is_asked_to_prepare_for_a_fork() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    extern "C" fn prepare() {
        ASKED.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the function only counts.
    assert_eq!(unsafe { libc::pthread_atfork(Some(prepare), None, None) }, 0);
    let place = Fixture::new();
    assert_eq!(place.run(&["true"], 20, 2).first_error, None);
    assert_eq!(ASKED.load(Ordering::Relaxed), 0);
}

#[test]
fn a_copy_that_fails_fails_the_trial_and_lets_the_running_ones_end() {
    let place = Fixture::new();
    let line = "if [ $TONNAGE_COPY = 1 ]; then echo first >&2; echo ' no luck ' >&2; exit 3; else sleep 0.4; echo whole; fi";
    let result = place.run(&["sh", "-c", line], 40, 2);
    assert_eq!(result.stop_reason, StopReason::Error);
    assert_eq!(message(&result), "copy 1 ended with exit code 3: no luck");
    assert_eq!(result.first_error.as_ref().map(|error| error.offset), Some(1));
    assert_eq!(result.copies.len(), 2, "no other copy began");
    assert_eq!((result.copies[0].exit_code, result.copies[1].exit_code), (Some(0), Some(3)));
    assert_eq!(place.said(0), "whole\n");
    let sum = |count: fn(&TaskResult) -> u64| result.tasks.iter().map(count).sum::<u64>();
    assert_eq!((sum(|task| task.operations), sum(|task| task.errors)), (1, 1));
    let deaf = perform(commanding(place.spec(&["false"], 1, 1), |command| command.output = None));
    assert_eq!(message(&deaf), "copy 0 ended with exit code 1; what it said was not kept (keep_output keeps it)");
    assert_eq!(message(&place.run(&["false"], 1, 1)), "copy 0 ended with exit code 1 and said nothing");
}

#[test]
fn a_copy_that_a_signal_ended_is_told_apart() {
    let place = Fixture::new();
    let result = place.run(&["sh", "-c", "echo oh >&2; kill -9 $$"], 1, 1);
    assert_eq!(message(&result), "copy 0 was ended by signal 9 (SIGKILL): oh");
    assert_eq!((result.copies[0].exit_code, result.copies[0].signal), (None, Some(9)));
}

#[test]
fn a_copy_that_was_stopped_a_moment_before_its_phase_has_not_failed() {
    for end in ["kill -TERM $$", "exit 143"] {
        let place = Fixture::new();
        let phase = start(place.spec(&["sh", "-c", &format!("touch ended; {end}")], 1, 1));
        while !Path::new(&place.path("work/ended")).exists() {
            std::thread::yield_now();
        }
        // Longer than the copy takes to its end.
        std::thread::sleep(Duration::from_millis(100));
        phase.stop();
        assert!(phase.wait(Duration::from_secs(30)));
        let result = phase.take_result().expect("a result").expect("it ran");
        assert_eq!((result.stop_reason, result.first_error), (StopReason::Interrupted, None));
    }
    let place = Fixture::new();
    assert_eq!(
        message(&place.run(&["sh", "-c", "kill -TERM $$"], 1, 1)),
        "copy 0 was ended by signal 15 (SIGTERM) and said nothing"
    );
}

#[test]
fn a_command_that_is_not_there_is_one_clear_error() {
    let place = Fixture::new();
    let result = place.run(&["no-such-program-here"], 3, 1);
    assert!(message(&result).starts_with("copy 0 of no-such-program-here did not run: No such file or directory"));
    assert_eq!(result.first_error.as_ref().map(|error| error.errno), Some(libc_enoent()));
    assert_eq!(result.copies.len(), 1);
    let lost = commanding(place.spec(&["true"], 1, 1), |command| command.directory = "/no/such/place".to_owned());
    let error = Phase::prepare(open(&TargetSpec::new(StorageKind::Null)).expect("null"), lost, None).err().expect("refused");
    assert_eq!(error.to_string(), "cannot run a command in /no/such/place: No such file or directory (os error 2)");
}

const fn libc_enoent() -> i32 {
    2
}

#[test]
fn a_stop_leaves_no_process_not_even_a_grandchild() {
    let place = Fixture::new();
    let line = "echo up; sleep 86421.5 & sleep 86421.5; wait";
    let phase = start(place.spec(&["sh", "-c", line], 8, 4));
    while processes_with("86421.5\0") < 8 {
        std::thread::yield_now();
    }
    let asked = Instant::now();
    phase.stop();
    assert!(phase.wait(Duration::from_secs(30)) && asked.elapsed() < Duration::from_secs(4), "SIGTERM was enough");
    assert_eq!(processes_with("86421.5"), 0);
    let result = phase.take_result().expect("a result").expect("it ran");
    assert_eq!((result.stop_reason, result.first_error), (StopReason::Interrupted, None));
    assert_eq!(result.copies.iter().map(|copy| copy.signal).collect::<Vec<_>>(), [Some(15); 4]);
}

#[test]
fn a_copy_that_ignores_the_polite_signal_is_ended_all_the_same() {
    let place = Fixture::new();
    let phase = start(place.spec(&["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.0864; done"], 1, 1));
    while std::fs::read_to_string(place.path("output/0.out")).map_or(0, |said| said.len()) == 0 {
        std::thread::yield_now();
    }
    let asked = Instant::now();
    drop(phase);
    assert!((4..15).contains(&asked.elapsed().as_secs()), "{:?}", asked.elapsed());
    assert_eq!(processes_with("0.0864"), 0);
}

#[test]
fn no_copy_starts_after_the_time_limit() {
    let place = Fixture::new();
    let spec = place.spec(&["sleep", "0.2"], 1000, 2);
    let result = perform(PhaseSpec { limit: Limit { time_ns: Some(500 * MS), ..Limit::default() }, ..spec });
    assert_eq!(result.stop_reason, StopReason::Time);
    assert!((2..=6).contains(&result.copies.len()), "at most two each at 0, 0.2 and 0.4 s");
    assert!(result.copies.iter().all(|copy| copy.exit_code == Some(0)));
}

#[test]
fn a_thousand_copies_leave_no_descriptor_and_no_child() {
    let place = Fixture::new();
    let open_files = || std::fs::read_dir("/proc/self/fd").expect("procfs").count();
    place.run(&["true"], 8, 4);
    let before = open_files();
    let result = place.run(&["true"], 1000, 4);
    assert_eq!(result.copies.len(), 1000);
    // Other tests of this process have a few open at any moment.
    assert!(open_files() < before + 100, "{} and {before} before", open_files());
    let ours = std::process::id().to_string();
    let mine = |stat: &str| stat.rsplit_once(") Z ").is_some_and(|(_, facts)| facts.split(' ').next() == Some(ours.as_str()));
    let processes = std::fs::read_dir("/proc").expect("procfs").flatten();
    let dead = processes.filter(|entry| std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| mine(&stat)));
    assert!(dead.count() < 50, "ended copies are reaped");
}
