"""Checks a decision (Docs/reference/json.md, "Decisions"), knowing nothing of Traylog but its documents.

`auditor.py --check FILE --tree-head HEAD` is the way to run it.
"""

import hashlib

from audit_text import excerpt, member, same, written
from tray_fold import CONTENT, FIELDS, content_of, event_of, kind_of

DEFAULTS = {"summaryCount": 1, "silent": False, "level": "active"}


class Part:
    """A proved event of a decision."""

    def __init__(self, entry, prove):
        for name in entry:
            if name not in ("event", "proof", "disclosed"):
                raise ValueError(f"a proved event has no member {excerpt(name)}")
        self.leaf, payload = prove(entry)
        self.seq, self.kind, self.edits = self.leaf.seq, kind_of(self.leaf.kind), 0
        self.event, self.cleared = None, ()
        shown = member(entry, "event", dict, "an event")
        if payload is None:
            # What is left of an erased event.
            wanted = event_of("held", self.leaf.seq, self.leaf.revision, self.leaf.recorded, self.leaf.occurred, b"")
            wanted |= {"kind": self.kind, "user": f"erased-{self.leaf.stream}", "erased": True}
        else:
            wanted = self.event = event_of(
                self.kind, self.leaf.seq, self.leaf.revision, self.leaf.recorded, self.leaf.occurred, payload)
            content = content_of(self.kind, payload)
            self.edits = content.get("edits", 0) if self.kind in ("edited", "acted", "arrived") else 0
            self.cleared = [FIELDS[number][0] for number in content.get("cleared", ())]
        if not same(shown, wanted):
            raise ValueError(f"event {self.seq} does not show what the log says of it")


def check_decision(line, value, check_head, prove):
    """What a decision proves, in words.

    `check_head` takes a tree head and answers its size; `prove` takes an entry and answers the parts of its leaf and its payload.
    """
    body, found, seal = line.rpartition(b',"seal":"')
    if not found or seal != hashlib.sha256(body).hexdigest().encode() + b'"}':
        raise ValueError("the seal does not fit the file: a byte of it was changed, or a part of it left out")
    # Data is kept as it was given; all else there is one way to write.
    if b'"data":' not in line and line.decode() != written(value):
        raise ValueError("the file is not in the form that the program prints")
    head = member(value, "treeHead", dict, "the decision")
    size = check_head(head)
    parts = {name: [Part(entry, prove) for entry in entries_of(value, name)] for name in ("shown", "answers")}
    later = Part(member(value, "later", dict, "the decision"), prove) if "later" in value else None
    for entry in entries_of(value, "shown") + entries_of(value, "answers") + ([value["later"]] if later else []):
        if entry["proof"]["treeSize"] != size:
            raise ValueError("a proof leads to another tree")
    stated = member(value, "decision", dict, "the file")
    user = member(stated, "user", str, "the decision")
    if "erased" in stated:
        wanted, words = erased(user, stated, parts)
    else:
        wanted, words = decided(user, parts["shown"], parts["answers"], later)
    rest = ("treeHead", "shown", "answers") + (("later",) if later and "erased" not in stated else ()) + ("seal",)
    wanted |= {name: value[name] for name in rest}
    names = ["treeSize", "rootHash", "checkpoint", "path"]
    if list(head) != names[: max(2, len(head))] or list(wanted) != [name for name in value]:
        raise ValueError("the file has other members than a decision, or in another order")
    for name in ("decision", "text"):
        if name in wanted and not same(value[name], wanted[name]):
            raise ValueError(f"{name} is {excerpt(value[name])}, and its events say {excerpt(wanted[name])}")
    return f"{words}, proved by the tree head of {size} events with the root {head['rootHash']}"


def entries_of(value, name):
    entries = member(value, name, list, "the decision")
    if not all(type(entry) is dict for entry in entries):
        raise ValueError(f"{name} has something that is no event")
    return entries


def decided(user, shown, answers, later):
    for part in shown + answers + ([later] if later else []):
        if part.event is None:
            raise ValueError(f"event {part.seq} is shown without its content")
    if not shown or len(answers) != 1:
        raise ValueError("a decision has an item and one answer")
    origin, answer = shown[0], answers[0]
    item, event = origin.seq, answer.event
    if origin.kind not in ("notified", "broadcast") or origin.event.get("user") != (user if origin.kind == "notified" else None):
        raise ValueError(f"event {item} brought no item of {user}")
    base, edits, count = origin, shown[1:], 0
    if "notBefore" in origin.event:
        if not edits:
            raise ValueError(f"event {item} only planned an item, and its arrival is missing")
        base, edits = edits[0], edits[1:]
        if base.kind != "arrived" or base.event["item"] != item or base.leaf.stream != origin.leaf.stream or base.seq <= item:
            raise ValueError(f"event {base.seq} is no arrival of item {item}")
        count = base.edits
    text, last = {name: base.event[name] for name in CONTENT if name in base.event}, base.seq
    for edit in edits:
        count += 1
        check_edit(edit, origin, last, count)
        text, last = edited(text, edit), edit.seq
    if answer.kind != "acted" or event["item"] != item:
        raise ValueError(f"event {answer.seq} is no answer to item {item}")
    if event.get("user") != user or (answer.leaf.stream == origin.leaf.stream) != (origin.kind == "notified"):
        raise ValueError(f"event {answer.seq} is an answer of {event.get('user')}, not of {user}")
    if answer.edits != count:
        raise ValueError(f"event {answer.seq} answers an item with {answer.edits} edits, and {count} are shown")
    if item < last and event["asOf"] < last:
        raise ValueError(f"event {last} came after event {event['asOf']}, which was on the screen")
    labels = {action["id"]: action["label"] for action in text.get("actions", ())}
    if event["action"] not in labels:
        raise ValueError(f"the item has no action {event['action']}")
    if later:
        check_edit(later, origin, answer.seq, count + 1)
    outcome = {name: event[name] for name in ("action", "note") if name in event} | {
        "actor": event.get("actor", user), "seq": answer.seq, "at": event["recordedAt"], "asOf": event["asOf"]}
    decision = {"user": user, "item": item, "topic": origin.event.get("topic"), "title": text.get("title"),
                "label": labels[event["action"]], "later": later.seq if later else None}
    decision = {name: value for name, value in decision.items() if value is not None} | {"outcome": outcome}
    who = user if outcome["actor"] == user else f"{outcome['actor']}, for {user},"
    named = f'"{text["title"]}" (item {item})' if "title" in text else f"item {item}"
    words = (f'{who} answered "{event["action"]}" ({decision["label"]}) to {named} at {outcome["at"]}, as it was after event '
             f"{event['asOf']}" + (f", which was edited later, by event {later.seq}" if later else ""))
    return {"decision": decision, "text": text}, words


def check_edit(edit, origin, last, number):
    if edit.kind != "edited" or edit.event["item"] != origin.seq or edit.leaf.stream != origin.leaf.stream:
        raise ValueError(f"event {edit.seq} is no edit of item {origin.seq}")
    if edit.seq <= last:
        raise ValueError(f"event {edit.seq} comes after event {last}: the order is not that of the log")
    if edit.edits != number:
        raise ValueError(f"event {edit.seq} is edit {edit.edits} of the item, and edit {number} is missing")


def edited(text, edit):
    """The text after an edit; what is cleared, or has its default, is left out."""
    changed = dict(text)
    for name in CONTENT:
        if name in edit.event:
            changed[name] = edit.event[name]
            if name in edit.cleared or (name in DEFAULTS and same(changed[name], DEFAULTS[name])):
                del changed[name]
    return {name: changed[name] for name in CONTENT if name in changed}


def erased(user, stated, parts):
    """What is left of an erased person's decision."""
    shown, answers = parts["shown"], parts["answers"]
    item, number = member(stated, "item", int, "the decision"), user.removeprefix("erased-")
    if not (user.startswith("erased-") and number.isascii() and number.isdigit() and str(int(number)) == number):
        raise ValueError(f"{excerpt(user)} is nobody who was erased")
    if len(shown) != 1 or shown[0].seq != item or not answers:
        raise ValueError("what is left of a decision is the item and the answers after it")
    for part, kind in [(shown[0], "notified")] * (shown[0].event is None) + [(answer, "acted") for answer in answers]:
        if part.event is not None or part.kind != kind or part.leaf.stream != int(number):
            raise ValueError(f"event {part.seq} is no {kind} of {user}")
    if shown[0].event is not None and shown[0].kind != "broadcast":
        raise ValueError(f"event {item} is no broadcast")
    count = "1 answer stands" if len(answers) == 1 else f"{len(answers)} answers stand"
    words = f"{user} was erased: after item {item}, {count} in the log as the leaf alone, without what it says"
    return {"decision": {"user": user, "item": item, "erased": True}}, words
