#!/usr/bin/env bash
# Faults against the example servers: no spin, no leak, and the server goes on.
#
#   .ci/faults.sh                     target/release/examples/{echo,proxy,http}
#   .ci/faults.sh ECHO PROXY HTTP     these programs
#   ONLY='limit*' .ci/faults.sh       the checks whose names match
#   WORKERS='1 2' .ci/faults.sh       once for each number of workers
#
# After each fault the server must be back at the descriptors it had before, must use no processor
# time while nothing happens, and must serve the next client. Prints a line for each check and
# closes with `N passed, N failed`.
set -euo pipefail
source "$(dirname "$0")/checks.sh"
need socat socat
need nc netcat-openbsd
need prlimit util-linux

take_programs "$@"
build_tools || die 'benches/ does not build'
any=127.0.0.1:0

# --- what every fault is followed by ------------------------------------------------------------

# ticks_in_a_second PID: processor time used in the second that follows, in clock ticks.
ticks_in_a_second() {
    local before
    before=$(cpu_ticks "$1")
    sleep 1
    echo $(($(cpu_ticks "$1") - before))
}

# rests PID: whether it uses less than 3 hundredths of a second in a second.
rests() {
    local ticks
    ticks=$(ticks_in_a_second "$1")
    echo "$ticks ticks in a second"
    ((ticks * 100 < 3 * $(getconf CLK_TCK)))
}

# recovered PID DESCRIPTORS: it is there, has no more open than before, and rests.
recovered() {
    running "$1" || die 'the server is gone'
    until_true 30 has_descriptors "$1" $(($2 + pooled)) ||
        die "$(descriptors "$1") descriptors are open, $2 were before, and $pooled may be kept"
    until_true 8 rests "$1" || die 'the server spins'
}

# settled PID: how many descriptors are open once the count has stood still for a while.
settled() {
    local last=-1 now
    now=$(descriptors "$1")
    while ((now != last)); do
        last=$now
        sleep 0.2
        now=$(descriptors "$1")
    done
    echo "$now"
}

# start_echo / start_http / start_proxy UPSTREAM [OPTION]: leave $server, $address and $before.
start_echo() {
    serve echo "${prefix[@]}" "$echo_program" --listen "$any" --workers "$workers"
    echoes "$address"
    before=$(settled "$server")
}
start_http() {
    serve http "${prefix[@]}" "$http_program" --listen "$any" --workers "$workers"
    before=$(settled "$server")
}
start_proxy() {
    serve proxy "${prefix[@]}" "$proxy_program" --listen "$any" --workers "$workers" \
        --upstream "$@"
    pooled=$((8 * workers))
    before=$(settled "$server")
}
prefix=()
# How many descriptors a server may keep: each worker of the proxy up to four pipes to copy through.
pooled=0

# start_upstream MODE [OPTION]: leaves its address in $upstream.
start_upstream() {
    serve upstream "$tools/upstream" --listen "$any" --mode "$@"
    upstream=$address
}

# start_proxy_of_echo [OPTION]: a proxy whose upstream is an echo server.
start_proxy_of_echo() {
    local kept=("${prefix[@]}")
    prefix=()
    start_echo
    prefix=("${kept[@]}")
    start_proxy "$address" "$@"
    prefix=()
    echoes "$address"
    before=$(settled "$server")
}

# --- the limit of descriptors -------------------------------------------------------------------

# full PID: whether the server has as many of its 200 descriptors open as it takes for connections:
# all but 32, 4 for each worker, and its listener.
full() {
    holds_descriptors "$1" $((200 - 32 - 4 * workers - 1))
}

# crowd [OPTION]: a thousand clients come at once; while the server is full it must not spin.
crowd() {
    launch "$scratch/crowd" "$tools/load" crowd --connect "$address" --hold-ms 4000 "$@"
    until_true 10 full "$server" || die 'the server does not reach its limit'
    sleep 0.5
    # A look now and then is fine; it would be a hundred ticks if it spun.
    ticks=$(ticks_in_a_second "$server")
    echo "full, $ticks ticks in a second"
    ((ticks * 100 < 20 * $(getconf CLK_TCK))) || die 'the server spins while it is full'
    end_of_crowd
}

# Waits for the crowd, shows how it fared, and leaves its exit status in $crowd_status.
end_of_crowd() {
    crowd_status=0
    wait "$launched" || crowd_status=$?
    cat "$scratch/crowd" "$scratch/crowd.err"
}

limit_echo() {
    prefix=(prlimit --nofile=200:200)
    start_echo
    crowd
    ((crowd_status == 0))
    recovered "$server" "$before"
    echoes "$address"
}

# A proxy may have to let clients go when it has no descriptor for the upstream.
limit_proxy() {
    prefix=(prlimit --nofile=200:200)
    start_proxy_of_echo
    crowd
    recovered "$server" "$before"
    echoes "$address"
}

# With a limit of its own it serves all, one lot after another.
limit_proxy_connections() {
    start_proxy_of_echo --max-connections 50
    launch "$scratch/crowd" "$tools/load" crowd --connect "$address" --hold-ms 1500 --count 500
    sleep 1
    (($(descriptors "$server") <= before + 110)) || die 'more than 50 connections are open'
    end_of_crowd
    ((crowd_status == 0))
    recovered "$server" "$before"
    echoes "$address"
}

# --- clients that die ---------------------------------------------------------------------------

# die_mid_write HOW [OPTION]: 500 clients fill every buffer, and end.
die_mid_write() {
    local status=0
    timeout 60 "$tools/load" kill --connect "$address" --how "$@" || status=$?
    case $1 in
    kill) ((status == 137)) ;;
    *) ((status == 0)) ;;
    esac
}

killed_echo() {
    start_echo
    die_mid_write "$1"
    recovered "$server" "$before"
    echoes "$address"
}

killed_http() {
    start_http
    die_mid_write "$1"
    recovered "$server" "$before"
    printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 nc "$(host "$address")" "$(port "$address")" |
        grep -q ' 200 '
}

killed_proxy() {
    start_proxy_of_echo
    die_mid_write "$1"
    recovered "$server" "$before"
    echoes "$address"
}

# The upstream does not read, so the proxy is in the middle of a write itself.
killed_proxy_silent() {
    start_upstream silent
    start_proxy "$upstream" --idle-timeout 2
    die_mid_write "$1" --count 200
    recovered "$server" "$before"
}

# A client that goes away in the middle of a download.
killed_download() {
    start_upstream source --bytes 100000000000
    start_proxy "$upstream"
    local client
    for client in {1..20}; do
        launch "$scratch/download" nc "$(host "$address")" "$(port "$address")"
    done
    sleep 0.5
    for client in "${children[@]: -20}"; do
        stop "$client" 5
    done
    recovered "$server" "$before"
}

# --- connections opened and closed in a loop ----------------------------------------------------

# One round: 10,000 in order and 10,000 with a reset; leaves the memory after it in $resident.
churn_round() {
    timeout 120 "$tools/load" churn --connect "$address"
    timeout 120 "$tools/load" churn --connect "$address" --reset
    recovered "$server" "$before"
    resident=$(rss_kib "$server")
    echo "resident: $resident KiB"
}

# Rounds until one takes no more memory than the one before. How many connections pile up at most
# is chance, so a single round may grow; what is leaked grows in every one.
churn() {
    local last round
    churn_round
    for round in {1..4}; do
        last=$resident
        churn_round
        ((resident - last >= 1024)) || return 0
    done
    die 'memory grows with every round'
}

churn_echo() {
    start_echo
    churn
    echoes "$address"
}

churn_http() {
    start_http
    churn
}

churn_proxy() {
    start_proxy_of_echo
    churn
    echoes "$address"
}

# --- upstreams that fail ------------------------------------------------------------------------

# ends_between LEAST MOST: a client that says hello is let go after so many milliseconds.
ends_between() {
    local start elapsed status=0
    start=$(now_ms)
    echo hello | timeout 20 nc "$(host "$address")" "$(port "$address")" || status=$?
    elapsed=$(($(now_ms) - start))
    echo "let go after $elapsed ms"
    ((status != 124 && elapsed >= $1 && elapsed <= $2)) || die "not between $1 and $2 ms"
}

# fails_well LEAST MOST: two clients one after the other are let go in time, then 200 at once.
fails_well() {
    ends_between "$@"
    ends_between "$@"
    die_mid_write close --count 200
    recovered "$server" "$before"
    ends_between "$@"
}

upstream_refused() {
    start_upstream refuse
    start_proxy "$upstream"
    fails_well 0 1000
}

upstream_unanswered() {
    start_upstream unanswered
    start_proxy "$upstream" --connect-timeout 1
    fails_well 800 4000
}

upstream_reset() {
    start_upstream reset --bytes "$1"
    start_proxy "$upstream"
    fails_well 0 1000
}

upstream_silent() {
    start_upstream silent
    start_proxy "$upstream" --idle-timeout 2
    fails_well 1500 6000
}

# An upstream that is slow but alive is not cut off: 30 bytes take longer than the idle timeout.
upstream_slow() {
    start_upstream slow
    start_proxy "$upstream" --idle-timeout 2
    printf '%030d' 7 | timeout 20 socat -t 20 - "TCP:$address" >"$scratch/slow"
    [[ $(cat "$scratch/slow") == "$(printf '%030d' 7)" ]]
    recovered "$server" "$before"
}

# The upstream is killed in the middle of a download: the client learns of it.
upstream_killed() {
    local source client
    start_upstream source --bytes 100000000000
    source=$server
    start_proxy "$upstream"
    launch "$scratch/download" nc "$(host "$address")" "$(port "$address")"
    client=$launched
    sleep 0.5
    stop "$source" 5 KILL
    until_true 10 not running "$client" || die 'the client is left waiting'
    recovered "$server" "$before"
}

# --- all of it ----------------------------------------------------------------------------------

for workers in ${WORKERS:-1 2}; do
    check "limit_echo_$workers" limit_echo
    check "limit_proxy_$workers" limit_proxy
    check "limit_proxy_connections_$workers" limit_proxy_connections
    for how in kill reset close; do
        check "killed_echo_by_${how}_$workers" killed_echo "$how"
        check "killed_proxy_by_${how}_$workers" killed_proxy "$how"
    done
    check "killed_http_$workers" killed_http kill
    check "killed_proxy_silent_$workers" killed_proxy_silent kill
    check "killed_download_$workers" killed_download
    check "churn_echo_$workers" churn_echo
    check "churn_http_$workers" churn_http
    check "churn_proxy_$workers" churn_proxy
    check "upstream_refused_$workers" upstream_refused
    check "upstream_unanswered_$workers" upstream_unanswered
    check "upstream_reset_at_once_$workers" upstream_reset 0
    check "upstream_reset_later_$workers" upstream_reset 6
    check "upstream_silent_$workers" upstream_silent
    check "upstream_slow_$workers" upstream_slow
    check "upstream_killed_$workers" upstream_killed
done

finish
