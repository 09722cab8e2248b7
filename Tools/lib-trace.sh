# shellcheck shell=bash
# The real trace: messages among students, where every message is a notification; sourced by Tools/test.

# processor_time INPUT OUTPUT COMMAND…: milliseconds that the command computes, on all processors together.
processor_time() {
    local input=$1 output=$2 took
    shift 2
    took=$({ TIMEFORMAT='%U %S'; LC_ALL=C; time "$@" <"$input" >"$output" 2>&3; } 3>&2 2>&1)
    awk '{ printf "%d", ($1 + $2) * 1000 }' <<<"$took"
}

# trace PROGRAM DIRECTORY FILE
trace() {
    local traylog=$1 work=$2 file=$3 store=$2/trace took turn turns=0 ours theirs
    if [[ ! -f $file ]]; then
        printf 'skipped: %s is not there (TRAYLOG_TRACE names another)\n' "$file"
        return
    fi
    gzip -dc -- "$file" >"$work/trace.jsonl"

    # In turn, each append into a new store, and the processor time of all turns counts: that of one differs by half from the
    # next, most of all jq's. There are more turns where it is close.
    ours=0
    theirs=0
    for turn in {1..15}; do
        ((turn <= 3 || ours >= theirs)) || break
        rm -rf -- "$store"
        took=$(processor_time "$work/trace.jsonl" "$work/out" "$traylog" --store "$store" append - --json)
        ((ours += took, 1))
        took=$(processor_time "$work/trace.jsonl" /dev/null jq -c .)
        ((theirs += took, turns = turn))
    done
    expect "append" "$(jq -r '"\(.read) \(.appended) \(.unchanged) \(.duplicates) \(.refused) \(.head)"' "$work/out")" \
        "149033 124855 24178 0 0 124855"
    printf '    append %d ms, jq -c . %d ms of processor time, of %d turns\n' $((ours / turns)) $((theirs / turns)) "$turns"
    ((ours < theirs)) || fail "append took longer than jq takes to read the same lines"

    expect "users" "$("$traylog" --store "$store" users --json | wc -l)" 1862
    expect "sums over users" "$(sums_of_users "$traylog" "$store")" "21599 3656 59835"
    expect "tray of user-32" \
        "$("$traylog" --store "$store" tray user-32 --json | jq -r '"\(.unread) \(.total) \(.seenUpTo) \(.newest)"')" \
        "123 501 124663 124663"
    expect "first group of user-9" \
        "$("$traylog" --store "$store" threads user-9 --json | jq -r '.threads[0].summary')" "6 more notifications from User 1644"
    expect "replay" "$("$traylog" --store "$store" replay --json | jq .identical)" true

    "$traylog" --store "$store" append - --json <"$work/trace.jsonl" >"$work/out"
    expect "again: duplicates, refused" "$(jq -r '"\(.duplicates) \(.refused)"' "$work/out")" "59835 0"
    expect "again: no notification twice" "$("$traylog" --store "$store" log --kind notified --json | wc -l)" 59835
    expect "again: total over users" "$(sums_of_users "$traylog" "$store" | cut -d' ' -f3)" 59835
    expect_exit "verify" 0 "$traylog" --store "$store" verify
}
