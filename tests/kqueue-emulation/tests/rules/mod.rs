//! The rules of kqueue, one function each, with what is played and which breaches it must log.

mod changes;
mod descriptors;
mod ends;
mod lifetime;
mod readiness;
mod user;
mod variants;
mod waiting;

/// One rule.
pub(crate) struct Rule {
    /// Its name, which is that of the function.
    pub(crate) name: &'static str,
    /// What is played.
    pub(crate) variant: &'static str,
    /// The breaches that it commits on purpose, in order.
    pub(crate) breaches: &'static [&'static str],
    /// The rule.
    pub(crate) run: fn(),
}

macro_rules! rules {
    ($($module:ident :: $name:ident $(($variant:literal))? $(breaks $($breach:literal)+)?;)+) => {
        /// Every rule.
        pub(crate) const RULES: &[Rule] = &[$(Rule {
            name: stringify!($name),
            variant: concat!("" $(, $variant)?),
            breaches: &[$($($breach),+)?],
            run: $module::$name,
        }),+];
    };
}

rules! {
    changes::read_and_write_are_two_knotes;
    changes::add_again_replaces_udata_at_once;
    changes::add_again_keeps_the_mode breaks "mode-unchanged";
    changes::delete_then_add_changes_the_mode;
    changes::receipts_come_in_order_with_the_error_bit_only;
    changes::receipts_keep_other_flags_elsewhere ("macos");
    changes::failure_without_room_stops_the_rest breaks "delete-missing";
    changes::receipt_without_room_stops_the_rest breaks "receipt-room";
    changes::failure_in_a_waiting_call_returns_without_events breaks "delete-missing";
    changes::receipts_with_room_for_events_get_none breaks "receipt-mixed" "receipt-timeout";
    changes::errors_of_deleting_what_is_not_there breaks "delete-missing" "closed-descriptor";
    changes::delete_after_oneshot_or_close_is_forgiven breaks "closed-with-knotes";
    changes::unknown_things_are_refused breaks
        "unknown-filter" "unknown-flags" "unknown-notes" "unknown-filter" "contradiction";
    changes::bad_lists_are_refused breaks "bad-list" "bad-list";
    changes::adding_without_a_change_is_noticed breaks "add-unchanged" "change-missing";

    readiness::level_reports_again_until_read;
    readiness::clear_reports_each_change_once;
    readiness::clear_reports_new_data_beside_unread_data;
    readiness::edges_of_reading_and_writing_are_independent;
    readiness::oneshot_goes_with_its_report;
    readiness::oneshot_is_not_asked_again;
    readiness::dispatch_disables_until_enabled;
    readiness::disabled_says_nothing_and_enabling_tells;
    readiness::small_lists_starve_nobody;

    descriptors::data_counts_bytes_and_space;
    descriptors::listener_counts_its_queue_and_is_never_writable;
    descriptors::unconnected_socket_is_silent;
    descriptors::datagrams_are_events_of_their_own;
    descriptors::pipes_report_bytes_and_space;
    descriptors::regular_files_are_readable_before_their_end;
    descriptors::unpollable_devices_are_refused;

    ends::end_comes_with_data_pending;
    ends::shutting_one_side_is_no_edge_of_the_other;
    ends::half_close_of_the_peer_leaves_writing_alone;
    ends::own_shutdown_ends_the_write_filter;
    ends::reset_shows_the_error_and_leaves_it;
    ends::refused_connect_shows_in_the_write_filter;
    ends::refused_connect_shows_in_a_lone_read_filter;
    ends::refused_connect_shows_in_both_on_macos ("macos");
    ends::pipe_without_writer_ends;
    ends::pipe_without_reader_ends_the_write_filter;
    ends::fifo_gets_a_new_writer;

    lifetime::close_removes_the_knotes_of_that_number breaks
        "closed-with-knotes" "closed-with-knotes";
    lifetime::a_reused_number_starts_without_knotes breaks "closed-with-knotes";
    lifetime::a_duplicate_has_no_knotes;
    lifetime::dup2_removes_what_it_replaces breaks "closed-with-knotes";
    lifetime::close_range_spares_the_emulation breaks "closed-with-knotes";
    lifetime::an_unseen_close_is_noticed breaks "unseen-close";
    lifetime::a_duplicated_queue_is_the_same_queue;
    lifetime::a_closed_queue_is_no_queue breaks "no-queue";
    lifetime::a_forked_child_has_no_queue;
    lifetime::a_child_leaves_the_parents_knotes_alone;
    lifetime::a_leaked_queue_is_noticed breaks "queue-leaked";
    lifetime::descriptors_are_given_back;
    lifetime::opening_half_way_leaves_nothing;

    user::trigger_is_reported_once_and_coalesces;
    user::trigger_replaces_udata;
    user::trigger_in_the_add_is_lost breaks "trigger-in-add";
    user::trigger_in_the_add_works_on_macos ("macos") breaks "trigger-in-add";
    user::clear_in_the_trigger_loses_it breaks "clear-in-trigger";
    user::trigger_without_a_knote_is_lost breaks "trigger-lost";
    user::level_trigger_stays_until_cleared;
    user::trigger_from_a_signal_handler;
    user::timers_fire_once_and_again;

    waiting::no_room_returns_at_once;
    waiting::timeouts_are_never_early;
    waiting::bad_timeouts_are_refused_after_the_changes breaks "bad-timespec" "bad-timespec";
    waiting::long_timeouts_are_noticed breaks "long-timespec";
    waiting::signals_interrupt_after_the_changes;
    waiting::a_change_reaches_a_waiting_thread;
    waiting::a_trigger_reaches_a_waiting_thread;
    waiting::an_edge_goes_to_one_waiter;
    waiting::a_level_goes_to_every_waiter;
    waiting::closing_does_not_wake_a_waiter breaks "queue-closed-in-wait";
    waiting::a_queue_can_be_polled;
    waiting::a_queue_can_be_in_a_queue;
    waiting::a_queue_that_lives_through_exec_is_noticed breaks "no-close-on-exec";
    waiting::calls_are_counted;

    variants::user_events_are_refused ("nouser");
    variants::receipts_are_ignored ("noreceipt");
    variants::every_third_sleep_is_interrupted ("eintr=3");
    variants::opening_fails ("open=fail:ENOMEM");
    variants::oneshot_events_are_stale ("stale");
    variants::broken_pipe_gives_an_error_and_registers ("macos,epipe");
    variants::broken_pipe_is_refused ("netbsd");
    variants::own_terminal_is_refused ("macos");
    variants::openbsd_keeps_flags_in_receipts ("openbsd");
}
