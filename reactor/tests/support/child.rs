//! Runs one test again in a process of its own, where it may change what a process has but once.

use std::process::{Command, Output};

const MARK: &str = "WINDLASS_TEST_CHILD";

/// Says whether this is such a process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// The command that runs the test `name` of this binary in a child, with nothing else.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments(name)).env(MARK, "1");
    command
        .env_remove("WINDLASS_BACKEND")
        .env_remove("WINDLASS_NOTIFIER");
    command
}

/// The same under `tool`, for instance a tracer.
pub(crate) fn command_under(tool: &str, tool_arguments: &[&str], name: &str) -> Command {
    let mut command = Command::new(tool);
    command
        .args(tool_arguments)
        .arg(std::env::current_exe().unwrap())
        .args(arguments(name))
        .env(MARK, "1");
    command
}

fn arguments(name: &str) -> [&str; 5] {
    [
        name,
        "--exact",
        "--nocapture",
        "--include-ignored",
        "--test-threads=1",
    ]
}

/// Runs the child and fails unless it succeeds, having run the one test.
#[track_caller]
pub(crate) fn expect_success(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    assert!(stdout.contains("1 passed"), "no such test?\n{stdout}");
    stdout
}
