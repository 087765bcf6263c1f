#!/usr/bin/env bash
# Has each system call of net fail with each error that its manual page names, and checks what comes
# of it against the table in tests/faults/src/table.rs.
#
#   .ci/injected.sh                 checks, prints the table, and compares it with tests/FAULTS.md
#   .ci/injected.sh --keep          and writes it there instead
#   .ci/injected.sh --only accept4  these rows, which are compared with nothing
#
# Needs strace, and the right to trace processes that it has started.
set -euo pipefail
cd "$(dirname "$0")/.."

kept=tests/FAULTS.md
cargo build --release --quiet -p windlass-faults
program=${CARGO_TARGET_DIR:-target}/release/windlass-faults

case ${1-} in
'')
    written=$(mktemp)
    trap 'rm -f "$written"' EXIT
    "$program" --write "$written"
    if ! diff -u "$kept" "$written"; then
        echo "$kept is not what came out; .ci/injected.sh --keep writes it"
        exit 1
    fi
    ;;
--keep) "$program" --write "$kept" ;;
*) "$program" "$@" ;;
esac
