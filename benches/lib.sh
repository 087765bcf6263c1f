# What the measuring and checking scripts share; sourced, never run.
#
# Servers print `listening on ADDR` on standard output. Everything that is started here is
# remembered, and ended by its own process id when the script ends, however it ends.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/benches/target/release
scratch=$(mktemp -d "${TMPDIR:-/tmp}/windlass.XXXXXX")
children=()

# Wide open: 15,000 connections take as many descriptors in the server and in the client.
ulimit -n "$(ulimit -Hn)"

# Ends whatever this shell has started and still runs.
end_children() {
    local child
    for child in "${children[@]}"; do
        kill -KILL "$child" 2>/dev/null || true
    done
    # One by one: a wait for all of them would have the shell tell of each that was killed.
    for child in "${children[@]}"; do
        wait "$child" 2>/dev/null || true
    done
}

# Ends the children and removes the scratch folder.
clean_up() {
    local status=$?
    trap - EXIT
    end_children
    rm -rf "$scratch"
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Says what went wrong and ends the script.
die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# need COMMAND PACKAGE: ends the script with the package's name if the command is not there.
need() {
    command -v "$1" >/dev/null || die "$1 is missing; install the package $2"
}

# build_tools [OPTION...]: builds the programs of benches/; with --workspace the peers as well.
build_tools() {
    cargo build --quiet --release --manifest-path "$root/benches/Cargo.toml" "$@"
}

# Builds the example $1 and says where it is.
build_example() {
    (cd "$root" && cargo build --quiet --release --example "$1")
    echo "$root/target/release/examples/$1"
}

# now_ms: milliseconds of the clock.
now_ms() {
    local now=${EPOCHREALTIME//[.,]/}
    echo $((now / 1000))
}

# until_true SECONDS COMMAND...: repeats a command until it succeeds; fails when time is up.
until_true() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    while ! "$@"; do
        (($(now_ms) < end)) || return 1
        sleep 0.05
    done
}

# running PID: whether it is there and not only waiting to be collected.
running() {
    local state
    state=$(process_field "$1" 3 2>/dev/null) && [[ $state != Z && $state != X ]]
}

# process_field PID N: field N of /proc/PID/stat; the name in field 2 may hold blanks.
process_field() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    read -ra fields <<<"${stat##*) }"
    echo "${fields[$2 - 3]}"
}

# cpu_ticks PID: processor time used so far, user and system, in clock ticks.
cpu_ticks() {
    echo $(($(process_field "$1" 14) + $(process_field "$1" 15)))
}

# cpu_ns PID: processor time of all threads so far, in nanoseconds.
cpu_ns() {
    cat "/proc/$1/task/"*/schedstat | awk '{ total += $1 } END { printf "%.0f", total }'
}

# rss_kib PID: resident memory.
rss_kib() {
    awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}

# descriptors PID: how many are open.
descriptors() {
    local all=("/proc/$1/fd/"*)
    echo ${#all[@]}
}

# has_descriptors PID COUNT: whether so many, or fewer, are open.
has_descriptors() {
    (($(descriptors "$1") <= $2))
}

# holds_descriptors PID COUNT: whether so many, or more, are open.
holds_descriptors() {
    (($(descriptors "$1") >= $2))
}

# launch LOG COMMAND...: starts a child and leaves its process id in $launched.
#
# A shell without job control starts its children with SIGINT ignored; they get the default back,
# as they would have it at a terminal.
launch() {
    local log=$1
    shift
    # Whoever looks before the child has begun must not find what an earlier one has written.
    rm -f "$log" "$log.err"
    env --default-signal=INT,QUIT "$@" >"$log" 2>"$log.err" </dev/null &
    launched=$!
    children+=("$launched")
}

# listens PID LOG: whether the server has said where it listens, or has ended.
listens() {
    grep -qs '^listening on ' "$2" || ! running "$1"
}

# serve NAME COMMAND...: starts a server, waits until it listens, and leaves its process id in
# $server, its address in $address and its output in $log.
serve() {
    log=$scratch/$1.log
    shift
    launch "$log" "$@"
    server=$launched
    until_true 60 listens "$server" "$log" || die "does not listen: $*"
    address=$(awk '/^listening on / { print $3; exit }' "$log")
    [[ -n $address ]] || die "ended early: $*: $(cat "$log.err")"
}

declare -A process where
# start NAME COMMAND...: starts a proxy on the first processor, with what $passes_on has for all of
# them; its process id is in ${process[NAME]} then, its address in ${where[NAME]}.
start() {
    serve "$1" taskset -c 0 "${@:2}" "${passes_on[@]}"
    process[$1]=$server where[$1]=$address
}

# quantile FILE COLUMN PART: of the numbers in a column; PART 0.5 is the median.
quantile() {
    awk -v column="$2" '{ print $column }' "$1" | sort -n | awk -v part="$3" '
        { value[NR] = $1 }
        END { print value[1 + int((NR - 1) * part)] }'
}

# stop PID [SECONDS] [SIGNAL]: asks a child to end and waits; leaves its exit status in $stopped.
# Fails when it had to be killed.
stop() {
    local pid=$1 bound=${2:-10} signal=${3:-INT} late=0
    kill -"$signal" "$pid" 2>/dev/null || true
    until_true "$bound" not running "$pid" || late=1
    ((late == 0)) || kill -KILL "$pid" 2>/dev/null || true
    stopped=0
    wait "$pid" 2>/dev/null || stopped=$?
    forget "$pid"
    return $late
}

# not COMMAND...: the other way round.
not() {
    ! "$@"
}

# forget PID: it has ended and was collected; its number may be somebody else's by now.
forget() {
    local kept=() child
    for child in "${children[@]}"; do
        [[ $child == "$1" ]] || kept+=("$child")
    done
    children=("${kept[@]}")
}
