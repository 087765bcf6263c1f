# How programs are run on a mechanism of another system that a preloaded library emulates; sourced,
# never run. A violation that the emulation has noted fails the run.

source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

target=${CARGO_TARGET_DIR:-$root/target}
# What fails is shown by its last lines.
export RUST_BACKTRACE=0

# emulating BACKEND: what everything below is about from then on.
#
#   build       builds and runs tests of programs that can use the back end
#   violating   what every program may do: the reactor that serves any executor lives as long as
#               the process
#   closing     what those may do besides that close descriptors without removal, to see what comes;
#               a change that was gathered before may then be written for who has the number now
emulating() {
    backend=$1
    library=$target/debug/libwindlass_${backend}_emulation.so
    case $backend in
    devpoll)
        build=(cargo test --quiet)
        violating=''
        closing=closed-in-set,stale-add
        ;;
    kqueue)
        # A folder of its own, since the other builds would be done anew.
        build=(env RUSTFLAGS='--cfg windlass_kqueue' cargo test --quiet
            --target-dir "$target/kqueue")
        violating=queue-leaked
        closing=queue-leaked,closed-with-knotes
        ;;
    esac
}

# emulate BACKEND: the same, and builds the library.
emulate() {
    emulating "$1"
    cargo build --quiet -p "windlass-$1-emulation"
}

# test_binary TEST: builds a test program of the reactor and says where it is.
test_binary() {
    "${build[@]}" --no-run --message-format=json -p windlass-reactor --test "$1" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

# noting VARIANT ALLOWED COMMAND...: runs a command, which sets what it preloads itself.
noting() {
    local name=${backend^^}_EMULATION violations=$scratch/violations.$BASHPID
    rm -f "$violations"
    env "$name=$1" "${name}_ALLOW=$2" "${name}_LOG=$violations" \
        timeout --kill-after=5 600 "${@:3}"
    [[ ! -s $violations ]] || {
        sort "$violations" | uniq -c | head -n 20
        return 1
    }
}

# emulated VARIANT ALLOWED COMMAND...: runs a command on a variant, with some violations allowed.
emulated() {
    noting "$1" "$2" env LD_PRELOAD="$library" WINDLASS_TEST_ONLY="$backend" "${@:3}"
}

# contract BINARY VARIANT: the contract of the poller on a variant.
contract() {
    emulated "$2" "$violating" "$1" --skip lifetime::
    emulated "$2" "$closing" "$1" lifetime::
}
