"""Checks the page of an item's story (Docs/reference/json.md, "Stories"), knowing nothing of Traylog but its documents.

`auditor.py --check FILE --public-key KEY` is the way to run it.
"""

import hashlib

from audit_text import excerpt, member, object_of, written
from tray_fold import event_of, kind_of

# A proof with all that its event says.
MEMBERS = ["seq", "leafIndex", "treeSize", "rootHash", "leafHash", "leaf", "path", "salt", "payload"]
# How each page begins, up to its first text: styles, and nothing that is said.
HEAD = "571119710e31d13436c111044cc90169072bbec60f7d0d3fe51c44fbfb79de0e"
START, END = b'<pre id="proof">', b"</pre>"


def sha256(text):
    return hashlib.sha256(text).hexdigest()


def check_story(page, read_note, check_head, prove):
    """What a story proves in words, each sentence on a line of its own, and how many events it rests on.

    `read_note` takes a signed tree head and answers its origin, its head and its further lines; `check_head` takes a tree head;
    `prove` takes a proof and answers the parts of its leaf and its payload.
    """
    lines = [line for line in page.split(b"\n") if line.startswith(START)]
    if len(lines) != 1 or not lines[0].endswith(END):
        raise ValueError("the page has not one line of proofs")
    line = lines[0][len(START) : -len(END)]
    for name, byte in ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&")):
        line = line.replace(name, byte)
    value = object_of(line, "the line of proofs")
    body, found, seal = line.rpartition(b',"seal":"')
    if not found or seal != sha256(body).encode() + b'"}':
        raise ValueError("the seal does not fit the file: a byte of it was changed, or a part of it left out")
    if line.decode() != written(value) or list(value) != ["story", "proofs", "checkpoint", "seal"]:
        raise ValueError("the line of proofs is not in the form that the program prints")
    story = member(value, "story", dict, "the page")
    if list(story) != ["user", "item"]:
        raise ValueError("a story is of a user and an item")
    user, item = member(story, "user", str, "the story"), member(story, "item", int, "the story")
    if not 0 < len(user.encode()) <= 256:
        raise ValueError("the user's name has no byte, or more than 256")
    proofs = member(value, "proofs", list, "the page")
    origin, head, further = read_note(member(value, "checkpoint", str, "the page"))
    mark = "traylog-story " + sha256(line[: line.rindex(b',"checkpoint":')])
    if further != [mark]:
        raise ValueError("the checkpoint was not made for this story")
    check_head(head)
    events = [proved_event(proof, head, prove) for proof in proofs]
    told = Story(item, user, events)
    expected = rendered(told, origin, head, line.decode()).encode()
    start = page.find(b"<main>\n") + len(b"<main>\n")
    if sha256(page[:start]) != HEAD or page[start:] != expected:
        raise ValueError("the page does not say what its events say: it was changed")
    words = "".join(f"\n  {text} [{source}]" for text, _, source in told.sentences)
    size = head["treeSize"]
    return f"item {item} of {user}, proved by the tree head of {size} events with the root {head['rootHash']}{words}", len(events)


def proved_event(proof, head, prove):
    if type(proof) is not dict or list(proof) != MEMBERS:
        raise ValueError(f"{excerpt(proof)} is no proof of what an event says")
    leaf, payload = prove(proof)
    if {name: proof[name] for name in head} != head:
        raise ValueError("a proof leads to another tree")
    return event_of(kind_of(leaf.kind), leaf.seq, leaf.revision, leaf.recorded, leaf.occurred, payload)


# --- The story ----------------------------------------------------------------------------------------------------------


def said(time):
    return f"{time[:10]} {time[11:19]} UTC"


def scope_of(mute):
    return next((name, mute[name]) for name in ("thread", "category", "topic", "all") if name in mute and mute[name] is not False)


def may_concern(event, arrival, item):
    """Whether it may change the item: it names it, looks at or marks whatever is there, or brings what may replace it."""
    kind = event["kind"]
    if kind in ("notified", "arrived"):
        return "collapseKey" in arrival and event.get("collapseKey") == arrival["collapseKey"]
    if kind in ("snoozed", "woken", "acted", "edited", "reminded", "retracted", "expired"):
        return event["item"] == item
    return kind in ("traySeen", "allMarked") or kind == "marked" and item in event["items"]


class Life:
    """What the events make of an item. Each change is a step: what it is, and its event."""

    def __init__(self, item, arrival):
        self.item, self.arrival = item, arrival
        self.mutes, self.mute, self.position = [], None, arrival["seq"]
        self.now = {"seen": False, "read": False, "archived": False, "deleted": False}
        self.ever = set()
        self.gone = self.snoozed = self.acted = None
        self.steps = []
        self.title = arrival.get("title")
        # The title that each edit took the place of.
        self.old_titles = {}

    def take(self, event):
        kind, seq = event["kind"], event["seq"]
        if kind == "muted":
            scope = scope_of(event)
            since = next((since for mute, since in self.mutes if scope_of(mute) == scope), event["recordedAt"])
            self.mutes = [(mute, begun) for mute, begun in self.mutes if scope_of(mute) != scope] + [(event, since)]
        elif event is self.arrival:
            self.mute = next(((mute, since) for mute, since in self.mutes if self.is_muted_by(*scope_of(mute))), None)
        elif seq > self.arrival["seq"] and self.gone is None:
            getattr(self, "on_" + kind, lambda event: None)(event)

    def is_muted_by(self, name, value):
        if name == "all":
            return self.arrival.get("level") != "critical"
        return self.arrival.get(name) == value

    @property
    def is_in_inbox(self):
        return not (self.gone or self.snoozed or self.now["archived"] or self.now["deleted"])

    @property
    def is_listed(self):
        return self.is_in_inbox and not self.arrival.get("silent")

    def on_notified(self, event):
        key = self.arrival.get("collapseKey")
        if not self.now["deleted"] and key is not None and event.get("collapseKey") == key and "notBefore" not in event:
            self.gone = event

    on_arrived = on_notified

    def on_traySeen(self, event):
        if self.position <= event["upTo"]:
            self.become("seen", event, "looked")

    def on_marked(self, event):
        if self.item in event["items"]:
            self.become(event["as"], event)

    def on_allMarked(self, event):
        fits = all(self.arrival.get(name) == event[name] for name in ("thread", "category") if name in event)
        if self.position <= event["upTo"] and fits and (event["as"] in ("seen", "read") or self.is_in_inbox):
            self.become(event["as"], event)

    def become(self, mark, event, step=None):
        opposite = {"unread": "read", "unarchived": "archived", "restored": "deleted"}
        name = opposite.get(mark, mark)
        if self.now[name] != (mark == name):
            self.now[name] = mark == name
            self.steps.append((step or mark, event))
        self.look()

    def look(self):
        """What is read was seen."""
        self.now["seen"] = self.now["seen"] or self.now["read"]
        self.ever |= {name for name, holds in self.now.items() if holds}

    def on_snoozed(self, event):
        if event["item"] == self.item and (self.snoozed is None or self.snoozed["until"] != event["until"]):
            self.snoozed = event
            self.steps.append(("snoozed", event))

    def on_woken(self, event):
        if event["item"] == self.item:
            self.snoozed, self.position = None, event["seq"]
            self.now["seen"] = self.now["read"] = False
            self.steps.append(("woken", event))

    def on_acted(self, event):
        if event["item"] == self.item and self.acted is None:
            self.acted, self.now["read"] = event, True
            self.look()
            self.steps.append(("acted", event))

    def on_reminded(self, event):
        if event["item"] == self.item:
            self.steps.append((event["kind"], event))

    def on_edited(self, event):
        if event["item"] == self.item:
            self.old_titles[event["seq"]] = self.title
            self.title = event.get("title", self.title)
            self.steps.append(("edited", event))

    def on_retracted(self, event):
        if event["item"] == self.item:
            self.gone = event

    on_expired = on_retracted


class Story:
    """What happened to an item, by the events that are given; what they undo no longer counts, and is told with its undo."""

    def __init__(self, item, user, events):
        self.item, self.user, self.events = item, user, events
        for event, following in zip(events, events[1:]):
            if event["seq"] >= following["seq"]:
                raise ValueError(f"event {following['seq']} comes after event {event['seq']}: the order is not that of the log")
        brought = [event for event in events if self.brings(event)]
        if not brought:
            raise ValueError(f"no event brought item {item}")
        self.arrival = brought[0]
        self.is_broadcast = "topic" in self.arrival
        self.undone = {}
        for event in events:
            if event["kind"] == "undone":
                self.undone.setdefault(event["event"], event)
        self.life = self.life_before(None)
        told = list(self.clauses())
        delivery = ", subscription stated" if self.is_broadcast else ""
        for event in events:
            self.check(event, {event for _, event, _ in told})
            if event["kind"] == "subscribed":
                delivery = f", subscribed by event {event['seq']}"
        self.sentences = [
            (text, event, "stated" if event is None else f"event {event}" + (delivery if is_arrival else ""))
            for text, event, is_arrival in told]

    def life_before(self, end):
        """The item as it was right before an event, whatever was undone later; with None, as it is at the end."""
        life = Life(self.item, self.arrival)
        for event in self.events:
            undo = self.undone.get(event["seq"])
            if (end is None or event["seq"] < end) and (undo is None or end is not None and undo["seq"] >= end):
                life.take(event)
        return life

    def steps(self):
        """What changed the item, in the order of time, each with its undo; of what was undone, as it was right before that."""
        steps = [(step, event, None) for step, event in self.life.steps]
        for seq, undo in self.undone.items():
            before = self.life_before(undo["seq"]).steps
            steps += [(step, event, undo) for step, event in before if event["seq"] == seq]
        return sorted(steps, key=lambda step: step[1]["seq"])

    def brings(self, event):
        """Whether the item came by it: what is scheduled comes later."""
        if event["kind"] == "arrived":
            return event["item"] == self.item
        return event["seq"] == self.item and event["kind"] in ("notified", "broadcast") and "notBefore" not in event

    def check(self, event, told):
        """Refuses what is not of this story."""
        seq, kind, owner = event["seq"], event["kind"], event.get("user")
        # Everybody with a broadcast has these in common.
        is_common = self.is_broadcast and (
            event is self.arrival or kind in ("edited", "retracted", "expired", "reminded") and event["item"] == self.item)
        if owner != self.user and not (owner is None and is_common):
            raise ValueError(f"event {seq} is not of the tray of {self.user}")
        is_subscription = kind == "subscribed" and self.is_broadcast and event["topic"] == self.arrival["topic"]
        # Until something was undone, the item may have been as other events made it.
        is_further = bool(self.undone) and seq > self.arrival["seq"] and may_concern(event, self.arrival, self.item)
        is_undo = kind == "undone" and any(one["seq"] == event["event"] for one in self.events)
        if seq not in told and not is_further and not is_undo and not (
                seq < self.arrival["seq"] and (kind == "muted" or is_subscription)):
            raise ValueError(f"no sentence names event {seq}")

    # Words

    def when(self, before, event, after="."):
        actor = event.get("actor", self.user)
        by = "" if actor == self.user else f" by {actor}"
        return f"{before} on {said(event['recordedAt'])}{self.device(event)}{by}{self.claim(event)}{after}"

    def device(self, event):
        return f" on {event['device']}" if "device" in event else ""

    def claim(self, event):
        claimed = event.get("occurredAt")
        return "" if claimed is None or said(claimed) == said(event["recordedAt"]) else f" (claimed: {said(claimed)})"

    def company(self, event):
        if event["kind"] == "allMarked":
            return " with “mark all”"
        others = len(event.get("items", (1,))) - 1
        return "" if others == 0 else " together with another item" if others == 1 else f" together with {others} other items"

    def clauses(self):
        """Each sentence, the event that it rests on, and whether it is the first one."""
        arrival = self.arrival
        sender = arrival.get("actor", self.user)
        origin = ("" if sender == self.user else f" from {sender}") + (f" through the topic {arrival['topic']}" if self.is_broadcast else "")
        planned = f", as planned on {said(arrival['notifiedAt'])}" if arrival["kind"] == "arrived" else ""
        yield f"{self.user} got this on {said(arrival['recordedAt'])}{origin}{planned}{self.claim(arrival)}.", arrival["seq"], True
        changes = []
        for step, event, undo in self.steps():
            changes.append(self.told(step, event))
            if undo is not None:
                time = f"{said(undo['recordedAt'])}{self.device(undo)}{self.claim(undo)}"
                changes.append((f"{undo.get('actor', self.user)} undid this on {time}.", undo))
        for text, event in [self.quiet(), *changes, *self.missing(), *self.ending()]:
            yield text, None if event is None else event["seq"], False

    def quiet(self):
        if self.arrival.get("silent"):
            return "It did not ring: it was sent silently.", self.arrival
        if self.life.mute is None:
            return "It counted as new.", self.arrival
        mute, since = self.life.mute
        name, value = scope_of(mute)
        scope = "everything but critical items" if name == "all" else f"{name} {value}"
        until = f", until {said(mute['until'])}" if "until" in mute else ""
        who = mute.get("actor", self.user)
        return f"It did not ring: {who} had muted {scope}{self.device(mute)} on {said(since)}{until}.", mute

    def told(self, step, event):
        company = self.company(event)
        if step == "looked":
            if self.life_before(event["seq"]).is_listed:
                return self.when("The list with it was on screen", event), event
            return self.when("It was marked as seen when the tray was looked at", event, "; the item was not in it."), event
        if step == "read" and company:
            return self.when(f"It was marked as read{company}", event, ", and not opened individually."), event
        if step == "acted":
            actions = self.arrival.get("actions", [])
            label = next((action["label"] for action in actions if action["id"] == event["action"]), event["action"])
            time = f"{said(event['recordedAt'])}{self.device(event)}{self.claim(event)}"
            return f"{event.get('actor', self.user)} answered “{label}” on {time}.", event
        if step == "edited":
            old, new = self.life.old_titles[event["seq"]], event.get("title")
            after = "." if new is None or new == old else f": its new title was “{new}”." if old is None else (
                f": its title changed from “{old}” to “{new}”.")
            return self.when("Its sender edited it", event, after), event
        if step == "snoozed":
            until = said(event["until"])
            if event is self.life.snoozed and self.life.gone is None:
                return f"It is snoozed until {until}.", event
            return self.when("It was snoozed", event, f", until {until}."), event
        if step in ("reminded", "woken"):
            words = {"reminded": "A reminder was sent", "woken": "It came back from a snooze"}[step]
            return f"{words} on {said(event['recordedAt'])}.", event
        words = {
            "seen": "marked seen", "read": "read", "unread": f"marked as unread{company}", "archived": f"archived{company}",
            "unarchived": f"taken out of the archive{company}", "deleted": f"deleted{company}", "restored": f"restored{company}"}[step]
        return self.when(f"It was {words}", event), event

    def missing(self):
        """What never happened, or not again."""
        life, is_over = self.life, self.life.gone is not None
        undone = {step for step, _, undo in self.steps() if undo is not None}
        makes = {"seen": {"looked", "seen", "read"}, "read": {"read"}}
        for name, words in (("seen", "on screen"), ("read", "read")):
            if not life.now[name]:
                again = name in life.ever or not undone.isdisjoint(makes[name])
                yield f"It was not {words} after that." if again else f"It was never {words}." if is_over else f"It was not {words} yet.", None
        if life.acted is None and self.arrival.get("actions"):
            yield "Nobody answered." if is_over else "Nobody has answered yet.", None

    def ending(self):
        gone, now = self.life.gone, self.life.now
        if gone is None:
            if not now["deleted"] and not now["archived"]:
                is_silent = self.arrival.get("silent")
                yield "It is silent: a list shows it only on request." if is_silent else "It is still in the tray.", None
        elif gone["kind"] == "expired":
            yield f"It expired on {said(gone['recordedAt'])}.", gone
        else:
            yield self.when("Its sender took it back" if gone["kind"] == "retracted" else "A later notification replaced it", gone), gone


# --- The page -----------------------------------------------------------------------------------------------------------


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def rendered(story, origin, head, line):
    """The page from its first text on."""
    size = head["treeSize"]
    title = story.arrival.get("title", f"Item {story.item}")
    out = [
        '<p class="small">What happened to an item, with proofs</p>',
        f"<h1><bdi>{escaped(title)}</bdi></h1>",
        f"<p>Item {story.item} of <bdi>{escaped(story.user)}</bdi>, as the log <bdi>{escaped(origin)}</bdi> had it after {size} events.</p>",
        '<ol class="story">',
    ]
    for text, event, source in story.sentences:
        linked = source if event is None else f'<a href="#e{event}">{source}</a>'
        out.append(f'<li><bdi>{escaped(text)}</bdi> <span class="source">[{linked}]</span></li>')
    out += [
        "</ol>",
        '<p class="small">The event behind a sentence shows that it is so; it stands below as it is in the log. What was '
        "undone no longer counts; its own event and the one that undid it are both below. “Stated” means that something "
        "never happened, which no event can show. The log’s owner signed this page, and so says that nothing else "
        "happened to the item.</p>",
        "<h2>The events</h2>",
    ]
    for event in story.events:
        out += [f'<section id="e{event["seq"]}">', f"<h3>Event {event['seq']}</h3>", "<dl>"]
        for name, value in event.items():
            if name != "data":
                text = value if isinstance(value, str) else written(value)
                out.append(f"<dt>{name}</dt><dd><bdi>{escaped(text)}</bdi></dd>")
        out += ["</dl>", "</section>"]
    out += [
        "<h2>How to check this page</h2>",
        f"<p>Get the log owner’s public key, or a tree head of {size} events, from somewhere else than this "
        "page. Then run one of two independent programs. It works the sentences out again, and rejects the page if "
        "anything in it was changed:</p>",
        "<pre>traylog check FILE --public-key KEY",
        "python3 auditor.py --check FILE --public-key KEY</pre>",
        f'<p class="small">The root of the log’s tree: {head["rootHash"]}</p>',
        "<h2>The proofs</h2>",
        f'<pre id="proof">{escaped(line)}</pre>',
        "</main>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(out)
