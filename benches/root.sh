#!/usr/bin/env bash
# The root measurement: what idle connections cost the one that is busy.
#
# IDLE connections sit on an HTTP server while one keep-alive connection (`ab -k -c 1`) makes
# REQUESTS requests; on poll, as many as SECONDS seconds allow. Beside the requests per second
# stands the processor time, user and system, that the server spent on each.
#
#   benches/root.sh                      the http example with --workers 1, and the floor
#   benches/root.sh COMMAND [ARGUMENT]   that server instead (it is given --listen ADDR and
#                                        --backend epoll|poll)
#   IDLE='0 1000 8000' benches/root.sh   a row for each number of idle connections
#   IDLE=8000 REQUESTS=100000 SECONDS_ON_POLL=60 benches/root.sh
#
# Needs ab (the package apache2-utils). Takes about four minutes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ab apache2-utils

idle_counts=${IDLE:-8000}
requests=${REQUESTS:-100000}
on_poll=${SECONDS_ON_POLL:-60}

# hold COUNT: opens idle connections and waits until the server has them all.
hold() {
    local before
    idle=
    (($1 > 0)) || return 0
    before=$(descriptors "$server")
    launch "$scratch/idle.log" "$tools/load" idle --connect "$address" --count "$1" \
        --hold-seconds 1200
    idle=$launched
    until_true 60 holds_descriptors "$server" $((before + $1)) ||
        die "cannot open $1 idle connections: $(cat "$scratch/idle.log.err")"
}

# report FIELD: the number that ab has printed behind `FIELD:`.
report() {
    awk -F ':[ ]*' -v field="$1" '$1 == field { split($2, words, " "); print words[1] }' \
        "$scratch/ab"
}

# busy OPTION...: makes the requests; fails unless every one was answered.
busy() {
    # -t comes before -n, because it sets a number of requests of its own.
    timeout $((on_poll + 240)) ab -q -k -c 1 "$@" "http://$address/" >"$scratch/ab" ||
        die "ab fails: $(tail -n 3 "$scratch/ab")"
    [[ $(report 'Failed requests') == 0 ]] || die "failed requests: $(report 'Failed requests')"
    ! grep -q '^Non-2xx' "$scratch/ab" || die 'an answer that is not 200'
}

# measure NAME MECHANISM COUNT COMMAND...: prints one row.
measure() {
    local name=$1 mechanism=$2 count=$3 before options=(-n "$requests")
    shift 3
    [[ $mechanism == poll ]] && options=(-t "$on_poll" -n 10000000)
    serve root "$@" --listen 127.0.0.1:0
    hold "$count"
    before=$(cpu_ticks "$server")
    busy "${options[@]}"
    awk -v name="$name" -v mechanism="$mechanism" -v idle="$count" \
        -v ticks=$(($(cpu_ticks "$server") - before)) -v hertz="$(getconf CLK_TCK)" \
        -v done="$(report 'Complete requests')" -v rate="$(report 'Requests per second')" \
        'BEGIN { printf "%-16s %-6s %6d %10d %12.0f %14.2f\n",
                 name, mechanism, idle, done, rate, ticks / hertz * 1e6 / done }'
    [[ -z $idle ]] || stop "$idle" 60
    stop "$server" 60 || die "does not stop: $*"
}

build_tools
if (($# == 0)); then
    set -- "$(build_example http)" --workers 1
fi
printf '%-16s %-6s %6s %10s %12s %14s\n' \
    'server' 'waits' 'idle' 'requests' 'requests/s' 'CPU us/request'
for count in $idle_counts; do
    for mechanism in epoll poll; do
        measure "$(basename "$1")" "$mechanism" "$count" "$@" --backend "$mechanism"
        measure bare_echo "$mechanism" "$count" "$tools/bare_echo" --http --mechanism "$mechanism"
    done
done
