"""The events of a user and what they come to, from the documents alone: payloads as Docs/internals/format/event.proto has
them, and the fold of Docs/concepts.md.

It keeps no content: hashes, and what an undo has to take back.
"""

import bisect
import json
from typing import NamedTuple

from audit_text import ABSENT, digest, parse, parts, rfc3339, varint

# Docs/internals/format.md, "Kinds": their numbers begin with 1.
KINDS = (
    "notified traySeen marked allMarked muted unmuted snoozed woken edited retracted subscribed unsubscribed broadcast "
    "undone expired erased compacted held released lost acted reminded audited arrived"
).split()
LEVELS = {1: "passive", 2: "active", 3: "timeSensitive", 4: "critical"}
MARKS = {1: "seen", 2: "read", 3: "unread", 4: "archived", 5: "unarchived", 6: "deleted", 7: "restored"}
ENUMS = (LEVELS, MARKS)
# The members that an event of a kind must have.
REQUIRED = {
    "traySeen": ("upTo",), "marked": ("as",), "allMarked": ("as", "upTo"), "snoozed": ("item", "until"), "woken": ("item",),
    "edited": ("item",), "retracted": ("item",), "subscribed": ("topic",), "unsubscribed": ("topic",), "broadcast": ("topic",),
    "undone": ("event",), "expired": ("item",), "compacted": ("through", "dropped"), "acted": ("item", "action"),
    "reminded": ("item",), "arrived": ("item", "notifiedAt"),
}
# No command marks more.
MOST_ITEMS = 1_000
# The members of an item that events can change later, and those that none does.
CHANGING = ("title", "body", "summaryArgument", "summaryCount", "level", "expiresAt", "data", "remindAt")
LASTING = ("key", "topic", "thread", "category", "collapseKey", "silent", "actor", "occurredAt", "recordedAt", "arrivedAt", "actions")
STANDING = ("seq", "position", "muted", "seen", "read", "archived", "snoozedUntil")
OUTCOME = ("action", "note", "actor", "seq", "at", "asOf")
# Docs/internals/format/event.proto: number, JSON name, type.
FIELDS = {
    1: ("user", str), 2: ("topic", str), 3: ("key", str), 4: ("actor", str), 5: ("device", str), 10: ("thread", str),
    11: ("category", str), 12: ("title", str), 13: ("body", str), 14: ("summaryArgument", str), 15: ("summaryCount", int),
    16: ("silent", bool), 17: ("level", LEVELS), 18: ("expiresAt", "time"), 19: ("collapseKey", str), 20: ("data", json),
    21: ("notBefore", "time"), 22: ("itemKey", str), 23: ("notifiedAt", "time"), 24: ("upTo", int), 25: ("as", MARKS), 26: ("items", "packed"), 27: ("item", int), 28: ("until", "time"),
    29: ("unthreaded", bool), 30: ("event", int), 31: ("cleared", "packed"), 32: ("dropped", int), 33: ("archive", str),
    34: ("through", int), 35: ("topicRevision", int), 36: ("all", bool), 37: ("remindAt", "time"),
    38: ("actions", {"id": str, "label": str}), 39: ("spans", {"topic": str, "from": int, "to": int}), 40: ("action", str),
    41: ("note", str), 42: ("purpose", str), 43: ("topicRevisions", {"topic": str, "revision": int}),
    44: ("asOf", int), 45: ("edits", int),
}

# The members of an event, in the order in which JSON shows them (Docs/reference/json.md, "Events").
ORDER = (
    "seq", "revision", "recordedAt", "occurredAt", "kind", "user", "key", "actor", "device", "topic", "topicRevision", "item", "itemKey", "notifiedAt",
    "event", "action", "as", "items", "thread", "category", "all", "title", "body", "summaryArgument", "summaryCount", "silent", "level",
    "expiresAt", "remindAt", "notBefore", "collapseKey", "actions", "data", "upTo", "until", "note", "asOf", "spans", "through", "dropped",
    "archive", "purpose", "topicRevisions",
)

# The members that an event of a kind shows; its payload may hold other fields, which mean nothing.
ANY = ("user", "key", "actor", "device")
CONTENT = (
    "thread", "category", "title", "body", "summaryArgument", "summaryCount", "silent", "level", "expiresAt", "remindAt", "collapseKey",
    "actions", "data",
)
BRINGING = ("notified", "broadcast", "arrived")
SHOWN = {
    "notified": (*CONTENT, "notBefore"), "traySeen": ("upTo",), "marked": ("as", "items"),
    "allMarked": ("as", "thread", "unthreaded", "category", "upTo"), "muted": ("thread", "category", "topic", "all", "until"),
    "unmuted": ("thread", "category", "topic", "all"), "snoozed": ("item", "until"), "woken": ("item",),
    "edited": (
        "item", "title", "body", "summaryArgument", "summaryCount", "level", "expiresAt", "remindAt", "notBefore", "data",
        "cleared", "edits"),
    "retracted": ("item",), "subscribed": ("topic", "topicRevision"), "unsubscribed": ("topic", "topicRevision"),
    "broadcast": ("topic", *CONTENT, "notBefore"), "arrived": ("topic", "item", "itemKey", "notifiedAt", *CONTENT, "edits"), "undone": ("event",), "expired": ("item",), "erased": ("spans",),
    "compacted": ("through", "dropped", "archive"), "held": (), "released": (), "lost": (),
    "acted": ("item", "action", "note", "asOf", "edits"), "reminded": ("item",), "audited": ("purpose", "topicRevisions"),
}


class Incomplete(ValueError):
    """What differs, in words."""


def kind_of(number):
    if not 0 < number <= len(KINDS):
        raise ValueError(f"no kind of event has the number {number}")
    return KINDS[number - 1]


# --- Events -------------------------------------------------------------------------------------------------------------


def packed(value, wire):
    if wire == 0:
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(number)
        if len(numbers) > MOST_ITEMS:
            raise ValueError(f"a payload names more than {MOST_ITEMS} items")
    return numbers


def message_of(members, message):
    """A message within a payload, whose fields have the numbers 1, 2, 3 …; an absent number is 0."""
    names = list(members)
    found = {name: 0 for name in names if members[name] is int}
    for number, wire, value in parts(message):
        if 0 < number <= len(names):
            name = names[number - 1]
            if wire != (0 if members[name] is int else 2):
                raise ValueError(f"{name} of a payload has another type")
            found[name] = value if members[name] is int else value.decode()
    if any(name not in found for name in names):
        raise ValueError("a message of a payload lacks a member")
    return {name: found[name] for name in names}


def content_of(kind, payload):
    """The members of an event of a kind that its payload has, as JSON shows them."""
    last, repeated = {}, {}
    for number, wire, value in parts(payload):
        name, form = FIELDS.get(number, (None, None))
        if name is None:
            continue
        # Numbers may stand one by one, or packed.
        if wire != (0 if form in (int, bool, "time") or form in ENUMS else 2) and (form, wire) != ("packed", 0):
            raise ValueError(f"{name} of a payload has another type")
        if name == "cleared" and any(FIELDS.get(field, ("",))[0] not in CHANGING for field in packed(value, wire)):
            raise ValueError("a payload clears a field that no edit can clear")
        if form == "packed" or isinstance(form, dict) and form not in ENUMS:
            repeated.setdefault(name, []).append((form, wire, value))
        else:
            last[name] = form, value
    content = {name: shown(name, *found) for name, found in last.items() if name in ANY or name in SHOWN[kind]}
    for name, found in repeated.items():
        if name in SHOWN[kind]:
            values = [packed(value, wire) if form == "packed" else [message_of(form, value)] for form, wire, value in found]
            content[name] = [one for some in values for one in some]
    if content.get("level", LEVELS) is None:
        del content["level"]
    return content


def shown(name, form, value):
    """A field's value as JSON shows it."""
    if form is str:
        return value.decode()
    if form is bool:
        return value != 0
    if form == "time":
        return rfc3339((value >> 1) ^ -(value & 1))
    if form is json:
        return parse(value)
    if form is LEVELS and value == 0:
        return None
    if form in ENUMS:
        if value not in form:
            raise ValueError(f"{name} of a payload has no value {value}")
        return form[value]
    return value


def check(kind, content):
    """Refuses members that an event of the kind cannot have together, or lacks."""
    for name in REQUIRED.get(kind, ()):
        if name not in content:
            raise ValueError(f"{name} of an event of the kind {kind} is missing")
    if kind in ("muted", "unmuted"):
        if [name in content and content[name] is not False for name in ("thread", "category", "topic", "all")].count(True) != 1:
            raise ValueError("a mute is of one of a thread, a category, a topic and all")
    if kind == "allMarked" and content["as"] not in ("seen", "read", "archived", "deleted"):
        raise ValueError(f"all cannot be marked as {content['as']}")
    if content.get("unthreaded") and "thread" in content:
        raise ValueError("a mark is of a thread and of none")
    if content.get("summaryCount", 0) >= 2**32:
        raise ValueError("summaryCount has more than 32 bits")
    if any(FIELDS.get(number, ("",))[0] in content for number in content.get("cleared", ())):
        raise ValueError("an edit sets and clears a field")


def event_of(kind, seq, revision, recorded, occurred, payload):
    """The event as JSON shows it, from its leaf and its payload."""
    event = {"seq": seq, "revision": revision, "recordedAt": rfc3339(recorded), "kind": kind}
    if revision == 0:
        del event["revision"]
    if occurred != ABSENT:
        event["occurredAt"] = rfc3339(occurred)
    content = content_of(kind, payload)
    if kind in BRINGING:
        for name, default in (("summaryCount", 1), ("silent", False), ("level", "active")):
            if content.get(name) == default:
                del content[name]
    check(kind, content)
    if content.pop("unthreaded", False):
        content["thread"] = None
    for number in content.pop("cleared", []):
        content[FIELDS[number][0]] = None
    if kind in ("subscribed", "unsubscribed"):
        content.setdefault("topicRevision", 0)
    if kind == "marked":
        content.setdefault("items", [])
    if kind == "acted":
        content.setdefault("asOf", seq - 1)
    # What only the check of a decision looks at (decision.py).
    content.pop("edits", None)
    for name in ("upTo", "item", "event", "through", "asOf"):
        if content.get(name, 0) >= seq:
            raise ValueError(f"event {seq} names event {content[name]}, which is not before it")
    if max(content.get("items", ()), default=0) >= seq:
        raise ValueError(f"event {seq} names an event that is not before it")
    event |= content
    return {name: event[name] for name in ORDER if name in event}


# --- The fold -----------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    position: int
    thread: object
    category: object
    collapse: object
    silent: bool
    muted: bool
    lasting: bytes
    fields: dict
    seen: bool = False
    read: bool = False
    archived: bool = False
    deleted: bool = False
    gone: bool = False
    until: object = None
    asks: bool = False  # has actions
    outcome: object = None
    scheduled: bool = False  # has not arrived

    @property
    def live(self):
        return not (self.deleted or self.gone or self.scheduled)

    @property
    def in_inbox(self):
        return not (self.deleted or self.gone or self.scheduled or self.archived or self.until is not None)

    @property
    def listed(self):
        return self.in_inbox and not self.silent


def fields_of(members, names):
    return {name: digest(members[name]) for name in names if name in members}


def item_members(event):
    """What an event says of the item that it brings, as an item's JSON form has it."""
    return {"summaryCount": 1, "silent": False, "level": "active", **event}


class Tray:
    """A user's state. Every change is noted, so that an undo can go back."""

    def __init__(self):
        self.items = {}
        self.other = {}  # mutes, topics, how far the user has looked
        self.unseen = self.unread = self.total = self.awaiting = 0
        self.not_seen, self.not_read, self.inbox = set(), set(), set()
        self.threads, self.collapsing = {}, {}
        self.changes = []  # (key, value before), of items and of other
        self.events = []  # (seq, the number of changes before it, what is folded)
        self.voided = set()

    # Changes

    def put(self, seq, item):
        self.changes.append((seq, self.items.get(seq)))
        self.place(seq, item)

    def set(self, key, value):
        self.changes.append((key, self.other.get(key)))
        self.other[key] = value

    def place(self, seq, new):
        old = self.items.get(seq)
        for item, sign in ((old, -1), (new, 1)):
            if item is not None and item.listed:
                self.total += sign
                if not item.muted:
                    self.unseen += sign * (not item.seen)
                    self.unread += sign * (not item.read)
                    self.awaiting += sign * (item.asks and item.outcome is None)
        if new is None:
            del self.items[seq]
            for index, key in ((self.threads, old.thread), (self.collapsing, old.collapse)):
                index[key].discard(seq)
        else:
            self.items[seq] = new
            if old is None:
                self.threads.setdefault(new.thread, set()).add(seq)
                self.collapsing.setdefault(new.collapse, set()).add(seq)
        there = new is not None and not new.gone and not new.scheduled
        for group, belongs in (
            (self.not_seen, there and not new.seen), (self.not_read, there and not new.read),
            (self.inbox, there and new.in_inbox),
        ):
            (group.add if belongs else group.discard)(seq)

    def back_to(self, count):
        while len(self.changes) > count:
            key, value = self.changes.pop()
            if isinstance(key, int):
                self.place(key, value)
            else:
                self.other[key] = value

    def change(self, seq, **values):
        item = self.items.get(seq)
        if item is not None and not item.gone:
            self.put(seq, item._replace(**values))

    # Events

    def take(self, event):
        """Folds an event in."""
        fact = self.fact_of(event)
        self.fold(event["seq"], event["kind"], fact)
        if event["kind"] == "undone" and event["event"] not in self.voided:
            self.undo(event["event"])

    def fold(self, seq, kind, fact):
        self.events.append((seq, len(self.changes), kind, fact))
        if seq not in self.voided:
            getattr(self, "on_" + kind, lambda seq, fact: None)(seq, fact)

    def undo(self, voided):
        first = bisect.bisect_left(self.events, (voided,))
        if first == len(self.events) or self.events[first][0] != voided:
            raise Incomplete(f"event {voided} is undone, and is not there")
        self.voided.add(voided)
        again = self.events[first:]
        self.back_to(again[0][1])
        del self.events[first:]
        for seq, _, kind, fact in again:
            self.fold(seq, kind, fact)

    def fact_of(self, event):
        """What of an event the fold needs; no content."""
        kind = event["kind"]
        if kind in BRINGING:
            members = item_members(event)
            if kind == "arrived":
                members |= {"key": event.get("itemKey"), "recordedAt": event["notifiedAt"], "arrivedAt": event["recordedAt"]}
            return {
                "item": event.get("item"), "scheduled": "notBefore" in event,
                "thread": event.get("thread"), "category": event.get("category"), "collapse": event.get("collapseKey"),
                "silent": members["silent"], "lasting": digest([members.get(name) for name in LASTING]),
                "fields": fields_of(members, CHANGING), "topic": event.get("topic"), "asks": "actions" in event,
                "passes": members["level"] == "critical",
            }
        if kind == "edited":
            defaults = {"summaryCount": 1, "level": "active"}
            changed = {name: event[name] for name in CHANGING if name in event}
            values = {name: defaults.get(name) if value is None else value for name, value in changed.items()}
            return {
                "item": event["item"], "cleared": [name for name in changed if values[name] is None],
                "fields": {name: digest(value) for name, value in values.items() if value is not None},
            }
        if kind == "acted":
            outcome = {
                "action": event["action"], "note": event.get("note"), "actor": event.get("actor", event["user"]),
                "seq": event["seq"], "at": event["recordedAt"], "asOf": event["asOf"],
            }
            return {"item": event["item"], "outcome": digest(outcome)}
        names = ("item", "items", "as", "upTo", "thread", "category", "all", "until", "topic", "recordedAt")
        return {name: event[name] for name in names if name in event}

    def bring(self, item, position, fact):
        """Adds an item, or lets one that was scheduled arrive."""
        if fact["collapse"] is not None:
            for other in list(self.collapsing.get(fact["collapse"], ())):
                found = self.items[other]
                if other != item and not (found.deleted or found.gone) and (found.scheduled or not fact["scheduled"]):
                    self.change(other, gone=True)
        muted = not fact["scheduled"] and (any(
            fact[scope] is not None and self.other.get(("muted", scope, fact[scope])) for scope in ("thread", "category", "topic")
        ) or bool(not fact["passes"] and self.other.get(("muted", "all", True))))
        self.put(
            item,
            Item(position, fact["thread"], fact["category"], fact["collapse"], fact["silent"], muted, fact["lasting"],
                 fact["fields"], asks=fact["asks"], scheduled=fact["scheduled"]),
        )

    def on_notified(self, seq, fact):
        self.bring(seq, seq, fact)

    def on_broadcast(self, seq, fact):
        if self.other.get(("topic", fact["topic"])) and not fact["scheduled"]:
            self.set(("heard", fact["topic"]), True)
            self.bring(seq, seq, fact)

    def on_arrived(self, seq, fact):
        planned = self.items.get(fact["item"])
        if fact["topic"] is not None:
            if not self.other.get(("topic", fact["topic"])):
                return
            self.set(("heard", fact["topic"]), True)
        if planned is None or (planned.scheduled and not planned.gone):
            self.bring(fact["item"], seq, fact)

    def on_traySeen(self, seq, fact):
        for item in [item for item in self.not_seen if self.items[item].position <= fact["upTo"]]:
            self.change(item, seen=True)
        if fact["upTo"] > (self.other.get("seenUpTo") or (0, None))[0]:
            self.set("seenUpTo", (fact["upTo"], fact["recordedAt"]))

    def on_marked(self, seq, fact):
        values = {
            "seen": {"seen": True}, "read": {"seen": True, "read": True}, "unread": {"read": False},
            "archived": {"archived": True}, "unarchived": {"archived": False}, "deleted": {"deleted": True},
            "restored": {"deleted": False},
        }[fact["as"]]
        for item in fact["items"]:
            self.change(item, **values)

    def on_allMarked(self, seq, fact):
        mark = fact["as"]
        group = {"seen": self.not_seen, "read": self.not_read}.get(mark, self.inbox)
        if "thread" in fact:
            named = self.threads.get(fact["thread"], set())
            group = group & named
        values = {"seen": {"seen": True}, "read": {"seen": True, "read": True}}.get(mark, {mark: True})
        for seq in list(group):
            item = self.items[seq]
            if item.position <= fact["upTo"] and fact.get("category") in (None, item.category):
                self.change(seq, **values)

    def on_muted(self, seq, fact, value=True):
        for scope in ("thread", "category", "topic", "all"):
            if scope in fact:
                self.set(("muted", scope, fact[scope]), value)

    def on_unmuted(self, seq, fact):
        self.on_muted(seq, fact, False)

    def on_snoozed(self, seq, fact):
        self.change(fact["item"], until=fact["until"])

    def on_acted(self, seq, fact):
        item = self.items.get(fact["item"])
        if item is not None and item.asks and item.outcome is None:
            self.change(fact["item"], seen=True, read=True, outcome=fact["outcome"])

    def on_woken(self, seq, fact):
        self.change(fact["item"], until=None, position=seq, seen=False, read=False)

    def on_edited(self, seq, fact):
        item = self.items.get(fact["item"])
        if item is not None:
            kept = {name: value for name, value in item.fields.items() if name not in fact["cleared"]}
            self.change(fact["item"], fields={**kept, **fact["fields"]})

    def on_retracted(self, seq, fact):
        self.change(fact["item"], gone=True)

    on_expired = on_retracted

    def on_subscribed(self, seq, fact):
        self.set(("topic", fact["topic"]), True)

    def on_unsubscribed(self, seq, fact):
        self.set(("topic", fact["topic"]), False)

    # Answers

    @property
    def counts(self):
        return {"unseen": self.unseen, "unread": self.unread, "total": self.total}

    def summary(self, user, as_of, revision):
        listed = [item for item in self.items.values() if item.listed]
        counted = [item for item in listed if not item.muted]
        categories = {}
        for item in sorted(counted, key=lambda item: (item.category or "").encode()):
            if item.category is not None and not (item.seen and item.read):
                found = categories.setdefault(item.category, {"unseen": 0, "unread": 0})
                found["unseen"] += not item.seen
                found["unread"] += not item.read
        up_to, at = self.other.get("seenUpTo") or (0, None)
        return {
            "user": user, "asOf": as_of, "revision": revision, "isSeen": self.unseen == 0, "unseen": self.unseen,
            "unread": self.unread, "awaiting": self.awaiting, "total": self.total,
            "seenUpTo": up_to, "seenAt": at, "newest": max((item.position for item in listed), default=None),
            "newestCounted": max((item.position for item in counted), default=None),
            "categories": categories,
        }
