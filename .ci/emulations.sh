#!/usr/bin/env bash
# The suites on the mechanisms of other systems, which preloaded libraries emulate.
#
#   .ci/emulations.sh                                      /dev/poll, then kqueue
#   .ci/emulations.sh devpoll                              one of them
#   ONLY='contract, solaris*' .ci/emulations.sh devpoll    the checks whose names match
#
# The contract of the poller runs on each variant, one word at a time and some of them together
# (`product.sh` has all); everything else runs on the default variant.
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/emulated.sh

host=$(rustc -vV | sed -n 's/^host: //p')

# Random sequences against the model; those that close without removal may do that. A third of the
# time is for each test.
sequences() {
    export WINDLASS_MODEL_SECONDS=${2:-10}
    emulated "$1" "$violating" "$model" --skip faulty --nocapture --test-threads=1
    emulated "$1" "$closing" "$model" faulty --nocapture --test-threads=1
}

# suite ARGUMENT...: tests of packages, with a back end that is chosen as by any program.
suite() {
    local runner=CARGO_TARGET_${host^^}_RUNNER
    noting '' "$violating" env "${runner//-/_}=env LD_PRELOAD=$library" WINDLASS_BACKEND="$backend" \
        WINDLASS_TEST_ONLY="$backend" "${build[@]}" --no-fail-fast "$@"
}

# preloading COMMAND...: tests that preload the library themselves.
preloading() {
    env "WINDLASS_${backend^^}_EMULATION=$library" timeout --kill-after=5 600 "$@"
}

# on BACKEND VARIANT...: everything on one back end; its contract on the variants.
on() {
    local variant contract choosing counting
    emulate "$1"
    contract=$(test_binary contract)
    choosing=$(test_binary choice)
    counting=$(test_binary "$1")
    model=$(test_binary model)
    check "the emulation of $1" preloading cargo test --quiet -p "windlass-$1-emulation"
    check "what is asked of $1" preloading "$counting"
    check "the choice with $1" preloading "$choosing"
    for variant in "${@:2}"; do
        check "contract, $variant" contract "$contract" "$variant"
    done
    check "model of $1, default variant" sequences '' "${WINDLASS_MODEL_SECONDS:-10}"
    # The contract and the model have had their turn, with what only they may do.
    check "reactor on $1" suite -p windlass-reactor --lib "${of_reactor[@]}" --test signals \
        --test sources --test timers --test unattended --test wakers
    check "documentation of the reactor on $1" suite -p windlass-reactor --doc
    check "executor on $1" suite -p windlass-executor
    check "net on $1" suite -p windlass-net
    check "face and examples on $1" suite -p windlass -p windlass-examples
}

(($# > 0)) || set -- devpoll kqueue
for system in "$@"; do
    case $system in
    devpoll)
        of_reactor=(--test counts)
        on devpoll illumos solaris stale=silent solaris,stale=silent pipes=linux restart=no \
            eintr=7 solaris,eintr=2
        ;;
    kqueue)
        of_reactor=(--test choice)
        on kqueue freebsd macos netbsd openbsd nouser noreceipt eintr=7 eintr=2 stale epipe \
            netbsd,nouser,noreceipt,stale,eintr=3
        ;;
    *) die "unknown back end $system: devpoll or kqueue" ;;
    esac
done
finish
