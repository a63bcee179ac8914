use std::fs::{File, read};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

use super::*;

fn make(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

struct Place {
    root: tempfile::TempDir,
    dir: File,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = File::open(root.path()).unwrap();
        Self { root, dir }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Version {
        make(&self.root.path().join(name), bytes);
        Version::at(self.dir.as_fd(), name.as_bytes()).unwrap()
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        read(self.root.path().join(name)).ok()
    }

    fn replace(&self, expected: &mut dyn FnMut(&Version) -> bool) -> Result<Replaced> {
        replace(self.dir.as_fd(), b"temporary", b"name", expected)
    }
}

#[test]
fn a_temporary_has_a_name_of_its_own_that_fits_anywhere() {
    let name = temporary("0123456789abcdef0123456789abcdef", i64::MAX);
    assert_eq!(name, b".tonnage-01234567-9223372036854775807.part");
}

#[test]
fn a_free_name_is_taken_and_a_taken_one_is_not() {
    let place = Place::new();
    place.put("temporary", b"new");
    let dir = place.dir.as_fd();
    move_to_free((dir, b"temporary"), (dir, b"name")).unwrap();
    place.put("temporary", b"newer");
    assert_eq!(move_to_free((dir, b"temporary"), (dir, b"name")), Err(Errno::EXIST));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), Some(b"newer".to_vec())));
}

#[test]
fn without_the_flag_a_taken_name_is_not_taken_either() {
    let place = Place::new();
    place.put("temporary", b"new");
    let dir = place.dir.as_fd();
    link_and_remove((dir, b"temporary"), (dir, b"name")).unwrap();
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), None));
    place.put("temporary", b"newer");
    assert_eq!(link_and_remove((dir, b"temporary"), (dir, b"name")), Err(Errno::EXIST));
    assert_eq!(look_and_rename((dir, b"temporary"), (dir, b"name")), Err(Errno::EXIST));
    assert_eq!(place.bytes("name"), Some(b"new".to_vec()));
}

#[test]
fn what_is_expected_is_replaced_and_nothing_is_left_of_it() {
    let place = Place::new();
    let old = place.put("name", b"old");
    place.put("temporary", b"new");
    assert_eq!(place.replace(&mut |there| there.ino == old.ino), Ok(Replaced::Yes));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), None));
}

#[test]
fn what_is_not_expected_keeps_its_name() {
    let place = Place::new();
    let foreign = place.put("name", b"foreign");
    place.put("temporary", b"new");
    assert_eq!(place.replace(&mut |_| false), Ok(Replaced::No(foreign)));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"foreign".to_vec()), Some(b"new".to_vec())));
}

#[test]
fn what_comes_in_between_look_and_exchange_is_put_back() {
    let place = Place::new();
    let old = place.put("name", b"old");
    place.put("temporary", b"new");
    place.put("foreign", b"foreign");
    let mut looked = 0;
    let found = place.replace(&mut |there| {
        looked += 1;
        if looked == 1 {
            fs::renameat(&place.dir, "foreign", &place.dir, "name").unwrap();
            return true;
        }
        there.ino == old.ino
    });
    assert!(matches!(found, Ok(Replaced::No(there)) if there.size == 7), "{found:?}");
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"foreign".to_vec()), Some(b"new".to_vec())));
}

#[test]
fn of_two_that_come_in_between_the_later_has_the_name_and_neither_is_lost() {
    let place = Place::new();
    place.put("name", b"old");
    place.put("temporary", b"new");
    place.put("first", b"first");
    place.put("second", b"second!");
    let mut looked = 0;
    let found = place.replace(&mut |_| {
        looked += 1;
        let name = ["first", "second"][looked - 1];
        fs::renameat(&place.dir, name, &place.dir, "name").unwrap();
        looked == 1
    });
    assert!(matches!(found, Ok(Replaced::No(_))), "{found:?}");
    assert_eq!(place.bytes("name"), Some(b"second!".to_vec()));
    assert_eq!((place.bytes("temporary"), place.bytes("temporary.kept")), (None, Some(b"first".to_vec())));
}

#[test]
fn a_name_that_vanishes_in_between_is_free() {
    let place = Place::new();
    place.put("name", b"old");
    place.put("temporary", b"new");
    let found = place.replace(&mut |_| {
        remove(place.dir.as_fd(), b"name").unwrap();
        true
    });
    assert_eq!((found, place.bytes("name")), (Ok(Replaced::Yes), Some(b"new".to_vec())));
}

#[test]
fn two_links_of_one_inode_leave_no_temporary() {
    let place = Place::new();
    place.put("name", b"same");
    fs::linkat(&place.dir, "name", &place.dir, "temporary", AtFlags::empty()).unwrap();
    assert_eq!(place.replace(&mut |_| true), Ok(Replaced::Yes));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"same".to_vec()), None));
}

#[test]
fn a_directory_is_never_replaced() {
    let place = Place::new();
    fs::mkdirat(&place.dir, "name", fs::Mode::RWXU).unwrap();
    place.put("temporary", b"new");
    assert!(matches!(place.replace(&mut |_| true), Ok(Replaced::No(there)) if there.kind == Kind::Directory));
    assert_eq!(place.bytes("temporary"), Some(b"new".to_vec()));
}
