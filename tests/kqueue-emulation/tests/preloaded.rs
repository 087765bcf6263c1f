//! Every rule, on the library that `WINDLASS_KQUEUE_EMULATION` names, preloaded into a program that
//! is not linked with it and finds the functions by name, as a back end does.

#![cfg(target_os = "linux")]

mod rules;
mod support;

use std::ffi::{CStr, c_void};
use std::mem;

use support::{Api, Kevent};

type Kqueue = extern "C" fn() -> i32;
type KeventCall =
    unsafe extern "C" fn(i32, *const Kevent, i32, *mut Kevent, i32, *const libc::timespec) -> i32;
type CountersCall = unsafe extern "C" fn(*mut [u64; 15]);

fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string; RTLD_DEFAULT needs no handle.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    assert!(
        !found.is_null(),
        "{name:?} is not there: the library has not been preloaded"
    );
    found
}

fn api() -> Api {
    // SAFETY: the library's function of this name has this type.
    let kqueue = unsafe { mem::transmute::<*mut c_void, Kqueue>(find(c"kqueue")) };
    // SAFETY: the library's function of this name has this type.
    let kevent = unsafe { mem::transmute::<*mut c_void, KeventCall>(find(c"kevent")) };
    Api {
        kqueue,
        kevent,
        counters,
    }
}

fn counters(some: &mut [u64; 4]) {
    let address = find(c"kqueue_emulation_counters");
    // SAFETY: the library's function of this name takes fifteen 64-bit numbers in a row.
    let call = unsafe { mem::transmute::<*mut c_void, CountersCall>(address) };
    let mut all = [0; 15];
    // SAFETY: the place has room for all of them.
    unsafe { call(&raw mut all) };
    *some = [all[0], all[1], all[12], all[14]];
}

fn library() -> Option<String> {
    let library = std::env::var("WINDLASS_KQUEUE_EMULATION").ok();
    if library.is_none() {
        println!("skipped: WINDLASS_KQUEUE_EMULATION does not name the built library to preload");
    }
    library
}

#[test]
fn rules_hold() {
    if let Some(library) = library() {
        support::parent::run_every_rule("one_rule", Some(&library));
    }
}

/// Runs the rule that the parent names; by itself it has nothing to do.
#[test]
fn one_rule() {
    support::child::run_named_rule(api);
}

#[test]
fn unknown_word_aborts() {
    if let Some(library) = library() {
        support::parent::expect_abort("one_rule", Some(&library));
    }
}

#[test]
fn settings_are_heeded() {
    if let Some(library) = library() {
        support::parent::expect_settings("one_rule", Some(&library));
    }
}
