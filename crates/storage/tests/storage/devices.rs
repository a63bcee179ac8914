//! Several scratch directories as the devices of one target.

use std::path::PathBuf;

use crate::support::{disk, geometry, read_all, request, write_all};
use tempfile::TempDir;
use tonnage_storage::{DirectMode, Lane, OpenRequest, Scratch, Storage, StorageKind, TargetSpec, open};
use tonnage_workload::{Access, CachePolicy, Op};

/// A scratch directory on each of `places`.
fn scratches(places: &[PathBuf]) -> (Vec<TempDir>, Vec<Scratch>) {
    let homes: Vec<_> = places.iter().map(|place| tempfile::tempdir_in(place).unwrap()).collect();
    let made = homes.iter().map(|home| Scratch::create(home.path(), "test").unwrap()).collect();
    (homes, made)
}

fn spec(kind: StorageKind, scratches: &[Scratch], assign: &[u32]) -> TargetSpec {
    let directories = scratches.iter().map(|scratch| scratch.path().to_owned()).collect();
    TargetSpec { directories, assign: assign.to_vec(), ..TargetSpec::new(kind) }
}

fn make_file(storage: &dyn Storage, file: u32) {
    let one = OpenRequest { file, ..request(&geometry(4096, 1, Access::Sequential), Op::Write, 1) };
    let Lane::Sync(mut lane) = storage.lane(&one).unwrap() else { panic!("posix is synchronous") };
    lane.open().unwrap();
    lane.close().unwrap();
}

/// The numbers of the data files in each directory.
fn where_they_are(scratches: &[Scratch]) -> Vec<Vec<u32>> {
    let numbers = |scratch: &Scratch| {
        let entries = std::fs::read_dir(scratch.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut numbers: Vec<u32> = names.filter_map(|name| name.strip_prefix("data.")?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    };
    scratches.iter().map(numbers).collect()
}

#[test]
fn files_go_round_robin_or_where_they_are_assigned_and_clear_finds_them_all() {
    let (_homes, scratches) = scratches(&[disk(), disk(), disk()]);
    for (assign, wanted) in [
        (&[] as &[u32], [vec![0, 3, 6], vec![1, 4], vec![2, 5]]),
        (&[2, 0], [vec![1, 3, 5], vec![], vec![0, 2, 4, 6]]),
        (&[1], [vec![], vec![0, 1, 2, 3, 4, 5, 6], vec![]]),
    ] {
        let storage = open(&spec(StorageKind::Posix, &scratches, assign)).unwrap();
        (0..7).for_each(|file| make_file(&*storage, file));
        assert_eq!(where_they_are(&scratches), wanted);
        assert!((0..7).all(|file| storage.length(file).unwrap() == 0));
        storage.clear().unwrap();
        assert!(where_they_are(&scratches).iter().all(Vec::is_empty));
    }
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let (_homes, scratches) = scratches(&[disk(), disk()]);
    let error = open(&spec(StorageKind::Posix, &scratches, &[0, 2])).err().expect("there are two").to_string();
    assert_eq!(error, "assign names device 2, and there are 2, counted from 0; use numbers below 2");
    let unmarked = TargetSpec { directories: vec![disk()], ..TargetSpec::new(StorageKind::Posix) };
    assert!(open(&unmarked).is_err(), "each must be marked");
    let none = open(&TargetSpec::new(StorageKind::Uring)).err().expect("no directory").to_string();
    assert_eq!(none, "a storage of kind uring needs a scratch directory");
}

#[test]
fn each_device_decides_for_itself_whether_the_cache_is_passed() {
    for kind in [StorageKind::Posix, StorageKind::Uring] {
        let (_homes, scratches) = scratches(&[disk(), PathBuf::from("/dev/shm")]);
        let storage = open(&spec(kind, &scratches, &[])).unwrap();
        let geometry = geometry(4096, 8, Access::Sequential);
        let lane = |file| storage.lane(&OpenRequest { file, ..request(&geometry, Op::Write, 1) }).map(drop);
        lane(0).unwrap();
        if !storage.facts().direct {
            return eprintln!("skipped: this disk has no O_DIRECT");
        }
        lane(1).unwrap();
        let facts = storage.facts();
        assert!(!facts.direct, "one of two is not all");
        let [(code, text)] = &facts.notes[..] else { panic!("{:?}", facts.notes) };
        assert_eq!(*code, "no-direct");
        assert!(text.ends_with(&format!("was used instead in {}", scratches[1].path().display())), "{text}");

        // A later phase on the first device alone is direct again.
        storage.prepare_write(&[0]).unwrap();
        write_all(&*storage, &geometry, 1);
        assert!(storage.facts().direct && storage.facts().notes.is_empty());
        read_all(&*storage, &geometry, 1);

        let strict = open(&TargetSpec { direct: DirectMode::Yes, ..spec(kind, &scratches, &[]) }).unwrap();
        assert!(strict.lane(&OpenRequest { file: 1, ..request(&geometry, Op::Write, 1) }).is_err(), "yes means every device");
    }
}

#[test]
fn holes_of_all_files_are_counted_where_they_are() {
    let (_homes, scratches) = scratches(&[disk(), PathBuf::from("/dev/shm")]);
    let storage = open(&spec(StorageKind::Posix, &scratches, &[])).unwrap();
    for (file, scratch) in scratches.iter().enumerate() {
        let path = scratch.path().join(format!("data.{file:08}"));
        let file = std::fs::File::create_new(path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 8192], 0).unwrap();
        file.set_len(1 << 20).unwrap();
    }
    let cache_state = storage.settle(&[0, 1], CachePolicy::Keep).unwrap();
    assert_eq!(cache_state.examined_bytes, Some(2 << 20));
    assert_eq!(cache_state.hole_bytes, Some(2 * ((1 << 20) - 8192)));
}

#[test]
fn a_file_system_that_takes_a_pin_for_a_part_of_the_name_keeps_no_file_of_it() {
    let (_homes, scratches) = scratches(&[disk(), disk()]);
    let pins = vec![String::new(), "@dht:brick-1".to_owned()];
    let storage = open(&TargetSpec { pins, ..spec(StorageKind::Posix, &scratches, &[]) }).unwrap();
    make_file(&*storage, 0);
    let one = OpenRequest { file: 1, ..request(&geometry(4096, 1, Access::Sequential), Op::Write, 1) };
    let Lane::Sync(mut lane) = storage.lane(&one).unwrap() else { panic!("posix is synchronous") };
    assert!(lane.open().is_err(), "no file data.00000001 came of it");
    let left = std::fs::read_dir(scratches[1].path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains('@')), "the wrong file is gone again");
    assert_eq!(where_they_are(&scratches), [vec![0], vec![]]);
}

#[test]
fn pins_are_one_for_each_directory_and_parts_of_a_name() {
    let (_homes, scratches) = scratches(&[disk(), disk()]);
    let refused = |pins: &[&str]| {
        let pins = pins.iter().map(ToString::to_string).collect();
        open(&TargetSpec { pins, ..spec(StorageKind::Posix, &scratches, &[]) }).err().expect("refused").to_string()
    };
    assert_eq!(refused(&["@a"]), "1 pins for 2 directories; give one for each, or none");
    assert_eq!(refused(&["@a", "/../b"]), "\"/../b\" cannot be a part of a file's name");
}
