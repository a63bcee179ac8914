//! Files, links, FIFOs and directories in batches.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use super::super::handles::Handles;
use super::{Stage, all_done, make};
use crate::file_version::Version;
use crate::journal_entry::{Entry, Outcome, State};
use crate::options::Check;
use crate::path::TreePath;

#[test]
fn a_tree_of_every_kind_arrives_as_it_is() {
    let stage = Stage::new();
    for number in 0..40 {
        stage.put(&format!("run{}/file{number}", number % 3), &vec![number as u8; number * 997]);
    }
    stage.put("empty", b"");
    fs::create_dir_all(stage.from.join("a/b/empty directory")).unwrap();
    symlink("../somewhere/that is not", stage.from.join("a/link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.from.join("a/fifo"), rustix::fs::Mode::from_raw_mode(0o640)).unwrap();
    all_done(&stage.carry());
    stage.assert_same();
    assert_eq!(stage.state("run1/file1"), State::Done);
}

#[test]
fn few_and_many_read_back_or_unchecked_arrive_alike() {
    for check in [Check::None, Check::Written, Check::ReadBack] {
        for count in [1, 30] {
            let stage = Stage::with(|options| options.check = check);
            for number in 0..count {
                stage.put(&format!("file{number}"), &[number; 5000]);
            }
            all_done(&stage.carry());
            stage.assert_same();
            let checksum = stage.entry("file0").placed.unwrap().checksum;
            let expected = (check != Check::None).then(|| *blake3::hash(&[0; 5000]).as_bytes());
            assert_eq!(checksum, expected, "{check:?}");
        }
    }
}

#[test]
fn odd_names_arrive_as_they_are() {
    let stage = Stage::new();
    let long = [b'x'; 255];
    for name in [
        &b"with\nnewline"[..],
        b"not utf-8 \xff\xfe",
        b" ",
        b"-rf",
        b"\x01\x7f",
        b"'\"$(id)`;&|",
        &long,
        "\u{202e}txt".as_bytes(),
    ] {
        make(&stage.from.join(OsStr::from_bytes(name)), name);
    }
    all_done(&stage.carry());
    stage.assert_same();
}

#[test]
fn mode_and_times_and_attributes_are_kept() {
    let stage = Stage::new();
    let path = stage.put("file", b"bytes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).unwrap();
    fs::File::open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH - Duration::from_nanos(1)).unwrap();
    let extended = rustix::fs::setxattr(&path, "user.colour", b"red", rustix::fs::XattrFlags::empty());
    all_done(&stage.carry());
    stage.assert_same();
    if extended.is_ok() {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(stage.to.join("file"), "user.colour", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"red");
    }
}

#[test]
fn holes_stay_holes_and_count_as_zeros() {
    let stage = Stage::new();
    let path = stage.put("sparse", b"head");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    rustix::io::pwrite(&file, b"middle", 2 << 20).unwrap();
    file.set_len(5 << 20).unwrap();
    drop(file);
    all_done(&stage.carry());
    stage.assert_same();
    assert_eq!(stage.entry("sparse").placed.unwrap().checksum, Some(*blake3::hash(&fs::read(&path).unwrap()).as_bytes()));
    let copy = fs::metadata(stage.to.join("sparse")).unwrap();
    assert!(copy.blocks() * 512 <= 1 << 20, "{} bytes are allocated", copy.blocks() * 512);
}

#[test]
fn names_of_one_file_are_names_of_one_file_there() {
    let stage = Stage::new();
    let first = stage.put("a/first", b"one file");
    fs::create_dir(stage.from.join("b")).unwrap();
    fs::hard_link(&first, stage.from.join("b/second")).unwrap();
    fs::hard_link(&first, stage.from.join("third")).unwrap();
    all_done(&stage.carry());
    stage.assert_same();
    let inode = |name: &str| fs::metadata(stage.to.join(name)).unwrap().ino();
    assert!(inode("a/first") == inode("b/second") && inode("a/first") == inode("third"));
}

#[test]
fn a_name_that_a_file_gets_after_it_was_done_is_a_name_of_it_there() {
    let stage = Stage::new();
    let first = stage.put("first", b"one file");
    all_done(&stage.carry());
    fs::hard_link(&first, stage.from.join("second")).unwrap();
    // Nobody looks at the first name again: a new name of its file is no event there.
    all_done(&stage.carry_these(vec![found(&stage, "second")]));
    stage.assert_same();
    let inode = |name: &str| fs::metadata(stage.to.join(name)).unwrap().ino();
    assert_eq!(inode("first"), inode("second"));
}

/// One name of the root alone, as a hint has it looked at.
fn found(stage: &Stage, name: &str) -> Entry {
    let version = Version::at(fs::File::open(&stage.from).unwrap(), name.as_bytes()).unwrap();
    stage.journal.found(&[(TreePath::new(name.as_bytes()).unwrap(), version)]).unwrap().remove(0)
}

#[test]
fn an_inode_that_was_given_up_and_used_again_is_another_file() {
    let stage = Stage::new();
    let first = stage.put("first", b"one file");
    all_done(&stage.carry());
    let changed = fs::metadata(&first).unwrap().modified().unwrap();
    // Its name goes to another file, at which nobody looked yet; inode, size and time of the second name are as the first's were.
    let moved = stage.from.join("moved");
    rustix::fs::rename(&first, &moved).unwrap();
    make(&first, b"another one");
    make(&moved, b"new text");
    fs::File::options().write(true).open(&moved).unwrap().set_modified(changed).unwrap();
    fs::hard_link(&moved, stage.from.join("second")).unwrap();
    let second = found(&stage, "second");
    assert_eq!(stage.journal.linked(&second.version).unwrap().len(), 1, "the journal cannot tell");
    all_done(&stage.carry_these(vec![second]));
    assert_eq!(fs::read(stage.to.join("second")).unwrap(), b"new text");
}

#[test]
fn a_changed_file_replaces_what_was_placed_before_it() {
    let stage = Stage::new();
    let path = stage.put("file", b"first");
    all_done(&stage.carry());
    assert!(stage.carry().is_empty(), "nothing changed");
    make(&path, b"second version");
    all_done(&stage.carry());
    stage.assert_same();
}

#[test]
fn a_replaced_link_and_a_file_that_became_one_arrive() {
    let stage = Stage::new();
    stage.put("a", b"bytes");
    symlink("old", stage.from.join("b")).unwrap();
    all_done(&stage.carry());
    for name in ["a", "b"] {
        stage.take_away(name);
    }
    symlink("new", stage.from.join("a")).unwrap();
    stage.put("b", b"now a file");
    all_done(&stage.carry());
    stage.assert_same();
}

#[test]
fn a_directory_that_was_there_keeps_its_mode_and_its_files() {
    let stage = Stage::new();
    fs::create_dir(stage.to.join("shared")).unwrap();
    fs::set_permissions(stage.to.join("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
    make(&stage.to.join("shared/theirs"), b"theirs");
    stage.put("shared/ours", b"ours");
    all_done(&stage.carry());
    assert_eq!(stage.names(), ["shared", "shared/ours", "shared/theirs"]);
    assert_eq!(fs::metadata(stage.to.join("shared")).unwrap().mode() & 0o7777, 0o2775);
    let before = fs::metadata(stage.to.join("shared")).unwrap().modified().unwrap();
    stage.carrier.finish_directories().unwrap();
    let after = fs::metadata(stage.to.join("shared")).unwrap();
    assert_eq!((after.mode() & 0o7777, after.modified().unwrap()), (0o2775, before));
}

#[test]
fn a_halted_batch_carries_nothing_and_leaves_nothing() {
    let stage = Stage::new();
    stage.put("file", b"bytes");
    stage.halt.store(true, Ordering::Relaxed);
    assert_eq!(stage.carry(), [("file".to_owned(), Outcome::Halted)]);
    assert!(stage.names().is_empty() && stage.state("file") == State::Queued);
    stage.halt.store(false, Ordering::Relaxed);
    all_done(&stage.carry_these(stage.journal.queued(0, 10).unwrap()));
    stage.assert_same();
}

#[test]
fn directories_get_their_modes_and_times_in_the_end() {
    let stage = Stage::new();
    stage.put("a/b/file", b"bytes");
    stage.put("a/other", b"bytes");
    for (number, name) in ["a/b", "a"].iter().enumerate() {
        let directory = fs::File::open(stage.from.join(name)).unwrap();
        directory.set_permissions(fs::Permissions::from_mode(0o555)).unwrap();
        directory.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64 + 1)).unwrap();
    }
    all_done(&stage.carry());
    stage.carrier.finish_directories().unwrap();
    for name in ["a/b", "a"] {
        let (source, copy) = (fs::metadata(stage.from.join(name)).unwrap(), fs::metadata(stage.to.join(name)).unwrap());
        assert_eq!((source.mode(), source.modified().unwrap()), (copy.mode(), copy.modified().unwrap()), "{name}");
    }
}

#[test]
fn a_directory_made_just_before_a_kill_still_gets_its_mode_and_time() {
    let mut stage = Stage::new();
    stage.put("a/file", b"bytes");
    let directory = fs::File::open(stage.from.join("a")).unwrap();
    directory.set_permissions(fs::Permissions::from_mode(0o775)).unwrap();
    directory.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    stage.scan();
    // As far as a batch that is killed when it has made the directory and nothing else.
    Handles::new(&stage.carrier.shared).directory(&TreePath::new(b"a").unwrap()).unwrap();
    assert!(stage.to.join("a").is_dir());
    stage.again();
    stage.carrier.recover().unwrap();
    stage.carry_these(stage.journal.queued(0, 10).unwrap());
    stage.carrier.finish_directories().unwrap();
    let copy = fs::metadata(stage.to.join("a")).unwrap();
    assert_eq!((copy.mode() & 0o7777, copy.modified().unwrap()), (0o775, directory.metadata().unwrap().modified().unwrap()));
}

#[test]
fn what_was_given_up_leaves_no_temporary_once_a_mover_has_scanned() {
    let mut stage = Stage::new();
    for name in ["failed", "gone"] {
        stage.put(name, b"bytes");
    }
    for entry in stage.scan() {
        let temporary = crate::names::temporary(stage.journal.id(), entry.id);
        make(&stage.to.join(OsStr::from_bytes(&temporary)), b"by");
        match entry.path.name() {
            b"failed" => stage.journal.failed(entry.id, "no more").unwrap(),
            _ => stage.journal.gone(&[entry.id]).unwrap(),
        }
    }
    stage.again();
    stage.carrier.abandon_given_up(|_| false).unwrap();
    assert!(stage.names().is_empty(), "{:?}", stage.names());
}

#[test]
fn a_directory_of_this_mover_s_is_renewed_and_one_of_others_stays_as_it_is() {
    let stage = Stage::new();
    let [ours, theirs] = ["ours", "theirs"].map(|name| {
        fs::create_dir(stage.from.join(name)).unwrap();
        stage.from.join(name)
    });
    fs::create_dir(stage.to.join("theirs")).unwrap();
    fs::set_permissions(stage.to.join("theirs"), fs::Permissions::from_mode(0o711)).unwrap();
    all_done(&stage.carry());
    for path in [&ours, &theirs] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o510)).unwrap();
    }
    let renewed = stage.carrier.renew_directories(&["ours", "theirs"].map(|name| stage.entry(name).id)).unwrap();
    assert!(renewed.failed.is_empty());
    let mode = |name: &str| fs::metadata(stage.to.join(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode("ours"), mode("theirs")), (0o710, 0o711), "files may still be put into the first");
    assert!(stage.carrier.finish_directories().unwrap().is_empty());
    assert_eq!((mode("ours"), mode("theirs")), (0o510, 0o711));
}
