//! What the process has used so far.

use std::mem::MaybeUninit;

/// Processor time and context switches of all threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// User time in milliseconds.
    pub user: f64,
    /// System time in milliseconds.
    pub system: f64,
    /// Context switches, those that were asked for and those that were not.
    pub switches: f64,
}

impl Usage {
    /// Asks the system.
    pub fn now() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        #[allow(unsafe_code, reason = "std doesn't ask for this")]
        // SAFETY: `usage` is valid for writes of a `rusage`.
        let answer = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
        assert_eq!(answer, 0, "getrusage knows RUSAGE_SELF");
        #[allow(unsafe_code, reason = "std doesn't ask for this")]
        // SAFETY: it was zeroed, and a `rusage` of zeros is valid; the call has filled it.
        let usage = unsafe { usage.assume_init() };
        let millis = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
        Self {
            user: millis(usage.ru_utime),
            system: millis(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as f64,
        }
    }

    /// Returns what was used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            switches: self.switches - earlier.switches,
        }
    }
}
