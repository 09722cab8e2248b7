"""Checks a complete history (Docs/reference/json.md, "Complete histories"), knowing nothing of Traylog but its documents.

`auditor.py --complete FILE --tree-head HEAD` is the way to run it. It reads the file once.
"""

from audit_text import ABSENT, digest, excerpt, member, rfc3339, same
from tray_fold import CHANGING, LASTING, OUTCOME, STANDING, Incomplete, Tray, event_of, fields_of, kind_of

# More are only counted.
NAMED_GAPS = 1_000


class Topic:
    def __init__(self, revision):
        self.revision = self.stated = revision
        self.stream = None
        self.named = self.has_events = self.open = self.has_items = False


class CompleteCheck:
    """Takes the lines of a file one after the other; `gaps` and `difference` say what is wrong."""

    def __init__(self, prove):
        self.prove = prove  # of a proof and what is disclosed: the leaf's parts, and the payload or None
        self.gaps, self.newest_gaps, self.more_gaps = [], {}, 0
        self.difference = None  # the first count that does not follow; a gap that shows later says why
        self.user = self.head = self.stream = self.erased_stream = None
        self.revision = self.last = self.erased = self.topic_events = 0
        self.last_kind = None
        self.topics, self.streams, self.naming = {}, {}, {}
        self.tray = Tray()
        self.counts = self.tray.counts
        self.left = None  # items that no line has stated, once the events are over

    def wrong(self, words):
        raise Incomplete(words)

    def begin(self, line):
        if not line.get("complete") or "treeHead" not in line:
            self.wrong("it is no complete history: make it with 'audit --complete'")
        self.user = self.name(line, "user")
        self.head = member(member(line, "treeHead", dict, "the file"), "treeSize", int, "its tree head")
        number = self.user[7:] if self.user.startswith("erased-") else ""
        if number.isascii() and number.isdigit() and len(number) <= 10 and str(int(number)) == number and int(number) < 2**32:
            self.erased_stream = int(number)

    def name(self, line, of):
        """Whose a line is: a text of at most 256 bytes."""
        name = member(line, of, str, "a line")
        if not 0 < len(name.encode()) <= 256:
            self.wrong(f"the {of} {excerpt(name)} is no name")
        return name

    def take(self, line):
        if "chain" in line or line.get("role") == "actor":
            return
        if "tray" in line and "proof" not in line:
            return self.finish_events(line["tray"])
        if "item" in line:
            return self.take_item(member(line, "item", dict, "a line"))
        if self.left is not None or "proof" not in line:
            self.wrong("a line is no event of the history, or comes after the items")
        leaf, payload = self.prove(line)
        if leaf.seq <= self.last:
            self.wrong(f"event {leaf.seq} comes after event {self.last}: the order is not that of the log")
        kind = kind_of(leaf.kind)
        event = None
        if payload is not None:
            event = event_of(kind, leaf.seq, leaf.revision, leaf.recorded, leaf.occurred, payload)
            if not same(line.get("event"), event):
                self.wrong(f"event {leaf.seq} is not shown as its payload says it")
        if "topic" in line:
            self.take_topic(self.name(line, "topic"), leaf, kind, event, line)
        else:
            self.take_own(leaf, kind, event, line)
        self.last = leaf.seq

    def differ(self, words):
        """Notes something that may follow from a gap that shows later; nothing is folded any more."""
        self.difference = self.difference or words

    def gap(self, first, last, name):
        newest = self.newest_gaps.get(name)
        if newest and newest[2] + 1 == first:
            newest = (newest[0], newest[1], last)
        elif len(self.gaps) == NAMED_GAPS:
            self.more_gaps += 1
            return
        else:
            newest = (len(self.gaps), first, last)
            self.gaps.append("")
        self.newest_gaps[name] = newest
        place, first, last = newest
        self.gaps[place] = (
            f"revision {first} of {name} is missing" if first == last else f"revisions {first} to {last} of {name} are missing"
        )

    def note_revision(self, leaf, newest, name):
        if leaf.revision <= newest:
            self.wrong(f"event {leaf.seq} has revision {leaf.revision} of {name}, which comes a second time")
        if leaf.revision > newest + 1:
            self.gap(newest + 1, leaf.revision - 1, name)

    def compare_counts(self, line, seq):
        for name, wanted in (("before", self.counts), ("after", self.tray.counts)):
            if not same(line.get(name), wanted):
                self.differ(
                    f"the counts {name} event {seq} are {excerpt(line.get(name))}, and the events make them {wanted}")
        self.counts = self.tray.counts

    @property
    def folds(self):
        """Whether the events so far are whole, so that the fold over them means something."""
        return not self.gaps and self.difference is None

    # Own events

    def take_own(self, leaf, kind, event, line):
        if self.stream is None:
            self.stream = leaf.stream
        wanted = self.stream if self.erased_stream is None else self.erased_stream
        if leaf.stream != wanted or leaf.stream in self.streams:
            self.wrong(f"event {leaf.seq} is not of {self.user}")
        self.note_revision(leaf, self.revision, self.user)
        self.revision = leaf.revision
        if event is None:
            event = self.skeleton(leaf, kind, line)
        elif event.get("user") != self.user:
            self.wrong(f"event {leaf.seq} is of {event.get('user', 'a topic')}, not of {self.user}")
        self.last_kind = "skeleton" if event.get("erased") else kind
        if not event.get("erased"):
            self.follow_topics(kind, event)
        if not self.folds:
            return
        if not event.get("erased"):
            self.tray.take(event)
        self.compare_counts(line, leaf.seq)

    def skeleton(self, leaf, kind, line):
        if self.erased_stream is None:
            self.wrong(f"event {leaf.seq} is shown without its content")
        event = {"seq": leaf.seq, "revision": leaf.revision, "recordedAt": rfc3339(leaf.recorded), "kind": kind}
        if leaf.occurred != ABSENT:
            event["occurredAt"] = rfc3339(leaf.occurred)
        event |= {"user": self.user, "erased": True}
        if not same(line.get("event"), event):
            self.wrong(f"event {leaf.seq} was erased, and the line says more of it than is left")
        self.erased += 1
        return event

    def follow_topics(self, kind, event):
        seq = event["seq"]
        if kind == "subscribed":
            topic = self.topics.setdefault(event["topic"], Topic(event["topicRevision"]))
            self.expect_revision(event["topicRevision"], event["topic"], seq)
            topic.open = True
        elif kind == "unsubscribed":
            if event["topic"] not in self.topics:
                return self.differ(f"event {seq} leaves topic {event['topic']}, which nobody joined")
            self.expect_revision(event["topicRevision"], event["topic"], seq)
            self.topics[event["topic"]].open = False
        elif kind == "audited":
            revisions = event.get("topicRevisions", [])
            for revision in revisions:
                self.expect_revision(revision["revision"], revision["topic"], seq)
            said = {revision["topic"] for revision in revisions}
            wanted = {name for name, topic in self.topics.items() if topic.open or topic.has_items}
            if said != wanted and self.folds:
                self.differ(f"event {seq} and the subscriptions do not agree on topic {min(said ^ wanted)}")

    def expect_revision(self, newest, name, seq):
        topic = self.topics.get(name)
        if topic is None:
            return
        if topic.revision > newest:
            self.wrong(
                f"event {seq} says that topic {name} had {newest} events by then, and the file shows {topic.revision}"
            )
        if topic.revision < newest:
            self.gap(topic.revision + 1, newest, f"topic {name}")
        topic.revision = topic.stated = newest

    # Events of topics

    def take_topic(self, name, leaf, kind, event, line):
        if leaf.revision == 0:
            self.wrong(f"event {leaf.seq} has revision 0, and the first of a topic is 1")
        if event is not None and kind in ("broadcast", "arrived") and event.get("topic", name) != name:
            self.wrong(f"event {leaf.seq} is of topic {excerpt(event.get('topic'))}, not of {name}")
        if leaf.stream == self.stream or self.streams.get(leaf.stream, name) != name:
            self.wrong(f"event {leaf.seq} is not of topic {name}")
        if line.get("names"):
            if event is None or kind != "broadcast":
                self.wrong("a line names a stream without a broadcast")
            self.streams[leaf.stream] = name
            self.naming[name] = leaf.stream
            return
        if name not in self.topics:
            self.differ(f"event {leaf.seq} is of topic {name}, which {self.user} did not join before")
        topic = self.topics.setdefault(name, Topic(leaf.revision - 1))
        if topic.stream not in (None, leaf.stream):
            self.wrong(f"event {leaf.seq} is not of topic {name}")
        self.streams[leaf.stream] = name
        self.note_revision(leaf, topic.revision, f"topic {name}")
        topic.revision, topic.stream, topic.has_events = leaf.revision, leaf.stream, True
        self.topic_events += 1
        # The one is new to whoever is subscribed, the other may be.
        is_broadcast = kind in ("broadcast", "arrived")
        if is_broadcast and event is not None:
            topic.named = True
        reaches = is_broadcast and topic.open
        if not (reaches or (kind != "broadcast" and topic.has_items)):
            if "after" in line:
                self.wrong(f"event {leaf.seq} did not reach the tray, and has counts")
            return
        if event is None:
            why = f"reached {self.user}" if reaches else f"may concern an item of {self.user}"
            return self.differ(f"event {leaf.seq} of topic {name} {why}, and is shown without its content")
        if reaches and "notBefore" not in event:
            topic.has_items = True
        if not self.folds:
            return
        self.tray.take(event)
        if event.get("item", leaf.seq) in self.tray.items:
            self.compare_counts(line, leaf.seq)
        elif "after" in line:
            self.wrong(f"event {leaf.seq} concerns nobody's items, and has counts")

    # The end

    def finish_events(self, stated):
        if self.left is not None:
            self.wrong("the tray stands in the file twice")
        self.left = set()
        if self.revision == 0:
            self.wrong(f"there is no event of {self.user}")
        if self.erased_stream is not None:
            if self.last_kind != "erased" or (self.erased != self.revision - 1 and not self.gaps):
                self.wrong(f"the end is missing: the history of {self.user} ends with 'erased'")
        elif self.last_kind != "audited" or self.last != self.head:
            self.wrong(
                f"event {self.head} is missing: the history ends with the 'audited' that the tree head of {self.head} events "
                "is of"
            )
        if not self.folds:
            return
        for name, topic in self.topics.items():
            # No one could tell how many of them were left out.
            if topic.revision != topic.stated:
                self.wrong(
                    f"the file shows {topic.revision} events of topic {name}, and the events of {self.user} state {topic.stated}"
                )
            if topic.has_events and not topic.named and topic.stream != self.naming.get(name):
                self.wrong(f"no broadcast shows that the events of topic {name} are of it")
        wanted = self.tray.summary(self.user, self.head, self.revision)
        if not same(stated, wanted):
            self.wrong(f"the tray is {excerpt(stated)}, and the events lead to {excerpt(wanted)}")
        self.left = {seq for seq, item in self.tray.items.items() if item.live}

    def take_item(self, stated):
        if self.left is None:
            self.wrong("the tray is missing: it stands before the items")
        if not self.folds:
            return
        seq = member(stated, "seq", int, "an item")
        if seq not in self.left:
            self.wrong(f"item {seq} is not in the tray after these events, or is stated twice")
        self.left.remove(seq)
        for name in stated:
            if name not in CHANGING + LASTING + STANDING + ("outcome",):
                self.wrong(f"item {seq} has a member {excerpt(name)}")
        item = self.tray.items[seq]
        wanted = {"seq": seq, "position": item.position, "muted": item.muted, "seen": item.seen, "read": item.read,
                  "archived": item.archived}
        if item.until is not None:
            wanted["snoozedUntil"] = item.until
        found = {name: stated[name] for name in STANDING if name in stated}
        if not same(found, wanted):
            self.wrong(f"item {seq} stands as {excerpt(found)}, and the events make it {wanted}")
        outcome = member(stated, "outcome", dict, f"item {seq}") if "outcome" in stated else None
        if outcome is not None and set(outcome) - set(OUTCOME):
            self.wrong(f"the outcome of item {seq} has other members")
        if (outcome and digest({name: outcome.get(name) for name in OUTCOME})) != item.outcome:
            self.wrong(f"the outcome of item {seq} is not what its events say")
        if digest([stated.get(name) for name in LASTING]) != item.lasting:
            self.wrong(f"item {seq} is not what its event says")
        fields = fields_of(stated, CHANGING)
        for name in CHANGING:
            if fields.get(name) != item.fields.get(name):
                self.wrong(f"{name} of item {seq} is not what the events say")

    def finish(self):
        if self.left is None:
            self.wrong("the end of the file is missing")
        if self.difference and not self.gaps:
            self.wrong(self.difference)
        if self.left and not self.gaps:
            self.wrong(f"item {min(self.left)} is in the tray after these events, and is not stated")

    @property
    def conclusion(self):
        if self.erased_stream is not None:
            return f"all {self.revision} events of {self.user}: {self.erased} erased, with kind and time left"
        counts = self.tray.counts
        return (
            f"all {self.revision} events of {self.user} and {self.topic_events} of {len(self.topics)} topics, and no others, "
            f"lead to {counts['unread']} unread, {counts['unseen']} unseen, {counts['total']} in all"
        )
