#!/usr/bin/env bash
# The suites on the mechanisms of other systems, which preloaded libraries emulate.
#
#   .ci/emulations.sh                             all of it
#   ONLY='contract, solaris*' .ci/emulations.sh   the checks whose names match
#
# The contract of the poller runs on each variant of /dev/poll, everything else on the default one.
# A violation that the emulation has noted fails the check.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/checks.sh

target=${CARGO_TARGET_DIR:-$root/target}
library=$target/debug/libwindlass_devpoll_emulation.so
violations=$scratch/violations
# What fails is shown by its last lines.
export RUST_BACKTRACE=0

# test_binary PACKAGE TEST: builds a test program and says where it is.
test_binary() {
    cargo test --quiet --no-run --message-format=json -p "$1" --test "$2" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

# Fails if the emulation has noted a violation.
expect_none() {
    [[ ! -s $violations ]] || {
        sort "$violations" | uniq -c | head -n 20
        return 1
    }
}

# emulated VARIANT ALLOWED COMMAND...: runs a command on a variant, violations allowed or not.
emulated() {
    rm -f "$violations"
    env LD_PRELOAD="$library" WINDLASS_TEST_ONLY=devpoll DEVPOLL_EMULATION="$1" \
        DEVPOLL_EMULATION_ALLOW="$2" DEVPOLL_EMULATION_LOG="$violations" \
        timeout --kill-after=5 300 "${@:3}"
    expect_none
}

# contract VARIANT: the contract; only its descriptors that are closed in the set may be that.
contract() {
    emulated "$1" '' "$contract" --skip lifetime::
    emulated "$1" closed-in-set "$contract" lifetime::
}

# Random sequences against the model; those that close without removal may do that.
sequences() {
    export WINDLASS_MODEL_SECONDS=6
    emulated "$1" '' "$model" --skip faulty
    emulated "$1" closed-in-set "$model" faulty
}

# suite ARGUMENT...: tests of packages, with a back end that is chosen as by any program.
suite() {
    local runner=CARGO_TARGET_${host^^}_RUNNER
    rm -f "$violations"
    env "${runner//-/_}=env LD_PRELOAD=$library DEVPOLL_EMULATION_LOG=$violations" \
        WINDLASS_BACKEND=devpoll WINDLASS_TEST_ONLY=devpoll timeout --kill-after=5 600 \
        cargo test --quiet --no-fail-fast "$@"
    expect_none
}

# What is counted, by tests that preload the library themselves.
counted() {
    WINDLASS_DEVPOLL_EMULATION=$library timeout --kill-after=5 600 "$counting"
}

# What is chosen where it, or what comes before it, is refused; likewise.
chosen() {
    WINDLASS_DEVPOLL_EMULATION=$library timeout --kill-after=5 300 "$choosing"
}

# The emulation by itself.
scenarios() {
    WINDLASS_DEVPOLL_EMULATION=$library timeout --kill-after=5 300 \
        cargo test --quiet -p windlass-devpoll-emulation
}

cargo build --quiet -p windlass-devpoll-emulation
host=$(rustc -vV | sed -n 's/^host: //p')
contract=$(test_binary windlass-reactor contract)
counting=$(test_binary windlass-reactor devpoll)
choosing=$(test_binary windlass-reactor choice)
model=$(test_binary windlass-reactor model)

check 'the emulation of /dev/poll' scenarios
check 'what is written to /dev/poll' counted
check 'the choice with /dev/poll' chosen
for variant in illumos solaris stale=silent solaris,stale=silent pipes=linux restart=no \
    eintr=7 solaris,eintr=2; do
    check "contract, $variant" contract "$variant"
done
check 'model, default variant' sequences ''
# The contract and the model have had their turn, with what only they may do.
check 'reactor on /dev/poll' suite -p windlass-reactor --lib --test counts --test signals \
    --test sources --test timers --test unattended --test wakers
check 'documentation of the reactor on /dev/poll' suite -p windlass-reactor --doc
check 'executor on /dev/poll' suite -p windlass-executor
check 'net on /dev/poll' suite -p windlass-net
check 'face and examples on /dev/poll' suite -p windlass -p windlass-examples
finish
