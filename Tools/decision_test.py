#!/usr/bin/env python3
"""Changes decisions in every way, before `traylog check` and auditor.py: Tools/decision_test.py PROGRAM [SEED].

Each change has a seal that fits it, so that the rules find it, and not the seal; the same without a new seal is found, too.
"""

import hashlib
import itertools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import auditor

ACTIONS = [{"id": "yes", "label": "Pay"}, {"id": "no", "label": "Do not \u00fc"}]


def sealed(value):
    """The file of a decision, with the seal that fits."""
    value = {name: member for name, member in value.items() if name != "seal"}
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    return body + b',"seal":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'


class Log:
    """A store with decisions of two people, of items and of broadcasts, edited before and after."""

    def __init__(self, program, directory, seed):
        self.program, self.directory, self.random = program, directory, random.Random(seed)
        self.decisions = {}
        self.perform({"kind": "subscribe", "user": "ann", "topic": "news"}, {"kind": "subscribe", "user": "bob", "topic": "news"})

    def run(self, *words, feed=None, code=0):
        done = subprocess.run([self.program, "--store", self.directory, *map(str, words)], input=feed, capture_output=True, text=True, check=False)
        if done.returncode != code:
            sys.exit(f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def perform(self, *commands):
        answers = self.run("append", "-", "--ack", feed="".join(json.dumps(command, separators=(",", ":")) + "\n" for command in commands))
        return [json.loads(line).get("seq") for line in answers.splitlines()[:-1]]

    def decide(self, is_broadcast, before, after, is_planned=False):
        """A question of some edits, an answer of each person, and edits after it; a planned one arrives after half of the edits."""
        content = {"title": f"Pay {self.random.randrange(100)} to Bob?", "actions": ACTIONS, "thread": "t"}
        if self.random.random() < 0.5:
            content["data"] = {"n": [1, None, "x"]}
        command = {"kind": "broadcast", "topic": "news"} if is_broadcast else {"kind": "notify", "user": "ann"}
        if is_planned:
            content["notBefore"] = "2090-01-01T00:00:00Z"
        (item,) = self.perform(command | content)
        who = {} if is_broadcast else {"user": "ann"}
        edits = [{"title": "Pay 2?"}, {"body": "Now"}, {"title": "Pay 3?", "level": "critical"}, {"body": None}, {"summaryCount": 2}]
        for number, edit in enumerate(itertools.islice(itertools.cycle(edits), before)):
            if is_planned and number == before // 2:
                self.run("tick", "--now", "2090-01-02T00:00:00Z")
            self.other()
            self.perform({"kind": "edit", "item": item, **who, **edit})
        self.run("tick", "--now", "2090-01-02T00:00:00Z")
        for user in ("ann", "bob")[: 1 + is_broadcast]:
            self.other()
            as_of = json.loads(self.run("tray", user, "--json"))["asOf"]
            self.perform({"kind": "act", "user": user, "item": item, "action": self.random.choice(("yes", "no")), "note": "ok", "asOf": as_of})
        for edit in itertools.islice(itertools.cycle(edits), after):
            self.perform({"kind": "edit", "item": item, **who, **edit, "summaryArgument": f"after {self.random.randrange(2**32)}"})
            self.other()
        return item

    def other(self):
        """What others do meanwhile."""
        (item,) = self.perform({"kind": "notify", "user": "ann", "title": "Other", "actions": ACTIONS})
        self.perform({"kind": "edit", "user": "ann", "item": item, "title": "Other 2"}, {"kind": "seeTray", "user": "bob"})

    def head(self):
        return json.loads(self.run("tree-head", "--json"))


class Checkers:
    """The two implementations."""

    def __init__(self, program, directory):
        self.program, self.directory = program, Path(directory)

    def __call__(self, content, head, what, is_right=False):
        """Expects both to accept the file, or to find something."""
        file, head_file = self.directory / "file", self.directory / "head"
        file.write_bytes(content + b"\n")
        head_file.write_text(json.dumps(head))
        own = subprocess.run([self.program, "check", file, "--tree-head", head_file], capture_output=True, text=True, check=False)
        other = auditor.HandedOut([head])
        try:
            other.check_file(str(file))
            words, is_proved = other.decision, other.decision is not None
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            words, is_proved = f"{type(error).__name__}: {error}", False
            if not isinstance(error, ValueError):
                sys.exit(f"{what}: auditor.py did not foresee it: {words}")
        found = (own.returncode == 0, is_proved)
        if found != (is_right, is_right):
            sys.exit(f"{what}: the program says {own.returncode}: {own.stdout}{own.stderr}\nauditor.py says: {words}")
        if is_right:
            said = own.stdout.removeprefix("true: ").removesuffix(", signature not looked at\n")
            if said != words:
                sys.exit(f"{what}: the program says {said!r}, and auditor.py {words!r}")
        return words


def manipulate(check, value, head, others, foreign):
    """Every way to change a decision."""

    def changed(what, **members):
        check(sealed({name: member for name, member in (value | members).items() if member is not None}), head, what)

    shown, (answer,), later, decision, text = value["shown"], value["answers"], value.get("later"), value["decision"], value["text"]
    changed("the text", text=text | {"title": "Pay 10000 to Eve"})
    changed("the stated title", decision=decision | {"title": "Pay 10000 to Eve"})
    changed("the stated answer", decision=decision | {"outcome": decision["outcome"] | {"action": "maybe"}})
    changed("the label", decision=decision | {"label": "Never"})
    for name, time in (("at", "2020-01-01T00:00:00.000Z"), ("asOf", decision["outcome"]["asOf"] - 1), ("actor", "eve"), ("seq", 1)):
        changed(f"{name} of the outcome", decision=decision | {"outcome": decision["outcome"] | {name: time}})
    for entry in ("event", "proof", "disclosed"):
        changed(f"{entry} of the answer left out", answers=[{name: part for name, part in answer.items() if name != entry}])
    changed("the answer's time", answers=[answer | {"event": answer["event"] | {"recordedAt": "2020-01-01T00:00:00.000Z"}}])
    changed("the item's text", shown=[shown[0] | {"event": shown[0]["event"] | {"title": "Eve"}}, *shown[1:]])
    changed("the item left out", shown=shown[1:])
    changed("no answer", answers=[])
    changed("an answer twice", answers=[answer, answer])
    for index in range(1, len(shown)):
        rest = shown[:index] + shown[index + 1 :]
        changed("a hidden edit", shown=rest)
        # Even with a text that fits what is left.
        changed("a hidden edit, and a text that fits", shown=rest, text=text_of(rest), decision=decision | {"title": text_of(rest).get("title")})
        changed("an edit twice", shown=shown[: index + 1] + shown[index:])
    for one, two in itertools.combinations(range(len(shown)), 2):
        swapped = list(shown)
        swapped[one], swapped[two] = swapped[two], swapped[one]
        changed("two events swapped", shown=swapped, text=text_of(swapped[:1] + sorted(swapped[1:], key=lambda one: one["event"]["seq"])))
    if later:
        changed("the later edit as one that was shown", shown=[*shown, later], later=None)
        without = {name: part for name, part in value.items() if name != "later"}
        check(json.dumps(without, ensure_ascii=False, separators=(",", ":")).encode(), head, "a hidden later edit")
        changed("a hidden later edit that is still stated", later=None)
        changed("another event in place of the later edit", later=answer)
    elif len(shown) > 1:
        changed("an edit that was shown as a later one", shown=shown[:-1], later=shown[-1])
    for other in others:
        if other["decision"] == decision:
            continue
        changed("another decision's answer", answers=other["answers"])
        if other["shown"] != shown:
            changed("another decision's item", shown=other["shown"])
        changed("another decision's user", decision=decision | {"user": other["decision"]["user"] + "x"})
        if "later" in other and other["later"] != later:
            changed("another decision's later edit", later=other["later"])
        # The whole of another person's answer, under the first one's name.
        check(sealed(other | {"decision": other["decision"] | {"user": "eve"}}), head, "another user's answer")
    check(sealed(value), foreign, "another log's head")
    check(sealed(value | {"treeHead": foreign}), foreign, "another log's head, stated too")
    check(sealed(value), {**head, "treeSize": head["treeSize"] - 1}, "a head of another size")
    content = sealed(value)
    for _ in range(12):
        at = random.randrange(len(content))
        check(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], head, f"byte {at}")
    check(content + b"\n" + content, head, "twice")
    changed("a member more", more=1)


def text_of(shown):
    text = {name: part for name, part in shown[0]["event"].items() if name in (
        "thread", "title", "body", "summaryArgument", "summaryCount", "level", "actions", "data")}
    for edit in shown[1:]:
        for name, part in edit["event"].items():
            if name in ("title", "body", "summaryArgument", "summaryCount", "level"):
                text[name] = part
    return {name: part for name, part in text.items() if part is not None}


def decisions(program, work, seed):
    log, foreign = Log(program, f"{work}/store", seed), Log(program, f"{work}/other", seed + 1)
    check = Checkers(program, work)
    items = [(log.decide(is_broadcast, before, after), is_broadcast) for is_broadcast in (False, True) for before in (0, 1, 4) for after in (0, 2)]
    items += [(log.decide(is_broadcast, before, after, is_planned=True), is_broadcast) for is_broadcast in (False, True) for before, after in ((0, 1), (3, 0))]
    head = log.head()
    while foreign.head()["treeSize"] < head["treeSize"]:
        foreign.other()
    (unanswered,) = log.perform({"kind": "notify", "user": "ann", "title": "?", "actions": ACTIONS})
    head, other_head = log.head(), json.loads(foreign.run("tree-head", "--as-of", head["treeSize"], "--json"))
    other_head["treeSize"] = head["treeSize"]
    if "notAnswered" not in subprocess.run([program, "--store", log.directory, "--json", "decision", "ann", str(unanswered)],
                                           capture_output=True, text=True, check=False).stderr:
        sys.exit("an item without an answer is not refused as one")
    log.run("decision", "ann", unanswered, code=65)
    files = [json.loads(log.run("decision", user, item, "--json", "--as-of", head["treeSize"]))
             for item, is_broadcast in items for user in ("ann", "bob")[: 1 + is_broadcast]]
    for value in files:
        print(f"  {check(sealed(value), head, 'a decision', is_right=True)}")
    # Some, and the one with the most events.
    for value in random.sample(files, 5) + [max(files, key=lambda value: len(value["shown"]))]:
        manipulate(check, value, head, random.sample(files, 4), other_head)
    left(log, check, items, f"{work}/archive")


def left(log, check, items, archive):
    """What left the log needs an archive; of somebody who was erased the leaves stand."""
    log.run("compact", "--before", log.head()["treeSize"], "--archive", archive)
    head, is_needed = log.head(), 0
    for item, is_broadcast in items:
        for user in ("ann", "bob")[: 1 + is_broadcast]:
            asked = subprocess.run([log.program, "--store", log.directory, "--json", "decision", user, str(item)], capture_output=True, text=True, check=False)
            is_needed += asked.returncode == 65 and '"error":"compacted"' in asked.stderr
            if asked.returncode not in (0, 65):
                sys.exit(f"a decision after a compaction: exit {asked.returncode}: {asked.stderr}")
            check(log.run("decision", user, item, "--json", "--archive", archive).encode()[:-1], head, "a decision with its archive", is_right=True)
    if not is_needed:
        sys.exit("no edit left the log")
    log.run("erase", "ann", "--yes")
    (name,) = {json.loads(line)["user"] for line in log.run("log", "--kind", "erased", "--json").splitlines()}
    head = log.head()
    for item, _ in items:
        value = json.loads(log.run("decision", name, item, "--json"))
        print(f"  {check(sealed(value), head, 'what is left', is_right=True)}")
        check(sealed(value | {"decision": value["decision"] | {"user": "erased-0"}}), head, "somebody else who was erased")
        check(sealed(value | {"answers": value["answers"][:-1] + value["shown"]}), head, "an item as an answer")
        if value["shown"][0]["event"].get("erased"):
            more = value["shown"][0] | {"event": value["shown"][0]["event"] | {"title": "Eve"}}
            check(sealed(value | {"shown": [more]}), head, "more than is left")


def main():
    program = str(Path(sys.argv[1]).resolve())
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    print(f"seed {seed}")
    random.seed(seed)
    with tempfile.TemporaryDirectory() as work:
        decisions(program, work, seed)
    print("ok  decisions, whole and manipulated, before two checkers")


if __name__ == "__main__":
    main()
