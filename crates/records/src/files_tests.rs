use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use tempfile::TempDir;

use super::*;
use crate::{bucket_of, read_histograms, read_table};

fn run_dir() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["series", "heat", "latency"] {
        fs::create_dir(directory.path().join(name)).expect("made");
    }
    directory
}

fn row(index: u64) -> SeriesRow {
    SeriesRow {
        start_ns: index,
        end_ns: index + 1,
        task: (index % 3) as u32,
        bytes: index << 20,
        operations: index,
        latency_sum_ns: 7 * index,
    }
}

/// A record of `rows` series rows, two heat rows and two tasks.
fn written(directory: &Path, rows: u64) {
    let mut files = PhaseFiles::create(directory, "0000-write", false).expect("created");
    for index in 0..rows {
        files.series(row(index)).expect("written");
    }
    files.heat(0, 10, bucket_of(1000), 4).expect("written");
    files.heat(0, 10, bucket_of(2000), 0).expect("left out");
    files.heat(10, 20, bucket_of(4096), 5).expect("written");
    let (mut first, mut second) = (LatencyRecorder::new(), LatencyRecorder::new());
    for value in 1..=1000 {
        first.record(value * 1000);
    }
    second.record(60_000_000_000);
    files.finish(&[(0, &first), (1, &second)]).expect("finished");
}

fn cut(path: &Path, bytes: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("opens");
    let length = file.metadata().expect("has a length").len();
    file.set_len(length - bytes).expect("cut");
}

#[test]
fn series_and_heat_come_back_as_written_across_row_groups() {
    let directory = run_dir();
    let rows = 150_000;
    written(directory.path(), rows);
    let series = read_table(&directory.path().join("series/0000-write.parquet")).expect("reads");
    let names: Vec<&str> = series.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["start_ns", "end_ns", "task", "bytes", "operations", "latency_sum_ns"]);
    for index in 0..rows {
        let SeriesRow { start_ns, end_ns, task, bytes, operations, latency_sum_ns } = row(index);
        let expected = [start_ns, end_ns, u64::from(task), bytes, operations, latency_sum_ns];
        let got: Vec<u64> = series.iter().map(|(_, column)| column[index as usize] as u64).collect();
        assert_eq!(got, expected);
    }
    let heat = read_table(&directory.path().join("heat/0000-write.parquet")).expect("reads");
    assert_eq!(heat[2], ("low_ns".to_owned(), vec![896, 4096]));
    assert_eq!(heat[3], ("high_ns".to_owned(), vec![1024, 5120]));
    assert_eq!(heat[4], ("count".to_owned(), vec![4, 5]));
}

#[test]
fn histograms_come_back_within_three_digits() {
    let directory = run_dir();
    written(directory.path(), 1);
    let histograms = read_histograms(&directory.path().join("latency/0000-write.hlog")).expect("reads");
    assert_eq!(histograms.iter().map(|(tag, _)| tag.as_str()).collect::<Vec<_>>(), ["task-0", "task-1"]);
    let (_, first) = &histograms[0];
    assert_eq!(first.iter().map(|(_, count)| count).sum::<u64>(), 1000);
    assert!(first.is_sorted());
    let (value, count) = histograms[1].1[0];
    assert_eq!(count, 1);
    assert!(value.abs_diff(60_000_000_000) < 60_000_000, "{value}");
}

#[test]
fn a_cut_file_is_an_error_that_names_it() {
    for (name, bytes) in [("series/0000-write.parquet", 1), ("heat/0000-write.parquet", 100), ("latency/0000-write.hlog", 10)] {
        let directory = run_dir();
        written(directory.path(), 10);
        let path = directory.path().join(name);
        cut(&path, bytes);
        let error = if name.ends_with("hlog") { read_histograms(&path).err() } else { read_table(&path).err() };
        let text = error.expect("damaged").to_string();
        assert!(text.contains(name) && text.contains("damaged"), "{text}");
    }
}

#[test]
fn a_histogram_log_cut_at_the_end_of_a_line_is_an_error() {
    let directory = run_dir();
    written(directory.path(), 1);
    let path = directory.path().join("latency/0000-write.hlog");
    let text = fs::read_to_string(&path).expect("text");
    let last = text.lines().last().expect("a line").len() as u64 + 1;
    cut(&path, last);
    assert!(read_histograms(&path).expect_err("one is missing").to_string().contains("1 of 2 histograms"));
}

#[test]
fn a_flipped_bit_never_makes_a_reader_panic() {
    let directory = run_dir();
    written(directory.path(), 5);
    for name in ["series/0000-write.parquet", "latency/0000-write.hlog"] {
        let path = directory.path().join(name);
        let good = fs::read(&path).expect("reads");
        let file = OpenOptions::new().write(true).open(&path).expect("opens");
        let mut errors = 0;
        for (place, byte) in good.iter().enumerate() {
            file.write_all_at(&[byte ^ 0x80], place as u64).expect("damaged");
            let damaged = if name.ends_with("hlog") { read_histograms(&path).is_err() } else { read_table(&path).is_err() };
            errors += usize::from(damaged);
            file.write_all_at(&[*byte], place as u64).expect("mended");
        }
        assert!(errors > good.len() / 4, "{name}: {errors} of {} flips were noticed", good.len());
    }
}

#[test]
fn a_record_that_never_ended_reads_as_unfinished_and_is_replaced_only_when_told() {
    let directory = run_dir();
    drop(PhaseFiles::create(directory.path(), "0000-write", false).expect("created"));
    assert!(matches!(read_table(&directory.path().join("series/0000-write.parquet")), Err(FileError::Damaged { .. })));
    assert!(matches!(read_histograms(&directory.path().join("latency/0000-write.hlog")), Err(FileError::Damaged { .. })));
    assert!(matches!(PhaseFiles::create(directory.path(), "0000-write", false), Err(FileError::Exists(_))));
    let files = PhaseFiles::create(directory.path(), "0000-write", true).expect("replaced");
    files.finish(&[(0, &LatencyRecorder::new())]).expect("finished");
    let series = read_table(&directory.path().join("series/0000-write.parquet")).expect("reads");
    assert!(series.iter().all(|(_, column)| column.is_empty()));
}

#[test]
fn a_record_name_cannot_lead_out_of_the_run() {
    let directory = run_dir();
    for name in ["", "../x", "a/b", ".hidden", "a b"] {
        assert!(matches!(PhaseFiles::create(directory.path(), name, false), Err(FileError::Name(_))), "{name}");
    }
}

#[test]
fn a_series_alone_comes_back_as_written_and_makes_no_other_file() {
    let directory = run_dir();
    write_series(directory.path(), "0001-network", &[row(7)]).expect("written, and never counted");
    write_series(directory.path(), "0001-network", &[row(1), row(2)]).expect("written");
    let series = read_table(&directory.path().join("series/0001-network.parquet")).expect("reads");
    assert_eq!(series[3], ("bytes".to_owned(), vec![1 << 20, 2 << 20]));
    assert_eq!(fs::read_dir(directory.path().join("latency")).expect("a directory").count(), 0);
    assert!(matches!(write_series(directory.path(), "../x", &[]), Err(FileError::Name(_))));
}

#[test]
fn a_record_is_written_through_no_link() {
    let (directory, theirs) = (run_dir(), tempfile::tempdir().expect("a temporary directory"));
    let (hard, soft) = (theirs.path().join("hard"), theirs.path().join("soft"));
    for path in [&hard, &soft] {
        File::create_new(path).and_then(|file| file.write_all_at(b"theirs", 0)).expect("made");
    }
    fs::hard_link(&hard, directory.path().join("latency/0000-write.hlog")).expect("linked");
    std::os::unix::fs::symlink(&soft, directory.path().join("series/0000-write.parquet")).expect("linked");
    let files = PhaseFiles::create(directory.path(), "0000-write", true).expect("replaced");
    files.finish(&[(0, &LatencyRecorder::new())]).expect("finished");
    for path in [&hard, &soft] {
        assert_eq!(fs::read(path).expect("reads"), b"theirs");
    }
    let linked = tempfile::tempdir().expect("a temporary directory");
    for (name, place) in [("series", directory.path().join("series")), ("heat", directory.path().join("heat"))] {
        std::os::unix::fs::symlink(place, linked.path().join(name)).expect("linked");
    }
    std::os::unix::fs::symlink(theirs.path(), linked.path().join("latency")).expect("linked");
    assert!(matches!(PhaseFiles::create(linked.path(), "0001-write", true), Err(FileError::Io { .. })));
    assert_eq!(fs::read_dir(theirs.path()).expect("a directory").count(), 2);
}
