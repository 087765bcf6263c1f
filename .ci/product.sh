#!/usr/bin/env bash
# The contract of the poller on every back end, times every combination of the words that make the
# variants of the emulated ones, times every notifier (by the contract itself).
#
#   .ci/product.sh              all of it
#   .ci/product.sh 2/5          the second fifth of it
#   JOBS=4 .ci/product.sh       so many at a time, since they sleep most of the time (default: 4)
#
# Prints a line for each combination and one for the whole. Not among the words: failing to open,
# which leaves nothing to run the contract on (reactor/tests/choice has it).
set -euo pipefail
cd "$(dirname "$0")/.."
source .ci/emulated.sh

part=${1:-1/1}
[[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] && ((${BASH_REMATCH[1]} <= ${BASH_REMATCH[2]})) ||
    die "not a part like 2/5: $part"
first=${BASH_REMATCH[1]} step=${BASH_REMATCH[2]}
jobs=${JOBS:-4}

# words LIST...: every way of taking one word of each list, as one variant a line; `-` is none.
words() {
    local variants=('') next list variant word
    for list in "$@"; do
        next=()
        for variant in "${variants[@]}"; do
            for word in $list; do
                [[ $word == - ]] && word='' || word=${variant:+,}$word
                next+=("$variant$word")
            done
        done
        variants=("${next[@]}")
    done
    printf '%s\n' "${variants[@]}"
}

combinations() {
    echo 'epoll here'
    echo 'poll here'
    words 'illumos solaris' '- stale=silent' '- restart=no' '- pipes=linux' '- eintr=3' |
        sed 's/^/devpoll /'
    words 'freebsd macos netbsd openbsd' '- nouser' '- noreceipt' '- epipe' '- stale' '- eintr=3' |
        sed 's/^/kqueue /'
}

# run BACKEND VARIANT: runs the contract.
run() {
    case $1 in
    epoll | poll) WINDLASS_TEST_ONLY=$1 timeout --kill-after=5 600 "$of_devpoll" ;;
    devpoll)
        emulating devpoll
        contract "$of_devpoll" "$2"
        ;;
    kqueue)
        emulating kqueue
        contract "$of_kqueue" "$2"
        ;;
    esac
}

# one BACKEND VARIANT: runs the contract and prints how that went.
one() {
    local log=$scratch/$1.$2.log start=$SECONDS status=0
    # Not as a condition, in which `set -e` would not hold.
    set +e
    (
        set -e
        run "$1" "$2"
    ) >"$log" 2>&1
    status=$?
    set -e
    if ((status == 0)); then
        echo "ok $1, $2 ($((SECONDS - start)) s)"
    else
        printf 'FAIL %s, %s\n%s\n' "$1" "$2" "$(tail -n 20 "$log" | cut -c 1-300)"
        echo "$1, $2" >>"$scratch/failures"
    fi
}

# Copies, which no other build replaces meanwhile.
of_devpoll=$scratch/contract.devpoll
of_kqueue=$scratch/contract.kqueue
emulate devpoll
cp "$(test_binary contract)" "$of_devpoll"
emulate kqueue
cp "$(test_binary contract)" "$of_kqueue"

total=0
while read -r backend variant; do
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n || true
    done
    one "$backend" "$variant" </dev/null &
    total=$((total + 1))
done < <(combinations | sed -n "$first~${step}p")
wait

failed=0
[[ ! -e $scratch/failures ]] || failed=$(wc -l <"$scratch/failures")
echo
echo "product: $((total - failed)) of $total combinations keep the contract ($SECONDS s)"
exit $((failed > 0))
