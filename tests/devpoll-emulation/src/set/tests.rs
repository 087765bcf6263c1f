//! The write table row by row, the scan, and stale entries.

use super::*;
use crate::abi::{POLLHUP, POLLIN, POLLOUT, POLLPRI};

const KERNELS: [Kernel; 2] = [Kernel::Illumos, Kernel::Solaris];

/// All numbers have the same file, or none.
struct Always(Option<Generation>);

const GONE: Always = Always(None);

impl Files for Always {
    fn generation(&self, _: i32) -> Generation {
        self.0.unwrap_or(9)
    }

    fn is_open(&self, _: i32) -> bool {
        self.0.is_some()
    }
}

fn set(kernel: Kernel, stale: Stale) -> Set {
    Set::new(kernel, stale)
}

fn entry(fd: i32, events: u16) -> Entry {
    Entry {
        fd,
        events,
        revents: 0,
    }
}

fn add(set: &mut Set, fd: i32, events: u16, behind: Option<Generation>) -> Change {
    set.apply(entry(fd, events), behind, false)
}

/// Looks at everything with all numbers open in generation 0 and everything ready for reading.
fn numbers_reported(set: &mut Set, room: usize) -> Vec<i32> {
    let looks = set.order(&Always(Some(0)));
    let revents = vec![POLLIN; looks.len()];
    set.report(&looks, &revents, room)
        .entries
        .iter()
        .map(|entry| entry.fd)
        .collect()
}

#[test]
fn removal_tells_the_bits_of_an_earlier_file_apart() {
    for stale in [Stale::Reported, Stale::Silent] {
        for is_looked_at in [false, true] {
            let mut set = set(Kernel::Illumos, stale);
            add(&mut set, 5, POLLIN, Some(0));
            if is_looked_at {
                // The scan may take the new file up, but nobody has asked for it.
                set.order(&Always(Some(1)));
            }
            assert_eq!(add(&mut set, 5, POLLREMOVE, Some(1)), Change::LeftOver);
            assert_eq!(add(&mut set, 5, POLLIN, Some(1)), Change::Entered);
            assert_eq!(add(&mut set, 5, POLLREMOVE, Some(1)), Change::Left(POLLIN));
        }
    }
}

#[test]
fn removal_of_a_member_takes_all_bits_open_or_not() {
    for (kernel, behind) in KERNELS
        .into_iter()
        .flat_map(|kernel| [(kernel, Some(0)), (kernel, None)])
    {
        let mut set = set(kernel, Stale::Reported);
        add(&mut set, 5, POLLIN | POLLOUT, Some(0));
        assert_eq!(
            add(&mut set, 5, POLLREMOVE, behind),
            Change::Left(POLLIN | POLLOUT)
        );
        assert_eq!(set.bits(5), None);
        assert_eq!(add(&mut set, 5, POLLPRI, Some(0)), Change::Entered);
        assert_eq!(set.bits(5), Some(POLLPRI));
    }
}

#[test]
fn removal_of_what_is_not_in_the_set_is_ignored() {
    for kernel in KERNELS {
        let mut set = set(kernel, Stale::Reported);
        assert_eq!(add(&mut set, 5, POLLREMOVE, Some(0)), Change::NotThere);
        assert_eq!(add(&mut set, 5, POLLREMOVE, None), Change::NotThere);
        assert_eq!(set.bits(5), None);
    }
}

#[test]
fn add_of_an_open_number_enters() {
    let mut set = set(Kernel::Solaris, Stale::Reported);
    assert_eq!(add(&mut set, 5, POLLIN, Some(0)), Change::Entered);
    assert_eq!(set.bits(5), Some(POLLIN));
}

#[test]
fn add_of_a_closed_number_is_remembered_outside_the_set() {
    for kernel in KERNELS {
        let mut set = set(kernel, Stale::Reported);
        assert_eq!(add(&mut set, 5, POLLOUT, None), Change::Remembered);
        assert_eq!(set.bits(5), None);
        assert_eq!(set.order(&GONE), []);
        assert_eq!(add(&mut set, 5, POLLIN, Some(0)), Change::Entered);
        assert_eq!(set.bits(5), Some(POLLIN | POLLOUT));
    }
}

#[test]
fn only_solaris_forgets_remembered_bits_on_a_removal() {
    for (kernel, expected) in [
        (Kernel::Illumos, POLLIN | POLLOUT),
        (Kernel::Solaris, POLLIN),
    ] {
        let mut set = set(kernel, Stale::Reported);
        add(&mut set, 5, POLLOUT, None);
        assert_eq!(add(&mut set, 5, POLLREMOVE, None), Change::NotThere);
        add(&mut set, 5, POLLIN, Some(0));
        assert_eq!(set.bits(5), Some(expected));
    }
}

#[test]
fn add_of_the_same_bits_changes_nothing() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    assert_eq!(add(&mut set, 5, POLLIN, Some(0)), Change::Held);
    assert_eq!(set.bits(5), Some(POLLIN));
}

#[test]
fn add_of_other_bits_to_a_member_ors_and_never_narrows() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    assert_eq!(add(&mut set, 5, POLLOUT, Some(0)), Change::Widened);
    assert_eq!(set.bits(5), Some(POLLIN | POLLOUT));
    assert_eq!(add(&mut set, 5, POLLIN, Some(0)), Change::Held);
    assert_eq!(add(&mut set, 5, 0, Some(0)), Change::Held);
    assert_eq!(set.bits(5), Some(POLLIN | POLLOUT));
}

#[test]
fn add_to_a_member_without_a_file_marks_it() {
    for events in [POLLIN, POLLOUT] {
        let mut set = set(Kernel::Illumos, Stale::Silent);
        add(&mut set, 5, POLLIN, Some(0));
        assert_eq!(set.order(&GONE), []);
        assert_eq!(add(&mut set, 5, events, None), Change::Marked);
        let bits = POLLIN | events;
        assert_eq!(set.order(&GONE), [Look { fd: 5, bits }]);
        assert_eq!(set.order(&GONE), [Look { fd: 5, bits }], "for ever");
    }
}

#[test]
fn removal_mixed_with_other_bits_is_an_add() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    assert_eq!(
        add(&mut set, 5, POLLREMOVE | POLLIN, Some(0)),
        Change::Widened
    );
    assert_eq!(set.bits(5), Some(POLLREMOVE | POLLIN));
}

#[test]
fn no_bits_enter_as_well() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    assert_eq!(add(&mut set, 5, 0, Some(0)), Change::Entered);
    assert_eq!(set.order(&Always(Some(0))), [Look { fd: 5, bits: 0 }]);
}

#[test]
fn impossible_numbers_are_ignored_and_not_remembered() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    assert_eq!(add(&mut set, -1, POLLIN, None), Change::Ignored);
    assert_eq!(
        set.apply(entry(70_000, POLLOUT), None, true),
        Change::Ignored
    );
    assert_eq!(add(&mut set, 70_000, POLLIN, Some(0)), Change::Entered);
    assert_eq!(set.bits(70_000), Some(POLLIN));
}

#[test]
fn scan_starts_where_the_last_full_one_stopped() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    for fd in [3, 4, 7, 9] {
        add(&mut set, fd, POLLIN, Some(0));
    }
    assert_eq!(numbers_reported(&mut set, 3), [3, 4, 7]);
    assert_eq!(numbers_reported(&mut set, 3), [9, 3, 4]);
    assert_eq!(numbers_reported(&mut set, 1), [7]);
    assert_eq!(numbers_reported(&mut set, 1), [9]);
    assert_eq!(numbers_reported(&mut set, 8), [3, 4, 7, 9]);
    assert_eq!(numbers_reported(&mut set, 2), [3, 4]);
}

#[test]
fn report_has_one_entry_with_what_was_asked_and_what_is_there() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    add(&mut set, 6, POLLIN, Some(0));
    let looks = set.order(&Always(Some(0)));
    let report = set.report(&looks, &[0, POLLIN | POLLHUP], 8);
    assert_eq!(
        report.entries,
        [Entry {
            fd: 6,
            events: POLLIN,
            revents: POLLIN | POLLHUP
        }]
    );
}

#[test]
fn invalid_is_told_each_time_and_its_repetition_is_seen() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    let looks = set.order(&GONE);
    let first = set.report(&looks, &[POLLNVAL], 8);
    assert_eq!(first.entries[0].revents, POLLNVAL);
    assert_ne!(first.entries[0].events, POLLIN, "garbage");
    assert_eq!(first.invalid_again, []);
    assert_eq!(set.report(&looks, &[POLLNVAL], 8).invalid_again, [5]);
    add(&mut set, 5, POLLREMOVE, None);
    assert_eq!(set.order(&GONE), []);
}

#[test]
fn reused_number_is_polled_with_the_old_bits_if_stale_entries_are_looked_at() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    assert_eq!(
        set.order(&Always(Some(1))),
        [Look {
            fd: 5,
            bits: POLLIN
        }]
    );
}

#[test]
fn reused_number_with_the_same_bits_is_inherited_or_orphaned() {
    for (stale, change, looked_at) in [
        (Stale::Reported, Change::Inherited, 1),
        (Stale::Silent, Change::Orphaned, 0),
    ] {
        let mut set = set(Kernel::Solaris, stale);
        add(&mut set, 5, POLLIN, Some(0));
        assert_eq!(add(&mut set, 5, POLLIN, Some(1)), change);
        assert_eq!(set.order(&Always(Some(1))).len(), looked_at);
    }
}

#[test]
fn reused_number_with_other_bits_has_old_and_new() {
    for stale in [Stale::Reported, Stale::Silent] {
        let mut set = set(Kernel::Solaris, stale);
        add(&mut set, 5, POLLIN, Some(0));
        assert_eq!(add(&mut set, 5, POLLOUT, Some(1)), Change::Inherited);
        assert_eq!(
            set.order(&Always(Some(1))),
            [Look {
                fd: 5,
                bits: POLLIN | POLLOUT
            }]
        );
    }
}

#[test]
fn removal_before_the_reuse_leaves_nothing_behind() {
    let mut set = set(Kernel::Solaris, Stale::Silent);
    add(&mut set, 5, POLLIN | POLLOUT, Some(0));
    add(&mut set, 5, POLLREMOVE, Some(0));
    assert_eq!(add(&mut set, 5, POLLIN, Some(1)), Change::Entered);
    assert_eq!(
        set.order(&Always(Some(1))),
        [Look {
            fd: 5,
            bits: POLLIN
        }]
    );
}

#[test]
fn oneshot_leaves_after_its_report_on_illumos_only() {
    for (kernel, left) in [(Kernel::Illumos, vec![5]), (Kernel::Solaris, vec![])] {
        let mut set = set(kernel, Stale::Reported);
        add(&mut set, 5, POLLIN | POLLONESHOT, Some(0));
        let looks = set.order(&Always(Some(0)));
        assert_eq!(set.report(&looks, &[POLLIN], 8).left, left);
        assert_eq!(set.bits(5).is_none(), kernel == Kernel::Illumos);
    }
}

#[test]
fn clearing_names_members_only() {
    let mut set = set(Kernel::Illumos, Stale::Reported);
    add(&mut set, 5, POLLIN, Some(0));
    add(&mut set, 6, POLLIN, None);
    assert_eq!(set.clear(), [5]);
    assert_eq!(set.bits(5), None);
}
