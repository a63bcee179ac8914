//! Which names are staged, in which order, and which of them wait for their set.
//!
//! A glob is relative to the tree: one without `/` is the name of anything at any depth, one with a `/` is a path from the root.
//! `*` and `?` stop at a `/`, `**` does not. A glob that matches a directory stands for all that is below; with a `/` at its end
//! it matches directories only.

use std::path::Path;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::STATE_DIRECTORY;
use crate::error::{MoverError, Result};
use crate::file_version::Kind;
use crate::journal_entry::Entry;
use crate::names;
use crate::options::{Options, Order};
use crate::path::TreePath;

/// The rules of one mover, compiled.
#[derive(Debug)]
pub struct Rules {
    include: Globs,
    exclude: Globs,
    first: Globs,
    markers: Globs,
    order: Order,
    /// What the mover writes itself, should it lie in the tree.
    own: Vec<TreePath>,
}

/// Place of an entry among those that wait: the least goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    first: u32,
    order: u64,
}

impl Rules {
    /// Compiles the globs of `options`; one that cannot be is a request error.
    pub fn new(options: &Options) -> Result<Self> {
        let inside = |path: &Path| {
            path.strip_prefix(&options.from).ok().and_then(|path| TreePath::new(path.as_os_str().as_encoded_bytes()))
        };
        let mut own = vec![TreePath::root().join(STATE_DIRECTORY.as_bytes())];
        own.extend([Some(options.state.as_path()), options.log.as_deref()].into_iter().flatten().filter_map(inside));
        own.retain(|path| !path.is_root());
        Ok(Self {
            include: Globs::new("include", &options.include)?,
            exclude: Globs::new("exclude", &options.exclude)?,
            first: Globs::new("first", &options.first)?,
            markers: Globs::new("marker", &options.markers)?,
            order: options.order,
            own,
        })
    }

    /// Whether `path` is staged. Directories on the way to what is staged are made without being asked for.
    #[must_use]
    pub fn stages(&self, path: &TreePath, kind: Kind) -> bool {
        !path.is_root()
            && !self.is_own(path)
            && !self.exclude.matches(path, kind)
            && (self.include.is_empty() || self.include.matches(path, kind))
    }

    /// Whether anything below the directory `path` can be staged.
    #[must_use]
    pub fn enters(&self, path: &TreePath) -> bool {
        path.is_root() || !(self.is_own(path) || self.exclude.matches(path, Kind::Directory))
    }

    /// When `entry` goes.
    #[must_use]
    pub fn key(&self, entry: &Entry) -> Key {
        let version = &entry.version;
        // Times before 1970 keep their order.
        let changed = version.mtime_ns.cast_unsigned() ^ (1 << 63);
        let order = match self.order {
            Order::Oldest => changed,
            Order::Newest => !changed,
            Order::Smallest => version.size,
            Order::Largest => !version.size,
        };
        Key { first: self.first.rank(&entry.path, version.kind), order }
    }

    /// The directory whose files must all be done before the marker `path` goes; `None` for what is no marker.
    #[must_use]
    pub fn marker(&self, path: &TreePath) -> Option<TreePath> {
        self.markers.matches(path, Kind::File).then(|| path.parent())
    }

    /// What a mover writes: its state, its log, and temporaries of one whose destination this tree is.
    fn is_own(&self, path: &TreePath) -> bool {
        self.own.iter().any(|own| path.is_below(own)) || is_of_movers(path)
    }

    /// Whether `path` is not staged for its name alone, which a user may not know: one that movers give to their temporaries, or the
    /// state of another mover, further down in the tree.
    #[must_use]
    pub fn is_reserved(&self, path: &TreePath) -> bool {
        is_of_movers(path) && !self.own.iter().any(|own| path.is_below(own)) && !self.exclude.matches(path, Kind::File)
    }
}

fn is_of_movers(path: &TreePath) -> bool {
    path.name() == STATE_DIRECTORY.as_bytes() || names::is_temporary(path.name())
}

/// Globs of one option; each knows its number.
#[derive(Debug)]
struct Globs {
    /// What matches anything, and what is below a matching directory.
    any: GlobSet,
    /// Number of the glob that each member of `any` was made from.
    any_of: Vec<u32>,
    /// What matches directories only.
    directories: GlobSet,
    directories_of: Vec<u32>,
    count: u32,
}

impl Globs {
    fn new(option: &str, globs: &[String]) -> Result<Self> {
        let (mut any, mut directories) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let (mut any_of, mut directories_of) = (Vec::new(), Vec::new());
        let mut count = 0;
        for glob in globs {
            let bad = |why: &str| MoverError::Request(format!("{option} glob {glob:?}: {why}"));
            let rooted = rooted(glob).map_err(bad)?;
            let compile = |glob: &str| {
                let built = GlobBuilder::new(glob).literal_separator(true).build();
                built.map_err(|error| bad(&format!("{}; hint: a backslash takes a sign for itself", error.kind())))
            };
            any.add(compile(&format!("{rooted}/**"))?);
            any_of.push(count);
            let (set, of) = if glob.ends_with('/') { (&mut directories, &mut directories_of) } else { (&mut any, &mut any_of) };
            set.add(compile(&rooted)?);
            of.push(count);
            count += 1;
        }
        let built =
            |set: GlobSetBuilder| set.build().map_err(|error| MoverError::Request(format!("{option} globs: {}", error.kind())));
        Ok(Self { any: built(any)?, any_of, directories: built(directories)?, directories_of, count })
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn matches(&self, path: &TreePath, kind: Kind) -> bool {
        if self.is_empty() {
            return false;
        }
        let candidate = Candidate::from_bytes(path.bytes());
        self.any.is_match_candidate(&candidate) || (kind == Kind::Directory && self.directories.is_match_candidate(&candidate))
    }

    /// Number of the first glob that matches; the number of globs where none does.
    fn rank(&self, path: &TreePath, kind: Kind) -> u32 {
        if self.is_empty() {
            return 0;
        }
        let candidate = Candidate::from_bytes(path.bytes());
        let mut least = self.count;
        for number in self.any.matches_candidate(&candidate) {
            least = least.min(self.any_of[number]);
        }
        if kind == Kind::Directory {
            for number in self.directories.matches_candidate(&candidate) {
                least = least.min(self.directories_of[number]);
            }
        }
        least
    }
}

/// The same glob, written from the root.
fn rooted(glob: &str) -> std::result::Result<String, &'static str> {
    let body = glob.trim_end_matches('/');
    let path = body.trim_start_matches('/');
    if path.is_empty() {
        return Err("it is empty; hint: * is every name");
    }
    if path.split('/').any(|part| matches!(part, "." | ".." | "")) {
        return Err("it has a part that no name can match; hint: write it relative to the source, without . and ..");
    }
    Ok(if body.contains('/') { path.to_owned() } else { format!("**/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{entry, options};

    fn path(text: &str) -> TreePath {
        TreePath::new(text.as_bytes()).unwrap()
    }

    fn rules(change: impl FnOnce(&mut Options)) -> Rules {
        let mut options = options(Path::new("/from"), Path::new("/to"));
        change(&mut options);
        Rules::new(&options).unwrap()
    }

    fn texts(globs: &[&str]) -> Vec<String> {
        globs.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_globs_everything_but_the_movers_own_is_staged() {
        let rules = rules(|options| {
            options.state = "/from/run/state".into();
            options.log = Some("/from/spectral.log".into());
        });
        for staged in ["a", "a/b", "run", "a/.tonnage-stages", ".tonnage-0123abcd-.part", ".tonnage-0123abcd-12.party"] {
            assert!(rules.stages(&path(staged), Kind::File), "{staged}");
        }
        for own in
            [".tonnage-stage/journal.sqlite", "a/.tonnage-stage", "run/state/lock", "spectral.log", "a/.tonnage-0123abcd-12.part"]
        {
            assert!(!rules.stages(&path(own), Kind::File), "{own}");
        }
        assert!(!rules.enters(&path(".tonnage-stage")) && !rules.enters(&path("run/state")));
        assert!(rules.enters(&TreePath::root()) && !rules.stages(&TreePath::root(), Kind::Directory));
    }

    #[test]
    fn a_glob_without_a_slash_is_a_name_at_any_depth_and_one_with_a_slash_a_path() {
        let rules = rules(|options| options.include = texts(&["*.h5", "/top", "ckpt/*/data"]));
        for staged in ["x.h5", "a/b/x.h5", "top", "ckpt/1/data", "ckpt/1/data/deep"] {
            assert!(rules.stages(&path(staged), Kind::File), "{staged}");
        }
        for not in ["x.h5a", "a/top", "ckpt/1/2/data", "other"] {
            assert!(!rules.stages(&path(not), Kind::File), "{not}");
        }
    }

    #[test]
    fn an_excluded_directory_is_not_entered_and_one_that_is_not_included_is() {
        let rules = rules(|options| {
            options.include = texts(&["*.h5"]);
            options.exclude = texts(&["scratch/", "core.*"]);
        });
        assert!(!rules.enters(&path("a/scratch")) && rules.enters(&path("a")));
        assert!(!rules.stages(&path("a/scratch/x.h5"), Kind::File) && !rules.stages(&path("core.h5"), Kind::File));
        assert!(!rules.stages(&path("a"), Kind::Directory), "nobody asked for the directory itself");
    }

    #[test]
    fn a_slash_at_the_end_spares_the_file_of_that_name() {
        let rules = rules(|options| options.exclude = texts(&["tmp/"]));
        assert!(rules.stages(&path("a/tmp"), Kind::File) && !rules.stages(&path("a/tmp"), Kind::Directory));
    }

    #[test]
    fn names_of_any_bytes_match() {
        let rules = rules(|options| options.include = texts(&["*.dat"]));
        assert!(rules.stages(&TreePath::new(b"a\nb/\xff\xfe.dat").unwrap(), Kind::File));
    }

    #[test]
    fn a_glob_that_means_nothing_is_refused_with_its_option() {
        for (glob, why) in [("", "empty"), ("/", "empty"), ("../x", "no name"), ("a//b", "no name"), ("[a", "unclosed")] {
            let mut options = options(Path::new("/from"), Path::new("/to"));
            options.exclude = texts(&[glob]);
            let said = Rules::new(&options).unwrap_err().to_string();
            assert!(said.starts_with("exclude glob ") && said.contains(why) && said.contains("; hint: "), "{said}");
        }
    }

    /// Names in the order of their keys, of equals the first found first.
    fn in_order<'a>(rules: &Rules, of: &[(&'a str, u64, i64)]) -> Vec<&'a str> {
        let mut keyed: Vec<_> = (1..)
            .zip(of)
            .map(|(id, &(name, size, mtime_ns))| {
                let mut entry = entry(id, name);
                (entry.version.size, entry.version.mtime_ns) = (size, mtime_ns);
                (rules.key(&entry), id, name)
            })
            .collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, _, name)| name).collect()
    }

    #[test]
    fn each_order_is_what_it_says() {
        let files = [("a", 3, 10), ("b", 1, -10), ("c", 2, 30), ("d", 2, 30)];
        for (order, expected) in [
            (Order::Oldest, ["b", "a", "c", "d"]),
            (Order::Newest, ["c", "d", "a", "b"]),
            (Order::Smallest, ["b", "c", "d", "a"]),
            (Order::Largest, ["a", "c", "d", "b"]),
        ] {
            assert_eq!(in_order(&rules(|options| options.order = order), &files), expected, "{order:?}");
        }
    }

    #[test]
    fn what_is_named_first_goes_before_all_else_and_the_first_of_them_first() {
        let rules = rules(|options| {
            options.order = Order::Oldest;
            options.first = texts(&["*.idx", "*.h5"]);
        });
        assert_eq!(
            in_order(&rules, &[("x", 0, 1), ("a.h5", 0, 3), ("b.h5", 0, 2), ("z.idx", 0, 9)]),
            ["z.idx", "b.h5", "a.h5", "x"]
        );
    }

    #[test]
    fn a_marker_waits_for_the_directory_it_lies_in() {
        let rules = rules(|options| options.markers = texts(&["COMPLETE"]));
        assert_eq!(rules.marker(&path("ckpt/7/COMPLETE")), Some(path("ckpt/7")));
        assert_eq!(rules.marker(&path("COMPLETE")), Some(TreePath::root()));
        assert_eq!(rules.marker(&path("ckpt/7/data")), None);
    }
}
