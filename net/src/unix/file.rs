//! The file that a socket with a path leaves behind.

use super::UnixAddr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file of a socket, which is removed when this is dropped, unless it is another by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// The device and the number on it; nothing once it is to stay.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    /// Finds the file of a socket by its name; nothing if that is no path.
    pub(super) fn of(address: &UnixAddr) -> io::Result<Option<Self>> {
        let UnixAddr::Path(path) = address else {
            return Ok(None);
        };
        // Whoever changes the current directory later doesn't change which file it is.
        let path = std::path::absolute(path)?;
        let identity = Some(identity(&path)?);
        Ok(Some(Self { path, identity }))
    }

    /// Leaves the file where it is, if there is one.
    pub(super) fn keep(file: Option<Self>) {
        if let Some(mut file) = file {
            file.identity = None;
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let data = fs::symlink_metadata(path)?;
    Ok((data.dev(), data.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path).ok() == self.identity {
            // Who can't remove it has nobody to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}
