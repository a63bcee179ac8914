//! Which watch is on which directory, kept right through renames: a directory knows its parent and its name, not its path.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::path::TreePath;

/// Watch numbers and their directories.
#[derive(Debug, Default)]
pub(super) struct Map {
    nodes: HashMap<i32, Node>,
    root: Option<i32>,
    /// Those that were seen without a place; some may have one again.
    adrift: Vec<i32>,
}

#[derive(Debug)]
struct Node {
    place: NodePlace,
    children: HashMap<Box<[u8]>, i32>,
}

#[derive(Debug)]
enum NodePlace {
    /// In the directory of another watch.
    In { parent: i32, name: Box<[u8]> },
    /// The root, or one whose parent has no watch.
    At(TreePath),
    /// Moved away, and not seen again yet.
    Adrift { cookie: u32, since: Instant },
}

impl Map {
    /// Directories with a watch.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The directory of `watch` lies at `path`, wherever it was thought to be.
    pub(super) fn place(&mut self, watch: i32, path: &TreePath, now: Instant) {
        let parent = if path.is_root() { None } else { self.find(&path.parent()) };
        if let Some(parent) = parent.filter(|&parent| parent != watch) {
            self.put(watch, parent, path.name(), now);
        } else {
            self.unhook(watch);
            self.node(watch).place = NodePlace::At(path.clone());
        }
        if path.is_root() {
            self.root = Some(watch);
        }
    }

    /// Where the directory of `watch` lies; `None` while that is not known.
    pub(super) fn path(&self, watch: i32) -> Option<TreePath> {
        let mut names = Vec::new();
        let mut at = watch;
        // No more steps than nodes: a rename seen too late may close a circle until the next scan.
        for _ in 0..=self.nodes.len() {
            match &self.nodes.get(&at)?.place {
                NodePlace::In { parent, name } => {
                    names.push(name);
                    at = *parent;
                }
                NodePlace::At(path) => return Some(names.iter().rev().fold(path.clone(), |path, name| path.join(name))),
                NodePlace::Adrift { .. } => return None,
            }
        }
        None
    }

    /// `name` was moved away from the directory of `parent`.
    pub(super) fn lift(&mut self, parent: i32, name: &[u8], cookie: u32, now: Instant) {
        if let Some(watch) = self.nodes.get_mut(&parent).and_then(|node| node.children.remove(name)) {
            self.set_adrift(watch, cookie, now);
        }
    }

    /// What was moved away with `cookie` is now `name` in the directory of `parent`.
    pub(super) fn land(&mut self, parent: i32, name: &[u8], cookie: u32, now: Instant) {
        let moved = |watch: &i32| matches!(self.nodes.get(watch).map(|node| &node.place), Some(NodePlace::Adrift { cookie: its, .. }) if *its == cookie);
        if let Some(watch) = self.adrift.iter().copied().find(moved)
            && self.nodes.contains_key(&parent)
        {
            self.put(watch, parent, name, now);
        }
    }

    /// The watch is no more. What lay below has lost its place with it.
    pub(super) fn forget(&mut self, watch: i32, now: Instant) {
        self.unhook(watch);
        for (_, child) in self.nodes.remove(&watch).into_iter().flat_map(|node| node.children) {
            self.set_adrift(child, 0, now);
        }
    }

    /// Forgets what has had no place for longer than `grace`, with all below; returns the watches to be taken off.
    pub(super) fn forget_adrift(&mut self, grace: Duration, now: Instant) -> Vec<i32> {
        let mut ended = Vec::new();
        for watch in std::mem::take(&mut self.adrift) {
            match self.nodes.get(&watch).map(|node| &node.place) {
                Some(NodePlace::Adrift { since, .. }) if now.duration_since(*since) >= grace => ended.push(watch),
                Some(NodePlace::Adrift { .. }) => self.adrift.push(watch),
                _ => {}
            }
        }
        let mut next = 0;
        while let Some(&watch) = ended.get(next) {
            ended.extend(self.nodes.remove(&watch).into_iter().flat_map(|node| node.children.into_values()));
            next += 1;
        }
        ended
    }

    fn find(&self, path: &TreePath) -> Option<i32> {
        let root = self.root?;
        if path.is_root() {
            return Some(root);
        }
        path.bytes().split(|&byte| byte == b'/').try_fold(root, |at, name| self.nodes.get(&at)?.children.get(name).copied())
    }

    fn put(&mut self, watch: i32, parent: i32, name: &[u8], now: Instant) {
        self.unhook(watch);
        self.node(watch).place = NodePlace::In { parent, name: name.into() };
        if let Some(other) = self.node(parent).children.insert(name.into(), watch) {
            // Two cannot have one name: the other was moved or removed, and its event is still to come.
            self.set_adrift(other, 0, now);
        }
    }

    /// Takes it out of its parent's list.
    fn unhook(&mut self, watch: i32) {
        if let Some(NodePlace::In { parent, name }) = self.nodes.get(&watch).map(|node| &node.place) {
            let (parent, name) = (*parent, name.clone());
            if let Some(list) = self.nodes.get_mut(&parent).map(|node| &mut node.children)
                && list.get(&name) == Some(&watch)
            {
                list.remove(&name);
            }
        }
    }

    fn set_adrift(&mut self, watch: i32, cookie: u32, now: Instant) {
        if let Some(node) = self.nodes.get_mut(&watch) {
            node.place = NodePlace::Adrift { cookie, since: now };
            self.adrift.push(watch);
        }
    }

    fn node(&mut self, watch: i32) -> &mut Node {
        self.nodes.entry(watch).or_insert_with(|| Node { place: NodePlace::At(TreePath::root()), children: HashMap::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::new(text.as_bytes()).unwrap()
    }

    /// Root 1, `a` 2, `a/b` 3.
    fn map(now: Instant) -> Map {
        let mut map = Map::default();
        for (watch, at) in [(1, ""), (2, "a"), (3, "a/b")] {
            map.place(watch, &path(at), now);
        }
        map
    }

    #[test]
    fn a_rename_takes_all_that_lies_below_with_it() {
        let now = Instant::now();
        let mut map = map(now);
        map.lift(1, b"a", 7, now);
        assert_eq!(map.path(3), None);
        map.land(1, b"c", 7, now);
        assert_eq!((map.path(2), map.path(3)), (Some(path("c")), Some(path("c/b"))));
        assert!(map.forget_adrift(Duration::ZERO, now).is_empty());
    }

    #[test]
    fn what_left_the_tree_is_forgotten_after_its_grace_with_all_below() {
        let now = Instant::now();
        let mut map = map(now);
        map.lift(1, b"a", 7, now);
        assert!(map.forget_adrift(Duration::from_secs(1), now).is_empty());
        assert_eq!(map.forget_adrift(Duration::from_secs(1), now + Duration::from_secs(1)), [2, 3]);
        assert_eq!((map.len(), map.path(3)), (1, None));
    }

    #[test]
    fn a_scan_puts_a_watch_where_it_found_its_directory_whatever_was_believed() {
        let now = Instant::now();
        let mut map = map(now);
        map.place(3, &path("b"), now);
        assert_eq!(map.path(3), Some(path("b")));
        // Another directory has its old name by now; the old one's events come too late to hurt it.
        map.place(4, &path("a/b"), now);
        map.lift(9, b"b", 1, now);
        assert_eq!((map.path(4), map.path(3)), (Some(path("a/b")), Some(path("b"))));
    }

    #[test]
    fn a_name_that_is_taken_over_leaves_its_old_directory_without_a_place() {
        let now = Instant::now();
        let mut map = map(now);
        map.place(4, &path("a"), now);
        assert_eq!((map.path(4), map.path(2), map.path(3)), (Some(path("a")), None, None));
    }

    #[test]
    fn a_directory_whose_parent_has_no_watch_is_known_by_its_path() {
        let now = Instant::now();
        let mut map = map(now);
        map.place(5, &path("x/y"), now);
        assert_eq!(map.path(5), Some(path("x/y")));
        map.place(4, &path("x"), now);
        map.place(5, &path("x/y"), now);
        map.lift(1, b"x", 3, now);
        map.land(1, b"z", 3, now);
        assert_eq!(map.path(5), Some(path("z/y")));
    }

    #[test]
    fn a_circle_of_late_renames_has_no_path_and_ends() {
        let now = Instant::now();
        let mut map = map(now);
        map.put(2, 3, b"a", now);
        assert_eq!((map.path(2), map.path(3)), (None, None));
    }

    #[test]
    fn a_watch_that_ended_takes_its_name_with_it() {
        let now = Instant::now();
        let mut map = map(now);
        map.forget(3, now);
        map.place(6, &path("a/b"), now);
        assert_eq!((map.path(3), map.path(6), map.len()), (None, Some(path("a/b")), 3));
    }
}
