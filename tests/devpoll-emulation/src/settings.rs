//! What the environment asks for, read once.

use crate::variant::Variant;
use crate::violation::Violation;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

/// All settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What is played.
    pub(crate) variant: Variant,
    /// Where violations are noted; standard error if nowhere.
    pub(crate) log: Option<CString>,
    /// Where the counters are written at exit.
    pub(crate) stats: Option<CString>,
    /// By number of the kind: violations that are provoked on purpose.
    pub(crate) allowed: Vec<bool>,
    /// A violation ends the process.
    pub(crate) fatal: bool,
}

/// Returns the settings; the first call reads them.
///
/// Ends the process if they cannot be understood: a test must not run on another variant than it
/// thinks.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| match Settings::read(std::env::vars_os()) {
        Ok(settings) => settings,
        Err(reason) => {
            eprintln!("devpoll emulation: {reason}");
            std::process::abort();
        }
    })
}

impl Settings {
    fn read(environment: impl Iterator<Item = (OsString, OsString)>) -> Result<Settings, String> {
        let mut settings = Settings {
            variant: Variant::default(),
            log: None,
            stats: None,
            allowed: vec![false; Violation::ALL.len()],
            fatal: false,
        };
        for (name, value) in environment {
            if let Some(name) = name
                .to_str()
                .filter(|name| name.starts_with("DEVPOLL_EMULATION"))
            {
                settings
                    .set(name, value)
                    .map_err(|reason| format!("{name}: {reason}"))?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        match name {
            "DEVPOLL_EMULATION" => self.variant = Variant::parse(&words(value)?)?,
            "DEVPOLL_EMULATION_LOG" => self.log = Some(path(value)?),
            "DEVPOLL_EMULATION_STATS" => self.stats = Some(path(value)?),
            "DEVPOLL_EMULATION_ALLOW" => self.allow(&words(value)?)?,
            "DEVPOLL_EMULATION_FATAL" => self.fatal = parse_switch(&words(value)?)?,
            _ => return Err(String::from("no such setting")),
        }
        Ok(())
    }

    fn allow(&mut self, names: &str) -> Result<(), String> {
        for name in names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let kind = Violation::from_name(name)
                .ok_or_else(|| format!("unknown kind of violation \"{name}\""))?;
            self.allowed[kind.index()] = true;
        }
        Ok(())
    }
}

fn words(value: OsString) -> Result<String, String> {
    value
        .into_string()
        .map_err(|value| format!("not text: {}", value.to_string_lossy()))
}

fn path(value: OsString) -> Result<CString, String> {
    CString::new(value.into_vec()).map_err(|reason| reason.to_string())
}

fn parse_switch(value: &str) -> Result<bool, String> {
    match value {
        "1" => Ok(true),
        "0" | "" => Ok(false),
        _ => Err(format!("\"{value}\" is neither 1 nor 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(
            pairs
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn settings_are_read() {
        let settings = read(&[
            ("HOME", "/"),
            ("DEVPOLL_EMULATION", "eintr=2"),
            ("DEVPOLL_EMULATION_LOG", "/tmp/log"),
            ("DEVPOLL_EMULATION_ALLOW", "tail-less"),
        ]);
        assert!(settings.unwrap_err().contains("tail-less"));
        let settings = read(&[
            ("DEVPOLL_EMULATION", "eintr=2"),
            ("DEVPOLL_EMULATION_ALLOW", "no-room, bad-timeout"),
            ("DEVPOLL_EMULATION_FATAL", "1"),
        ])
        .unwrap();
        assert_eq!(settings.variant.interrupt_every, Some(2));
        assert!(settings.allowed[Violation::NoRoom.index()] && settings.fatal);
        assert!(!settings.allowed[Violation::BadPointer.index()]);
    }

    #[test]
    fn misspelt_settings_are_refused() {
        for pair in [
            ("DEVPOLL_EMULATION", "ilumos"),
            ("DEVPOLL_EMULATION_FATAL", "yes"),
            ("DEVPOLL_EMULATION_ALOW", "no-room"),
        ] {
            assert!(read(&[pair]).unwrap_err().starts_with(pair.0), "{pair:?}");
        }
    }
}
