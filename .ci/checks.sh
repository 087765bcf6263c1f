# How the checking scripts run and count their checks; sourced, never run.
#
# A check is a function. It runs in a shell of its own with `set -e`, so that its first command
# that fails fails it, and what it has started ends with it.

source "$(dirname "${BASH_SOURCE[0]}")/../benches/lib.sh"
shopt -s inherit_errexit

passed=0
failed=0

# check NAME FUNCTION [ARGUMENT]: runs a check and prints how it went.
check() {
    local name=$1 status=0
    shift
    [[ $name == ${ONLY:-*} ]] || return 0
    set +e
    (
        set -eE
        children=()
        trap end_children EXIT
        trap 'echo "failed: $BASH_COMMAND" >&2' ERR
        "$@"
    ) >"$scratch/check.log" 2>&1
    status=$?
    set -e
    if ((status == 0)); then
        echo "ok $name"
        # What test programs close with, and how many sequences the model ran.
        grep -E '^test result: |[0-9] sequences in ' "$scratch/check.log" | sed 's/^/    /' || true
        passed=$((passed + 1))
    else
        echo "FAIL $name"
        tail -n 20 "$scratch/check.log" | cut -c 1-300 | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

# Prints the closing line and ends the script.
finish() {
    echo
    echo "$passed passed, $failed failed"
    exit $((failed > 0))
}

# Fails the check that runs; outside of one, ends the script as failed.
die() {
    if ((BASH_SUBSHELL > 0)); then
        echo "$*" >&2
        exit 1
    fi
    echo "FAIL $*"
    failed=$((failed + 1))
    finish
}

# take_programs [ECHO PROXY HTTP]: names the example servers that are checked.
take_programs() {
    local program
    echo_program=${1:-$root/target/release/examples/echo}
    proxy_program=${2:-$root/target/release/examples/proxy}
    http_program=${3:-$root/target/release/examples/http}
    for program in "$echo_program" "$proxy_program" "$http_program"; do
        [[ -x $program ]] ||
            die "$program is not there; build it with: cargo build --release --examples"
    done
}

# Splits $address for clients that want a host and a port.
host() {
    echo "${1%:*}"
}
port() {
    echo "${1##*:}"
}

# free_port: a port that nobody listens on, below those that the kernel hands out by itself.
free_port() {
    local candidate
    while true; do
        candidate=$((RANDOM % 12000 + 20000))
        (: <>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || break
    done
    echo "$candidate"
}

# echoes ADDRESS: fails unless 64 KiB come back whole and the server then ends its side too.
echoes() {
    head -c 65536 /dev/urandom >"$scratch/echo.sent"
    timeout 20 socat -t 20 - "TCP:$1" <"$scratch/echo.sent" >"$scratch/echo.back"
    cmp "$scratch/echo.sent" "$scratch/echo.back"
}

# same_sum FILE FILE: fails unless both have the same size and the same SHA-256.
same_sum() {
    local first second
    stat -c '%s bytes %n' "$1" "$2"
    first=$(sha256sum <"$1")
    second=$(sha256sum <"$2")
    [[ $first == "$second" ]]
}

# serve_socat NAME ADDRESS ADDRESS: starts a socat whose first address listens on a free port.
serve_socat() {
    log=$scratch/$1.log
    launch "$log" socat -d -d -b 65536 "${@:2}"
    server=$launched
    until_true 10 grep -qs 'listening on AF=2' "$log.err" || die "socat does not listen: $*"
    address=$(sed -n 's/.*listening on AF=2 //p' "$log.err" | head -n 1)
}

# ends_with_totals LOG: fails unless the last line of a server holds a number and is not the first.
ends_with_totals() {
    local last
    last=$(tail -n 1 "$1")
    echo "last line: $last"
    [[ $last != 'listening on '* && $last =~ [0-9] ]]
}
