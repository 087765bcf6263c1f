#!/usr/bin/env bash
# Real clients against the example servers.
#
#   .ci/clients.sh                     target/release/examples/{echo,proxy,http}
#   .ci/clients.sh ECHO PROXY HTTP     these programs
#   ONLY='proxy*' .ci/clients.sh       the checks whose names match
#
# Installs nothing; names the package of what is missing. WINDLASS_BACKEND and WINDLASS_NOTIFIER
# reach the servers. Prints a line for each check and closes with `N passed, N failed`.
set -euo pipefail
source "$(dirname "$0")/checks.sh"
need curl curl
need ab apache2-utils
need wrk wrk
need socat socat
need nc netcat-openbsd
need redis-server redis-server
need redis-benchmark redis-tools
need iperf3 iperf3

take_programs "$@"
any=127.0.0.1:0
big=$scratch/big

# --- echo ---------------------------------------------------------------------------------------

echo_line() {
    echo hello | timeout 10 nc -N "$(host "$1")" "$(port "$1")" >"$scratch/line"
    echo hello | cmp - "$scratch/line"
}

# half_close FILE ADDRESS: sends a file, ends that side, and wants all of it back.
half_close() {
    timeout 60 socat -b 65536 -t 60 - "TCP:$2" <"$1" >"$scratch/back"
    same_sum "$1" "$scratch/back"
}

# The same with nc, which sends and receives in other pieces.
half_close_nc() {
    timeout 60 nc -N "$(host "$2")" "$(port "$2")" <"$1" >"$scratch/back"
    same_sum "$1" "$scratch/back"
}

# A client that sends nothing and ends its side gets the end and nothing else.
empty_connection() {
    timeout 10 socat -t 10 - "TCP:$1" </dev/null >"$scratch/back"
    [[ ! -s $scratch/back ]]
}

# Fifty clients at the same time, each with bytes of its own.
parallel_clients() {
    local client pids=()
    for client in {1..50}; do
        dd if="$scratch/some" of="$scratch/sent.$client" bs=1000 skip="$client" count=300 status=none
        launch "$scratch/client.$client" bash -c \
            'exec timeout 60 socat -t 60 - "TCP:$0" <"$1" >"$2"' \
            "$1" "$scratch/sent.$client" "$scratch/back.$client"
        pids+=("$launched")
    done
    for client in "${pids[@]}"; do
        wait "$client"
    done
    for client in {1..50}; do
        cmp "$scratch/sent.$client" "$scratch/back.$client"
    done
}

# --- http ---------------------------------------------------------------------------------------

# answers TEXT ADDRESS: sends raw bytes without ending that side; prints what came until the end.
answers() {
    printf '%b' "$1" | timeout 10 nc "$(host "$2")" "$(port "$2")" | tr -d '\r'
}

# status TEXT ADDRESS: the status code of the first answer.
status() {
    answers "$1" "$2" >"$scratch/answer"
    awk 'NR == 1 { print $2; exit }' "$scratch/answer"
}

# Several requests go over one connection, and each brings the 13 bytes.
curl_keep_alive() {
    local form='%{http_code} %{size_download} %{num_connects}\n'
    timeout 10 curl -sS -o /dev/null -o /dev/null -o /dev/null -w "$form" \
        "http://$1/" "http://$1/a" "http://$1/b?c=d" >"$scratch/curl"
    cat "$scratch/curl"
    [[ $(cat "$scratch/curl") == $'200 13 1\n200 13 0\n200 13 0' ]]
}

# HTTP/1.0 without keep-alive: the answer is followed by the end.
curl_old_version() {
    [[ $(timeout 10 curl -sS -0 -o /dev/null -w '%{http_code} %{size_download}' "http://$1/") == \
        '200 13' ]]
    [[ $(status 'GET / HTTP/1.0\r\n\r\n' "$1") == 200 ]]
}

# HTTP/1.1 with `Connection: close`: likewise.
connection_close() {
    [[ $(status 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' "$1") == 200 ]]
    [[ $(tail -c 13 "$scratch/answer" | wc -c) == 13 ]]
}

# HEAD has the length and no body, which would be taken for the start of the next answer.
curl_head() {
    timeout 10 curl -sS -D "$scratch/head" -o "$scratch/body" --head "http://$1/" \
        --next -sS -o "$scratch/next" -w '%{http_code} %{size_download} %{num_connects}' \
        "http://$1/" >"$scratch/curl"
    cat "$scratch/head" "$scratch/curl"
    grep -qi '^content-length: 13' "$scratch/head"
    [[ $(cat "$scratch/curl") == '200 13 0' ]]
}

bad_request() {
    [[ $(status 'NONSENSE\r\n\r\n' "$1") == 400 ]]
    [[ $(status 'GET / HTTP/1.1\r\nno colon here\r\n\r\n' "$1") == 400 ]]
    [[ $(status '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n' "$1") == 400 ]]
}

# The client must get to read the answer, though the server has not read all of the request.
huge_header() {
    printf 'X-Big: %0100000d\n' 7 >"$scratch/header"
    [[ $(timeout 10 curl -sS -o /dev/null -w '%{http_code}' -H "@$scratch/header" \
        "http://$1/") == 431 ]]
}

# Three requests in one piece: three answers, in one connection.
pipelining() {
    local one='GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    answers "$one${one}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" "$1" \
        >"$scratch/answer"
    cat "$scratch/answer"
    # The body has no line end, so an answer starts in the middle of a line.
    [[ $(grep -o 'HTTP/1.1 200' "$scratch/answer" | wc -l) == 3 ]]
}

# A request that comes in pieces is one request.
slow_request() {
    { printf 'GE'; sleep 0.1; printf 'T / HTTP/1.1\r\nHo'; sleep 0.1; printf 'st: a\r'; sleep 0.1
        printf '\nConnection: close\r\n\r'; sleep 0.1; printf '\n'; } |
        timeout 10 nc "$(host "$1")" "$(port "$1")" >"$scratch/answer"
    grep -q '^HTTP/1.1 200' "$scratch/answer"
}

# A client that ends its side after the request still gets the answer.
http_half_close() {
    printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' |
        timeout 10 nc -N "$(host "$1")" "$(port "$1")" >"$scratch/answer"
    grep -q '^HTTP/1.1 200' "$scratch/answer"
}

# bench_ab ADDRESS REQUESTS OPTION...: every request is answered, with 200 and the right length.
bench_ab() {
    timeout 120 ab -q -n "$2" "${@:3}" "http://$1/" >"$scratch/ab" 2>&1 || {
        cat "$scratch/ab"
        return 1
    }
    grep -E '^(Complete|Failed|Keep-Alive|Requests|Non-2xx)' "$scratch/ab"
    grep -Eq "^Complete requests: +$2\$" "$scratch/ab"
    grep -Eq '^Failed requests: +0$' "$scratch/ab"
    ! grep -q '^Non-2xx' "$scratch/ab" || return 1
    if [[ " $* " == *' -k '* ]]; then
        # ab ends a connection now and then by itself; the server never does.
        awk -v all="$2" '/^Keep-Alive requests:/ { exit !($3 >= all * 0.98) }' "$scratch/ab"
    fi
}

bench_wrk() {
    timeout 60 wrk -t 2 -c "$2" -d 3s "http://$1/" >"$scratch/wrk"
    cat "$scratch/wrk"
    ! grep -Eq 'Socket errors|Non-2xx' "$scratch/wrk" || return 1
    awk '/requests in/ { exit !($1 > 100) }' "$scratch/wrk"
}

# A client that never ends its request is let go.
header_time_limit() {
    until_true "${HEADER_LIMIT:-45}" not running "$half_request"
}

# --- proxy --------------------------------------------------------------------------------------

# Sends a gigabyte to the upstream and compares what arrived.
gigabyte_up() {
    serve_socat up -u TCP-LISTEN:0,bind=127.0.0.1 "OPEN:$scratch/arrived,creat,trunc"
    local upstream=$server
    serve proxy_up "$proxy_program" --listen "$any" --upstream "$address"
    timeout 120 socat -u -b 65536 "FILE:$big" "TCP:$address"
    until_true 60 not running "$upstream"
    same_sum "$big" "$scratch/arrived"
}

# Fetches a gigabyte from the upstream and compares what arrived.
gigabyte_down() {
    serve_socat down -u "FILE:$big" TCP-LISTEN:0,bind=127.0.0.1
    serve proxy_down "$proxy_program" --listen "$any" --upstream "$address"
    timeout 120 socat -u -b 65536 "TCP:$address" "OPEN:$scratch/arrived,creat,trunc"
    same_sum "$big" "$scratch/arrived"
}

redis() {
    local redis_port
    redis_port=$(free_port)
    launch "$scratch/redis" redis-server --port "$redis_port" --bind 127.0.0.1 --save '' \
        --appendonly no --dir "$scratch"
    until_true 10 timeout 5 redis-cli -p "$redis_port" ping
    serve proxy_redis "$proxy_program" --listen "$any" --upstream "127.0.0.1:$redis_port"
    "$@" "$(port "$address")"
}

# redis_rates OPTION... PORT: all four kinds of request run to their end.
redis_rates() {
    timeout 120 redis-benchmark -h 127.0.0.1 -p "${!#}" -t set,get,incr,lpush --csv \
        "${@:1:$#-1}" >"$scratch/rates" 2>"$scratch/rates.err"
    cat "$scratch/rates" "$scratch/rates.err"
    [[ $(grep -Ec '^"(SET|GET|INCR|LPUSH)","[1-9]' "$scratch/rates") == 4 ]]
    ! grep -qi 'error' "$scratch/rates.err" || return 1
}

# A value of 8 MB goes there and comes back the same.
redis_value() {
    head -c 8000000 "$scratch/some" >"$scratch/value"
    timeout 20 redis-cli -p "$1" -x set value <"$scratch/value"
    timeout 20 redis-cli -p "$1" --raw get value | head -c 8000000 >"$scratch/value.back"
    same_sum "$scratch/value" "$scratch/value.back"
}

# bench_iperf OPTION...: a second of traffic through the proxy, and some of it arrives.
bench_iperf() {
    local iperf_port
    iperf_port=$(free_port)
    launch "$scratch/iperf" iperf3 --server --bind 127.0.0.1 --port "$iperf_port" --forceflush
    until_true 10 grep -qs 'Server listening' "$scratch/iperf"
    serve proxy_iperf "$proxy_program" --listen "$any" --upstream "127.0.0.1:$iperf_port"
    timeout 60 iperf3 --client 127.0.0.1 --port "$(port "$address")" --time 2 --format m "$@" \
        >"$scratch/iperf.client"
    grep -E 'sender|receiver' "$scratch/iperf.client"
    awk '/receiver/ { for (n = 2; n <= NF; n++) if ($n == "Mbits/sec") rate = $(n - 1) }
         END { exit !(rate > 1) }' "$scratch/iperf.client"
}

# Nobody listens upstream: the client is let go at once, and the next one is served.
upstream_refused() {
    local upstream_port back
    upstream_port=$(free_port)
    serve proxy_refused "$proxy_program" --listen "$any" --upstream "127.0.0.1:$upstream_port"
    back=$(echo hello | timeout 5 nc "$(host "$address")" "$(port "$address")") || (($? != 124))
    [[ -z $back ]]
    launch "$scratch/late" socat "TCP-LISTEN:$upstream_port,bind=127.0.0.1,fork,reuseaddr" EXEC:cat
    until_true 5 echo_line "$address"
}

# --- ends and wrong arguments -------------------------------------------------------------------

# clean_stop SIGNAL OPEN COMMAND...: a server that has served stops by itself, with its totals.
# OPEN tells whether a connection is open then.
clean_stop() {
    local signal=$1 open=$2
    shift 2
    serve stopping "$@"
    if [[ $open == open ]]; then
        exec 9<>"/dev/tcp/$(host "$address")/$(port "$address")"
    else
        timeout 5 nc -N "$(host "$address")" "$(port "$address")" </dev/null || true
    fi
    stop "$server" 20 "$signal"
    cat "$log" "$log.err"
    echo "exit status $stopped"
    ((stopped == 0))
    ends_with_totals "$log"
}

# bad_arguments COMMAND...: one line says what was wrong, and the exit status is 1 or 2.
bad_arguments() {
    local result=0
    timeout 5 env "$@" >"$scratch/bad.out" 2>"$scratch/bad" || result=$?
    echo "exit status $result"
    cat "$scratch/bad"
    ((result == 1 || result == 2))
    [[ $(grep -c . "$scratch/bad") == 1 ]]
    ! grep -q panicked "$scratch/bad" || return 1
}

# --- all of it ----------------------------------------------------------------------------------

head -c 33554432 /dev/urandom >"$scratch/some"

serve echo "$echo_program" --listen "$any"
echo_server=$server echo_address=$address
check echo_line echo_line "$echo_address"
check echo_half_close_socat half_close "$scratch/some" "$echo_address"
check echo_half_close_nc half_close_nc "$scratch/some" "$echo_address"
check echo_empty_connection empty_connection "$echo_address"
check echo_parallel_clients parallel_clients "$echo_address"

serve http "$http_program" --listen "$any"
http_server=$server http_address=$address
# Runs while the other checks do.
launch "$scratch/half_request" bash -c \
    'exec 9<>"/dev/tcp/$0/$1"; printf "GET / HTTP/1.1\r\nHost: a\r\n" >&9; exec cat <&9' \
    "$(host "$http_address")" "$(port "$http_address")"
half_request=$launched
check http_curl_keep_alive curl_keep_alive "$http_address"
check http_curl_old_version curl_old_version "$http_address"
check http_connection_close connection_close "$http_address"
check http_curl_head curl_head "$http_address"
check http_bad_request bad_request "$http_address"
check http_huge_header huge_header "$http_address"
check http_pipelining pipelining "$http_address"
check http_slow_request slow_request "$http_address"
check http_half_close http_half_close "$http_address"
check http_ab bench_ab "$http_address" 2000 -c 10
check http_ab_keep_alive bench_ab "$http_address" 20000 -k -c 1
check http_ab_keep_alive_100 bench_ab "$http_address" 50000 -k -c 100
check http_wrk bench_wrk "$http_address" 64

serve proxy_echo "$proxy_program" --listen "$any" --upstream "$echo_address"
proxy_echo=$server
check proxy_line echo_line "$address"
check proxy_half_close_socat half_close "$scratch/some" "$address"
check proxy_half_close_nc half_close_nc "$scratch/some" "$address"
check proxy_empty_connection empty_connection "$address"
check proxy_parallel_clients parallel_clients "$address"
serve proxy_http "$proxy_program" --listen "$any" --upstream "$http_address"
proxy_http=$server
check proxy_curl_keep_alive curl_keep_alive "$address"
check proxy_ab bench_ab "$address" 2000 -c 10
check proxy_ab_keep_alive_100 bench_ab "$address" 20000 -k -c 100
check proxy_redis redis redis_rates -n 20000 -c 50
check proxy_redis_pipelined redis redis_rates -n 100000 -c 50 -P 16
check proxy_redis_value redis redis_value
check proxy_iperf bench_iperf
check proxy_iperf_reverse bench_iperf --reverse
check proxy_iperf_parallel bench_iperf --parallel 4
check proxy_upstream_refused upstream_refused

head -c "${GIGABYTE:-1073741824}" /dev/urandom >"$big"
check proxy_gigabyte_up gigabyte_up
check proxy_gigabyte_down gigabyte_down
rm -f "$big" "$scratch/arrived"

check http_header_time_limit header_time_limit
check echo_still_there running "$echo_server"
check http_still_there running "$http_server"
check proxy_still_there running "$proxy_echo"
check proxy_of_http_still_there running "$proxy_http"

for signal in INT TERM; do
    check "echo_stops_on_$signal" clean_stop "$signal" closed "$echo_program" --listen "$any"
    check "http_stops_on_$signal" clean_stop "$signal" closed "$http_program" --listen "$any"
    check "proxy_stops_on_$signal" clean_stop "$signal" closed \
        "$proxy_program" --listen "$any" --upstream "$echo_address"
done
check echo_stops_with_a_connection clean_stop INT open "$echo_program" --listen "$any"
check http_stops_with_a_connection clean_stop INT open "$http_program" --listen "$any"
check proxy_stops_with_a_connection clean_stop INT open \
    "$proxy_program" --listen "$any" --upstream "$echo_address"

check wrong_backend bad_arguments "$echo_program" --listen "$any" --backend nonsense
check wrong_backend_variable bad_arguments WINDLASS_BACKEND=nonsense "$echo_program" --listen "$any"
check backend_not_here bad_arguments "$echo_program" --listen "$any" --backend kqueue
check wrong_address bad_arguments "$echo_program" --listen nonsense
check port_in_use bad_arguments "$http_program" --listen "$http_address"
check zero_workers bad_arguments "$echo_program" --listen "$any" --workers 0
check wrong_upstream bad_arguments "$proxy_program" --listen "$any" --upstream nonsense

finish
