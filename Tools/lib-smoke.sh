# shellcheck shell=bash
# The program, end to end, on input whose answers are known; sourced by Tools/test.

# expect WHAT ACTUAL EXPECTED
expect() {
    [[ $2 == "$3" ]] || fail "$1: expected '$3', got '$2'"
    printf 'ok  %s\n' "$1"
}

# expect_exit WHAT CODE COMMAND… (its output goes to $work/out and $work/err)
expect_exit() {
    local what=$1 code=$2 actual=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null || actual=$?
    [[ $actual -eq $code ]] || { cat "$work/err" >&2; fail "$what: expected exit $code, got $actual"; }
    printf 'ok  %s: exit %s\n' "$what" "$code"
}

# Writes commands to $1 and the expected sums to $2: 100 keyed notifications for each of 40 users in six threads and
# the app-level group; every second user then looks at the tray, and every fifth reads thread t1.
generate() {
    LC_ALL=C awk -v sums="$2" 'BEGIN {
        for (i = 1; i <= 4000; i++) {
            user = i % 40; thread = i % 7
            printf "{\"kind\":\"notify\",\"user\":\"u%02d\",\"key\":\"k%d\",\"category\":\"c%d\"", user, i, i % 3
            if (thread) printf ",\"thread\":\"t%d\"", thread
            printf ",\"title\":\"Nr %d \\u00fc \\\"\\ud83d\\ude80\\\"\",\"summaryArgument\":\"p%d\",\"data\":{\"n\":[%d,null]}}\n", i, i % 4, i
            read = user % 5 == 0 && thread == 1
            seen = user % 2 == 0 || read
            unread += !read; unseen += !seen
        }
        for (user = 0; user < 40; user++) {
            if (user % 2 == 0) printf "{\"kind\":\"seeTray\",\"user\":\"u%02d\"}\n\n", user
            if (user % 5 == 0) printf "{\"kind\":\"markAll\",\"user\":\"u%02d\",\"as\":\"read\",\"thread\":\"t1\"}\n", user
        }
        printf "%d %d 4000", unread, unseen > sums
    }' >"$1"
}

# The sums of unread, unseen and total over all trays of the store $2, by the program $1.
sums_of_users() {
    "$1" --store "$2" users --json | jq -rs '"\(map(.unread) | add) \(map(.unseen) | add) \(map(.total) | add)"'
}

# Every seq of a user's inbox, page by page: PROGRAM STORE USER LIMIT
walk_inbox() {
    local cursor=() page next
    while :; do
        page=$("$1" --store "$2" inbox "$3" --limit "$4" --json ${cursor[@]+"${cursor[@]}"})
        jq -r '.items[].seq' <<<"$page"
        next=$(jq -r '.next // empty' <<<"$page")
        [[ -n $next ]] || break
        cursor=(--cursor "$next")
    done
}

# smoke PROGRAM DIRECTORY
smoke() {
    local traylog=$1 work=$2 store=$2/smoke
    local summary='"\(.read) \(.appended) \(.unchanged) \(.duplicates) \(.refused) \(.head)"'
    generate "$work/smoke.jsonl" "$work/sums"

    expect_exit "no command" 64 "$traylog" --store "$store" no-such-command
    expect_exit "a query makes no store" 66 "$traylog" --store "$store" tray u01
    [[ ! -e $store ]] || fail "the query created $store"

    expect "append" "$("$traylog" --store "$store" append "$work/smoke.jsonl" --json | jq -r "$summary")" \
        "4028 4028 0 0 0 4028"
    expect "sums over users" "$(sums_of_users "$traylog" "$store")" "$(cat "$work/sums")"
    expect "tray of one user" \
        "$("$traylog" --store "$store" tray u02 --json | jq -r '"\(.isSeen) \(.unseen) \(.unread) \(.total) \(.newest)"')" \
        "true 0 100 100 3962"
    expect "pages of 7 show every item once, newest first" "$(walk_inbox "$traylog" "$store" u02 7)" "$(seq 3962 -40 2)"
    expect "groups hold every item" \
        "$("$traylog" --store "$store" threads u02 --json | jq -r '"\(.threads | length) \(.threads | map(.count) | add)"')" "7 100"
    expect "data stays as given" \
        "$("$traylog" --store "$store" inbox u02 --limit 1 --json | jq -c '.items[0].data')" '{"n":[3962,null]}'
    expect "the audit trail" "$("$traylog" --store "$store" history u02 --json | jq -rs 'map(.kind) | group_by(.) | map("\(.[0]) \(length)") | join(", ")')" \
        "notified 100, traySeen 1"
    expect "the log has no gap" "$("$traylog" --store "$store" log --json | jq .seq)" "$(seq 1 4028)"

    expect "again: every key is known, and only markAll is always stored" \
        "$("$traylog" --store "$store" append "$work/smoke.jsonl" --json | jq -r "$summary")" "4028 8 20 4000 0 4036"

    printf '%s\n' '{"kind":"notify","user":"u99"}' '' '{"kind":"notify","user":"u99","colour":1}' >"$work/bad.jsonl"
    expect_exit "a refusal" 65 "$traylog" --store "$store" append "$work/bad.jsonl" --json
    expect "it names its line" "$(jq -rs 'map(select(.error)) | "\(.[0].error) \(.[0].line)"' "$work/err")" "invalid 3"
    expect "what came before stays" "$("$traylog" --store "$store" tray u99 --json | jq .total)" 1
    "$traylog" --store "$store" append "$work/bad.jsonl" --json --skip-refused >"$work/out" 2>"$work/err" || true
    expect "or goes on" "$(jq -r "$summary" "$work/out")" "2 1 0 0 1 4038"
    expect "acknowledgements in order" \
        "$(printf '%s\n' '{"kind":"notify","user":"u99","key":"a"}' '{"kind":"notify","user":"u99","key":"a"}' '{"kind":"unmute","user":"u99","thread":"t"}' |
            "$traylog" --store "$store" append - --ack | jq -r 'select(.result) | "\(.line) \(.result) \(.seq)"' | tr '\n' ',')" \
        "1 appended 4039,2 duplicate 4039,3 unchanged null,"

    second_writer "$traylog" "$store"

    expect "replay" "$("$traylog" --store "$store" replay --json | jq -r '"\(.identical) \(.users)"')" "true 42"
    expect_exit "verify" 0 "$traylog" --store "$store" verify

    topics_and_time "$traylog" "$work/smoke-2"
    followers "$traylog" "$work/smoke-2"
}

# A tray in short: PROGRAM STORE USER [--as-of MOMENT]
tray_of() {
    "$1" --store "$2" tray "${@:3}" --json | jq -r '"\(.asOf): \(.total) \(.unseen) \(.unread)"'
}

# Broadcasts, snoozes, ticks, undo and the past, on a store of their own.
topics_and_time() {
    local traylog=$1 store=$2 time=2031-01-01T08:00:00Z
    expect_exit "a tick makes no store" 66 "$traylog" --store "$store" tick
    expect "subscribe" "$("$traylog" --store "$store" subscribe ann news)" "appended as event 1"
    "$traylog" --store "$store" subscribe bob news >/dev/null
    expect "broadcast" "$("$traylog" --store "$store" broadcast news --title Hello --key k --expires-at 2032-01-01T00:00:00Z --json)" \
        '{"result":"appended","seq":3}'
    expect "once for each key" "$("$traylog" --store "$store" broadcast news --title Hello --key k --expires-at 2032-01-01T00:00:00Z --json)" \
        '{"result":"duplicate","seq":3}'
    expect "it is in every tray" "$(tray_of "$traylog" "$store" ann), $(tray_of "$traylog" "$store" bob)" "3: 1 1 1, 3: 1 1 1"
    expect_exit "it is not a user's to change" 65 "$traylog" --store "$store" edit ann 3 --title Mine
    "$traylog" --store "$store" edit --broadcast 3 --title "Hello, all" >/dev/null
    expect "an edit is for everyone" "$("$traylog" --store "$store" inbox bob --json | jq -r '.items[].title')" "Hello, all"
    "$traylog" --store "$store" snooze ann 3 --until "$time" >/dev/null
    expect "snooze" "$(tray_of "$traylog" "$store" ann), $("$traylog" --store "$store" inbox ann --snoozed --json | jq .items[].seq)" "5: 0 0 0, 3"
    expect "nothing is due yet" "$("$traylog" --store "$store" tick --now 2031-01-01T07:59:59Z)" "woken 0, expired 0, head 5"
    expect "tick" "$("$traylog" --store "$store" tick --now "$time" --json)" '{"woken":1,"expired":0,"head":6}'
    expect "what woke is the newest" "$("$traylog" --store "$store" inbox ann --json | jq .items[0].position)" 6
    "$traylog" --store "$store" mark-all ann deleted >/dev/null
    expect "undo" "$("$traylog" --store "$store" undo ann 7), $(tray_of "$traylog" "$store" ann)" "appended as event 8, 8: 1 1 1"
    expect "before it" "$(tray_of "$traylog" "$store" ann --as-of 7), $(tray_of "$traylog" "$store" ann --as-of 5)" "7: 0 0 0, 5: 0 0 0"
    expect "before everything" "$(tray_of "$traylog" "$store" ann --as-of 2001-01-01T00:00:00Z)" "0: 0 0 0"
    expect "the log as of then" "$("$traylog" --store "$store" log --as-of 2 --json | jq -r .kind | tr '\n' ' ')" "subscribed subscribed "
    expect_exit "beyond the head" 65 "$traylog" --store "$store" users --as-of 9
    expect_exit "no moment" 64 "$traylog" --store "$store" users --as-of tomorrow
    "$traylog" --store "$store" unsubscribe bob news >/dev/null
    expect "a broadcast expires once" "$("$traylog" --store "$store" tick --now 2032-01-01T00:00:00Z --json)" '{"woken":0,"expired":1,"head":10}'
    expect "for everyone" "$(tray_of "$traylog" "$store" ann), $(tray_of "$traylog" "$store" bob)" "10: 0 0 0, 10: 0 0 0"
    expect "replay" "$("$traylog" --store "$store" replay --json | jq .identical)" true
    expect_exit "rebuild" 0 "$traylog" --store "$store" replay --rebuild
    expect "the past after it" "$(tray_of "$traylog" "$store" ann --as-of 8)" "8: 1 1 1"
}

# Waits until the file $1 has $2 lines.
await_lines() {
    local round
    for ((round = 0; round < 300; round++)); do
        [[ $(wc -l <"$1") -lt $2 ]] || return 0
        sleep 0.1
    done
    fail "$1 never had $2 lines: $(cat "$1")"
}

# `watch` and `log --follow` beside a program that writes, until they are told to end.
followers() {
    local traylog=$1 store=$2 watch follow
    "$traylog" --store "$store" watch ann --json >"$work/watch" &
    watch=$!
    "$traylog" --store "$store" log --follow --from 10 --json >"$work/follow" &
    follow=$!
    await_lines "$work/watch" 1
    await_lines "$work/follow" 1
    "$traylog" --store "$store" broadcast news --title "For ann" >/dev/null
    await_lines "$work/watch" 2
    "$traylog" --store "$store" see ann >/dev/null
    await_lines "$work/watch" 3
    await_lines "$work/follow" 3
    # By TERM: what the shell starts in the background has INT ignored.
    kill "$watch" "$follow"
    wait "$watch" "$follow"
    expect "watch" "$(jq -r '"\(.asOf) \(.unseen)"' "$work/watch" | tr '\n' ',')" "10 0,11 1,12 0,"
    expect "follow" "$(jq -r '"\(.seq) \(.kind)"' "$work/follow" | tr '\n' ',')" "10 expired,11 broadcast,12 traySeen,"
}

# While one process holds the store, another is sent away with the holder's pid, and readers are served.
second_writer() {
    local traylog=$1 store=$2 answer holder
    mkfifo "$work/commands"
    "$traylog" --store "$store" append - --ack <"$work/commands" >"$work/acks" &
    holder=$!
    exec 9>"$work/commands"
    printf '{"kind":"notify","user":"u98"}\n' >&9
    for ((answer = 0; answer < 100; answer++)); do
        [[ ! -s $work/acks ]] || break
        sleep 0.1
    done
    expect_exit "a second writer" 69 "$traylog" --store "$store" see u98
    grep -qw "$holder" "$work/err" || fail "the message does not name the writing process, $holder: $(cat "$work/err")"
    expect "a reader beside the writer" "$("$traylog" --store "$store" tray u98 --json | jq .unseen)" 1
    exec 9>&-
    wait "$holder"
}
