//! Removes from the run's directory what is spelled as this program spells it, and nothing else.

use std::io;

use nfs3_types::nfs3::{ftype3, nfs_fh3};
use tonnage_workload::MAX_DEPTH;

use super::client::Client;
use super::run_directory::RunDirectory;
use crate::error::Result;
use crate::names::{Spelled, is_tree_name, spelled};
use crate::scratch::marker::MARKER_NAME;
use crate::scratch::scratch_names::is_data_name;

/// What a name may be, from its spelling and from where it is.
enum Kind {
    File,
    EmptyDirectory,
    Tree,
}

/// Removes data files and trees; the first thing that is neither, which stays.
pub(super) fn clear(run: &RunDirectory, client: &mut Client, directory: &nfs_fh3) -> Result<Option<String>> {
    let fsid = client.attributes(directory).map_err(|error| run.failed("measure", "", error))?.fsid;
    let kind = |name: &[u8]| match name {
        name if is_data_name(name) => Some(Kind::File),
        name if is_tree_name(name) => Some(Kind::Tree),
        _ => None,
    };
    empty(run, client, directory, "", &Clearing { fsid, levels: MAX_DEPTH + 1 }, &kind)
}

/// What holds for a directory that is emptied.
struct Clearing {
    /// Its file system: another one that is mounted below is nobody's to empty.
    fsid: u64,
    /// Directories that may be below each other.
    levels: u32,
}

fn in_tree(name: &[u8]) -> Option<Kind> {
    spelled(name).map(|what| match what {
        Spelled::ItemFile => Kind::File,
        Spelled::ItemDirectory => Kind::EmptyDirectory,
        Spelled::TreeDirectory => Kind::Tree,
    })
}

fn empty(
    run: &RunDirectory,
    client: &mut Client,
    directory: &nfs_fh3,
    path: &str,
    clearing: &Clearing,
    kind: &dyn Fn(&[u8]) -> Option<Kind>,
) -> Result<Option<String>> {
    let mut names = Vec::new();
    // All of them first: a server may skip names of a directory that shrinks while it is listed.
    client
        .list(directory, run.listing_bytes, |name| names.push(name.to_vec()))
        .map_err(|error| run.failed("list", path, error))?;
    let mut foreign = None;
    for name in names {
        if path.is_empty() && name == MARKER_NAME.as_bytes() {
            continue;
        }
        let here = format!("{path}{}", String::from_utf8_lossy(&name));
        let stays = match kind(&name) {
            None => Some(here),
            Some(kind) => remove(run, client, directory, &name, here, clearing, &kind)?,
        };
        foreign = foreign.or(stays);
    }
    Ok(foreign)
}

fn remove(
    run: &RunDirectory,
    client: &mut Client,
    directory: &nfs_fh3,
    name: &[u8],
    path: String,
    clearing: &Clearing,
    kind: &Kind,
) -> Result<Option<String>> {
    let found = match client.lookup(directory, name) {
        Ok(found) => found,
        // Another process of the same run clears as well.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(run.failed("measure", &path, error)),
    };
    let wanted = if matches!(kind, Kind::File) { ftype3::NF3REG } else { ftype3::NF3DIR };
    if found.attributes.type_ != wanted || found.attributes.fsid != clearing.fsid {
        return Ok(Some(path));
    }
    let removed = match kind {
        Kind::File => client.remove(directory, name),
        Kind::EmptyDirectory => client.remove_directory(directory, name),
        Kind::Tree if clearing.levels == 0 => return Ok(Some(path)),
        Kind::Tree => {
            let below = Clearing { levels: clearing.levels - 1, ..*clearing };
            if let Some(foreign) = empty(run, client, &found.handle, &format!("{path}/"), &below, &in_tree)? {
                return Ok(Some(foreign));
            }
            client.remove_directory(directory, name)
        }
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(Some(path)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(run.failed("remove", &path, error)),
        _ => Ok(None),
    }
}
