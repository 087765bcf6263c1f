#!/usr/bin/env bash
# Ten producers notify one consumer a million times, by condition variables, descriptors and wakers.
#
#   benches/notify.sh                       nine rounds of all, a few minutes
#   benches/notify.sh --quick               three rounds
#   benches/notify.sh --means pthread,windlass
#   benches/notify.sh >benches/results/notify.md
#
# Prints tables in Markdown. System calls are counted in a run of their own, by perf or strace.
set -euo pipefail
cd "$(dirname "$0")"
cargo build --quiet --release -p windlass-peers
echo '# Notifications'
echo
exec target/release/notify "$@"
