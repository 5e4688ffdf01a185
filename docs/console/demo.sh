#!/bin/sh
# Serves the console on a throw-away SQLite file with a desk on which people have worked: make demo-console.
# The first argument is applockctl; the others are for its console.
set -eu
applockctl=$1
shift

folder=$(mktemp -d)
waiters=
clean() {
    trap - EXIT INT TERM
    for waiter in $waiters; do kill "$waiter" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM

APPLOCK_DSN="sqlite:$folder/applock.db"
export APPLOCK_DSN

lock() { "$applockctl" get "$1" --operator "$2" --department "$3" --ttl "$4" --quiet; }
await() {
    "$applockctl" get "$1" --operator "$2" --department "$3" --wait 1d --quiet >/dev/null 2>&1 &
    waiters="$waiters $!"
}

# Repeats what a support tool does while a page is open.
stay() {
    while "$applockctl" "$@" --quiet >/dev/null 2>&1; do sleep 20; done &
    waiters="$waiters $!"
}

"$applockctl" migrate up --quiet
lock customer:7 nightly-job operations 1s
lock customer:42 pking sales 7d
lock customer:43 jdoe sales 2d
lock customer:1017 asmith service 36h
lock customer:1018 asmith service 45m
lock customer:2044 pking sales 20m
lock order:88120 jdoe sales 8h
lock order:88121 bjones billing 3d
lock order:88155 bjones billing 5h
lock invoice:2024-0917 bjones billing 10d
lock invoice:2024-0921 cwu billing 55m
lock contract:K-331 dhall legal 30d
lock report:month-end nightly-job operations 90m
"$applockctl" transfer customer:42 --from pking --to jdoe --to-department sales --by mlee --reason "jdoe knows the customer" --quiet
"$applockctl" note customer:42 --operator jdoe "waits for documents until Friday" --quiet
"$applockctl" note contract:K-331 --operator dhall "with the notary, call before you touch it" --quiet
"$applockctl" transfer customer:1017 --from asmith --to pking --to-department sales --by mlee --reason "asmith is on holiday" --quiet
"$applockctl" transfer order:88155 --from bjones --to cwu --to-department billing --by mlee --reason "month-end, bjones has too much" --quiet
lock order:87990 asmith service 2d
"$applockctl" release order:87990 --operator asmith --by mlee --reason "left open by mistake" --quiet
sleep 1
lock customer:7 asmith service 4d
await customer:42 asmith service
await customer:42 bjones billing
await invoice:2024-0917 cwu billing
await report:month-end pking sales
stay see customer:42 --operator jdoe --department sales --state editing
stay see customer:42 --operator cwu --department billing
stay see contract:K-331 --operator mlee
stay ask customer:42 --operator asmith --department service --message "the customer is on the phone"
sleep 1

"$applockctl" console --by mlee --may-change mlee "$@" &
console=$!
waiters="$waiters $console"
wait "$console"
