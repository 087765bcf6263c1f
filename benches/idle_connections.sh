#!/usr/bin/env bash
# What idle connections cost the one that is busy, on each back end and beside the peers.
#
# Idle connections sit on a server while one keep-alive connection makes requests, one after
# another, for SECONDS seconds. Counted are the requests, the server's processor time meanwhile
# (user and system, from the scheduler's account in nanoseconds), and on windlass how often the
# interest of a descriptor was changed where the kernel sees it. Each round measures each server
# with each number of idle connections once, in an order that moves on from round to round; what
# is compared is compared within a round.
#
# Server and client share one processor. With one each, a request wakes an idle processor twice,
# which costs three times as much as all else and hides the servers; left to the scheduler, some
# runs come out the one way and some the other. The client is of the batch class, so that an answer
# does not have it run at once: the server comes to wait each time, as for a client far away, instead
# of finding the next request already there.
#
#   benches/idle_connections.sh             about 12 minutes; writes benches/results/
#   benches/idle_connections.sh --quick     about 30 seconds, less exact and with fewer connections
#     --rounds N  --seconds S               how often and how long each point is measured
#     --idle '0 8000'                       the numbers of idle connections
#     --servers 'windlass-poll bare-poll'   of windlass-epoll, windlass-poll,
#                                           bare-epoll, bare-poll, tokio, smol
#     --output FOLDER                       where the table, the plot and the samples go
#
# With any option but --output, what benches/results/ holds is left alone: the output goes to
# benches/target/idle_connections/. Needs a limit of open files above the idle connections
# (ulimit -Hn). Builds tokio and smol.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

rounds=8
seconds=1.5
idle_counts='0 1000 4000 8000 16000'
names='windlass-epoll windlass-poll bare-epoll bare-poll tokio smol'
output=

# The most connections that one client process holds.
a_client_holds=8000

# Reads the options.
read_options() {
    local standard=1 option
    while (($# > 0)); do
        option=$1
        case $option in
        --quick) rounds=2 seconds=0.5 idle_counts='0 1000 4000' ;;
        --rounds | --seconds | --idle | --servers | --output)
            (($# > 1)) || die "$option needs a value"
            shift
            ;;&
        --rounds) rounds=$1 ;;
        --seconds) seconds=$1 ;;
        --idle) idle_counts=$1 ;;
        --servers) names=$1 ;;
        --output) output=$1 ;;
        *)
            sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
            [[ $option == --help ]] && exit 0
            die "unknown option: $option"
            ;;
        esac
        [[ $option == --output ]] || standard=0
        shift
    done
    if [[ -z $output ]]; then
        output=$root/benches/results
        ((standard)) || output=$root/benches/target/idle_connections
    fi
}

# command_of NAME: leaves the command of a server in the array `command`.
command_of() {
    case $1 in
    windlass-epoll | windlass-poll) command=("$tools/idle_windlass" --backend "${1#*-}") ;;
    bare-epoll | bare-poll) command=("$tools/bare_echo" --http --mechanism "${1#*-}") ;;
    tokio | smol) command=("$tools/idle_$1") ;;
    *) die "no such server: $1" ;;
    esac
}

# Ends the script, before anything is started, if it would fail halfway.
check_options() {
    local name count
    [[ $rounds =~ ^[1-9][0-9]*$ ]] || die "no number of rounds: $rounds"
    for name in $names; do
        command_of "$name"
    done
    for count in $idle_counts; do
        [[ $count =~ ^[0-9]+$ ]] || die "no number of connections: $count"
        (($(ulimit -n) > count + 100)) ||
            die "the limit of open files, $(ulimit -n), is too low for $count connections"
    done
}

# Chooses the processor that servers and clients share: the last that is allowed, since the first
# often serves the devices.
choose_processor() {
    local allowed
    allowed=$(taskset -cp $$)
    pinned=(taskset -c "${allowed##*[ ,-]}")
}

# locked PACKAGE: the version that is built.
locked() {
    awk -v name="\"$1\"" \
        '$3 == name { getline; gsub(/"/, "", $3); print $3; exit }' "$root/benches/Cargo.lock"
}

# The head of the samples: where and what they are of.
describe() {
    local model
    model=$(awk -F ': *' '/^model name/ { print $2; exit }' /proc/cpuinfo)
    echo "# date: $(date -u '+%Y-%m-%d %H:%M UTC')"
    echo "# commit: $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)"
    echo "# processors: ${model:-unknown}, $(nproc) of it"
    echo "# memory: $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
    echo "# kernel: $(uname -sr)"
    echo "# compiler: $(rustc --version)"
    echo "# peers: tokio $(locked tokio), smol $(locked smol)"
    echo "# load average at the start: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo "# measured: $rounds rounds, $seconds s a point"
    echo 'round,server,idle,requests,seconds,processor_ns,interest_changes'
}

# hold COUNT: opens idle connections and leaves the process ids of their clients in $idle.
hold() {
    local left=$1 part log client
    idle=()
    while ((left > 0)); do
        part=$((left < a_client_holds ? left : a_client_holds))
        log=$scratch/idle.${#idle[@]}
        launch "$log" "${pinned[@]}" "$tools/load" idle --connect "$address" --count "$part" \
            --reset --hold-seconds 600
        idle+=("$launched")
        left=$((left - part))
    done
    for client in "${!idle[@]}"; do
        until_true 60 opened "${idle[client]}" "$scratch/idle.$client" ||
            die "cannot open $1 connections in time"
        grep -qs '^ready ' "$scratch/idle.$client" ||
            die "cannot open $1 connections: $(cat "$scratch/idle.$client.err")"
    done
}

# opened PID LOG: whether a client has all its connections, or has ended.
opened() {
    grep -qs '^ready ' "$2" || ! running "$1"
}

# busy NAME COUNT: makes the requests and leaves what `load busy` printed in $measured.
busy() {
    local options=(--connect "$address" --process "$server" --seconds "$seconds" --idle "$2")
    [[ $1 != windlass-* ]] || options+=(--mark)
    launch "$scratch/busy" chrt --batch 0 "${pinned[@]}" "$tools/load" busy "${options[@]}"
    wait "$launched" || die "$1 with $2 idle connections: $(cat "$scratch/busy.err")"
    forget "$launched"
    measured=$(<"$scratch/busy")
}

# interest_changes: those between the two marks of `load busy`.
interest_changes() {
    until_true 10 is_marked_twice || die 'the server does not count its changes'
    awk '/^interest changes/ { if (seen++) print $3 - first; else first = $3 }' "$log"
}

# is_marked_twice: whether the server has answered both marks.
is_marked_twice() {
    (($(grep -c '^interest changes' "$log") == 2))
}

# measure ROUND NAME COUNT: appends one sample.
measure() {
    local changes='' command client
    command_of "$2"
    serve idle_connections "${pinned[@]}" "${command[@]}" --listen 127.0.0.1:0
    hold "$3"
    busy "$2" "$3"
    [[ $2 != windlass-* ]] || changes=$(interest_changes)
    # The server goes first, so that it does not see thousands of connections end.
    stop "$server" 30 || die "$2 does not stop"
    for client in "${idle[@]}"; do
        stop "$client" 30 || die 'the idle clients do not stop'
    done
    echo "$1,$2,$3,$measured,$changes" >>"$samples"
}

# turned BY WORD...: the words, beginning with another one.
turned() {
    local by=$1
    shift
    by=$((by % $#))
    echo "${@:by+1}" "${@:1:by}"
}

# measure_all: the rounds.
measure_all() {
    local round count name
    for ((round = 0; round < rounds; round++)); do
        for count in $(turned "$round" $idle_counts); do
            for name in $(turned "$round" $names); do
                measure "$round" "$name" "$count"
            done
        done
        echo "round $((round + 1)) of $rounds ($SECONDS s)" >&2
    done
}

read_options "$@"
check_options
need taskset util-linux
need chrt util-linux
choose_processor
build_tools --workspace
SECONDS=0
mkdir -p "$output"
samples=$scratch/idle_connections.csv
describe >"$samples"
measure_all
"$tools/idle_figures" --samples "$samples" --output "$output"
echo "written to $output" >&2
