#!/usr/bin/env bash
# Type-checks the workspace for systems that are not here.
#
#   .ci/check-targets.sh [-W] [-k] [TARGET...] [-- CARGO-ARGUMENT...]
#
#   .ci/check-targets.sh                               the default targets, whole workspace
#   .ci/check-targets.sh -- -p windlass-reactor
#   .ci/check-targets.sh x86_64-unknown-illumos -- -p windlass-reactor --tests
#
#   -W   a warning is a failure, too
#   -k   say what would be used for each target, and check nothing
#
# Prints one line per target ("ok ..." or "FAIL ..."), the messages of the compiler for those that
# fail on standard error, and exits with 1 if any failed, 2 if it could not even try.
#
# Nothing is linked, so that no linker, C library or headers of the target are needed; only the
# standard library is, and it is taken from the first of
#   1. the Rust toolchain in use, if it has that target installed (rustup target add TARGET);
#   2. the source of the standard library of the toolchain in use (the rustup component rust-src),
#      built with -Zbuild-std;
#   3. Debian's rustc-web, cargo-web and rust-web-src, likewise. They are installed when missing if
#      this runs as root where apt-get is; the standard library takes about half a minute per target
#      the first time.
# A crate with a build script that compiles C cannot be checked this way.
#
# Environment:
#   CHECK_TARGETS       default list of targets
#   CHECK_TARGETS_DIR   where to build (default: <target dir>/check-targets)
#   CHECK_TARGETS_CMD   check (default), or clippy where cargo-clippy is there

set -u
set -o pipefail

default_targets="x86_64-unknown-illumos x86_64-pc-solaris
x86_64-unknown-freebsd x86_64-unknown-netbsd x86_64-unknown-openbsd
x86_64-unknown-dragonfly x86_64-apple-darwin aarch64-apple-darwin"

die() { echo "check-targets: $*" >&2; exit 2; }
usage() { sed -n '2,14p' "$0" | sed 's/^# \{0,1\}//'; exit 2; }

deny_warnings=0
dry=0
targets=()
args=()
while [ $# -gt 0 ]; do
    case "$1" in
    -W) deny_warnings=1 ;;
    -k) dry=1 ;;
    -h|--help) usage ;;
    --) shift; args=("$@"); break ;;
    -*) die "unknown option $1 (cargo's own go behind --)" ;;
    *) targets+=("$1") ;;
    esac
    shift
done
if [ ${#targets[@]} -eq 0 ]; then
    read -r -a targets <<< "$(echo ${CHECK_TARGETS:-$default_targets})"
fi

cmd=${CHECK_TARGETS_CMD:-check}

cd "$(dirname "$0")/.." || exit 2

# Only the messages are wanted: keep the build folder small.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

# --tests and --all-targets need the crate "test" as well.
std=std,panic_abort
for a in ${args[@]+"${args[@]}"}; do
    case "$a" in
    --tests|--test|--test=*|--all-targets|--benches|--bench|--profile=test)
        std=std,panic_abort,test ;;
    esac
done

own_sysroot=
if command -v cargo > /dev/null && own_sysroot=$(rustc --print sysroot 2> /dev/null); then
    :
else
    own_sysroot=
fi

has_std() {    # SYSROOT TARGET
    compgen -G "$1/lib/rustlib/$2/lib/libstd-*.rlib" > /dev/null
}

has_src() {    # SYSROOT
    [ -f "$1/lib/rustlib/src/rust/library/std/Cargo.toml" ]
}

# Debian's toolchain, installed on demand.
debian_ready() {
    [ -x /usr/bin/rustc ] && [ -x /usr/bin/cargo ] && has_src "$(/usr/bin/rustc --print sysroot)"
}

debian_tried=
debian_install() {
    debian_ready && return 0
    [ -z "$debian_tried" ] || return 1
    debian_tried=1
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 1
    echo "check-targets: installing rustc-web cargo-web rust-web-src" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get install -y -q --no-install-recommends rustc-web cargo-web rust-web-src ||
        { apt-get update -q && apt-get install -y -q --no-install-recommends \
        rustc-web cargo-web rust-web-src; }; } > "${TMPDIR:-/tmp}/check-targets-apt.$$" 2>&1 ||
        { tail -5 "${TMPDIR:-/tmp}/check-targets-apt.$$" >&2; return 1; }
    rm -f "${TMPDIR:-/tmp}/check-targets-apt.$$"
    debian_ready
}

# Backtraces take a quarter of the time, and nothing of them is called from outside of it.
std_features='-Zbuild-std-features='

# Sets how for a target: installed, source or debian; fails if there is no way.
choose() {
    if [ -n "$own_sysroot" ] && has_std "$own_sysroot" "$1"; then
        how=installed
    elif [ -n "$own_sysroot" ] && has_src "$own_sysroot"; then
        how=source
    elif debian_ready || { [ $dry = 0 ] && debian_install; }; then
        how=debian
    else
        return 1
    fi
}

run() {        # TARGET: what cargo says goes to standard output
    case $how in
    installed)
        cargo "$cmd" --target "$1" --target-dir "$dir" ${args[@]+"${args[@]}"} ;;
    source)
        RUSTC_BOOTSTRAP=1 cargo "$cmd" --target "$1" "-Zbuild-std=$std" "$std_features" \
            --target-dir "$dir" ${args[@]+"${args[@]}"} ;;
    debian)
        # Not the rustc and cargo of PATH, which may be rustup's.
        env -u RUSTUP_TOOLCHAIN RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc \
            /usr/bin/cargo "$cmd" --target "$1" "-Zbuild-std=$std" "$std_features" \
            --target-dir "$dir" ${args[@]+"${args[@]}"} ;;
    esac 2>&1
}

dir=${CHECK_TARGETS_DIR:-${CARGO_TARGET_DIR:-target}/check-targets}
if [ $dry = 0 ]; then
    mkdir -p "$dir/log" || die "cannot write to $dir"
    dir=$(cd "$dir" && pwd)
fi

failed=0
for t in "${targets[@]}"; do
    if ! choose "$t"; then
        echo "FAIL $t: neither a standard library for it nor the source of one" \
            "(rustup target add $t; or be root where apt-get is)"
        failed=1
        continue
    fi
    if [ $dry = 1 ]; then
        echo "$t: $how"
        continue
    fi
    log=$dir/log/$t
    start=$SECONDS
    if run "$t" > "$log"; then
        took=$((SECONDS - start))
        # The standard library's own warnings are capped, these are ours.
        n=$(grep -c '^warning: `.*generated' "$log")
        if [ "$n" -gt 0 ] && [ $deny_warnings = 1 ]; then
            echo "FAIL $t: warnings ($how, ${took}s)"
            grep -A12 '^warning' "$log" | sed "s/^/$t: /" | head -60 >&2
            failed=1
        else
            echo "ok $t ($how, ${took}s$([ "$n" -gt 0 ] && echo ", warnings"))"
        fi
    else
        echo "FAIL $t ($how, $((SECONDS - start))s, $(grep -c '^error' "$log") errors)"
        { grep -m1 -A60 '^error' "$log" || tail -20 "$log"; } | sed "s/^/$t: /" >&2
        failed=1
    fi
done
exit $failed
