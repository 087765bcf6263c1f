#!/usr/bin/env bash
# Bulk through a proxy, beside a bare loop of poll and splice: bytes a second, and bytes for each
# second of processor time that the proxy takes, which other work on the machine disturbs less.
#
# The proxies have one processor, those who write to them and read from them another. All take
# turns, with 1 and with 8 connections, and the medians are shown.
#
#   benches/splice.sh                      the proxy example, and the floor
#   benches/splice.sh COMMAND [ARGUMENT]   that proxy instead (it is given --listen and --upstream)
#
# ROUNDS (5) and SECONDS_EACH (2) may be set. Needs two processors and takes less than two minutes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need taskset util-linux

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-2}
build_tools
(($# > 0)) || set -- "$(build_example proxy)"

serve drain taskset -c 1 "$tools/bulk" drain
upstream=$address
serve floor taskset -c 0 "$tools/bulk" bare --upstream "$upstream"
floor=($server "$address")
serve proxy taskset -c 0 "$@" --listen 127.0.0.1:0 --upstream "$upstream"
proxy=($server "$address")

# cpu_ns PID: processor time of all threads so far, in nanoseconds.
cpu_ns() {
    cat "/proc/$1/task/"*/schedstat | awk '{ total += $1 } END { printf "%.0f", total }'
}

# pour NAME PID ADDRESS CONNECTIONS: one run; adds a line of two rates to a file.
pour() {
    local before told
    before=$(cpu_ns "$2")
    told=$(taskset -c 1 "$tools/bulk" pour --to "$3" --connections "$4" --seconds "$seconds")
    awk -v spent="$(($(cpu_ns "$2") - before))" \
        '{ printf "%.2f %.2f\n", $(NF - 1), $1 / spent }' <<<"$told" >>"$scratch/$1.$4"
}

# median FILE COLUMN
median() {
    awk -v column="$2" '{ print $column }' "$1" | sort -n | awk '
        { rate[NR] = $1 }
        END { print rate[int((NR + 1) / 2)] }'
}

for ((round = 0; round < rounds; round++)); do
    for connections in 1 8; do
        pour floor "${floor[@]}" "$connections"
        pour proxy "${proxy[@]}" "$connections"
    done
done

printf '%-12s %14s %14s %18s\n' connections what GB/s 'GB/s of processor'
for connections in 1 8; do
    for what in floor proxy; do
        file=$scratch/$what.$connections
        printf '%-12s %14s %14s %18s\n' "$connections" "$what" \
            "$(median "$file" 1)" "$(median "$file" 2)"
    done
done
