//! The settings of this process, read from its environment when the first queue is made.

use std::env;
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use crate::variant::Variant;
use crate::violations;

/// What the variables say.
#[derive(Debug)]
pub(crate) struct Environment {
    /// `KQUEUE_EMULATION`: what is played.
    pub(crate) variant: Variant,
    /// `KQUEUE_EMULATION_LOG`: the file that violations are appended to.
    pub(crate) log: Option<CString>,
    /// `KQUEUE_EMULATION_STATS`: the file that the counters are appended to at exit.
    pub(crate) statistics: Option<CString>,
    /// `KQUEUE_EMULATION_FATAL=1`: a violation aborts.
    pub(crate) fatal: bool,
}

/// Gives the settings; a word that is not known is printed and aborts the process, so that no
/// test passes by playing something other than it says.
pub(crate) fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(read)
}

fn read() -> Environment {
    let words = env::var("KQUEUE_EMULATION").unwrap_or_default();
    let names = env::var("KQUEUE_EMULATION_ALLOW").unwrap_or_default();
    violations::allow(known(
        "KQUEUE_EMULATION_ALLOW",
        violations::parse_allowed(&names),
    ));
    Environment {
        variant: known("KQUEUE_EMULATION", Variant::parse(&words)),
        log: path("KQUEUE_EMULATION_LOG"),
        statistics: path("KQUEUE_EMULATION_STATS"),
        fatal: env::var_os("KQUEUE_EMULATION_FATAL").is_some_and(|value| value == "1"),
    }
}

fn known<T>(variable: &str, parsed: Result<T, String>) -> T {
    parsed.unwrap_or_else(|word| {
        eprintln!("kqueue emulation: {variable}: unknown word {word:?}");
        std::process::abort()
    })
}

fn path(variable: &str) -> Option<CString> {
    let value = env::var_os(variable)?.into_vec();
    CString::new(value).ok().filter(|path| !path.is_empty())
}
