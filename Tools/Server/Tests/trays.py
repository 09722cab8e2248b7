"""The rules of a tray, folded as plainly as can be: what changes, or a snapshot and the changes after it, must give."""


class Item:
    def __init__(self, seq, content):
        self.seq = self.position = seq
        self.content = content
        self.seen = self.read = self.archived = self.deleted = self.gone = self.muted = False
        self.snoozed = None

    @property
    def live(self):
        return not (self.deleted or self.gone)

    @property
    def in_inbox(self):
        return self.live and not self.archived and self.snoozed is None

    @property
    def listed(self):
        return self.in_inbox and not self.content.get("silent")

    @property
    def counted(self):
        return self.listed and not self.muted


class Tray:
    def __init__(self):
        self.items = {}
        self.threads, self.categories = set(), set()
        self.seen_up_to = 0

    @classmethod
    def of_snapshot(cls, pages):
        """From the lines of all pages."""
        tray = cls()
        head = pages[0][0]
        tray.threads, tray.categories = set(head["mutedThreads"]), set(head["mutedCategories"])
        tray.seen_up_to = head["seenUpTo"]
        for page in pages:
            for line in page[1:-1]:
                item = Item(line["seq"], line)
                item.position = line["position"]
                item.seen, item.read, item.archived = line["seen"], line["read"], line["archived"]
                item.deleted, item.muted, item.snoozed = line["deleted"], line["muted"], line.get("snoozedUntil")
                tray.items[item.seq] = item
        return tray

    @classmethod
    def of_events(cls, events):
        """Undone events are left out, whenever they were undone."""
        voided = {event["event"] for event in events if event["kind"] == "undone"}
        tray = cls()
        for event in events:
            if event["seq"] not in voided:
                tray.apply(event)
        return tray

    def apply(self, event):
        kind, seq = event["kind"], event["seq"]
        if kind in ("notified", "broadcast"):
            key = event.get("collapseKey")
            if key is not None:
                for item in self.items.values():
                    if item.live and item.content.get("collapseKey") == key:
                        item.gone = True
            item = Item(seq, event)
            item.muted = event.get("thread") in self.threads or event.get("category") in self.categories
            self.items[seq] = item
        elif kind == "traySeen":
            self.seen_up_to = max(self.seen_up_to, event["upTo"])
            for item in self.items.values():
                item.seen = item.seen or item.position <= event["upTo"]
        elif kind == "marked":
            for number in event["items"]:
                if number in self.items:
                    self.mark(self.items[number], event["as"])
        elif kind == "allMarked":
            for item in self.items.values():
                if item.position <= event["upTo"] and self.matches(item, event):
                    if event["as"] in ("seen", "read") or item.in_inbox:
                        self.mark(item, event["as"])
        elif kind in ("muted", "unmuted"):
            for name, scope in (("thread", self.threads), ("category", self.categories)):
                if name in event:
                    (scope.add if kind == "muted" else scope.discard)(event[name])
        elif event.get("item") in self.items and not self.items[event["item"]].gone:
            item = self.items[event["item"]]
            if kind == "snoozed":
                item.snoozed = event["until"]
            elif kind == "woken":
                item.snoozed, item.position, item.seen, item.read = None, seq, False, False
            elif kind == "acted":
                self.mark(item, "read")
            elif kind in ("retracted", "expired"):
                item.gone = True

    @staticmethod
    def matches(item, event):
        if "thread" in event and item.content.get("thread") != event["thread"]:
            return False
        return "category" not in event or item.content.get("category") == event["category"]

    @staticmethod
    def mark(item, name):
        if item.gone:
            return
        if name in ("seen", "read"):
            item.seen = True
        if name in ("read", "unread"):
            item.read = name == "read"
        elif name in ("archived", "unarchived"):
            item.archived = name == "archived"
        elif name in ("deleted", "restored"):
            item.deleted = name == "deleted"

    def counts(self):
        counted = [item for item in self.items.values() if item.counted]
        listed = [item for item in self.items.values() if item.listed]
        return {
            "unseen": sum(not item.seen for item in counted), "unread": sum(not item.read for item in counted),
            "total": len(listed), "seenUpTo": self.seen_up_to,
            "newest": max((item.position for item in listed), default=None),
        }

    def inbox(self):
        """The positions and marks of what is listed, newest first."""
        listed = sorted((item for item in self.items.values() if item.listed), key=lambda item: -item.position)
        return [(item.seq, item.position, item.seen, item.read, item.muted) for item in listed]
