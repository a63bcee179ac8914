//! Memory that a phase takes away from the page cache.

use std::fs::read_to_string;
use std::path::Path;

use tonnage_storage::{Buffer, StorageError};

/// Touched at least this often: the smallest page in use.
const PAGE_BYTES: usize = 4096;

/// Takes `bytes` of memory, all of its pages written to; `None` where nothing is asked for.
///
/// More than there is without swapping is refused: a system that runs out of memory ends processes, not only ours.
pub fn hold(bytes: u64) -> Result<Option<Buffer>, StorageError> {
    if bytes == 0 {
        return Ok(None);
    }
    let available = available_bytes(Path::new("/"));
    let refused = || StorageError::Hog { wanted: bytes, available };
    if available.is_some_and(|available| bytes > available) {
        return Err(refused());
    }
    let mut memory = Buffer::new(usize::try_from(bytes).map_err(|_| refused())?).map_err(|_| refused())?;
    for (page, start) in memory.chunks_mut(PAGE_BYTES).enumerate() {
        // Not all alike: swap that compresses keeps equal pages for nothing.
        start[0] = page as u8 | 1;
    }
    Ok(Some(memory))
}

/// Memory that can be had without swapping: what the system says, and the control groups of this process, which may
/// say less (a batch job, a container). `None` where nobody says.
fn available_bytes(root: &Path) -> Option<u64> {
    let system = read_to_string(root.join("proc/meminfo")).ok().and_then(|text| field(&text, "MemAvailable:"));
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| group_bytes(root, line)).min();
    system.map(|kib| kib * 1024).into_iter().chain(of_groups).min()
}

/// What the group of one line of `/proc/self/cgroup`, and all groups above it, leave.
fn group_bytes(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let (mount, limit, usage, prefix) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max", "memory.current", ""),
        "memory" => ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
        _ => return None,
    };
    let left = |group: &Path| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
        // Cached pages of files are given back when somebody needs the memory.
        let cached = ["inactive_file", "active_file"].map(|name| field(&stat, &format!("{prefix}{name}")).unwrap_or(0));
        let used = number(usage)?.saturating_sub(cached.iter().sum());
        Some(number(limit)?.saturating_sub(used))
    };
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    groups.filter_map(|group| left(&root.join(mount).join(group))).min()
}

/// The number after `name` in lines of names and numbers.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("directories");
            std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
        }
        root
    }

    #[test]
    fn a_control_group_may_leave_less_than_the_system_has_and_one_above_it_less_still() {
        let memory = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
        assert_eq!(available_bytes(system(&[memory]).path()), Some(8000 * 1024));
        let two = system(&[
            memory,
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/job/memory.max", "5000\n"),
            ("sys/fs/cgroup/job/memory.current", "3000\n"),
            ("sys/fs/cgroup/job/memory.stat", "anon 2500\ninactive_file 400\nactive_file 100\n"),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "1000\n"),
        ]);
        assert_eq!(available_bytes(two.path()), Some(2500));
        let one = system(&[
            memory,
            ("proc/self/cgroup", "5:devices:/\n4:memory:/job\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "7000\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000\n"),
            ("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\ntotal_active_file 0\n"),
        ]);
        assert_eq!(available_bytes(one.path()), Some(4500));
        assert_eq!(available_bytes(system(&[]).path()), None, "nobody says");
    }
}
