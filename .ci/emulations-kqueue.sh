#!/usr/bin/env bash
# The suites on kqueue, which a preloaded library emulates, in a build that looks for one.
#
#   .ci/emulations-kqueue.sh                          all of it
#   ONLY='contract, netbsd*' .ci/emulations-kqueue.sh the checks whose names match
#
# The contract of the poller runs on each variant, everything else on the default one. A violation
# that the emulation has noted fails the check.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/checks.sh

target=${CARGO_TARGET_DIR:-$root/target}
library=$target/debug/libwindlass_kqueue_emulation.so
violations=$scratch/violations
host=$(rustc -vV | sed -n 's/^host: //p')
# A folder of its own, since the other builds would be done anew.
build=(env RUSTFLAGS='--cfg windlass_kqueue' cargo test --quiet --target-dir "$target/kqueue")
# The reactor that serves any executor lives as long as the process.
at_the_end=queue-leaked

# test_binary PACKAGE TEST: builds a test program and says where it is.
test_binary() {
    "${build[@]}" --no-run --message-format=json -p "$1" --test "$2" |
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
    env LD_PRELOAD="$library" WINDLASS_TEST_ONLY=kqueue KQUEUE_EMULATION="$1" \
        KQUEUE_EMULATION_ALLOW="$2" KQUEUE_EMULATION_LOG="$violations" \
        timeout --kill-after=5 300 "${@:3}"
    expect_none
}

# contract VARIANT: the contract; only its descriptors that are closed without removal may be that.
contract() {
    emulated "$1" "$at_the_end" "$contract" --skip lifetime::
    emulated "$1" "$at_the_end,closed-with-knotes" "$contract" lifetime::
}

# Random sequences against the model; those that close without removal may do that.
sequences() {
    export WINDLASS_MODEL_SECONDS=6
    emulated "$1" "$at_the_end" "$model" --skip faulty
    emulated "$1" "$at_the_end,closed-with-knotes" "$model" faulty
}

# suite ARGUMENT...: tests of packages, with a back end that is chosen as by any program.
suite() {
    local runner=CARGO_TARGET_${host^^}_RUNNER
    rm -f "$violations"
    env "${runner//-/_}=env LD_PRELOAD=$library KQUEUE_EMULATION_LOG=$violations \
        KQUEUE_EMULATION_ALLOW=$at_the_end" WINDLASS_BACKEND=kqueue \
        timeout --kill-after=5 600 "${build[@]}" --no-fail-fast "$@"
    expect_none
}

# What is counted, and how systems differ, by tests that preload the library themselves.
counted() {
    WINDLASS_KQUEUE_EMULATION=$library timeout --kill-after=5 300 "$counting"
}

# What is chosen where it, or what comes before it, is refused; likewise.
chosen() {
    WINDLASS_KQUEUE_EMULATION=$library timeout --kill-after=5 300 "$choosing"
}

# The emulation by itself.
scenarios() {
    WINDLASS_KQUEUE_EMULATION=$library timeout --kill-after=5 300 \
        cargo test --quiet -p windlass-kqueue-emulation
}

cargo build --quiet -p windlass-kqueue-emulation
contract=$(test_binary windlass-reactor contract)
counting=$(test_binary windlass-reactor kqueue)
choosing=$(test_binary windlass-reactor choice)
model=$(test_binary windlass-reactor model)

check 'the emulation of kqueue' scenarios
check 'what is asked of kqueue' counted
check 'the choice with kqueue' chosen
for variant in freebsd macos netbsd openbsd nouser noreceipt eintr=7 eintr=2 stale epipe \
    netbsd,nouser,noreceipt,stale,eintr=3; do
    check "contract, $variant" contract "$variant"
done
check 'model, default variant' sequences ''
check 'model, netbsd' sequences netbsd
check 'reactor on kqueue' suite -p windlass-reactor --lib --test choice --test signals \
    --test sources --test timers --test unattended --test wakers
check 'documentation of the reactor on kqueue' suite -p windlass-reactor --doc
check 'executor on kqueue' suite -p windlass-executor
check 'net on kqueue' suite -p windlass-net
check 'face and examples on kqueue' suite -p windlass -p windlass-examples
finish
