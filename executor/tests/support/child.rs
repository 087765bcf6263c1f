//! Runs one test again in a process of its own, where nothing else goes on.

use std::process::Command;

const MARK: &str = "WINDLASS_TEST_CHILD";

/// Runs `body` in a child process that runs the test `name` and nothing else; fails if it fails.
#[track_caller]
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    alone_with(name, &[], body);
}

/// The same with `variables` set.
#[track_caller]
pub(crate) fn alone_with(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{stdout}\n{stderr}",
        output.status
    );
    assert!(stdout.contains("1 passed"), "no such test?\n{stdout}");
}
