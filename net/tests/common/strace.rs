//! Tests that run again under strace(1), which shows their system calls or has some of them fail.

use super::in_child;

/// Says whether there is an strace here that may trace.
pub fn can_trace() -> bool {
    let works = std::process::Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: there is no strace here, or it may not trace");
    }
    works
}

/// Runs the test `name` of this binary under strace with `options`, checks that it passes, and
/// returns a line for each call.
#[track_caller]
pub fn traced(options: &[&str], name: &str) -> Vec<String> {
    let file = format!("windlass-{name}-{}", std::process::id());
    let log = std::env::temp_dir().join(file);
    let program = [
        &["strace", "-f", "-qq"],
        options,
        &["-o", log.to_str().unwrap()],
    ]
    .concat();
    let output = in_child(&program, name);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {told}");
    let lines = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    lines.lines().map(Into::into).collect()
}

/// Runs the test `name` of this binary with system calls that fail as `fault` says, and checks that
/// it passes, and that a call has failed.
#[track_caller]
pub fn assert_passes_despite(fault: &str, name: &str) {
    let call = format!("trace={}", fault.split(':').next().unwrap());
    let inject = format!("inject={fault}");
    let lines = traced(&["-e", &call, "-e", &inject], name);
    let has_failed = lines.iter().any(|line| line.contains("INJECTED"));
    assert!(has_failed, "{fault}: no call has failed");
}
