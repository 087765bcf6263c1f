//! What both test programs share: the client, the harness and the scenarios.

pub(crate) mod client;
pub(crate) mod harness;
pub(crate) mod report;
pub(crate) mod scenarios;

/// Makes a test of each scenario: its variants, and the violations that it provokes.
macro_rules! all_scenarios {
    () => {
        common::scenario_tests! {
            opening: each_open_makes_an_empty_set ["illumos", "solaris"] "no-close-on-exec";
            opening: read_only_cannot_be_written ["illumos", "solaris"] "read-only-write";
            opening: failure_is_as_ordered [
                "open=fail:ENOENT", "open=fail:ENXIO", "open=fail:EACCES", "open=fail:EMFILE"
            ] "";
            opening: set_goes_with_the_last_name ["illumos", "solaris"] "";
            opening: numbers_of_the_emulation_are_hidden ["illumos"] "";
            opening: reading_and_unknown_requests_fail ["illumos", "solaris"]
                "device-read,unknown-request,bad-pointer";
            writing: adds_or_and_removals_narrow ["illumos", "solaris"] "redundant-add";
            writing: removal_mixed_is_an_add ["illumos", "solaris"] "remove-mixed";
            writing: impossible_entries_are_no_error ["illumos", "solaris"]
                "bad-descriptor,redundant-remove";
            writing: whole_length_is_taken ["illumos", "solaris"]
                "partial-entry,empty-write,redundant-add";
            writing: more_entries_than_descriptors_are_refused ["illumos", "solaris"]
                "too-many-entries";
            writing: every_way_to_write_is_taken ["illumos", "solaris"] "";
            writing: remembered_bits_come_back ["illumos", "solaris"]
                "bad-descriptor,redundant-remove";
            writing: dubious_bits_are_seen ["illumos", "solaris"]
                "unknown-bits,unportable-bits,error-bits,needless-remove";
            writing: counters_count ["illumos", "solaris"] "";
            answers: levels_are_told_each_time ["illumos", "solaris"] "";
            answers: small_buffers_starve_nobody ["illumos", "solaris"] "";
            answers: errors_come_unasked ["illumos", "solaris"] "";
            answers: pipes_answer_as_streams ["illumos", "solaris"] "";
            answers: pipes_answer_as_on_linux ["pipes=linux", "solaris,pipes=linux"] "";
            answers: regular_files_are_always_ready ["illumos", "solaris"] "";
            answers: questions_are_answered ["illumos", "solaris"] "closed-in-set";
            answers: illumos_bits_have_their_own_numbers ["illumos"] "unportable-bits";
            answers: device_does_not_belong_into_a_poll ["illumos", "solaris"] "device-polled";
            answers: set_larger_than_the_limit_is_looked_at ["illumos", "solaris"] "";
            stale: closed_member_is_invalid_until_removed ["illumos", "solaris"]
                "closed-in-set,invalid-kept";
            stale: closed_member_is_silent_until_marked ["stale=silent", "solaris,stale=silent"]
                "closed-in-set,bad-descriptor";
            stale: reused_number_inherits_old_bits ["illumos", "solaris"]
                "closed-in-set,redundant-add";
            stale: reused_number_never_reports ["stale=silent", "solaris,stale=silent"]
                "closed-in-set,stale-add";
            stale: removal_before_close_leaves_nothing [
                "illumos", "solaris", "stale=silent", "solaris,stale=silent"
            ] "";
            stale: duplicates_are_other_numbers ["illumos", "solaris"] "closed-in-set";
            stale: dup2_onto_a_member_keeps_its_bits ["illumos", "solaris"] "closed-in-set";
            waiting: timeouts_are_kept ["illumos", "solaris"] "";
            waiting: other_negative_timeouts_differ ["illumos", "solaris"] "bad-timeout";
            waiting: no_room_sleeps ["illumos", "solaris"] "no-room";
            waiting: room_follows_the_limit ["illumos", "solaris"] "room-above-limit";
            waiting: ordered_interruptions_come ["eintr=3", "solaris,eintr=3"] "";
            waiting: signals_interrupt ["illumos", "restart=no"] "";
            waiting: restarting_signals_start_again ["illumos", "solaris"] "";
            waiting: handlers_may_write_close_and_ask ["illumos", "solaris"] "";
            processes: child_is_refused ["illumos", "solaris"] "foreign-process";
            processes: first_user_owns_on_illumos ["illumos"] "foreign-process";
            processes: opener_owns_on_solaris ["solaris"] "foreign-process";
            processes: child_may_close_members ["illumos", "solaris"] "";
            threads: write_wakes_sleepers ["illumos"] "write-while-polled";
            threads: write_waits_for_sleepers ["solaris"] "write-while-polled";
            threads: each_waiter_is_told ["illumos", "solaris"] "";
            threads: closing_ends_waits ["illumos", "solaris"] "closed-while-polled";
            threads: pollers_and_writers_get_along ["illumos", "solaris"] "write-while-polled";
        }

        #[test]
        fn mistakes_in_settings_end_the_program() {
            common::harness::expect_refusal(WAY(), "DEVPOLL_EMULATION", "linux");
            common::harness::expect_refusal(WAY(), "DEVPOLL_EMULATION_ALLOW", "everything");
            common::harness::expect_refusal(WAY(), "DEVPOLL_EMULATION_LOGS", "/dev/null");
        }

        #[test]
        fn violations_are_logged_or_fatal() {
            if common::harness::is_client() {
                return common::scenarios::opening::violate();
            }
            common::harness::expect_log_and_figures(WAY());
            common::harness::expect_fatal(WAY());
        }
    };
}
pub(crate) use all_scenarios;

/// Makes one test of each scenario.
macro_rules! scenario_tests {
    ($($module:ident: $name:ident [$($variant:literal),*] $allowed:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let scenario = common::scenarios::$module::$name;
                let variants = &[$($variant),*];
                common::harness::run(WAY(), stringify!($name), variants, $allowed, || {
                    scenario(&REPORT());
                });
            }
        )*
    };
}
pub(crate) use scenario_tests;
