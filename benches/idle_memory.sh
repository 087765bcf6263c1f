#!/usr/bin/env bash
# Resident memory of a server per idle connection.
#
# (VmRSS with COUNT connections minus VmRSS with none after a warm-up of 100) / COUNT; once with
# connections that have never sent anything, once after each has echoed 64 bytes.
#
#   benches/idle_memory.sh                      the echo example with --workers 1, and the floor
#   benches/idle_memory.sh COMMAND [ARGUMENT]   that server instead (it is given --listen ADDR)
#   COUNT=15000 benches/idle_memory.sh          how many connections
#
# Needs a limit of open files above COUNT (ulimit -Hn).
set -euo pipefail
source "$(dirname "$0")/lib.sh"

count=${COUNT:-15000}
(($(ulimit -n) > count + 100)) || die "the limit of open files, $(ulimit -n), is too low"

# hold COUNT [OPTION]: opens idle connections and waits until the server has them all.
hold() {
    local before
    before=$(descriptors "$server")
    launch "$scratch/idle.log" "$tools/load" idle --connect "$address" --count "$1" \
        --hold-seconds 600 "${@:2}"
    idle=$launched
    until_true 60 grep -qs "^ready $1\$" "$scratch/idle.log" ||
        die "cannot open $1 connections: $(cat "$scratch/idle.log.err")"
    until_true 60 holds_descriptors "$server" $((before + $1)) || die "does not accept $1"
}

# release COUNT: closes them and waits until the server is back at COUNT descriptors.
release() {
    stop "$idle" 60
    until_true 60 has_descriptors "$server" "$1" || die 'keeps connections open'
}

# measure NAME SITUATION [OPTION] -- COMMAND...: prints one row.
measure() {
    local name=$1 situation=$2 options=() before empty full
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    serve idle_memory "$@" --listen 127.0.0.1:0
    before=$(descriptors "$server")
    hold 100 --echo-once
    release "$before"
    empty=$(rss_kib "$server")
    hold "$count" "${options[@]}"
    full=$(rss_kib "$server")
    release "$before"
    stop "$server" || die "does not stop: $*"
    printf '%-16s %-14s %8d %8d %10d\n' "$name" "$situation" "$empty" "$full" \
        $(((full - empty) * 1024 / count))
}

build_tools
if (($# == 0)); then
    set -- "$(build_example echo)" --workers 1
fi
name=$(basename "$1")
printf '%-16s %-14s %8s %8s %10s\n' 'server' 'connections' 'KiB at 0' 'KiB full' 'bytes each'
measure "$name" 'never sent' -- "$@"
measure "$name" 'echoed once' --echo-once -- "$@"
measure bare_echo 'never sent' -- "$tools/bare_echo"
measure bare_echo 'echoed once' --echo-once -- "$tools/bare_echo"
