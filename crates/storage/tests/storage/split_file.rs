//! A file kept as several holds what it is told, has one of them open at a time, and makes all of them durable.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::support::{Kind, Rig, disk, geometry, read_all, request, write_all};
use tonnage_storage::{Cut, DirectMode, Lane, Pieces, SnapshotRequest, Storage, StorageKind};
use tonnage_testing::{Fault, Faulty};
use tonnage_workload::{Access, CachePolicy, Means, Op, SnapshotCommand};

const SIZE: usize = 4096;
const CUT: Cut = Cut { count: 5, bytes: 3 * SIZE as u64 };

fn cut(inner: Arc<dyn Storage>) -> Arc<dyn Storage> {
    Arc::new(Pieces::new(inner, CUT))
}

fn rig(storage: StorageKind) -> Rig {
    Rig::new(&Kind { wrap: cut, ..Kind::new(storage, DirectMode::No) }, &disk())
}

/// Data files below `directory` that this process has open now.
fn open_files(directory: &Path) -> usize {
    let handles = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = handles.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let data = |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("data."));
    targets.filter(|path| path.starts_with(directory) && data(path)).count()
}

#[test]
fn what_was_written_comes_back_from_files_of_the_size_asked_for() {
    for (kind, access) in [(StorageKind::Posix, Access::Sequential), (StorageKind::Mmap, Access::Random)] {
        let rig = rig(kind);
        write_all(&*rig.storage, &geometry(SIZE, 15, access), 1);
        read_all(&*rig.storage, &geometry(SIZE, 15, access), 1);
        for piece in 0..5 {
            let path = rig.file.with_file_name(format!("data.{piece:08}"));
            assert_eq!(std::fs::metadata(path).unwrap().len(), CUT.bytes);
        }
        assert_eq!(rig.storage.length(0).unwrap(), 5 * CUT.bytes);
        assert_eq!(rig.storage.settle(&[0], CachePolicy::Keep).unwrap().examined_bytes, Some(5 * CUT.bytes));
        rig.storage.clear().unwrap();
        assert!(!rig.file.exists());
    }
}

#[test]
fn one_file_is_open_at_a_time_and_none_at_the_end() {
    let rig = rig(StorageKind::Posix);
    let directory = rig.file.parent().unwrap();
    let Lane::Sync(mut file) = rig.storage.lane(&request(&geometry(SIZE, 15, Access::Sequential), Op::Write, 1)).unwrap() else {
        panic!("a queue")
    };
    file.open().unwrap();
    for transfer in 0..15 {
        file.write_at(transfer * SIZE as u64, &[7; SIZE]).unwrap();
        assert_eq!(open_files(directory), 1);
    }
    file.sync().unwrap();
    file.close().unwrap();
    assert_eq!(open_files(directory), 0);
}

#[test]
fn a_sync_reaches_the_files_that_were_closed_before() {
    let kind = Kind::new(StorageKind::Posix, DirectMode::No);
    let fails = |inner| -> Arc<dyn Storage> { cut(Arc::new(Faulty::storage(inner, vec![Fault::FailSync { errno: libc::EIO }]))) };
    let rig = Rig::new(&Kind { wrap: fails, ..kind }, &disk());
    let Lane::Sync(mut file) = rig.storage.lane(&request(&geometry(SIZE, 15, Access::Sequential), Op::Write, 1)).unwrap() else {
        panic!("a queue")
    };
    file.write_at(0, &[7; SIZE]).unwrap();
    // Reading moves on to another piece; what is left to sync is in the one that was closed.
    file.read_at(CUT.bytes, &mut [0; SIZE]).unwrap();
    assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(libc::EIO));
    file.sync().unwrap();
}

#[test]
fn a_file_that_is_missing_or_short_is_told_where_it_is_met() {
    let rig = rig(StorageKind::Posix);
    assert_eq!(rig.storage.length(0).unwrap_err().io().map(std::io::Error::kind), Some(ErrorKind::NotFound));
    let Lane::Sync(mut file) = rig.storage.lane(&request(&geometry(SIZE, 15, Access::Sequential), Op::Read, 1)).unwrap() else {
        panic!("a queue")
    };
    file.open().unwrap();
    assert_eq!(file.read_at(0, &mut [0; SIZE]).unwrap_err().kind(), ErrorKind::NotFound);
    write_all(&*rig.storage, &geometry(SIZE, 2, Access::Sequential), 1);
    let error = file.read_at(0, &mut [0; SIZE]).unwrap_err();
    assert_eq!(error.to_string(), "file 0 has 8192 bytes and the read needs 12288; write it first");
    assert_eq!(file.read_at(5 * CUT.bytes, &mut [0; SIZE]).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn what_cannot_be_cut_is_refused_before_the_start() {
    let odd = rig(StorageKind::Posix).storage.lane(&request(&geometry(512 * 5, 15, Access::Sequential), Op::Write, 1));
    let text = "files of 12288 bytes are no whole number of transfers of 2560; use another transfer_size";
    assert_eq!(odd.err().expect("no whole number").to_string(), text);
    let rig = rig(StorageKind::Uring);
    let queued = rig.storage.lane(&request(&geometry(SIZE, 15, Access::Sequential), Op::Write, 4));
    let text = "files one after the other take one operation at a time; use storage posix or mmap";
    assert_eq!(queued.err().expect("a queue").to_string(), text);
}

#[test]
fn snapshots_of_pieces_are_refused() {
    let rig = rig(StorageKind::Posix);
    // A program would find the files, and not those that it is told of.
    let argv = vec!["true".to_owned()];
    let command = SnapshotCommand { argv, remove_argv: None, read_directory: None, timeout_ns: None };
    for means in [Means::Reflink {}, Means::Command(command)] {
        let request = SnapshotRequest { means, owner: None, files: vec![0], rounds: 1, stop: Arc::default() };
        let Err(error) = rig.storage.snapshots(&request) else { panic!("taken of whole files") };
        assert!(error.to_string().contains("kept in pieces"), "{error}");
    }
}
