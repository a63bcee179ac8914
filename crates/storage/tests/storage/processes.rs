//! One storage opened by several processes of a run: here by several values of one process.

use crate::support::{disk, geometry, read_all, request, write_all};
use tonnage_storage::{ItemKind, NamesRequest, OpenRequest, Opening, Process, Scratch, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, Op, Tree};

fn first(scratch: &Scratch, kind: StorageKind) -> TargetSpec {
    TargetSpec { directories: vec![scratch.path().to_owned()], process: Process::First, ..TargetSpec::new(kind) }
}

#[test]
fn what_one_process_writes_another_reads_and_only_the_first_removes() {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Mmap] {
        let home = tempfile::tempdir_in(disk()).unwrap();
        let scratch = Scratch::create(home.path(), "wide").unwrap();
        let spec = first(&scratch, kind);
        let (here, there) = (open(&spec).unwrap(), open(&spec.for_others().unwrap()).unwrap());
        let geometry = geometry(4096, 4, Access::Sequential);
        write_all(&*there, &geometry, 1);
        read_all(&*here, &geometry, 1);
        // A shared file: both open it to write, one after the other.
        for storage in [&here, &there] {
            let mut lane = storage.lane(&OpenRequest { file: 7, ..request(&geometry, Op::Write, 1) }).unwrap();
            lane.open().unwrap();
            lane.close().unwrap();
        }
        there.clear().unwrap();
        there.finish().unwrap();
        assert_eq!(here.length(0).unwrap(), geometry.file_bytes(1), "{kind:?}");
        here.clear().unwrap();
        assert!(here.length(0).is_err() && there.length(7).is_err());
        scratch.remove().unwrap();
    }
}

#[test]
fn a_process_finds_the_items_of_another_in_its_tree() {
    let home = tempfile::tempdir_in(disk()).unwrap();
    let scratch = Scratch::create(home.path(), "wide").unwrap();
    let spec = first(&scratch, StorageKind::Posix);
    let (here, there) = (open(&spec).unwrap(), open(&spec.for_others().unwrap()).unwrap());
    let tree = Tree { depth: 0, branch: 0, items_per_directory: 1, leaves_only: true, shared: false };
    let request = NamesRequest { tree, number: 3, owner: 3, handles: 1, transfer_bytes: 0 };
    let mut makes = there.names(&request).unwrap();
    makes.make_tree(0).unwrap();
    makes.enter(0).unwrap();
    makes.open(ItemKind::File, 0, Opening::Create).unwrap();
    makes.close().unwrap();
    let mut looks = here.names(&request).unwrap();
    looks.enter(0).unwrap();
    looks.stat(ItemKind::File, 0).unwrap();
    here.clear().unwrap();
    assert!(looks.stat(ItemKind::File, 0).is_err());
    scratch.remove().unwrap();
}

#[test]
fn a_directory_that_another_run_marked_is_not_the_one_that_is_meant() {
    let home = tempfile::tempdir_in(disk()).unwrap();
    let scratch = Scratch::create_named(home.path(), "data", "wide").unwrap();
    let spec = first(&scratch, StorageKind::Posix).for_others().unwrap();
    assert!(open(&spec).is_ok());
    scratch.remove().unwrap();
    let error = open(&spec).err().expect("it is gone").to_string();
    assert!(error.contains("data"), "{error}");
    // As on a host where another file system is mounted there.
    let other = Scratch::create_named(home.path(), "data", "stale").unwrap();
    let error = open(&spec).err().expect("another run's").to_string();
    assert!(error.contains("run stale of process") && error.contains("this host sees another directory"), "{error}");
    other.remove().unwrap();
}
