//! What the tests of Unix sockets have in common.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tries until it fails, as it has to once a socket is closed: a program that another test is just
/// starting has it open until it begins.
pub async fn error_of<T>(mut attempt: impl AsyncFnMut() -> io::Result<T>) -> io::Error {
    loop {
        match attempt().await {
            Err(error) => return error,
            Ok(_) => windlass_reactor::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    }
}

/// A folder of its own, which goes when it is dropped, with what is in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-unix-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Returns a path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
