"""live?with=items: a list that is loaded stays right without being loaded again."""

import os
import random
import threading
import unittest

from served import Server, Stream

SEED = int(os.environ.get("TRAYLOG_SEED", random.randrange(1 << 32)))


def inbox(server, user):
    """All items of the three views, by seq, and what they are as of."""
    items = {}
    for view in ("inbox", "archived", "snoozed"):
        path, cursor = f"/v1/users/{user}/inbox?view={view}&includeSilent=true&limit=100", ""
        while cursor is not None:
            page = server.get(path + cursor).json
            items.update({item["seq"]: item for item in page["items"]})
            cursor = f"&cursor={page['next']}" if page["next"] else None
    return items


class Copy:
    """What a page knows of a user's items, kept by a stream alone."""

    def __init__(self, server, user, **more):
        self.server, self.user, self.kinds, self.events = server, user, [], []
        self.stream = Stream(server, f"/v1/users/{user}/live?with=items", **more)
        self.tray = self.next()[2]
        self.items = inbox(server, user)

    def next(self):
        event = self.stream.next()
        self.kinds.append(event and event[0])
        self.events.append(event)
        return event

    def follow(self, seq):
        """Takes events until the tray or the items are as of a seq."""
        as_of = self.tray["asOf"]
        while as_of < seq:
            event, identity, data = self.next()
            as_of = data["asOf"]
            if event == "tray":
                assert int(identity) == as_of >= self.tray["asOf"]
                assert {**data, "asOf": 0} != {**self.tray, "asOf": 0}, "two trays are equal"
                self.tray = data
            elif data.get("reload"):
                self.items = inbox(self.server, self.user)
            else:
                assert len(data["items"]) + len(data["gone"]) <= 200
                assert not {item["seq"] for item in data["items"]} & set(data["gone"])
                self.items.update({item["seq"]: item for item in data["items"]})
                for gone in data["gone"]:
                    self.items.pop(gone, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()


class LiveItemTests(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def test_a_list_follows_every_kind_of_change(self):
        """Random commands; the copies of five pages, kept by their streams alone, are equal to the inbox."""
        print(f"seed {SEED}")
        numbers = random.Random(SEED)
        server, user = self.server, "ann"
        server.perform(*({"kind": "notify", "user": user, "title": str(n)} for n in range(20)))
        server.perform({"kind": "subscribe", "user": user, "topic": "news"})
        copies = [Copy(server, user) for _ in range(5)]
        for copy in copies:
            self.addCleanup(copy.__exit__)
        known = list(range(1, 21))
        threads, marks = ["a", "b"], ["seen", "read", "unread", "archived", "unarchived", "deleted", "restored"]
        for _ in range(150):
            item = numbers.choice(known)
            command = numbers.choice([
                {"kind": "notify", "title": "new", "thread": numbers.choice(threads), "silent": numbers.random() < 0.2},
                {"kind": "notify", "title": "again", "collapseKey": numbers.choice("xyz")},
                {"kind": "broadcast", "topic": "news", "title": "to all"},
                {"kind": "broadcast", "topic": "news", "title": "later, to all", "notBefore": "2090-01-01T00:00:00Z"},
                {"kind": "notify", "title": "later", "notBefore": "2090-01-01T00:00:00Z", "collapseKey": numbers.choice("xyz")},
                {"kind": "mark", "as": numbers.choice(marks), "items": [item]},
                {"kind": "markAll", "as": numbers.choice(["seen", "read", "archived"]), "thread": numbers.choice(threads)},
                {"kind": "seeTray"}, {"kind": "edit", "item": item, "title": f"edited {numbers.random()}"},
                {"kind": "snooze", "item": item, "until": "2100-01-01T00:00:00Z"}, {"kind": "wake", "item": item},
                {"kind": "mute", "thread": numbers.choice(threads)}, {"kind": "unmute", "thread": numbers.choice(threads)},
                {"kind": "undo", "event": numbers.choice(known)}, {"kind": "notify", "title": "taken back", "key": "k"},
                *([{"kind": "retract", "item": item}] if numbers.random() < 0.3 else []),
            ])
            if command["kind"] != "broadcast":
                command["user"] = user
            result = server.perform(command)["results"][0]
            if "seq" in result:
                known.append(result["seq"])
            if numbers.random() < 0.1:
                server.notify("somebody else", title="x")
            if numbers.random() < 0.05:
                server.post("/v1/admin/ticks", {"now": "2090-01-02T00:00:00Z"})
        # The last change is one that everybody hears of.
        seq = server.notify(user, title="last").json["seq"]
        expected, tray = inbox(server, user), server.get(f"/v1/users/{user}/tray").json
        for copy in copies:
            copy.follow(seq)
            while copy.kinds[-1] != "tray":
                copy.follow(copy.tray["asOf"] + 1)
            self.assertEqual(copy.items, expected)
            self.assertEqual({**copy.tray, "asOf": 0}, {**tray, "asOf": 0})
            self.assertNotIn(True, [event[2].get("reload") for event in copy.events])

    def test_the_items_come_before_their_tray(self):
        with Copy(self.server, "ann") as copy:
            self.assertEqual(copy.tray["unread"], 0)
            seq = self.server.notify("ann", title="one").json["seq"]
            event, identity, data = copy.next()
            self.assertEqual((event, identity, data["asOf"], data["gone"]), ("items", None, seq, []))
            self.assertEqual([item["title"] for item in data["items"]], ["one"])
            event, identity, data = copy.next()
            self.assertEqual((event, identity, data["unread"]), ("tray", str(seq), 1))
            # An edit changes no count, but the revision.
            self.server.call("PATCH", f"/v1/users/ann/items/{seq}", {"title": "two"})
            self.assertEqual(copy.next()[2]["items"][0]["title"], "two")
            event, _, data = copy.next()
            self.assertEqual((event, data["unread"], data["revision"]), ("tray", 1, 2))
            self.server.post("/v1/users/ann/marks", {"as": "deleted", "items": [seq]})
            self.assertEqual(copy.next()[2]["gone"], [seq])
            self.assertEqual(copy.next()[0], "tray")

    def test_more_than_two_hundred_items_are_to_be_read_again(self):
        self.server.perform(*({"kind": "notify", "user": "ann", "title": str(n)} for n in range(500)))
        for count, reloads in ((200, False), (201, True)):
            with Copy(self.server, "ann") as copy:
                items = sorted(seq for seq, item in copy.items.items() if not item["read"])[:count]
                seq = self.server.post("/v1/users/ann/marks", {"as": "read", "items": items}).json["seq"]
                event, _, data = copy.next()
                self.assertEqual((event, data["asOf"], data.get("reload", False)), ("items", seq, reloads))
                self.assertEqual(copy.next()[0], "tray")

    def test_what_a_stream_missed_is_to_be_read_again(self):
        seq = self.server.notify("ann", title="one").json["seq"]
        self.server.notify("ben", title="another's")
        path = "/v1/users/ann/live?with=items"
        with Stream(self.server, path, headers={"Last-Event-ID": str(seq)}) as stream:
            self.assertEqual(stream.next()[0], "tray", "nothing was missed")
        newest = self.server.notify("ann", title="two").json["seq"]
        for last in (seq, 10_000):
            with Stream(self.server, path, headers={"Last-Event-ID": str(last)}) as stream:
                self.assertEqual(stream.next(), ("items", None, {"asOf": newest, "reload": True}))
                self.assertEqual(stream.next()[:2], ("tray", str(newest)))
        with Stream(self.server, path) as stream:
            self.assertEqual(stream.next()[0], "tray")
        self.assertEqual(self.server.get("/v1/users/ann/live?with=trays").status, 400)

    def test_a_reader_who_does_not_read_delays_nobody_and_reads_the_items_again(self):
        """100 changes of 50 items of 16 KiB each, beside one who does not read."""
        body = "b" * (16 << 10)
        self.server.perform(*({"kind": "notify", "user": "ann", "title": str(n), "body": body} for n in range(50)))
        items = list(range(1, 51))
        with Copy(self.server, "ann") as reader, Copy(self.server, "ann") as sleeper:
            # Changes that take each other back in between leave nothing to tell; a notification never does.
            for turn in range(100):
                self.server.perform({"kind": "mark", "user": "ann", "as": ("read", "unread")[turn % 2], "items": items})
                if turn % 10 == 0:
                    reader.follow(self.server.notify("ann", title="more").json["seq"])
            seq = self.server.notify("ann", title="last").json["seq"]
            for copy in (reader, sleeper):
                copy.follow(seq)
                self.assertEqual(copy.items, inbox(self.server, "ann"))

    def test_a_stream_ends_with_its_person(self):
        self.server.notify("ann", title="one")
        with Copy(self.server, "ann") as copy:
            job = self.server.post("/v1/admin/erasures", {"user": "ann", "confirm": "ann"})
            self.assertEqual(job.status, 202)
            found = []
            while event := copy.next():
                found.append(event)
            self.assertEqual(found[-1][0], "end")
            self.assertEqual(found[-1][2], {"reason": "erased"})
            self.assertEqual([data["unread"] for name, _, data in found if name == "tray"], [0])
            self.assertEqual([data.get("reload") for name, _, data in found if name == "items"], [True])

    def test_many_streams_of_one_user_hear_the_same(self):
        """Fifty streams that come and go while somebody writes."""
        with Copy(self.server, "ann") as first:
            stop = threading.Event()
            failures = []

            def come_and_go():
                while not stop.is_set():
                    try:
                        with Stream(self.server, "/v1/users/ann/live?with=items") as stream:
                            assert stream.next()[0] == "tray"
                            stream.next()
                    except Exception as error:
                        failures.append(error)
                        return

            tasks = [threading.Thread(target=come_and_go) for _ in range(10)]
            for task in tasks:
                task.start()
            for number in range(50):
                seq = self.server.notify("ann", title=str(number)).json["seq"]
            stop.set()
            seq = self.server.notify("ann", title="wakes those who wait").json["seq"]
            while any(task.is_alive() for task in tasks):
                seq = self.server.notify("ann", title="wakes those who wait").json["seq"]
                for task in tasks:
                    task.join(0.05)
            first.follow(seq)
            self.assertEqual(failures, [])
            self.assertEqual(first.items, inbox(self.server, "ann"))


if __name__ == "__main__":
    unittest.main()
