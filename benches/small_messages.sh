#!/usr/bin/env bash
# Small messages through a proxy: processor time of the proxy for each round trip, beside a bare
# loop of epoll, read and write.
#
# 64 connections send a message each, then read what comes back from an echo server behind the
# proxy, over and over. The proxy has one processor, those before and behind it another. All take
# turns in each round, in an order that moves on, and are compared within a round; shown are the
# medians of the rounds.
#
#   benches/small_messages.sh                      the proxy example, and the floor
#   benches/small_messages.sh --tokio              and a proxy on tokio, which is built for it
#   benches/small_messages.sh COMMAND [ARGUMENT]   that proxy instead (it is given --listen, --upstream)
#
# ROUNDS (15), COUNT (messages of each connection, 1500), SIZE (64 bytes) and CONNECTIONS (64) may be
# set. Needs two processors, and takes about a minute.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need taskset util-linux

rounds=${ROUNDS:-15}
count=${COUNT:-1500}
size=${SIZE:-64}
connections=${CONNECTIONS:-64}
names=(floor proxy)
build_tools
if [[ ${1:-} == --tokio ]]; then
    shift
    names+=(tokio)
    build_tools -p windlass-bench-servers
fi
(($# > 0)) || set -- "$(build_example proxy)" --workers 1

serve echo taskset -c 1 "$tools/bare_echo" --listen 127.0.0.1:0
passes_on=(--listen 127.0.0.1:0 --upstream "$address")

start floor "$tools/bare_proxy"
start proxy "$@"
[[ ${#names[@]} == 2 ]] || start tokio "$tools/proxy_tokio"

# trips NAME: one run; says the microseconds of processor time for each round trip.
trips() {
    local before
    before=$(cpu_ns "${process[$1]}")
    taskset -c 1 "$tools/load" pingpong --connect "${where[$1]}" --connections "$connections" \
        --count "$count" --size "$size" --pause-us 0 >/dev/null
    # The account of a thread that runs is up to its last tick; here it has gone back to its wait.
    sleep 0.05
    awk -v spent="$(($(cpu_ns "${process[$1]}") - before))" -v trips=$((count * connections)) \
        'BEGIN { printf "%.3f", spent / trips / 1000 }'
}

for ((round = 0; round < rounds; round++)); do
    declare -A took=()
    for ((place = 0; place < ${#names[@]}; place++)); do
        name=${names[(place + round) % ${#names[@]}]}
        took[$name]=$(trips "$name")
    done
    for name in "${names[@]}"; do
        awk -v own="${took[$name]}" -v floor="${took[floor]}" \
            'BEGIN { print own, own / floor }' >>"$scratch/$name.took"
    done
done

printf '%-8s %14s %12s %24s\n' proxy 'us a trip' 'x floor' 'middle half of rounds'
for name in "${names[@]}"; do
    file=$scratch/$name.took
    printf '%-8s %14.2f %12.3f %16.3f to %.3f\n' "$name" \
        "$(quantile "$file" 1 0.5)" "$(quantile "$file" 2 0.5)" \
        "$(quantile "$file" 2 0.25)" "$(quantile "$file" 2 0.75)"
done
