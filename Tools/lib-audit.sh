# shellcheck shell=bash
# Proofs and reports against an implementation that shares nothing with the program, and the page of a report in a
# browser; sourced by Tools/test, after lib-smoke.sh.

# audit PROGRAM DIRECTORY: on the store that the smoke test has left.
audit() {
    local traylog=$1 work=$2 store=$2/smoke size
    local in="$work/audit"
    mkdir -p "$in"
    size=$("$traylog" --store "$store" stats --json | jq .head)
    "$traylog" --store "$store" export >"$in/log.jsonl"
    "$traylog" --store "$store" tree-head --json >"$in/head.json"
    "$traylog" keygen "$in/key" --name smoke.example >"$in/printed.pub"
    "$traylog" --store "$store" tree-head --sign "$in/key" >"$in/checkpoint"
    expect "the printed key is the one in the file" "$(cat "$in/printed.pub")" "$(cat "$in/key.pub")"
    expect "the private key is its owner's" "$(stat -c %a "$in/key")" 600
    prove_some "$traylog" "$store" "$size" "$in"
    check_proofs "$in" "hashed from the log"
    # The same once more, now from the stored tree.
    "$traylog" --store "$store" tree-head --save --json >"$in/head.json"
    prove_some "$traylog" "$store" "$size" "$in"
    check_proofs "$in" "from the stored tree"
    expect_exit "the log extends the checkpoint" 0 \
        "$traylog" --store "$store" verify --tree-head "$in/checkpoint" --public-key "$in/key.pub"
    sed 's/^smoke.example$/Smoke.example/' "$in/checkpoint" >"$in/forged"
    expect_exit "a forged checkpoint is found" 1 \
        "$traylog" --store "$store" verify --tree-head "$in/forged" --public-key "$in/key.pub"
    changed_bytes "$traylog" "$in"
    audit_page "$traylog" "$store" "$in"
}

# changed_bytes PROGRAM DIRECTORY: what is handed out, with each of its bytes changed, does not pass the other implementation.
changed_bytes() {
    local traylog=$1 in=$2 store=$2/handed-out
    "$traylog" --store "$store" append - >/dev/null <<'END'
{"kind":"notify","user":"ada","title":"One","body":"Two","actor":"bob","device":"phone","occurredAt":"2026-01-01T00:00:00Z"}
{"kind":"subscribe","user":"ada","topic":"news"}
{"kind":"broadcast","topic":"news","title":"All"}
{"kind":"mark","user":"ada","as":"read","items":[1]}
{"kind":"notify","user":"eve","title":"From ada","actor":"ada"}
END
    "$traylog" --store "$store" tree-head --sign "$in/key" >"$in/handed-out.head"
    "$traylog" --store "$store" prove 1 --disclose --json >"$in/handed-out.proof"
    "$traylog" --store "$store" audit ada --json --disclose >"$in/handed-out.report"
    "$traylog" --store "$store" dossier ada "$in/handed-out.person" >/dev/null
    cp "$in/handed-out.person/dossier.jsonl" "$in/handed-out.dossier"
    expect "no byte of a proof, a report and a dossier can be another one" \
        "$(PYTHONDONTWRITEBYTECODE=1 python3 - "$root/Tools" "$in" <<'END'
import sys

sys.path.insert(0, sys.argv[1])
import auditor

folder = sys.argv[2] + "/handed-out."
with open(folder + "head", encoding="utf-8") as note, open(sys.argv[2] + "/key.pub", encoding="utf-8") as key:
    text = note.read()
    auditor.Auditor([]).check_signature(text, key.read())
handed_out = auditor.HandedOut([auditor.signed_head(text)])
refused = (ValueError, KeyError, IndexError, TypeError, AttributeError, auditor.struct.error)
for name in ("proof", "report", "dossier"):
    assert handed_out.check_file(folder + name) > 0, name
    with open(folder + name, "rb") as file:
        whole = bytearray(file.read())
    for index in range(len(whole)):
        # A changed character, and one in the other case.
        for bit in (1, 32):
            changed = whole.copy()
            changed[index] ^= bit
            with open(folder + "changed", "wb") as file:
                file.write(changed)
            try:
                handed_out.check_file(folder + "changed")
            except refused:
                continue
            print(f"byte {index} of the {name} as {chr(changed[index])}:", bytes(changed[max(0, index - 20) : index + 20]))
END
)" ""
}

# prove_some PROGRAM STORE SIZE DIRECTORY
prove_some() {
    local size=$3 seq
    for seq in 1 2 63 256 257 1000 $((size - 1)) "$size"; do "$1" --store "$2" prove "$seq" --json; done >"$4/proofs.jsonl"
    "$1" --store "$2" prove 300 --as-of 999 --json >>"$4/proofs.jsonl"
    for seq in 0 1 2 255 256 1000 $((size - 1)) "$size"; do "$1" --store "$2" prove-consistency "$seq" "$size" --json; done \
        >"$4/growth.jsonl"
    "$1" --store "$2" audit u05 --json >"$4/report.jsonl"
}

# check_proofs DIRECTORY WHAT
check_proofs() {
    local reported
    reported=$(($(wc -l <"$1/report.jsonl") - 1))
    expect "another implementation agrees, $2" \
        "$(python3 "$root/Tools/auditor.py" "$1/log.jsonl" --tree-head "$1/head.json" --proof "$1/proofs.jsonl" \
            --consistency "$1/growth.jsonl" --report "$1/report.jsonl" --checkpoint "$1/checkpoint" --public-key "$1/key.pub")" \
        "$(wc -l <"$1/log.jsonl") events, 1 tree heads, 9 proofs, 8 consistency proofs, $reported reported events, 1 signed checkpoints"
}

# audit_page PROGRAM STORE DIRECTORY: what a browser makes of a report whose texts are hostile.
audit_page() {
    local page=$3/page.html dom=$3/page.dom browser
    local name='<script>alert(1)</script>"&'
    "$1" --store "$2" notify "$name" --title "</td><img src=x onerror=alert(2)>" --device "'\"><b>" >/dev/null
    "$1" --store "$2" notify "$name" --title $'\u202eevil' --actor "&lt;" >/dev/null
    "$1" --store "$2" mark-all "$name" read >/dev/null
    "$1" --store "$2" audit "$name" --trays --html "$page"
    if grep -qE '(src|href)="?[a-z]+:|@import|url\(' "$page"; then fail "the page loads something"; fi
    if ! browser=$(find_browser); then
        printf 'skipped: the page of a report in a browser: no Chromium here, and it could not be installed\n'
        return
    fi
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$page" >"$dom" 2>/dev/null
    expect "a browser shows every event" "$(grep -o '<tr id="event-' "$dom" | wc -l)" 3
    expect "a browser finds no markup in texts" "$(grep -ciE '<(script|img|b)[ >]' "$dom" || true)" 0
    expect "a browser leaves the page as it was written" "$(tr -d '\n' <"$dom" | sed 's/<!DOCTYPE html>//')" \
        "$(tr -d '\n' <"$page" | sed -e 's/<!DOCTYPE html>//' -e 's/&#39;/'"'"'/g' | sed -E ':a; s/(>[^<]*)&quot;/\1"/; ta')"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$3/page.pdf" "file://$page" 2>/dev/null
    expect "a browser prints it" "$(head -c 5 "$3/page.pdf")" "%PDF-"
}

# The name of a Chromium; false when there is none.
find_browser() {
    local name
    for name in chromium chromium-headless-shell chromium-browser google-chrome; do
        if has "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
    return 1
}
