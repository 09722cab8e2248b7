"""A device that is killed at any moment, and what can go wrong when a user does too much at once.

`traylog-tray` gets SIGKILL while it stores, uploads, sends and waits, behind a proxy that loses, doubles, delays and cuts."""

import collections
import os
import random
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import test_device
from device import PROGRAM, Device, Proxy
from served import Server


class Uploads:
    """Takes files by PUT, and forgets to answer some of them."""

    def __init__(self, seed):
        self.stored = {}
        # How many of a hundred are stored without an answer, and how many are told to come again.
        self.faults = 10
        chance = random.Random(seed)
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(handler):
                content = handler.rfile.read(int(handler.headers["Content-Length"]))
                with lock:
                    self.stored[handler.path] = content
                    fault = chance.randrange(100)
                if fault < self.faults:
                    handler.close_connection = True
                    return
                handler.send_response(503 if fault < 2 * self.faults else 201)
                handler.send_header("Content-Length", "0")
                handler.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/files"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Life:
    """One device through many processes, and what it was asked to do."""

    def __init__(self, server, proxy, uploads, seed):
        self.server, self.proxy, self.uploads = server, proxy, uploads
        self.chance = random.Random(seed)
        self.device = Device(server, "ann", port=proxy.port, options=["--upload", uploads.address])
        # Title → lane, in the order of asking; ids of those that were answered; titles that failed once.
        self.asked = {}
        self.ids = {}
        self.failed = set()
        self.photo = os.path.join(self.device.directory, "photo")
        with open(self.photo, "wb") as file:
            file.write(self.chance.randbytes(50_000))

    def process(self, seconds):
        """Works until the process is killed, which happens at some moment in these seconds."""
        killer = threading.Timer(self.chance.random() * seconds, self.device.process.kill)
        killer.start()
        try:
            while True:
                self.step()
        except (RuntimeError, BrokenPipeError):
            pass
        finally:
            killer.join()
        self.device.process.wait()
        self.device.close_pipes()
        self.note_failures()
        directory = self.device.directory
        self.device = Device(self.server, "ann", port=self.proxy.port, directory=directory,
                             options=["--upload", self.uploads.address])
        self.device.owns = True

    def note_failures(self, entries=()):
        """An entry that was under way when the process ended has failed when the next one begins."""
        titles = {entry: title for title, entry in self.ids.items()}
        self.failed |= {titles[one["id"]] for one in [*self.device.events, *entries]
                        if one.get("state") == "failed" and one["id"] in titles}

    def step(self):
        kind = self.chance.choice(["send", "send", "send", "mark", "see", "undo", "notify", "rest", "resend"])
        if kind == "send":
            lane = self.chance.choice(["text", "media", "orders"])
            title = f"{lane} {len(self.asked):04}"
            self.asked[title] = lane
            more = {"attachment": self.photo} if lane == "media" else {}
            answer = self.device.ask("send", to="bob", lane=lane, content={"title": title}, **more)
            self.ids[title] = answer["id"]
        elif kind == "mark":
            page = self.device.ask("inbox", limit=20, cursor=None, unread=False)["items"]
            if page:
                item = self.chance.choice(page)["seq"]
                self.device.ask("mark", **{"as": self.chance.choice(["read", "unread", "archived"]), "items": [item]})
        elif kind == "see":
            self.device.ask("see")
        elif kind == "undo":
            marks = [one["id"] for one in self.device.ask("outbox")["entries"] if one["lane"] == "marks"]
            if marks:
                self.device.ask("undo", id=marks[-1])
        elif kind == "notify":
            self.server.notify("ann", title="n", thread=self.chance.choice(["t", "u"]))
        elif kind == "rest":
            time.sleep(self.chance.random() * 0.2)
        else:
            entries = self.device.ask("outbox")["entries"]
            self.note_failures(entries)
            for entry in entries:
                if entry["state"] == "failed":
                    self.device.ask("resend", id=entry["id"])

    def settle(self, test):
        """Everything that was stored arrives in the end, once the user sends again what failed."""
        for _ in range(40):
            if not self.device.wait(seconds=120):
                test.fail(f"{self.device.ask('outbox')}")
            entries = self.device.ask("outbox")["entries"]
            failed = [one["id"] for one in entries if one["state"] == "failed"]
            self.note_failures(entries)
            if not failed:
                return
            for entry in failed:
                self.device.ask("resend", id=entry)
        test.fail(f"entries keep failing: {self.device.ask('outbox')}")


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class KilledDeviceTests(unittest.TestCase):
    assert_equal_trays = test_device.DeviceTests.assert_equal_trays

    def test_killed_anywhere_nothing_is_lost_nothing_doubled_and_no_lane_is_out_of_order(self):
        seed = int(os.environ.get("TRAYLOG_TEST_SEED", "11"))
        kills = 60 if os.environ.get("TRAYLOG_TESTS") == "nightly" else 6
        with Server() as server, Proxy(server.port, seed=seed, faults=20) as proxy, Uploads(seed) as uploads:
            for index in range(8):
                server.notify("ann", title=f"n{index}", thread="t")
            life = Life(server, proxy, uploads, seed)
            try:
                for _ in range(kills):
                    life.process(seconds=3)
                proxy.faults = uploads.faults = 0
                life.settle(self)
                self.assert_equal_trays(life.device, server, "ann")
                self.check_messages(life, self.messages(server), seed)
            finally:
                life.device.__exit__()

    def messages(self, server):
        """What bob got, oldest first."""
        found, cursor = [], ""
        while cursor is not None:
            page = server.get(f"/v1/users/bob/inbox?limit=100{cursor}").json
            found += page["items"]
            cursor = page["next"] and f"&cursor={page['next']}"
        return found[::-1]

    def check_messages(self, life, messages, seed):
        arrived = [item["title"] for item in messages]
        self.assertEqual([title for title, count in collections.Counter(arrived).items() if count > 1], [], f"seed {seed}")
        self.assertLessEqual(set(life.ids), set(arrived), f"seed {seed}: lost")
        self.assertLessEqual(set(arrived), set(life.asked), f"seed {seed}")
        for lane in ("text", "media", "orders"):
            # What was sent again went to the end of its lane. An entry whose answer was lost with the process may have been.
            sure = [title for title in arrived
                    if life.asked[title] == lane and title in life.ids and title not in life.failed]
            self.assertEqual(sure, sorted(sure), f"seed {seed}")
        for item in messages:
            if life.asked[item["title"]] != "media":
                continue
            attachment = item["data"]["attachment"]
            self.assertEqual(len(life.uploads.stored["/files/" + attachment["url"].rsplit("/", 1)[1]]), attachment["bytes"])

    def test_a_shown_mark_never_flickers(self):
        """A mark that is on its way stays in view until it is confirmed, whatever the network does to it."""
        with Server() as server, Proxy(server.port, seed=4, faults=25) as proxy:
            for index in range(12):
                server.notify("ann", title=f"n{index}")
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait(seconds=120))
                device.events.clear()
                for item in range(1, 13):
                    device.ask("mark", **{"as": "read", "items": [item]})
                self.assertTrue(device.wait(seconds=120))
                shown = [event["unread"] for event in device.events if event["event"] == "tray"]
                self.assertEqual(shown, sorted(shown, reverse=True))
                self.assertEqual(device.ask("tray")["unread"], 0)

    def test_another_store_under_the_same_address_takes_the_place_of_the_first(self):
        with Server() as server, Server() as second, Proxy(server.port) as proxy:
            for index in range(5):
                server.notify("ann", title=f"here {index}")
            second.notify("ann", title="over there")
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                proxy.stop()
                device.until(lambda: any(event.get("status") == "offline" for event in device.events))
                mark = device.ask("mark", **{"as": "archived", "items": [1]})["id"]
                proxy.target = second.port
                device.write_token(second.token("ann", scope="inbox:read inbox:write publish"))
                proxy.start()
                self.assertTrue(device.wait())
                self.assertEqual(device.states(mark)[-1], "synced")
                # It was about another item, which only has the same number.
                self.assertEqual(second.get("/v1/users/ann/inbox?view=archived").json["items"], [])
                self.assert_equal_trays(device, second, "ann")

    def test_old_items_are_asked_of_the_server_when_they_are_shown(self):
        with Server() as server:
            server.perform(*[{"kind": "notify", "user": "ann", "title": f"n{index}", "thread": f"t{index % 40}"} for index in range(450)])
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                mine = theirs = None
                while True:
                    page = device.ask("inbox", limit=60, cursor=mine, unread=False)
                    same = server.get("/v1/users/ann/inbox?limit=60" + (f"&cursor={theirs}" if theirs else "")).json
                    self.assertEqual(page["items"], same["items"])
                    mine, theirs = page["next"], same["next"]
                    if mine is None:
                        break
                self.assertIsNone(theirs)
                # What was shown once is there without the server, too.
                device.ask("offline", on=True)
                self.assertEqual(device.ask("threads", limit=40, cursor=None)["threads"],
                                 server.get("/v1/users/ann/threads?limit=40").json["threads"])

    def test_lines_that_are_wrong_are_answered_by_what_is_wrong(self):
        wrong = {
            "[]": "object", "5": "object", '{"do":"tray","do":"see"}': "twice", '{"do":"mute"}': "thread",
            '{"do":"mute","thread":"t","category":"c"}': "one of", '{"do":"inbox","thread":"t","unthreaded":true}': "unthreaded",
            '{"do":"send","to":"bob","lane":"","content":{}}': "lane", '{"do":"send","to":"bob","content":{"key":"k"}}': "key",
            '{"do":"inbox","limit":0}': "limit", '{"do":"inbox","limit":101}': "limit", '{"do":"threads","cursor":"x"}': "cursor",
            '{"do":"send","to":"bob","content":{"titel":"x"}}': "titel", '{"do":"live"}': "on", '{"do":"poll"}': "seconds",
            '{"do":"wait","for":"idle","seconds":-1}': "seconds", '{"do":"undo","id":"x"}': "x", '{"do":"resend","id":"x"}': "x",
        }
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            for line, word in wrong.items():
                device.process.stdin.write(line + "\n")
                device.process.stdin.flush()
                answer = device.answers.get(timeout=60)
                self.assertEqual(set(answer), {"error", "message"}, line)
                self.assertIn(word, answer["message"], line)
            self.assertEqual(device.ask("outbox"), {"entries": []})

    def test_a_message_in_the_lane_of_marks_shows_in_nobody_elses_tray(self):
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            device.ask("send", to="bob", lane="marks", content={"title": "Hi"})
            self.assertTrue(device.wait())
            self.assertEqual([event["total"] for event in device.events if event["event"] == "tray"][-1], 0)
            self.assertTrue(all(event["total"] == 0 for event in device.events if event["event"] == "tray"))

    def test_after_a_log_out_nothing_is_pending_and_nothing_is_asked(self):
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            device.ask("offline", on=True)
            device.ask("send", to="bob", lane="text", content={"title": "never sent"})
            self.assertEqual(device.ask("logout"), {"ok": True})
            self.assertTrue(device.wait("idle", seconds=5))
            self.assertFalse(device.wait("synced", seconds=0.1))
            tray = device.ask("tray")
            self.assertEqual((tray["total"], tray["pending"], tray["status"]), (0, [], "offline"))
            self.assertEqual(device.ask("send", to="bob", lane="text", content={})["error"], "closed")
            self.assertEqual(server.get("/v1/users/bob/inbox").json["items"], [])


if __name__ == "__main__":
    unittest.main()
