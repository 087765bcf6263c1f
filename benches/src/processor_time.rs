//! The processor time of another process.

use std::fs;
use std::io;
use std::time::Duration;

/// Returns the processor time, user and system, that the threads of `process` have used so far.
///
/// Read from the scheduler's own account, which counts nanoseconds; `/proc/PID/stat` has ticks of
/// ten milliseconds. Threads that have ended are missing in it, and a thread that is running is
/// counted up to its last tick.
///
/// # Errors
///
/// If there is no such process, or the kernel keeps no such account.
pub fn processor_time(process: i32) -> io::Result<Duration> {
    let mut accounts = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // One that has ended since the folder was read cannot be read any more.
        if let Ok(account) = fs::read_to_string(thread?.path().join("schedstat")) {
            accounts.push(account);
        }
    }
    if accounts.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    accounts.iter().map(|account| running_time(account)).sum()
}

/// Reads the first field of an account: the nanoseconds that a thread has run.
fn running_time(account: &str) -> io::Result<Duration> {
    let field = account.split_whitespace().next();
    let nanoseconds = field.and_then(|field| field.parse().ok());
    nanoseconds
        .map(Duration::from_nanos)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::processor_time;
    use std::time::Duration;

    #[test]
    fn work_is_counted() {
        let own = std::process::id() as i32;
        let before = processor_time(own).unwrap();
        // Until it shows: a tick passes while this spins.
        while processor_time(own).unwrap() < before + Duration::from_millis(1) {}
        assert!(processor_time(i32::MAX).is_err());
    }
}
