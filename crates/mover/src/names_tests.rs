use std::fs::{File, read};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;

use super::*;

fn make(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

fn names() -> Names<'static> {
    Names { name: b"name", temporary: b"temporary".to_vec(), old: b"old".to_vec(), any: false }
}

struct Fixture {
    root: tempfile::TempDir,
    dir: File,
}

impl Fixture {
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
        let new = Version::at(self.dir.as_fd(), b"temporary").unwrap();
        replace(self.dir.as_fd(), &names(), &|there| there.ino == new.ino, expected)
    }

    fn end_replacement(&self, new: &Version, expected: &dyn Fn(&Version) -> bool) -> Result<Option<Vec<u8>>> {
        end_replacement(self.dir.as_fd(), &names(), &|there| there.ino == new.ino, expected)
    }
}

#[test]
fn a_temporary_has_a_name_of_its_own_that_fits_anywhere() {
    let name = temporary("0123456789abcdef0123456789abcdef", i64::MAX);
    assert_eq!(name, b".tonnage-01234567-9223372036854775807.part");
}

#[test]
fn a_free_name_is_taken_and_a_taken_one_is_not() {
    let place = Fixture::new();
    place.put("temporary", b"new");
    let dir = place.dir.as_fd();
    move_to_free((dir, b"temporary"), (dir, b"name")).unwrap();
    place.put("temporary", b"newer");
    assert_eq!(move_to_free((dir, b"temporary"), (dir, b"name")), Err(Errno::EXIST));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), Some(b"newer".to_vec())));
}

#[test]
fn without_the_flag_a_taken_name_is_not_taken_either() {
    let place = Fixture::new();
    place.put("temporary", b"new");
    let dir = place.dir.as_fd();
    link_and_remove((dir, b"temporary"), (dir, b"name"), &|_| true).unwrap();
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), None));
    place.put("temporary", b"newer");
    assert_eq!(link_and_remove((dir, b"temporary"), (dir, b"name"), &|_| false), Err(Errno::EXIST));
    assert_eq!(place.bytes("name"), Some(b"new".to_vec()));
}

#[test]
fn what_is_expected_is_replaced_and_nothing_is_left_of_it() {
    let place = Fixture::new();
    let old = place.put("name", b"old");
    place.put("temporary", b"new");
    assert_eq!(place.replace(&mut |there| there.ino == old.ino), Ok(Replaced::Yes));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), None));
}

#[test]
fn what_is_not_expected_keeps_its_name() {
    let place = Fixture::new();
    let foreign = place.put("name", b"foreign");
    place.put("temporary", b"new");
    assert_eq!(place.replace(&mut |_| false), Ok(Replaced::No(foreign)));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"foreign".to_vec()), Some(b"new".to_vec())));
}

#[test]
fn what_comes_in_between_look_and_exchange_is_put_back() {
    let place = Fixture::new();
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
    let place = Fixture::new();
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
    assert_eq!(found, Ok(Replaced::Kept(b"name.tonnage-kept-1".to_vec())));
    assert_eq!(place.bytes("name"), Some(b"second!".to_vec()));
    assert_eq!((place.bytes("temporary"), place.bytes("name.tonnage-kept-1")), (None, Some(b"first".to_vec())));
}

#[test]
fn a_name_that_vanishes_in_between_is_free() {
    let place = Fixture::new();
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
    let place = Fixture::new();
    place.put("name", b"same");
    fs::linkat(&place.dir, "name", &place.dir, "temporary", AtFlags::empty()).unwrap();
    assert_eq!(place.replace(&mut |_| true), Ok(Replaced::Yes));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"same".to_vec()), None));
}

#[test]
fn a_directory_is_never_replaced() {
    let place = Fixture::new();
    fs::mkdirat(&place.dir, "name", fs::Mode::RWXU).unwrap();
    place.put("temporary", b"new");
    assert!(matches!(place.replace(&mut |_| true), Ok(Replaced::No(there)) if there.kind == Kind::Directory));
    assert_eq!(place.bytes("temporary"), Some(b"new".to_vec()));
}

#[test]
fn without_an_exchange_what_is_expected_is_replaced_and_what_comes_in_between_is_not() {
    let place = Fixture::new();
    let old = place.put("name", b"old");
    place.put("temporary", b"new");
    let dir = place.dir.as_fd();
    let move_out = |expected: &mut dyn FnMut(&Version) -> bool| {
        let new = Version::at(dir, b"temporary").unwrap();
        super::move_out(dir, &names(), &|there| there.ino == new.ino, expected)
    };
    assert_eq!(move_out(&mut |there| there.ino == old.ino), Ok(Some(Replaced::Yes)));
    assert_eq!((place.bytes("name"), place.bytes("old")), (Some(b"new".to_vec()), None));
    place.put("temporary", b"newer");
    assert!(matches!(move_out(&mut |_| false), Ok(Some(Replaced::No(_)))));
    assert_eq!((place.bytes("name"), place.bytes("temporary")), (Some(b"new".to_vec()), Some(b"newer".to_vec())));
    let arrived = move_out(&mut |_| {
        place.put("name", b"foreign");
        true
    });
    assert_eq!(arrived, Ok(Some(Replaced::Kept(b"name.tonnage-kept-1".to_vec()))));
    let bytes = ["name", "name.tonnage-kept-1", "temporary"].map(|name| place.bytes(name).unwrap());
    assert_eq!(bytes, [b"foreign".to_vec(), b"new".to_vec(), b"newer".to_vec()]);
}

/// From now on every look at a name fails in this thread, which must have no other use.
fn fail_to_look() {
    const STATX: u32 = libc::SYS_statx as u32;
    const FAILS: u32 = libc::SECCOMP_RET_ERRNO | libc::EIO as u32;
    let code = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, STATX),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, FAILS),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program outlives the call, which copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

#[test]
fn a_foreign_file_that_came_out_and_cannot_be_looked_at_outlives_the_temporarys_removal() {
    let place = Fixture::new();
    let old = place.put("name", b"old");
    let new = place.put("temporary", b"new");
    place.put("foreign", b"foreign");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let found = place.replace(&mut |_| {
                fs::renameat(&place.dir, "foreign", &place.dir, "name").unwrap();
                fail_to_look();
                true
            });
            assert_eq!(found, Err(Errno::IO));
            // What a batch does with an item that failed, and what the next attempt begins with.
            remove(place.dir.as_fd(), b"temporary").unwrap();
        });
    });
    assert_eq!(place.end_replacement(&new, &|there| there.ino == old.ino), Ok(None));
    assert_eq!((place.bytes("name"), place.bytes("old")), (Some(b"foreign".to_vec()), None));
}

#[test]
fn wherever_a_replacement_ended_nothing_foreign_is_lost_and_nothing_hidden_stays() {
    // What lies under the name and under the old one, and what must be left: under the name, the temporary, and beside it.
    type Left = [Option<&'static str>; 3];
    let cases: [(Option<&str>, &str, Left); 7] = [
        (Some("old"), "new", [Some("old"), Some("new"), None]),
        (Some("new"), "old", [Some("new"), None, None]),
        (Some("new"), "foreign", [Some("foreign"), Some("new"), None]),
        (Some("foreign"), "old", [Some("foreign"), None, None]),
        (Some("foreign"), "another", [Some("foreign"), None, Some("another")]),
        (None, "old", [Some("old"), None, None]),
        (None, "foreign", [Some("foreign"), None, None]),
    ];
    for (there, out, left) in cases {
        let place = Fixture::new();
        let mut known = std::collections::HashMap::new();
        for (name, what) in there.map(|what| ("name", what)).into_iter().chain([("old", out)]) {
            known.insert(what, place.put(name, what.as_bytes()).ino);
        }
        let is = |what: &str, there: &Version| known.get(what) == Some(&there.ino);
        let kept = end_replacement(place.dir.as_fd(), &names(), &|there| is("new", there), &|there| is("old", there)).unwrap();
        let found = ["name", "temporary", "name.tonnage-kept-1"].map(|name| place.bytes(name));
        assert_eq!(found, left.map(|what| what.map(|what| what.as_bytes().to_vec())), "{there:?} {out}");
        assert_eq!((kept.is_some(), place.bytes("old")), (left[2].is_some(), None), "{there:?} {out}");
    }
}

#[test]
fn only_the_file_that_was_meant_is_removed() {
    let place = Fixture::new();
    let [ours, foreign] = ["ours", "foreign"].map(|name| place.put(name, name.as_bytes()));
    remove_if(place.dir.as_fd(), b"foreign", ours.ino).unwrap();
    remove_if(place.dir.as_fd(), b"ours", ours.ino).unwrap();
    remove_if(place.dir.as_fd(), b"none", foreign.ino).unwrap();
    assert_eq!((place.bytes("ours"), place.bytes("foreign")), (None, Some(b"foreign".to_vec())));
}
