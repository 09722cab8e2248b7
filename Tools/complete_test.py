#!/usr/bin/env python3
"""Holds two implementations to what a complete history promises: Tools/complete_test.py PROGRAM [SEED]

It makes random histories (topics joined and left, edits, retractions, undo, collapse keys, snoozes, ticks, people erased),
writes complete files of them, and changes these in every way that a dishonest owner of a log might. The program and
auditor.py must accept what is whole, and find each change.
"""

import base64
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import auditor

USERS, TOPICS = ("ann", "bo", "cy"), ("news", "sport", "quiet")
# What is scheduled arrives between the ticks, or never.
LATER = ("2027-01-15T00:00:00Z", "2027-02-15T00:00:00Z", "2100-01-01T00:00:00Z")


class Log:
    """A store, and what the test must know of it."""

    def __init__(self, program, directory, seed):
        self.program, self.store, self.random = program, directory, random.Random(seed)
        self.head = 0
        self.items = {user: [] for user in USERS}
        self.broadcasts, self.marks = [], {user: [] for user in USERS}

    def run(self, *arguments, input=None):
        done = subprocess.run(
            [self.program, "--store", self.store, *arguments], input=input, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{arguments}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def perform(self, commands):
        """Performs commands; those that the rules refuse are left out."""
        # Compact, as the store shows it: a line that is read and written again is the same.
        text = "".join(written(command).decode() + "\n" for command in commands)
        answers = self.run("append", "-", "--ack", "--skip-refused", input=text)
        for command, answer in zip(commands, map(json.loads, answers.splitlines())):
            if answer["result"] != "appended":
                continue
            seq, kind, user = answer["seq"], command["kind"], command.get("user")
            if kind == "notify":
                self.items.setdefault(user, []).append(seq)
            elif kind == "broadcast":
                self.broadcasts.append(seq)
            elif kind in ("seeTray", "mark", "markAll"):
                self.marks[user].append(seq)

    def command(self):
        pick, chance = self.random.choice, self.random.random
        user = pick(USERS)
        items = self.items[user] + self.broadcasts
        kind = pick(
            ("notify",) * 6 + ("broadcast",) * 4 + ("act",) * 4 + ("seeTray", "markAll", "mute", "unmute", "snooze", "wake", "edit") * 2
            + ("mark",) * 5 + ("retract", "subscribe", "subscribe", "unsubscribe", "undo", "undo"))
        command = {"kind": kind, "user": user, "device": "phone"}
        if chance() < 0.2:
            command["actor"] = pick(USERS)
        if kind in ("notify", "broadcast"):
            command |= {
                "title": f"T {self.random.randrange(1000)} ü", "category": pick(("a", "b\u0301")), "thread": pick("xyz"),
                "silent": chance() < 0.1, "level": pick(("passive", "active", "critical")),
                "summaryCount": self.random.randrange(4), "data": {"n": [chance(), None, "\u2028"]},
            }
            if chance() < 0.3:
                del command["thread"]
            if chance() < 0.2:
                command["expiresAt"] = "2026-01-01T00:00:00Z"
            if chance() < 0.3:
                command["actions"] = [{"id": "yes", "label": "Yes ü"}, {"id": "no", "label": "No"}]
            if chance() < 0.2:
                command["remindAt"] = "2026-01-01T00:00:00Z"
            if chance() < 0.25:
                command["notBefore"] = pick(LATER)
                for name in ("expiresAt", "remindAt"):
                    if name in command:
                        command[name] = "2101-01-01T00:00:00Z"
        if kind == "notify" and chance() < 0.4:
            command["collapseKey"] = pick("kl")
        if kind == "broadcast":
            del command["user"]
            command["topic"] = pick(TOPICS[:2])
        if kind in ("subscribe", "unsubscribe"):
            command["topic"] = pick(TOPICS)
        if kind in ("mute", "unmute"):
            command |= pick(({"thread": pick("xyz")}, {"category": "a"}, {"topic": pick(TOPICS)}, {"all": True}))
        if kind == "mute" and chance() < 0.5:
            command["until"] = "2026-01-15T00:00:00Z"
        if kind == "markAll":
            command["as"] = pick(("seen", "read", "archived", "deleted"))
            command |= pick(({}, {"thread": pick("xyz")}, {"thread": None}, {"category": "a"}))
        if kind == "mark":
            if not items:
                return None
            command["as"] = pick(("seen", "read", "unread", "archived", "unarchived", "deleted", "restored"))
            command["items"] = [pick(items)]
        if kind in ("snooze", "wake", "edit", "retract", "act"):
            if not items:
                return None
            command["item"] = pick(items)
        if kind in ("edit", "retract") and command["item"] in self.broadcasts:
            del command["user"]
        if kind == "snooze":
            command["until"] = "2026-02-01T00:00:00Z"
        if kind == "act":
            command["action"] = pick(("yes", "no"))
            if chance() < 0.5:
                command["note"] = "because"
            if chance() < 0.5:
                command["asOf"] = command["item"]
        if kind == "edit":
            command |= pick((
                {"title": "E"}, {"body": "B", "title": None}, {"summaryCount": None}, {"level": "critical"},
                {"remindAt": "2026-01-20T00:00:00Z"}, {"remindAt": None}, {"notBefore": pick(LATER)}))
        if kind == "undo":
            if not self.marks[user]:
                return None
            command["event"] = pick(self.marks[user])
        return command

    def live(self, commands):
        self.perform([command for command in (self.command() for _ in range(commands)) if command])


    def inserted(self, body, event, head, texts):
        """The lines with an event of the log among them, proved and with counts that fit; of a topic without content."""
        seq = event["seq"]
        proof = json.loads(self.run("prove", str(seq), "--disclose", "--as-of", str(head["treeSize"]), "--json"))
        disclosed = {name: proof.pop(name) for name in ("salt", "payload")}
        place = next(index for index in texts if texts[index]["proof"]["seq"] > seq)
        counts = next((texts[index]["before"] for index in texts if index >= place and "before" in texts[index]), None)
        line = {"event": event, "before": counts, "after": counts, "proof": proof, "disclosed": disclosed}
        if "topic" in event:
            line = {"topic": event["topic"], "proof": proof}
        return body[:place] + [written(line)] + body[place:]


def chained(lines):
    """The lines of a file with the last line that fits them."""
    chain = bytes(32)
    for line in lines:
        chain = hashlib.sha256(chain + line).digest()
    return lines + [b'{"chain":"%s"}' % chain.hex().encode()]


def written(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Checkers:
    """The two implementations."""

    def __init__(self, program, directory):
        self.program, self.directory = program, Path(directory)

    def __call__(self, lines, head, what, finding=None):
        """Expects both to accept the file, or to find a difference and say `finding`."""
        file, head_file = self.directory / "file", self.directory / "head"
        file.write_bytes(b"".join(line + b"\n" for line in lines))
        head_file.write_text(json.dumps(head))
        own = subprocess.run(
            [self.program, "check", file, "--complete", "--tree-head", head_file], capture_output=True, text=True,
            check=False)
        try:
            words, other = auditor.HandedOut([head]).check_complete(str(file)), 0
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            words, other = f"{type(error).__name__}: {error}", 1
        wanted = 0 if finding is None else 1
        said = own.stdout + own.stderr
        if own.returncode != wanted or other != wanted:
            sys.exit(f"{what}: the program says {own.returncode}: {said}\nauditor.py says {other}: {words}")
        for text in (said, words) if finding else ():
            if not any(part in text for part in (finding if isinstance(finding, tuple) else (finding,))):
                raise SystemExit(f"{what}: it should say {finding}, and says: {text}")
        return said


def event_lines(lines):
    return [index for index, line in enumerate(lines) if b'"proof":' in line]


def manipulate(log, check, lines, head, user):
    """Every way to change a file, each with the last line made anew."""
    body, pick = lines[:-1], log.random.choice
    events = event_lines(body)
    texts = {index: json.loads(body[index]) for index in events}

    def changed(what, new, finding, other_head=None):
        check(chained(new), other_head or head, f"{what}, {user}", finding)

    for index in log.random.sample(events, min(len(events), 12)):
        without = body[:index] + body[index + 1 :]
        missing = ("missing", "not joined", "did not join", "nobody joined", "no broadcast shows", "is not in the tray",
                   "did not reach the tray")
        changed("an event removed", without, missing)
    for _ in range(4):
        at = pick(range(len(events) - 1))
        (one, two), new = events[at : at + 2], list(body)
        new[one], new[two] = new[two], new[one]
        changed("two events swapped", new, ("comes after", "not what the event before it left", "did not join", "did not reach the tray"))
    cut = pick(events[1:])
    changed("the end cut off", body[:cut], ("the end of the file", "missing"))
    rest = [line for line in body if b'"proof":' not in line][1:]
    changed("the newest events left out", body[: events[-1]] + rest, "is missing")
    other = next(name for name in USERS if name != user)
    foreign = [json.loads(line) for line in log.other_files[other] if b'"proof":' in line and b'"topic":' not in line]
    stranger = pick([line for line in foreign if line["proof"]["seq"] < head["treeSize"]])
    changed("an event of another user inserted", log.inserted(body, stranger["event"], head, texts), (f"is of {other}", "is not of"))
    for event in log.unheard:
        changed("a broadcast after the last subscription inserted", log.inserted(body, event, head, texts), "the file shows")
    heard = [index for index in events if texts[index].get("event", {}).get("kind") == "broadcast" and "after" in texts[index]]
    if heard:
        index = pick(heard)
        changed("a received broadcast removed", body[:index] + body[index + 1 :], "missing")
        bare = {name: texts[index][name] for name in ("topic", "proof")}
        changed("a received broadcast hidden", body[:index] + [written(bare)] + body[index + 1 :],
                ("without its content", "left", "before", "did not reach the tray"))
    ends = [index for index in events if texts[index].get("event", {}).get("kind") == "unsubscribed"]
    if ends:
        index = pick(ends)
        line = texts[index]
        line["event"]["topicRevision"] += 1
        changed("the end of a subscription moved", body[:index] + [written(line)] + body[index + 1 :],
                ("payload", "is not shown as its payload"))
        moved = body[:index] + body[index + 1 :]
        moved.insert(index + 3, body[index])
        changed("the end of a subscription moved down", moved,
                ("comes after", "without its content", "counts", "before", "missing", "comes after the items"))
    counted = [index for index in events if "after" in texts[index]]
    index = pick(counted)
    line = json.loads(body[index])
    line["after"]["unread"] += 1
    changed("a count changed", body[:index] + [written(line)] + body[index + 1 :], ("after", "counts"))
    tray = next(index for index, line in enumerate(body) if line.startswith(b'{"tray":'))
    line = json.loads(body[tray])
    line["tray"]["unseen"] += 1
    changed("a count of the tray changed", body[:tray] + [written(line)] + body[tray + 1 :], "tray")
    items = [index for index, line in enumerate(body) if line.startswith(b'{"item":')]
    if items:
        index = pick(items)
        changed("an item removed", body[:index] + body[index + 1 :], "is not stated")
        line = json.loads(body[index])
        line["item"]["read"] = not line["item"]["read"]
        changed("an item changed", body[:index] + [written(line)] + body[index + 1 :], ("read", "stands"))
        line = json.loads(body[index])
        line["item"]["title"] = "Forged"
        decided = [index for index in items if b'"outcome":' in body[index]]
        if decided:
            at = pick(decided)
            answer = json.loads(body[at])
            answer["item"]["outcome"]["actor"] = "mallory"
            changed("who decided changed", body[:at] + [written(answer)] + body[at + 1 :], "outcome")
        changed("an item's text changed", body[:index] + [written(line)] + body[index + 1 :], "title")
    changed("another tree head", body, ("root",), {**head, "rootHash": head["rootHash"][::-1]})
    later = json.loads(log.run("tree-head", "--json"))
    if later["treeSize"] > head["treeSize"]:
        changed("a later tree head", body, str(later["treeSize"]), later)
    changed("another log's head", body, ("root",), log.foreign_head(head["treeSize"]))


def history(program, work, seed):
    log = Log(program, f"{work}/store-{seed}", seed)
    check = Checkers(program, work)
    for tick in range(3):
        log.live(120)
        log.run("tick", "--now", f"2027-0{tick + 1}-01T00:00:00Z")
    log.perform([{"kind": "notify", "user": "dee", "title": "Soon erased"}, {"kind": "subscribe", "user": "dee", "topic": "news"}])
    log.run("erase", "dee", "--yes")
    log.live(60)
    for user in USERS:
        log.run("subscribe", user, "quiet") if log.random.random() < 0.3 else None
    # Everybody left this topic before anything was said in it.
    log.perform([{"kind": kind, "user": user, "topic": "brief"} for user in USERS for kind in ("subscribe", "unsubscribe")])
    log.perform([{"kind": "broadcast", "topic": "brief", "title": "Nobody hears it"}])
    log.unheard = [json.loads(line) for line in log.run("log", "--kind", "broadcast", "--newest-first", "--limit", "1", "--json").splitlines()]
    log.other_files, heads = {}, {}
    for user in USERS:
        text = log.run("audit", user, "--complete", "--actor", "eve", "--purpose", "a test")
        log.other_files[user] = text.encode().splitlines()
        heads[user] = json.loads(text.split("\n", 1)[0])["treeHead"]
    log.foreign_head = lambda size: {"treeSize": size, "rootHash": hashlib.sha256(str(seed).encode()).hexdigest()}
    for user in USERS:
        said = check(log.other_files[user], heads[user], f"the file of {user}")
        print(f"  {said.splitlines()[0]}")
        manipulate(log, check, log.other_files[user], heads[user], user)
    erased_and_archived(log, check, f"{work}/archive-{seed}")


def erased_and_archived(log, check, archive):
    """Somebody who was erased leaves a skeleton; what a compaction removed is named, and archives add it."""

    def complete(user, *more):
        lines = log.run("audit", user, "--complete", *more).encode().splitlines()
        return lines, json.loads(lines[0])["treeHead"]

    names = {json.loads(line)["user"] for line in log.run("log", "--kind", "erased", "--json").splitlines()}
    for name in names:
        before = json.loads(log.run("stats", "--json"))["head"]
        lines, head = complete(name)
        if json.loads(log.run("stats", "--json"))["head"] != before:
            sys.exit(f"an event was appended for {name}")
        check(lines, head, f"the file of {name}")
        check(chained(lines[:1] + lines[2:-1]), head, f"an erased event removed, {name}", "missing")
        cut = [line for line in lines[:-1] if b'"kind":"erased"' not in line]
        check(chained(cut), head, f"the 'erased' of {name} removed", "ends with 'erased'")
    log.perform([{"kind": "markAll", "user": user, "as": "deleted"} for user in USERS])
    log.run("compact", "--before", str(json.loads(log.run("stats", "--json"))["head"]), "--archive", archive)
    for user in USERS:
        lines, head = complete(user)
        check(lines, head, f"the compacted file of {user}", "missing")
        lines, head = complete(user, "--archive", archive)
        check(lines, head, f"the file of {user} with archives")


def main():
    program = str(Path(sys.argv[1]).resolve())
    # The same three each time by default; others every night.
    nightly = os.environ.get("TRAYLOG_TESTS") == "nightly"
    seeds = [random.randrange(2**32) if nightly else seed for seed in (1, 2, 3)]
    if len(sys.argv) > 2:
        seeds = [int(sys.argv[2])]
    for seed in seeds:
        print(f"seed {seed}")
        with tempfile.TemporaryDirectory() as work:
            history(program, work, seed)
    print(f"ok  {len(seeds)} histories, whole and manipulated, before two checkers")


if __name__ == "__main__":
    main()
