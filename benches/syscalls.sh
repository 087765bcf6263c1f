#!/usr/bin/env bash
# System calls of an echo server: per connection, and per round trip of connections that stay.
#
# Counted by strace over a short and a long run; the difference has neither start-up nor shutdown
# in it. Three situations:
#   connection   accept, one 64-byte echo sent with the connect, the client closes; 32 at a time
#   steady 1     round trips on one connection, a millisecond between them
#   steady 64    the same on 64 connections that all send before the server is read from
#
#   benches/syscalls.sh                      the echo example with --workers 1, and the floor
#   benches/syscalls.sh COMMAND [ARGUMENT]   that server instead (it is given --listen ADDR)
#
# Needs strace. Takes less than a minute.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need strace strace

# count TABLE LOAD... -- COMMAND...: counts one run; writes lines `CALL COUNT` to the file TABLE.
count() {
    local table=$1 load=() before traced
    shift
    while [[ $1 != -- ]]; do
        load+=("$1")
        shift
    done
    shift
    # The shell says its process id and becomes the server, so that the signal to stop goes to the
    # server and not to strace. What it calls itself is in both runs and drops out.
    serve strace strace -f -c -o "$scratch/strace" -- \
        sh -c 'echo $$ >"$0"; exec "$@"' "$scratch/pid" "$@" --listen 127.0.0.1:0
    traced=$(cat "$scratch/pid")
    children+=("$traced")
    before=$(descriptors "$traced")
    "$tools/load" "${load[@]}" --connect "$address" >/dev/null
    until_true 10 has_descriptors "$traced" "$before" || die "keeps connections open: $*"
    kill -INT "$traced"
    until_true 30 not running "$server" || die "does not stop: $*"
    wait "$server" || true
    forget "$traced"
    forget "$server"
    awk '$1 + 0 == $1 && NF >= 5 { print $NF, $4 }' "$scratch/strace" | sort >"$table"
}

# divide UNITS: prints the difference of the two tables, divided, the total first.
divide() {
    join -a 1 -e 0 -o 0,1.2,2.2 "$scratch/long" "$scratch/short" |
        awk -v units="$1" '
            $1 == "total" { total = ($2 - $3) / units; next }
            # A call made once or twice at a different moment is noise.
            ($2 - $3) / units >= 0.01 { parts = parts sprintf("  %s %.2f", $1, ($2 - $3) / units) }
            END { printf "%6.2f %s\n", total, parts }'
}

# measure NAME COMMAND...: prints the rows of one server.
measure() {
    local name=$1
    shift
    count "$scratch/short" burst --at-once 32 --total 1000 -- "$@"
    count "$scratch/long" burst --at-once 32 --total 2000 -- "$@"
    printf '%-16s %-12s %s\n' "$name" 'connection' "$(divide 1000)"
    count "$scratch/short" pingpong --count 500 -- "$@"
    count "$scratch/long" pingpong --count 1500 -- "$@"
    printf '%-16s %-12s %s\n' "$name" 'steady 1' "$(divide 1000)"
    count "$scratch/short" pingpong --connections 64 --count 100 -- "$@"
    count "$scratch/long" pingpong --connections 64 --count 300 -- "$@"
    printf '%-16s %-12s %s\n' "$name" 'steady 64' "$(divide 12800)"
}

build_tools
if (($# == 0)); then
    set -- "$(build_example echo)" --workers 1
fi
printf '%-16s %-12s %6s   %s\n' 'server' 'per' 'calls' 'of which'
measure "$(basename "$1")" "$@"
measure bare_echo "$tools/bare_echo"
