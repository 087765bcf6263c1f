#!/usr/bin/env bash
# Bulk through a proxy, beside a bare loop of poll and splice: bytes a second, and bytes for each
# second of processor time that the proxy takes, which other work on the machine disturbs less.
#
# The proxies have one processor, those who write to them and read from them another. All take
# turns, with 1 and with 8 connections, and the medians are shown.
#
#   benches/splice.sh                      the proxy example, and the floor
#   benches/splice.sh --tokio              and a proxy on tokio, which is built for it
#   benches/splice.sh COMMAND [ARGUMENT]   that proxy instead (it is given --listen and --upstream)
#
# ROUNDS (5) and SECONDS_EACH (2) may be set. Needs two processors and takes less than two minutes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need taskset util-linux

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-2}
names=(floor proxy)
build_tools
if [[ ${1:-} == --tokio ]]; then
    shift
    names+=(tokio)
    build_tools -p windlass-bench-servers
fi
(($# > 0)) || set -- "$(build_example proxy)"

serve drain taskset -c 1 "$tools/bulk" drain
upstream=$address
passes_on=(--upstream "$upstream")
start floor "$tools/bulk" bare
passes_on+=(--listen 127.0.0.1:0)
start proxy "$@"
[[ ${#names[@]} == 2 ]] || start tokio "$tools/proxy_tokio"

# pour NAME CONNECTIONS: one run; adds a line of two rates to a file.
pour() {
    local before told
    before=$(cpu_ns "${process[$1]}")
    told=$(taskset -c 1 "$tools/bulk" pour --to "${where[$1]}" --connections "$2" --seconds "$seconds")
    awk -v spent="$(($(cpu_ns "${process[$1]}") - before))" \
        '{ printf "%.2f %.2f\n", $(NF - 1), $1 / spent }' <<<"$told" >>"$scratch/$1.$2"
}

for ((round = 0; round < rounds; round++)); do
    for connections in 1 8; do
        for name in "${names[@]}"; do
            pour "$name" "$connections"
        done
    done
done

printf '%-12s %14s %14s %18s\n' connections proxy GB/s 'GB/s of processor'
for connections in 1 8; do
    for name in "${names[@]}"; do
        file=$scratch/$name.$connections
        printf '%-12s %14s %14s %18s\n' "$connections" "$name" \
            "$(quantile "$file" 1 0.5)" "$(quantile "$file" 2 0.5)"
    done
done
