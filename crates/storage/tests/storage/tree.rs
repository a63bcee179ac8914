//! Names of trees: what every kind answers, and what removal may never touch.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::support::{disk, export, own_name, pool};
use tonnage_storage::{DirectMode, ItemKind, Names, NamesRequest, Opening, Scratch, Storage, StorageKind, TargetSpec, open};
use tonnage_testing::{Fault, Faulty, Throttled};
use tonnage_workload::{ItemPlace, Tree};

const TREE: Tree = Tree { depth: 2, branch: 2, items_per_directory: 2, leaves_only: false, shared: false };
const REQUEST: NamesRequest = NamesRequest { tree: TREE, number: 1, owner: 1, handles: 1, transfer_bytes: 0 };

/// What a stranger leaves at a path.
type Plant = fn(&Path);

/// A storage in a scratch directory of its own.
struct Rig {
    home: tempfile::TempDir,
    scratch: Scratch,
    storage: Arc<dyn Storage>,
}

impl Rig {
    fn new(kind: StorageKind) -> Self {
        Self::with(|spec| TargetSpec { kind, ..spec })
    }

    fn with(change: impl FnOnce(TargetSpec) -> TargetSpec) -> Self {
        let home = tempfile::tempdir_in(disk()).unwrap();
        let scratch = Scratch::create(home.path(), "tree").unwrap();
        let directories = vec![scratch.path().to_owned()];
        let storage = open(&change(TargetSpec { directories, ..TargetSpec::new(StorageKind::Posix) })).unwrap();
        Self { home, scratch, storage }
    }

    /// With a whole tree, and a file and a directory in each of its directories.
    fn planted() -> Self {
        let rig = Self::new(StorageKind::Posix);
        plant(&mut *rig.names());
        rig
    }

    fn names(&self) -> Box<dyn Names> {
        self.storage.names(&REQUEST).unwrap()
    }

    /// The flags of the first file, held open once it was made by who moves so many bytes.
    fn flags_of_made(&self, transfer_bytes: u64) -> tonnage_storage::Result<i32> {
        let mut names = self.storage.names(&NamesRequest { transfer_bytes, ..REQUEST })?;
        names.make_tree(0).unwrap();
        names.enter(0).unwrap();
        names.open(ItemKind::File, 0, Opening::Create).unwrap();
        let is_it = |fd: &PathBuf| fs::read_link(fd).is_ok_and(|path| path == self.at("f.1.0"));
        let fd = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path()).find(is_it).unwrap();
        let told = fs::read_to_string(Path::new("/proc/self/fdinfo").join(fd.file_name().unwrap())).unwrap();
        let octal = told.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        Ok(i32::from_str_radix(octal.trim(), 8).unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        let root = self.scratch.path().join("tree.00000001");
        if path.is_empty() { root } else { root.join(path) }
    }

    /// Removes the scratch directory; it must not go, because of `path` in the tree, which stays.
    fn stays_because_of(self, path: &str) -> tempfile::TempDir {
        let (foreign, scratch) = (self.at(path), self.scratch.path().to_owned());
        let error = self.scratch.remove().unwrap_err();
        assert_eq!(error.io().and_then(std::io::Error::raw_os_error), Some(libc::ENOTEMPTY));
        assert!(error.to_string().contains(&*foreign.to_string_lossy()), "{error}");
        assert!(foreign.symlink_metadata().is_ok(), "{} stays", foreign.display());
        assert!(scratch.join("TONNAGE-SCRATCH").exists(), "it can be found and removed later");
        self.home
    }
}

fn plant(names: &mut dyn Names) {
    for directory in 0..7 {
        names.make_tree(directory).unwrap();
        names.enter(directory).unwrap();
        names.open(ItemKind::File, directory, Opening::Create).unwrap();
        assert_eq!(names.write_at(0, b"content").unwrap(), 7);
        names.sync().unwrap();
        names.close().unwrap();
        names.make(ItemKind::Directory, directory).unwrap();
    }
}

#[test]
fn what_a_second_name_shows_is_never_overwritten() {
    let rig = Rig::planted();
    let file = rig.scratch.path().join(REQUEST.item_path(ItemPlace { directory: 6, number: 6 }, ItemKind::File));
    let backup = rig.home.path().join("backup");
    fs::hard_link(file, &backup).unwrap();
    let mut names = rig.names();
    names.enter(6).unwrap();
    for how in [Opening::Write, Opening::WriteOrCreate] {
        assert_eq!(kind_of(names.open(ItemKind::File, 6, how)), Some(ErrorKind::TooManyLinks));
        assert!(names.write_at(0, b"other").is_err(), "it is not open");
    }
    names.open(ItemKind::File, 6, Opening::Read).unwrap();
    names.close().unwrap();
    assert_eq!(fs::read(&backup).unwrap(), b"content");
}

fn kind_of<T>(result: std::io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

fn answers_like_a_file_system(storage: &dyn Storage) {
    let mut names = storage.names(&REQUEST).unwrap();
    assert_eq!(kind_of(names.enter(0)), Some(ErrorKind::NotFound));
    assert_eq!(kind_of(names.make_tree(1)), Some(ErrorKind::NotFound));
    plant(&mut *names);
    assert_eq!(kind_of(names.make_tree(0)), Some(ErrorKind::AlreadyExists));
    assert_eq!(names.list(0).unwrap(), 4);
    names.enter(6).unwrap();
    for kind in [ItemKind::File, ItemKind::Directory] {
        names.stat(kind, 6).unwrap();
        assert_eq!(kind_of(names.stat(kind, 5)), Some(ErrorKind::NotFound));
        names.rename(kind, 6).unwrap();
        assert_eq!(kind_of(names.stat(kind, 6)), Some(ErrorKind::NotFound));
        names.rename(kind.other(), 6).unwrap();
        assert_eq!(kind_of(names.rename(kind, 5)), Some(ErrorKind::NotFound));
    }
    assert_eq!(kind_of(names.open(ItemKind::File, 6, Opening::Create)), Some(ErrorKind::AlreadyExists));
    assert_eq!(kind_of(names.open(ItemKind::File, 5, Opening::Write)), Some(ErrorKind::NotFound));
    assert_eq!(kind_of(names.make(ItemKind::Directory, 6)), Some(ErrorKind::AlreadyExists));
    names.open(ItemKind::File, 6, Opening::WriteOrCreate).unwrap();
    assert_eq!(names.write_at(7, b", and more").unwrap(), 10);
    names.close().unwrap();
    let mut buffer = [0; 32];
    names.forget(ItemKind::File, 6).unwrap();
    names.open(ItemKind::File, 6, Opening::Read).unwrap();
    assert_eq!((names.read_at(0, &mut buffer).unwrap(), &buffer[..17]), (17, &b"content, and more"[..]));
    assert_eq!(names.read_at(17, &mut buffer).unwrap(), 0, "at its end");
    names.close().unwrap();
    assert_eq!(kind_of(names.remove_tree(6)), Some(ErrorKind::DirectoryNotEmpty));
    for directory in (0..7).rev() {
        names.enter(directory).unwrap();
        names.remove(ItemKind::File, directory).unwrap();
        names.remove(ItemKind::Directory, directory).unwrap();
        names.remove_tree(directory).unwrap();
    }
    assert_eq!(kind_of(names.list(0)), Some(ErrorKind::NotFound));
}

#[test]
fn every_kind_answers_like_a_file_system() {
    for kind in [StorageKind::Posix, StorageKind::Uring, StorageKind::Mmap] {
        let rig = Rig::new(kind);
        answers_like_a_file_system(&*rig.storage);
        rig.scratch.remove().unwrap();
    }
    answers_like_a_file_system(&*open(&TargetSpec::new(StorageKind::Memory)).unwrap());
}

#[test]
#[ignore = "needs a server of NFS version 3; tests/lab/test_nfs.py runs it with one"]
fn an_export_answers_like_a_file_system() {
    let spec = || TargetSpec { nfs: Some(export()), run_id: own_name(), ..TargetSpec::new(StorageKind::Nfs) };
    let storage = open(&spec()).unwrap();
    answers_like_a_file_system(&*storage);
    storage.finish().unwrap();

    let again = spec();
    let storage = open(&again).unwrap();
    plant(&mut *storage.names(&REQUEST).unwrap());
    storage.clear().unwrap();
    assert_eq!(kind_of(storage.names(&REQUEST).unwrap().list(0)), Some(ErrorKind::NotFound), "the tree went with all in it");
    storage.finish().unwrap();
    assert!(open(&again).unwrap().length(0).is_err());
}

#[test]
#[ignore = "needs a Ceph; tests/lab/test_rados.py runs it with one"]
fn a_pool_keeps_items_as_objects() {
    let storage = open(&TargetSpec { rados: Some(pool()), ..TargetSpec::new(StorageKind::Rados) }).unwrap();
    let mut names = storage.names(&REQUEST).unwrap();
    let mut written = |number, how, bytes: &[u8]| {
        names.open(ItemKind::File, number, how).unwrap();
        let moved = if bytes.is_empty() { Ok(0) } else { names.write_at(0, bytes) };
        kind_of(moved.and(names.close()))
    };
    assert_eq!(written(1, Opening::Create, b"content"), None);
    assert_eq!(written(2, Opening::Create, b""), None);
    assert_eq!(written(3, Opening::WriteOrCreate, b""), None);
    for bytes in [&b""[..], b"other"] {
        assert_eq!(written(1, Opening::Create, bytes), Some(ErrorKind::AlreadyExists));
        assert_eq!(written(9, Opening::Write, bytes), Some(ErrorKind::NotFound));
        assert_eq!(written(1, Opening::WriteOrCreate, bytes), None);
        assert_eq!(written(1, Opening::Write, bytes), None);
    }
    let mut buffer = [0; 32];
    names.open(ItemKind::File, 1, Opening::Read).unwrap();
    assert_eq!((names.read_at(0, &mut buffer).unwrap(), &buffer[..7]), (7, &b"othernt"[..]));
    assert_eq!(names.read_at(7, &mut buffer).unwrap(), 0, "at its end");
    names.close().unwrap();
    for number in 1..4 {
        names.stat(ItemKind::File, number).unwrap();
    }
    assert_eq!(kind_of(names.stat(ItemKind::File, 9)), Some(ErrorKind::NotFound));
    assert_eq!(kind_of(names.make(ItemKind::File, 3)), Some(ErrorKind::AlreadyExists));
    names.remove(ItemKind::File, 3).unwrap();
    assert_eq!(kind_of(names.remove(ItemKind::File, 3)), Some(ErrorKind::NotFound));
    assert_eq!(kind_of(names.make(ItemKind::Directory, 1)), Some(ErrorKind::Unsupported));
    assert_eq!(kind_of(names.rename(ItemKind::File, 1)), Some(ErrorKind::Unsupported));
    names.enter(3).unwrap();
    assert_eq!(kind_of(names.stat(ItemKind::File, 1)), Some(ErrorKind::NotFound), "of another directory");
    storage.clear().unwrap();
    names.enter(0).unwrap();
    assert_eq!(kind_of(names.stat(ItemKind::File, 1)), Some(ErrorKind::NotFound), "it went with the others");
    storage.finish().unwrap();
}

#[test]
fn wrappers_with_nothing_to_do_change_nothing() {
    let memory = || open(&TargetSpec::new(StorageKind::Memory)).unwrap();
    answers_like_a_file_system(&Faulty::storage(memory(), Vec::new()));
    answers_like_a_file_system(&Throttled::storage(memory(), Some(1 << 40), Some(1 << 30)));
}

#[test]
fn wrappers_slow_and_spoil_names() {
    let memory = || open(&TargetSpec::new(StorageKind::Memory)).unwrap();
    let began = std::time::Instant::now();
    plant(&mut *Throttled::storage(memory(), None, Some(200)).names(&REQUEST).unwrap());
    // 7 × (tree, file, directory), less the 10 ms that an idle storage may catch up on.
    assert!(began.elapsed().as_millis() >= 21 * 5 - 10 - 5, "{:?}", began.elapsed());
    let faulty = Faulty::storage(memory(), vec![Fault::FailNameEvery { nth: 3, errno: libc::ENOSPC }]);
    let mut names = faulty.names(&REQUEST).unwrap();
    let failed: Vec<bool> = (0..6).map(|directory| names.make_tree(directory).is_err()).collect();
    assert_eq!(failed, [false, false, true, false, false, true]);
}

#[test]
fn several_handles_lead_to_the_same_names() {
    let rig = Rig::planted();
    let mut names = rig.storage.names(&NamesRequest { handles: 3, ..REQUEST }).unwrap();
    for directory in [0, 6, 3, 0, 1, 4, 6, 2, 5, 0] {
        names.enter(directory).unwrap();
        names.stat(ItemKind::File, directory).unwrap();
    }
    rig.scratch.remove().unwrap();
}

#[test]
fn a_whole_tree_goes_by_clear_and_by_remove() {
    let rig = Rig::planted();
    File::create_new(rig.scratch.path().join("data.00000000")).unwrap();
    rig.storage.clear().unwrap();
    assert_eq!(fs::read_dir(rig.scratch.path()).unwrap().count(), 1, "only the marker is left");
    plant(&mut *rig.names());
    let path = rig.scratch.path().to_owned();
    rig.scratch.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn the_deepest_tree_goes_too() {
    let rig = Rig::new(StorageKind::Posix);
    let tree = Tree { depth: 100, branch: 1, ..TREE };
    let mut names = rig.storage.names(&NamesRequest { tree, ..REQUEST }).unwrap();
    for directory in 0..=100 {
        names.make_tree(directory).unwrap();
    }
    rig.scratch.remove().unwrap();
}

#[test]
fn a_directory_below_the_deepest_stays() {
    let rig = Rig::new(StorageKind::Posix);
    let deep: PathBuf = (1..=102).map(|level| format!("d.{level}")).collect();
    fs::create_dir_all(rig.at("").join(&deep)).unwrap();
    let level: PathBuf = (1..=101).map(|level| format!("d.{level}")).collect();
    rig.stays_because_of(&level.to_string_lossy());
}

#[test]
fn foreign_things_stay_with_their_parents_and_are_named() {
    let plants: [Plant; 3] =
        [|path| drop(File::create_new(path).unwrap()), |path| symlink("/", path).unwrap(), |path| fs::create_dir(path).unwrap()];
    for plant in plants {
        for name in ["notes.txt", "f.1", "f.01.2", "d.0", "d.x", "data.00000000", "tree.00000000"] {
            let rig = Rig::planted();
            let path = format!("d.2/d.6/{name}");
            plant(&rig.at(&path));
            let (sibling, item) = (rig.at("d.1"), rig.at("d.2/d.6/f.1.6"));
            let _home = rig.stays_because_of(&path);
            assert!(!sibling.exists() && !item.exists(), "all else is gone");
        }
    }
}

#[test]
fn things_of_another_type_than_their_names_say_stay() {
    let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let link = |path: &Path| symlink("/", path).unwrap();
    let directory = |path: &Path| fs::create_dir(path).unwrap();
    let file = |path: &Path| drop(File::create_new(path).unwrap());
    let plants: [(&str, Plant); 6] =
        [("f.1.99", link), ("g.1.99", directory), ("f.1.98", fifo), ("i.1.99", file), ("j.1.99", link), ("d.99", file)];
    for (name, plant) in plants {
        let rig = Rig::planted();
        let path = format!("d.1/{name}");
        plant(&rig.at(&path));
        drop(rig.stays_because_of(&path));
    }
}

#[test]
fn a_link_in_place_of_a_directory_is_not_followed() {
    let rig = Rig::planted();
    let outside = rig.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    // What is there is spelled like ours: only the way to it is wrong.
    File::create_new(outside.join("f.1.1")).unwrap();
    rustix::fs::rename(rig.at("d.1"), rig.home.path().join("moved")).unwrap();
    symlink(&outside, rig.at("d.1")).unwrap();
    let mut names = rig.names();
    for directory in [1, 3] {
        assert!(names.enter(directory).is_err(), "no operation goes through it");
        assert!(names.list(directory).is_err());
    }
    let home = rig.stays_because_of("d.1");
    assert!(outside.join("f.1.1").exists());
    assert!(home.path().join("moved/f.1.1").exists(), "what was moved away is out of reach");
}

#[test]
fn a_link_in_place_of_the_root_is_not_followed() {
    let rig = Rig::new(StorageKind::Posix);
    let outside = rig.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    File::create_new(outside.join("f.1.0")).unwrap();
    symlink(&outside, rig.at("")).unwrap();
    assert!(rig.names().enter(0).is_err());
    let _home = rig.stays_because_of("");
    assert!(outside.join("f.1.0").exists());
}

#[test]
fn a_full_item_directory_stays() {
    let rig = Rig::planted();
    File::create_new(rig.at("d.2/i.1.2/f.1.0")).unwrap();
    let inside = rig.at("d.2/i.1.2/f.1.0");
    let _home = rig.stays_because_of("d.2/i.1.2");
    assert!(inside.exists());
}

#[test]
fn what_is_spelled_like_a_tree_and_is_none_stays() {
    let rig = Rig::new(StorageKind::Posix);
    drop(File::create_new(rig.at("")).unwrap());
    rig.stays_because_of("");
}

/// A bind mount, which is taken down again whatever happens.
struct Bound(PathBuf);

impl Bound {
    fn new(from: &Path, to: &Path) -> Option<Self> {
        let done = Command::new("mount").arg("--bind").args([from, to]).output().ok()?;
        done.status.success().then(|| Self(to.to_owned()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_mount_is_not_crossed() {
    let rig = Rig::planted();
    let outside = rig.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    File::create_new(outside.join("f.1.1")).unwrap();
    let Some(bound) = Bound::new(&outside, &rig.at("d.1")) else {
        return eprintln!("skipped: only root may mount");
    };
    assert!(rig.names().enter(1).is_err(), "no operation goes over it");
    let _home = rig.stays_because_of("d.1");
    assert!(outside.join("f.1.1").exists());
    drop(bound);
}

#[test]
fn files_go_past_the_page_cache_where_that_is_asked_and_their_size_allows_it() {
    let rig = |direct| Rig::with(|spec| TargetSpec { direct, ..spec });
    let flags = |direct, bytes| rig(direct).flags_of_made(bytes).map(|flags| flags & libc::O_DIRECT != 0);
    match flags(DirectMode::Yes, 1 << 20) {
        Err(error) => return eprintln!("skipped: {error}"),
        Ok(direct) => assert!(direct),
    }
    assert!(!flags(DirectMode::Auto, 1 << 20).unwrap() && !flags(DirectMode::No, 1 << 20).unwrap());
    assert!(!flags(DirectMode::Yes, 0).unwrap(), "nothing is moved");
    let error = flags(DirectMode::Yes, 5000).unwrap_err().to_string();
    assert!(error.starts_with("transfers of 5000 bytes are not a multiple of the "), "{error}");
    let rig = rig(DirectMode::Yes);
    rig.flags_of_made(4096).unwrap();
    assert!(rig.storage.facts().direct);
}
