#!/usr/bin/env bash
# User instructions per echo round trip: one connection, 64 bytes.
#
# Counted by callgrind over a long and a short run; the difference, divided by the round trips
# that it holds, has neither start-up nor shutdown in it. The client pauses a millisecond between
# messages, so that the server really waits each time. The kernel's own instructions are not
# counted.
#
#   benches/instructions.sh                      the echo example with --workers 1, and the floor
#   benches/instructions.sh COMMAND [ARGUMENT]   that server instead (it is given --listen ADDR)
#   LONG=12000 SHORT=2000 benches/instructions.sh   the lengths of the two runs
#
# Needs valgrind. Takes a minute or two.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need valgrind valgrind

long=${LONG:-12000}
short=${SHORT:-2000}

# count ROUNDS COMMAND...: leaves the instructions of a run in $instructions.
count() {
    local rounds=$1 counts=$scratch/callgrind.out
    shift
    serve callgrind valgrind --tool=callgrind --callgrind-out-file="$counts" "$@" \
        --listen 127.0.0.1:0
    "$tools/load" pingpong --connect "$address" --count "$rounds" --pause-us 1000 >/dev/null
    stop "$server" 30 || die "does not stop: $*"
    instructions=$(awk '/^(summary|totals):/ { total = $2 } END { print total }' "$counts")
    [[ -n $instructions ]] || die "callgrind has counted nothing: $*"
}

# measure NAME COMMAND...: prints the row of one server.
measure() {
    local name=$1 of_short
    shift
    count "$short" "$@"
    of_short=$instructions
    count "$long" "$@"
    awk -v name="$name" -v difference=$((instructions - of_short)) -v trips=$((long - short)) \
        'BEGIN { printf "%-24s %10.1f\n", name, difference / trips }'
}

build_tools
if (($# == 0)); then
    set -- "$(build_example echo)" --workers 1
fi
printf '%-24s %10s\n' 'server' 'instructions a round trip'
measure "$(basename "$1")" "$@"
measure bare_echo "$tools/bare_echo"
