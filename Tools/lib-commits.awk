# Turns a repository's history into tray commands, one JSON object a line.
#
# Input: `git log -z --reverse --name-only --format='%x01%H%x02%aN%x02%aI%x02%s'` after `tr '\n\000' '\003\n'`, so that
# every field and every path is on its own line, whatever characters it has. Run with LC_ALL=C: lengths are bytes.
#
# An author who commits has looked at the tray (seeTray, if there is something new) and knows the folders of the commit
# (markAll read); everybody who touched one of these folders before is notified. All commands have keys, so that appending
# them again changes nothing. Variables: `alone`: 1 when there is only one author, whose commits are then those of three
# colleagues, because nobody is notified of their own; `busiest`: a file for the name of the person with most notifications.

function without_controls(text) {
    gsub(/[\001-\037\177]/, " ", text)
    gsub(/\302[\200-\237]/, " ", text)
    return text
}

# At most `bytes` bytes, never half a character.
function cut(text, bytes) {
    if (length(text) <= bytes) return text
    text = substr(text, 1, bytes + 1)
    while (text ~ /[\200-\277]$/) text = substr(text, 1, length(text) - 1)
    return substr(text, 1, length(text) - 1)
}

function json(text) {
    gsub(/\\/, "&&", text)
    gsub(/"/, "\\\\&", text)
    return "\"" text "\""
}

function folder_of(path, parts, count) {
    count = split(path, parts, "/")
    if (count == 1) return "top level"
    return cut(count == 2 ? parts[1] : parts[1] "/" parts[2], 256)
}

function name_of(path, parts, count) {
    count = split(path, parts, "/")
    return parts[count]
}

function join_folder(folder, person) {
    if ((folder, person) in touched) return
    touched[folder, person] = 1
    member[folder, ++members[folder]] = person
}

function notify(person, folder, order) {
    if (person == author) return
    printf "{\"kind\":\"notify\",\"user\":%s,\"key\":\"%s-%d\",\"thread\":%s,\"category\":\"commit\",\"title\":%s", \
        json(person), substr(hash, 1, 12), order, json(folder), json(subject)
    printf ",\"body\":%s,\"summaryArgument\":%s,\"actor\":%s,\"device\":\"git\",\"occurredAt\":\"%s\"}\n", \
        json(files[folder]), json(author), json(author), date
    waiting[person] = 1
    if (++notified[person] > most) { most = notified[person]; top = person }
}

function end_of_commit(order, folder, index_) {
    if (hash == "") return
    if (author in waiting) {
        printf "{\"kind\":\"seeTray\",\"user\":%s,\"key\":\"%s-see\",\"device\":\"git\",\"occurredAt\":\"%s\"}\n", \
            json(author), substr(hash, 1, 12), date
        delete waiting[author]
    }
    for (order = 1; order <= folders; order++) {
        if (!((folder_at[order], author) in touched)) continue
        printf "{\"kind\":\"markAll\",\"user\":%s,\"key\":\"%s-read-%d\",\"as\":\"read\",\"thread\":%s", \
            json(author), substr(hash, 1, 12), order, json(folder_at[order])
        printf ",\"device\":\"git\",\"occurredAt\":\"%s\"}\n", date
    }
    for (order = 1; order <= folders; order++) {
        folder = folder_at[order]
        if (count_in[folder] > 3) files[folder] = files[folder] " and " (count_in[folder] - 3) " more"
        for (index_ = 1; index_ <= members[folder]; index_++) notify(member[folder, index_], folder, order)
        join_folder(folder, author)
        delete files[folder]
        delete count_in[folder]
    }
    folders = 0
}

BEGIN { FS = "\002"; split("ann dora emil", colleague, " "); colleague[0] = colleague[3] }

/^\001/ {
    end_of_commit()
    hash = substr($1, 2)
    author = cut(without_controls($2), 256)
    if (author ~ /^ *$/) author = "someone"
    if (alone) author = colleague[index("0123456789abcdef", substr(hash, 1, 1)) % 3]
    date = $3
    subject = cut(without_controls($4), 1024)
    next
}

{
    sub(/^\003/, "")
    if ($0 == "") next
    path = without_controls($0)
    folder = folder_of(path)
    if (!(folder in count_in)) folder_at[++folders] = folder
    if (++count_in[folder] <= 3) files[folder] = files[folder] (count_in[folder] > 1 ? ", " : "") cut(name_of(path), 256)
}

END {
    end_of_commit()
    print top > busiest
}
