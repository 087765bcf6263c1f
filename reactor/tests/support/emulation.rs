//! Runs tests with a library preloaded that emulates a mechanism of another system.

use super::child;

/// Runs the test `name` once on each of `variants`, in children with the emulation `emulated`
/// preloaded, and returns false; or returns true in such a child. Violations other than of the kinds
/// `allowed` end the child.
///
/// Cargo does not build the library for these tests: the environment variable
/// `WINDLASS_…_EMULATION` names it. Without that they say that they are skipped.
#[track_caller]
pub(crate) fn is_emulated(emulated: &str, name: &str, variants: &[&str], allowed: &str) -> bool {
    if child::is_child() {
        return true;
    }
    let named_by = format!("WINDLASS_{emulated}_EMULATION");
    let Some(library) = std::env::var_os(&named_by) else {
        println!("skipped: {named_by} does not name the library to preload");
        return false;
    };
    for variant in variants {
        println!("{variant}");
        let mut command = child::command(name);
        command
            .env("LD_PRELOAD", &library)
            .env(format!("{emulated}_EMULATION"), variant)
            .env(format!("{emulated}_EMULATION_ALLOW"), allowed)
            .env(format!("{emulated}_EMULATION_FATAL"), "1")
            .env_remove(format!("{emulated}_EMULATION_LOG"))
            .env_remove(format!("{emulated}_EMULATION_STATS"));
        child::expect_success(&mut command);
    }
    false
}
