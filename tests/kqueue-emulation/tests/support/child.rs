//! The process that runs one rule.

use std::env;
use std::sync::OnceLock;

use super::Api;
use crate::rules::RULES;

static API: OnceLock<Api> = OnceLock::new();

/// Gives the functions under test.
pub(crate) fn api() -> Api {
    *API.get().expect("a rule runs in a process of its own")
}

/// Runs the rule that the environment names, if it names one.
pub(crate) fn run_named_rule(make_api: fn() -> Api) {
    let Ok(name) = env::var("WINDLASS_KQUEUE_RULE") else {
        return;
    };
    // A rule that hangs is ended by the signal, and fails in the parent.
    // SAFETY: alarm has no conditions.
    unsafe { libc::alarm(30) };
    API.get_or_init(make_api);
    let rule = RULES
        .iter()
        .find(|rule| rule.name == name)
        .expect("the parent knows the names");
    (rule.run)();
}
