use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{FileType, rename};
use tempfile::TempDir;

use super::verify::read_all;
use super::*;
use crate::file_version::{Kind, Version};
use crate::journal::Identity;

const ID: &str = "0123456789abcdef0123456789abcdef";

fn path(bytes: &[u8]) -> TreePath {
    TreePath::new(bytes).unwrap()
}

/// Writes a file below `to`, and returns its line.
fn stage(to: &Path, name: &[u8], bytes: &[u8]) -> Line {
    let at = to.join(path(name).as_path());
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    let mut file = File::create(&at).unwrap();
    file.write_all(bytes).unwrap();
    Line::now(&path(name), &Version::of(&file).unwrap(), Some(blake3::hash(bytes).into()))
}

fn staged(files: &[(&[u8], &[u8])]) -> (TempDir, Manifest) {
    let to = tempfile::tempdir().unwrap();
    let manifest = Manifest::open(&Tree::open(to.path()).unwrap(), ID).unwrap();
    let lines: Vec<_> = files.iter().map(|(name, bytes)| stage(to.path(), name, bytes)).collect();
    manifest.append(&lines, true).unwrap();
    (to, manifest)
}

fn check(to: &Path) -> Report {
    verify(to, 2, &mut |_| true).unwrap()
}

fn file_of(to: &Path) -> std::path::PathBuf {
    to.join(STATE_DIRECTORY).join(format!("manifest-{ID}.jsonl"))
}

#[test]
fn a_line_comes_back_as_it_was_written_whatever_its_name() {
    for name in [&b"d/a"[..], b"new\nline\"\\", b"\xff\xfe", "é".as_bytes()] {
        let version =
            Version { kind: Kind::File, ino: 1, size: 9, mtime_ns: -5, ctime_ns: 0, mode: 0o4755, links: 1, uid: 0, gid: 0 };
        let line = Line::now(&path(name), &version, Some([9; 32]));
        let mut text = Vec::new();
        line.write(&mut text);
        assert_eq!(text.iter().position(|&byte| byte == b'\n'), Some(text.len() - 1));
        assert_eq!(Line::read(&text), Ok(line));
    }
}

#[test]
fn what_was_removed_or_replaced_since_is_lost_and_what_another_mover_placed_is_not() {
    let (to, _manifest) = staged(&[(b"d/kept", b"1"), (b"d/gone", b"2"), (b"replaced", b"3"), (b"staged again", b"4")]);
    assert_eq!(lost(to.path(), ID).unwrap(), Vec::<String>::new());
    rename(to.path().join("d/gone"), to.path().join("elsewhere")).unwrap();
    OpenOptions::new().append(true).open(to.path().join("replaced")).unwrap().write_all(b"more").unwrap();
    let other = Manifest::open(&Tree::open(to.path()).unwrap(), &"f".repeat(32)).unwrap();
    other.append(&[stage(to.path(), b"staged again", b"newer")], true).unwrap();
    assert_eq!(lost(to.path(), ID).unwrap(), ["d/gone", "replaced"]);
    assert!(lost(to.path(), &"0".repeat(32)).unwrap().is_empty(), "nothing was placed by it");
}

#[test]
fn a_line_with_one_bit_changed_is_no_line_whichever_it_is() {
    let version = Version { kind: Kind::File, ino: 1, size: 9, mtime_ns: 5, ctime_ns: 0, mode: 0o644, links: 1, uid: 0, gid: 0 };
    let mut text = Vec::new();
    Line::now(&path(b"d/a"), &version, Some([9; 32])).write(&mut text);
    for bit in 0..text.len() * 8 {
        let mut changed = text.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let lines: Vec<_> = changed.split_inclusive(|&byte| byte == b'\n').map(Line::read).collect();
        // The end of the line is none of its text: without it, the next one would be glued to it.
        let at_the_end = bit / 8 == text.len() - 1;
        assert!(lines.iter().all(std::result::Result::is_err) || at_the_end, "bit {bit}: {lines:?}");
    }
}

#[test]
fn a_line_of_an_earlier_version_has_no_checksum_and_is_read() {
    let text = b"{\"path\":\"a\",\"kind\":\"file\",\"size\":1,\"mtime_ns\":2,\"mode\":420,\"blake3\":null,\"staged_ns\":3,\"host\":\"h\"}\n";
    assert_eq!(Line::read(text).unwrap().staged_ns, 3);
}

#[test]
fn a_whole_tree_is_whole() {
    let (to, _manifest) = staged(&[(b"d/a", b"one"), (b"\xff", b"two"), (b"empty", b"")]);
    let report = check(to.path());
    assert!(report.is_whole() && report.unknown.is_empty(), "{report:?}");
    assert_eq!((report.expected, report.checked, report.bytes), (3, 3, 6));
}

#[test]
fn each_fault_is_found_under_its_own_name() {
    let names: [&[u8]; 6] = [b"missing", b"longer", b"changed", b"kind", b"d/through", b"fine"];
    let (to, _manifest) = staged(&names.map(|name| (name, &b"bytes"[..])));
    let at = |name: &str| to.path().join(name);
    rename(at("missing"), at("unknown\n")).unwrap();
    OpenOptions::new().append(true).open(at("longer")).unwrap().write_all(b"!").unwrap();
    File::create(at("changed")).unwrap().write_all(b"bytez").unwrap();
    rename(at("kind"), at("kind.kept")).unwrap();
    symlink("fine", at("kind")).unwrap();
    rename(at("d"), at("e")).unwrap();
    symlink("e", at("d")).unwrap();
    let report = check(to.path());
    assert_eq!(report.missing, ["d/through", "missing"], "a linked directory is not the one that was staged");
    assert_eq!(report.size_differs, ["longer"]);
    assert_eq!(report.checksum_differs, ["changed"]);
    assert_eq!(report.kind_differs, ["kind"]);
    assert_eq!(report.unknown, ["d", "e/through", "kind.kept", "unknown\\x0a"]);
    assert!(!report.is_whole());
}

#[test]
fn the_line_staged_last_counts_over_all_manifests() {
    let (to, manifest) = staged(&[(b"a", b"first")]);
    let tree = Tree::open(to.path()).unwrap();
    let other = Manifest::open(&tree, "ffff").unwrap();
    other.append(&[stage(to.path(), b"a", b"second of another mover")], true).unwrap();
    assert!(check(to.path()).is_whole());
    manifest.append(&[stage(to.path(), b"a", b"third")], true).unwrap();
    assert!(check(to.path()).is_whole());
    stage(to.path(), b"a", b"first");
    assert_eq!(check(to.path()).checksum_differs, ["a"]);
}

#[test]
fn a_torn_last_line_is_read_over_and_the_next_takes_its_place() {
    let (to, manifest) = staged(&[(b"a", b"one")]);
    drop(manifest);
    OpenOptions::new().append(true).open(file_of(to.path())).unwrap().write_all(b"{\"path\":\"b\",\"si").unwrap();
    assert_eq!((check(to.path()).expected, check(to.path()).torn_lines), (1, 1));
    let again = Manifest::open(&Tree::open(to.path()).unwrap(), ID).unwrap();
    again.append(&[stage(to.path(), b"c", b"three")], true).unwrap();
    again.append(&[stage(to.path(), b"d", b"four")], true).unwrap();
    let report = check(to.path());
    assert!(report.is_whole() && (report.expected, report.torn_lines) == (3, 0), "{report:?}");
}

#[test]
fn what_is_at_the_end_and_no_beginning_of_a_line_stays_for_the_check_to_name() {
    for text in [&b"no line"[..], b"{\"path\":1} x", b"{\"path\":\"b\"}\0\0"] {
        let (to, manifest) = staged(&[(b"a", b"one")]);
        drop(manifest);
        OpenOptions::new().append(true).open(file_of(to.path())).unwrap().write_all(text).unwrap();
        let again = Manifest::open(&Tree::open(to.path()).unwrap(), ID).unwrap();
        again.append(&[stage(to.path(), b"c", b"three")], true).unwrap();
        let report = check(to.path());
        assert!(!report.is_whole() && report.expected == 2 && report.torn_lines == 0, "{report:?}");
        assert!(report.damaged[0].contains(" line 2: "), "{report:?}");
    }
}

#[test]
fn a_last_line_that_lacks_only_its_end_counts_and_is_closed() {
    let (to, manifest) = staged(&[(b"a", b"one")]);
    drop(manifest);
    let whole = fs::read(file_of(to.path())).unwrap();
    File::create(file_of(to.path())).unwrap().write_all(&whole[..whole.len() - 1]).unwrap();
    assert!(check(to.path()).is_whole());
    let again = Manifest::open(&Tree::open(to.path()).unwrap(), ID).unwrap();
    again.append(&[stage(to.path(), b"c", b"three")], true).unwrap();
    assert!(check(to.path()).is_whole() && check(to.path()).expected == 2);
}

#[test]
fn lines_that_could_not_be_made_durable_are_taken_back() {
    let (to, manifest) = staged(&[(b"a", b"one")]);
    let before = fs::read(file_of(to.path())).unwrap();
    let line = stage(to.path(), b"b", b"two");
    let limit = rustix::process::Rlimit { current: Some(before.len() as u64 + 20), maximum: None };
    // In a process of its own: the limit is the whole process's, and other tests write meanwhile.
    let child = unsafe { libc::fork() };
    if child == 0 {
        unsafe { (libc::alarm(20), libc::signal(libc::SIGXFSZ, libc::SIG_IGN)) };
        let limited = rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).is_ok();
        let refused = manifest.append(std::slice::from_ref(&line), true).is_err();
        unsafe { libc::_exit(i32::from(!(limited && refused))) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the append was not refused");
    assert_eq!(fs::read(file_of(to.path())).unwrap(), before);
    manifest.append(&[line], true).unwrap();
    assert_eq!(check(to.path()).torn_lines, 0);
}

#[test]
fn links_are_checked_by_their_text_and_fifos_and_directories_by_their_kind() {
    let (to, manifest) = staged(&[]);
    symlink("/nowhere", to.path().join("link")).unwrap();
    fs::create_dir(to.path().join("directory")).unwrap();
    let tree = Tree::open(to.path()).unwrap();
    let line = |name: &[u8], checksum| Line::now(&path(name), &Version::at(tree.root(), name).unwrap(), checksum);
    manifest.append(&[line(b"link", Some(blake3::hash(b"/nowhere").into())), line(b"directory", None)], true).unwrap();
    assert!(check(to.path()).is_whole());
    rename(to.path().join("link"), to.path().join("directory/link")).unwrap();
    symlink("/nowherf", to.path().join("link")).unwrap();
    assert_eq!(check(to.path()).checksum_differs, ["link"]);
}

#[test]
fn a_check_ends_when_asked_to_and_says_so() {
    let (to, _manifest) = staged(&[(b"a", b"one")]);
    // A sparse file long enough that the check is asked at least once.
    let long = File::create(to.path().join("long")).unwrap();
    long.set_len(1 << 40).unwrap();
    let tree = Tree::open(to.path()).unwrap();
    let manifest = Manifest::open(&tree, "long").unwrap();
    manifest.append(&[Line::now(&path(b"long"), &Version::of(&long).unwrap(), Some([0; 32]))], true).unwrap();
    let report = verify(to.path(), 1, &mut |seen| seen.of_files != 2).unwrap();
    assert!(report.halted && !report.is_whole());
}

#[test]
fn a_tree_without_manifest_is_a_wrong_request() {
    let to = tempfile::tempdir().unwrap();
    let said = verify(to.path(), 1, &mut |_| true).unwrap_err().to_string();
    assert!(said.starts_with("no manifest in ") && said.contains("; hint: "), "{said}");
}

#[test]
fn a_line_that_leads_out_of_the_tree_is_no_line() {
    let (to, _manifest) = staged(&[(b"a", b"one")]);
    let text = fs::read_to_string(file_of(to.path())).unwrap().replace("\"a\"", "\"../a\"");
    OpenOptions::new().append(true).open(file_of(to.path())).unwrap().write_all(text.as_bytes()).unwrap();
    let known = read_all(&Tree::open(to.path()).unwrap()).unwrap();
    assert_eq!((known.lines.len(), known.torn_lines), (1, 0));
    assert!(known.damaged[0].contains("line 2: "), "{:?}", known.damaged);
    assert_eq!(known.lines.keys().next().unwrap().as_path().as_os_str().as_bytes(), b"a");
}

#[test]
fn after_a_rebuild_what_lies_there_unchanged_is_this_mover_s_own_and_the_rest_is_not() {
    let (to, manifest) = staged(&[(b"d/same", b"one"), (b"changed", b"two"), (b"missing", b"three")]);
    OpenOptions::new().append(true).open(to.path().join("changed")).unwrap().write_all(b"!").unwrap();
    rename(to.path().join("missing"), to.path().join("elsewhere")).unwrap();
    let state = tempfile::tempdir().unwrap();
    let identity = Identity { from: "/from".into(), to: to.path().into() };
    let journal = Journal::open(state.path(), &identity).unwrap().0;
    assert_eq!(manifest.adopt(&Tree::open(to.path()).unwrap(), &journal).unwrap(), 1);
    let entry = |name| journal.by_path(&path(name)).unwrap();
    let placed = entry(b"d/same").unwrap().placed.unwrap();
    assert_eq!((placed.ino, placed.size, placed.checksum), (Placed::TO_BE_MADE, 3, Some(blake3::hash(b"one").into())));
    assert_eq!((entry(b"changed"), entry(b"missing")), (None, None));
}

#[test]
fn after_a_rebuild_a_link_is_this_mover_s_own_by_its_text_and_a_fifo_never() {
    let (to, manifest) = staged(&[]);
    let tree = Tree::open(to.path()).unwrap();
    symlink("one", to.path().join("link")).unwrap();
    symlink("one", to.path().join("pointed elsewhere")).unwrap();
    rustix::fs::mknodat(tree.root(), "fifo", FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let names = [&b"link"[..], b"pointed elsewhere", b"fifo"];
    let line = |name| Line::now(&path(name), &Version::at(tree.root(), name).unwrap(), Some(blake3::hash(b"one").into()));
    manifest.append(&names.map(line), true).unwrap();
    // Another's, of the same length and time.
    let before = Version::at(tree.root(), names[1]).unwrap();
    rename(to.path().join("pointed elsewhere"), to.path().join("away")).unwrap();
    symlink("two", to.path().join("pointed elsewhere")).unwrap();
    attributes_of(&tree, names[1], &before);
    let state = tempfile::tempdir().unwrap();
    let identity = Identity { from: "/from".into(), to: to.path().into() };
    let journal = Journal::open(state.path(), &identity).unwrap().0;
    assert_eq!(manifest.adopt(&tree, &journal).unwrap(), 1);
    let entry = journal.by_path(&path(names[0])).unwrap().unwrap();
    let there = Version::at(tree.root(), names[0]).unwrap();
    assert_eq!((entry.version.kind, entry.placed.unwrap().ino), (Kind::Link, there.ino));
    assert!(names[1..].iter().all(|name| journal.by_path(&path(name)).unwrap().is_none()));
}

fn attributes_of(tree: &Tree, name: &[u8], like: &Version) {
    let time = rustix::fs::Timespec { tv_sec: like.mtime_ns / 1_000_000_000, tv_nsec: like.mtime_ns % 1_000_000_000 };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(tree.root(), name, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_eq!(Version::at(tree.root(), name).unwrap().mtime_ns, like.mtime_ns);
}

#[test]
fn after_a_rebuild_directories_are_this_mover_s_own_where_their_lines_say_that_it_made_them() {
    let (to, manifest) = staged(&[]);
    let tree = Tree::open(to.path()).unwrap();
    let names = [&b"made"[..], b"of_others", b"gone", b"now_a_file"];
    for name in names {
        fs::create_dir(to.path().join(std::str::from_utf8(name).unwrap())).unwrap();
    }
    let lines = names.map(|name| {
        let there = Version::at(tree.root(), name).unwrap();
        let ino = if name == b"of_others" { Placed::OF_OTHERS } else { there.ino };
        Line::of(&path(name), &there, Some(&Placed::directory(ino)))
    });
    manifest.append(&lines, true).unwrap();
    assert_eq!(read_all(&tree).unwrap().lines[&path(b"made")], lines[0]);
    rename(to.path().join("gone"), to.path().join("elsewhere")).unwrap();
    rename(to.path().join("now_a_file"), to.path().join("away")).unwrap();
    File::create(to.path().join("now_a_file")).unwrap();
    let state = tempfile::tempdir().unwrap();
    let identity = Identity { from: "/from".into(), to: to.path().into() };
    let journal = Journal::open(state.path(), &identity).unwrap().0;
    assert_eq!(manifest.adopt(&tree, &journal).unwrap(), 1);
    let entry = journal.by_path(&path(b"made")).unwrap().unwrap();
    assert_eq!((entry.version.kind, entry.placed.unwrap().made_ino()), (Kind::Directory, lines[0].made_ino));
    assert!(names[1..].iter().all(|name| journal.by_path(&path(name)).unwrap().is_none()));
}

#[test]
fn a_clock_that_was_set_back_does_not_make_an_older_line_count() {
    let (to, manifest) = staged(&[(b"file", b"old")]);
    let mut line = stage(to.path(), b"file", b"new bytes");
    line.staged_ns -= 3_600_000_000_000;
    manifest.append(&[line.clone()], true).unwrap();
    assert!(check(to.path()).is_whole());
    assert_eq!(read_all(&Tree::open(to.path()).unwrap()).unwrap().lines[&path(b"file")], line);
    // Of several movers' lines the later time counts, in whatever order their manifests are read.
    let other = Manifest::open(&Tree::open(to.path()).unwrap(), &"f".repeat(32)).unwrap();
    let mut newest = stage(to.path(), b"file", b"the newest");
    newest.staged_ns = line.staged_ns + 1;
    other.append(&[newest.clone()], true).unwrap();
    assert_eq!(read_all(&Tree::open(to.path()).unwrap()).unwrap().lines[&path(b"file")], newest);
}
