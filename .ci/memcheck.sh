#!/usr/bin/env bash
# The suites of executor, net and reactor under valgrind's memcheck: what is read before it is
# written, used after it is freed, or lost.
#
#   .ci/memcheck.sh                              windlass-executor, windlass-net, windlass-reactor
#   .ci/memcheck.sh windlass-net                 these packages
#   ONLY='executor/st*' .ci/memcheck.sh          the test programs whose names match
#   MEMCHECK_SECONDS=60 .ci/memcheck.sh          what each program may take (default: 300)
#
# Needs valgrind and jq. WINDLASS_BACKEND and WINDLASS_NOTIFIER reach the programs. valgrind runs one
# thread at a time and each some 30 times slower, and knows no epoll_pwait2, so the reactor does
# without; tests that cannot hold then are skipped, with their reasons in the table below. What a
# test starts as a program of its own, and documentation, is not checked.
#
# Prints each skip, then a line for each program:
#
#   ok NAME              its tests passed, and memcheck said nothing
#   MEMCHECK NAME        memcheck said something, which follows
#   failed NAME          memcheck said nothing, but a test failed or time was up
#
# Ends with 1 if memcheck said anything, with 3 if only tests failed, which then may not have come
# to what they do, and with 2 if it could not even try.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

# What is skipped: a program, a test of it (`*`: all of them), and why.
skips=(
    'net/cancel a_cancelled_write_of_all_has_written_a_beginning takes longer than the limit of a test'
    'net/copy_bulk pieces_of_any_length_arrive_in_order_both_ways 63 MiB within the limit of a test'
    'net/lib resolve::lookup::tests::a_child_asks_anew plays a child, which leaks its parents request'
    'net/resolve threads_outlive_wakers_that_panic leaks on purpose what a panic within a panic carries'
    'net/unix long_names_do_no_harm a name of 108 bytes, behind which valgrind looks for a nul'
    'reactor/timers a_sleep_is_not_late_by_the_slack_of_the_thread bounds a duration by 50 µs'
    'reactor/timers a_million_timers_are_no_burden a million, within the time of the program'
)

die() {
    echo "memcheck: $*" >&2
    exit 2
}

for tool in valgrind jq; do
    command -v "$tool" >/dev/null || die "$tool is missing; install the package $tool"
done

logs=$(mktemp -d "${TMPDIR:-/tmp}/windlass.XXXXXX")
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

# A child that a test forks says nothing: what it has not freed is its parent's. The C library keeps
# what it has, since threads that still run refer to some of it (getaddrinfo).
memcheck=(
    valgrind --quiet --tool=memcheck --error-exitcode=99 --leak-check=full
    --errors-for-leak-kinds=definite --show-leak-kinds=definite --num-callers=30
    --run-libc-freeres=no
    --fair-sched=yes --child-silent-after-fork=yes
)

# A folder of their own, as the flag builds everything anew.
target=${CARGO_TARGET_DIR:-target}/memcheck

# programs PACKAGE: builds its test programs, with workers that keep no memory for later; says the
# name and the place of each.
programs() {
    RUSTFLAGS="${RUSTFLAGS:-} --cfg windlass_fresh_memory" CARGO_TARGET_DIR=$target \
        cargo test --quiet --no-run --message-format=json -p "$1" --lib --tests |
        jq -r --arg package "${1#windlass-}" 'select(.executable and .profile.test) |
            (if .target.kind == ["test"] then .target.name else "lib" end) as $name |
            "\($package)/\($name) \(.executable)"' |
        sort
}

# skipped NAME: says the tests of a program that are skipped, and prints the reasons.
skipped() {
    local skip program test reason
    for skip in "${skips[@]}"; do
        read -r program test reason <<<"$skip"
        [[ $program == "$1" ]] || continue
        echo "skip $program $test: $reason" >&2
        echo "$test"
    done
}

passed=0 reported=0 failed=0 skips_used=0

# tell KIND NAME FILE...: prints how a program went, and the end of what it has written.
tell() {
    echo "$1 $2 ($((SECONDS - start)) s)"
    local file
    for file in "${@:3}"; do
        tail -n 200 "$file" | cut -c 1-300 | sed 's/^/    /'
    done
}

# reports FILE: whether it has a report. What valgrind says of itself begins with dashes, the rest of
# a report is indented, and the end by a signal is for the tests to judge.
reports() {
    grep -E '^==[0-9]+== [^ ]' "$1" | grep -qv 'Process terminating'
}

# run NAME PROGRAM: runs a program under memcheck. One test at a time, so that what memcheck says is
# about one of them, and so that the threads of the others do not slow it down any further.
run() {
    local name=$1 program=$2 start=$SECONDS status=0 test arguments=(--test-threads=1)
    local said=$logs/memcheck wrote=$logs/test
    while read -r test; do
        skips_used=$((skips_used + 1))
        [[ $test != '*' ]] || return 0
        arguments+=(--skip "$test")
    done < <(skipped "$name")
    # As cargo does: a test may look for files of its package.
    (
        cd "${name%%/*}"
        CARGO_MANIFEST_DIR=$PWD timeout --kill-after=10 "${MEMCHECK_SECONDS:-300}" \
            "${memcheck[@]}" --log-file="$said" "$program" --exact "${arguments[@]}"
    ) >"$wrote" 2>&1 || status=$?
    # Not the status: time may have been up after the report.
    if reports "$said"; then
        reported=$((reported + 1))
        tell MEMCHECK "$name" "$said" "$wrote"
    elif ((status != 0)); then
        failed=$((failed + 1))
        tell "failed with $status" "$name" "$wrote"
    else
        passed=$((passed + 1))
        echo "ok $name ($((SECONDS - start)) s," \
            "$(sed -n 's/^test result: ok\. \([0-9]* passed\).*/\1/p' "$wrote"))"
    fi
}

(($# > 0)) || set -- windlass-executor windlass-net windlass-reactor
for package in "$@"; do
    [[ -d ${package#windlass-} ]] || die "no package is called $package"
    list=$(programs "$package") || die "$package does not build"
    while read -r name program; do
        # shellcheck disable=SC2053 # It is a pattern.
        [[ $name == ${ONLY:-*} ]] || continue
        run "$name" "$program"
    done <<<"$list"
done

echo
echo "$passed passed, $reported with reports of memcheck, $failed failed otherwise," \
    "$skips_used skips"
((reported == 0)) || exit 1
((failed == 0)) || exit 3
