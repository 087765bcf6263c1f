#!/usr/bin/env bash
# Tasks, timers and fairness on windlass and on its peers, in one interleaved run.
#
#   benches/executor.sh                     every row, every runtime, all rounds
#   benches/executor.sh --quick             three rounds, shorter
#   benches/executor.sh --rows spawn,hog --runtimes windlass,smol --rounds 3
#   benches/executor.sh --list              the rows
#   benches/executor.sh >benches/results/executor.md
#
# Prints a table in Markdown. For rows that count it needs valgrind, and perf or strace. On a quiet
# machine all of it takes about half an hour, most of it for the row in which a task blocks its thread
# for ten seconds (with --stuck-seconds 2 it takes a quarter of an hour).
set -euo pipefail
cd "$(dirname "$0")"
cargo build --quiet --release -p windlass-peers
echo '# Executors'
echo
exec target/release/executor "$@"
