//! Runs a scenario in a process of its own: a copy of the test program that runs one test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// Says to a copy of the test program that it is the client.
const CLIENT: &str = "WINDLASS_DEVPOLL_CLIENT";
/// A client that takes longer hangs.
const SECONDS: u32 = 60;

/// How a client gets the emulation.
pub(crate) struct Way {
    /// This library is preloaded; without one the emulation is part of the program.
    pub(crate) preload: Option<OsString>,
}

/// Says whether this process is a client.
pub(crate) fn is_client() -> bool {
    env::var_os(CLIENT).is_some()
}

/// Runs the scenario on each variant; violations that are not allowed fail it.
#[track_caller]
pub(crate) fn run(
    way: Option<Way>,
    name: &str,
    variants: &[&str],
    allowed: &str,
    scenario: impl Fn(),
) {
    if is_client() {
        // SAFETY: takes a number; the signal ends a client that hangs.
        unsafe { libc::alarm(SECONDS) };
        return scenario();
    }
    let Some(way) = way else { return };
    for variant in variants {
        let log = Scratch::new(name, variant);
        let output = client(&way, name)
            .env("DEVPOLL_EMULATION", variant)
            .env("DEVPOLL_EMULATION_ALLOW", allowed)
            .env("DEVPOLL_EMULATION_LOG", &log.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "on {variant}: {}", text(&output));
        assert!(
            text(&output).contains("1 passed"),
            "{name} is not the name of a test"
        );
        assert_eq!(log.read(), "", "violations on {variant}");
    }
}

/// Expects that a client with this setting ends before it begins.
#[track_caller]
pub(crate) fn expect_refusal(way: Option<Way>, setting: &str, value: &str) {
    let Some(way) = way else { return };
    let output = client(&way, "no_such_test")
        .env(setting, value)
        .output()
        .unwrap();
    let refusal = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{setting}={value} is taken");
    assert!(
        refusal.starts_with(&format!("devpoll emulation: {setting}: ")),
        "{refusal}"
    );
}

/// Expects that a violation is logged, and that the figures are written at the exit.
#[track_caller]
pub(crate) fn expect_log_and_figures(way: Option<Way>) {
    let Some(way) = way else { return };
    let (log, figures) = (Scratch::new("log", ""), Scratch::new("figures", ""));
    let output = client(&way, "violations_are_logged_or_fatal")
        .env("DEVPOLL_EMULATION_LOG", &log.0)
        .env("DEVPOLL_EMULATION_STATS", &figures.0)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let (log, figures) = (log.read(), figures.read());
    let (process, violation) = log.split_once(' ').unwrap();
    assert_eq!(violation, "redundant-remove: descriptor 0, events 0x0800\n");
    let expected = format!("pid={process} opens=1 open_failures=0 writes=1 entries=1 ");
    assert!(figures.starts_with(&expected), "{figures}");
    assert!(figures.ends_with(" violations=1 allowed=0\n"), "{figures}");
}

/// Expects that a violation ends the client if that is asked for.
#[track_caller]
pub(crate) fn expect_fatal(way: Option<Way>) {
    let Some(way) = way else { return };
    let output = client(&way, "violations_are_logged_or_fatal")
        .env("DEVPOLL_EMULATION_FATAL", "1")
        .output()
        .unwrap();
    assert!(!output.status.success(), "it is not fatal");
    assert!(
        text(&output).contains(" redundant-remove: descriptor 0"),
        "{}",
        text(&output)
    );
}

fn client(way: &Way, name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture"])
        .env(CLIENT, "1");
    for (setting, _) in env::vars_os() {
        if setting.to_string_lossy().starts_with("DEVPOLL_EMULATION") {
            command.env_remove(setting);
        }
    }
    if let Some(library) = &way.preload {
        command.env("LD_PRELOAD", library);
    }
    command
}

fn text(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream));
    format!("{}: {}", output.status, streams.concat())
}

/// A file for one client, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, variant: &str) -> Scratch {
        let program = env::current_exe().unwrap();
        let program = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let process = std::process::id();
        let name = format!("{program}-{process}-{name}-{variant}").replace([':', ',', '='], "-");
        Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It is not there if nothing was written.
        let _ = fs::remove_file(&self.0);
    }
}
