"""The device's side: traylog-tray against a real server. TRAYLOG_TRAY names the program."""

import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from device import PROGRAM, Device, Proxy, SignInPage
from served import Server, busy, certificate


def view(tray):
    return {name: tray[name] for name in ("unseen", "unread", "total", "seenUpTo", "newest", "newestCounted", "categories")}


def items(page):
    return [{name: value for name, value in item.items()} for item in page["items"]]


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class DeviceTests(unittest.TestCase):
    def assert_equal_trays(self, device, server, user):
        self.assertEqual(view(device.ask("tray")), view(server.get(f"/v1/users/{user}/tray").json))
        mine = device.ask("inbox", limit=100, cursor=None, unread=False)
        self.assertEqual(items(mine), items(server.get(f"/v1/users/{user}/inbox?limit=100").json))
        mine = device.ask("threads", limit=100, cursor=None)
        self.assertEqual(mine["threads"], server.get(f"/v1/users/{user}/threads?limit=100").json["threads"])

    def test_a_users_actions_show_at_once_and_reach_the_server(self):
        with Server() as server:
            for index in range(5):
                server.notify("ann", title=f"n{index}", thread="t", category="c")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                entry = device.ask("see")["id"]
                self.assertEqual(device.ask("tray")["unseen"], 0)
                device.ask("mark", **{"as": "read", "items": [1, 3]})
                self.assertEqual(device.ask("tray")["unread"], 3)
                self.assertTrue(device.wait())
                self.assertEqual(device.states(entry), ["queued", "syncing", "synced"])
                self.assert_equal_trays(device, server, "ann")
                self.assertEqual(server.get("/v1/users/ann/history").lines[-1]["device"], "test")

    def test_an_undo_of_an_undo_that_was_sent_fails_by_name(self):
        with Server() as server:
            server.notify("ann", title="n")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                entry = device.ask("mark", **{"as": "read", "items": [1]})["id"]
                for _ in range(2):
                    self.assertTrue(device.wait())
                    entry = device.ask("undo", id=entry)["id"]
                self.assertTrue(device.wait())
                listed = [(one["id"], one["state"], one["error"]) for one in device.ask("outbox")["entries"] if one["state"] == "failed"]
                self.assertEqual(listed, [(entry, "failed", "notUndoable")])
                self.assertEqual(device.ask("tray")["unread"], 1)
                self.assert_equal_trays(device, server, "ann")

    def test_answers_quiet_times_and_searches_work_offline_and_reach_the_server(self):
        actions = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        with Server() as server, Proxy(server.port) as proxy:
            seqs = [server.notify("ann", title=title, actions=actions).json["seq"] for title in ("Stra\u00dfe", "Weg")]
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                proxy.stop()
                found = lambda **query: [item["seq"] for item in device.ask("inbox", **query)["items"]]  # noqa: E731
                self.assertEqual(found(text="STRASSE"), seqs[:1])
                self.assertEqual(found(awaiting=True), seqs[::-1])
                device.ask("act", item=seqs[0], action="yes", note="at once")
                late = device.ask("act", item=seqs[1], action="yes", asOf=device.ask("inbox")["asOf"])["id"]
                device.ask("mute", **{"all": True, "until": "2099-01-01T00:00:00Z"})
                device.ask("mute", thread="t")
                self.assertEqual((device.ask("tray")["awaiting"], device.ask("tray")["unread"], found(awaiting=True)), (0, 0, []))
                self.assertEqual([mute.get("until") for mute in device.ask("mutes")["mutes"]], ["2099-01-01T00:00:00.000Z", None])
                device.ask("unmute", thread="t")
                # Another device is faster.
                server.post(f"/v1/users/ann/items/{seqs[1]}/action", {"action": "no"})
                proxy.start()
                self.assertTrue(device.wait())
                self.assertEqual(server.get(f"/v1/users/ann/items/{seqs[0]}").json["outcome"]["note"], "at once")
                self.assertEqual([(one["id"], one["error"]) for one in device.ask("outbox")["entries"] if one["error"]], [(late, "alreadyActed")])
                self.assertEqual(device.ask("mutes")["mutes"], server.get("/v1/users/ann/mutes").json["mutes"])
                self.assert_equal_trays(device, server, "ann")
                self.assertEqual(device.ask("mute", **{"all": True, "thread": "t"})["error"], "invalid")

    def test_an_answer_to_a_text_that_was_edited_meanwhile_fails_and_the_item_shows_as_it_is(self):
        actions = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        with Server() as server, Proxy(server.port) as proxy:
            seq = server.notify("ann", title="Transfer 100 to Bob", actions=actions).json["seq"]
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                proxy.stop()
                late = device.ask("act", item=seq, action="yes")["id"]
                self.assertEqual(device.ask("tray")["awaiting"], 0)
                server.call("PATCH", f"/v1/users/ann/items/{seq}", {"title": "Transfer 10000 to Eve"})
                proxy.start()
                self.assertTrue(device.wait())
                self.assertEqual([(one["id"], one["error"]) for one in device.ask("outbox")["entries"] if one["error"]], [(late, "changedSince")])
                (item,) = device.ask("inbox")["items"]
                self.assertEqual((item["title"], item.get("outcome"), device.ask("tray")["awaiting"]), ("Transfer 10000 to Eve", None, 1))
                # Having read it again, one can answer.
                device.ask("act", item=seq, action="no", asOf=device.ask("inbox")["asOf"])
                self.assertTrue(device.wait())
                outcome = server.get(f"/v1/users/ann/items/{seq}").json["outcome"]
                self.assertEqual((outcome["action"], outcome["asOf"] > seq), ("no", True))
                self.assert_equal_trays(device, server, "ann")

    def test_a_device_shows_changes_of_the_server_by_itself(self):
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            server.notify("ann", title="Hello")
            device.until(lambda: any(event.get("unseen") == 1 for event in device.events))
            server.post("/v1/users/ann/marks/all", {"as": "read"})
            device.until(lambda: device.events[-1].get("unread") == 0 or any(
                event.get("unread") == 0 and event.get("total") == 1 for event in device.events))

    def test_a_live_device_that_hears_nothing_rests(self):
        """A stream that waited for its socket to be writable took a whole processor."""
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            server.notify("ann", title="Hello")
            device.until(lambda: any(event.get("unseen") == 1 for event in device.events))
            self.assertLess(busy(device.process.pid), 0.5)

    def test_a_device_works_without_the_server_and_after_a_restart(self):
        with Server() as server, Proxy(server.port) as proxy:
            for index in range(3):
                server.notify("ann", title=f"n{index}")
            device = Device(server, "ann", port=proxy.port)
            self.assertTrue(device.wait())
            proxy.stop()
            mark = device.ask("mark", **{"as": "archived", "items": [2]})["id"]
            message = device.ask("send", to="bob", lane="text", content={"title": "Hi"})["id"]
            # What is being sent when the program is killed would be listed as interrupted.
            device.until(lambda: any(event.get("status") == "offline" for event in device.events) and all(
                device.states(entry)[-1:] == ["queued"] for entry in (mark, message)))
            self.assertEqual(device.ask("tray")["total"], 2)
            device.kill()
            directory = device.directory
            with Device(server, "ann", port=proxy.port, directory=directory) as device:
                tray = device.ask("tray")
                self.assertEqual((tray["total"], tray["unread"]), (2, 2))
                self.assertEqual({entry["id"] for entry in tray["pending"]}, {mark, message})
                proxy.start()
                self.assertTrue(device.wait())
                self.assert_equal_trays(device, server, "ann")
                sent = server.get("/v1/users/bob/inbox").json["items"]
                self.assertEqual([(item["title"], item["actor"], item["key"]) for item in sent], [("Hi", "ann", message)])

    def test_a_refused_mark_is_hidden_and_stays_listed(self):
        with Server() as server:
            server.notify("ann", title="n")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                entry = device.ask("mark", **{"as": "read", "items": [99]})["id"]
                self.assertTrue(device.wait())
                listed = device.ask("outbox")["entries"]
                self.assertEqual([(one["id"], one["state"], one["error"]) for one in listed], [(entry, "failed", "unknownItem")])
                self.assertEqual(device.ask("tray")["pending"], [])
                self.assertEqual(device.ask("discardFailed"), {"discarded": 1})
                self.assertEqual(device.ask("outbox")["entries"], [])

    def test_undo_removes_what_was_not_sent_and_voids_what_was(self):
        with Server() as server:
            server.notify("ann", title="n")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                device.ask("offline", on=True)
                entry = device.ask("mark", **{"as": "read", "items": [1]})["id"]
                self.assertEqual(device.ask("tray")["unread"], 0)
                self.assertEqual(device.ask("undo", id=entry), {"id": entry})
                self.assertEqual(device.ask("tray")["unread"], 1)
                device.ask("offline", on=False)
                entry = device.ask("mark", **{"as": "read", "items": [1]})["id"]
                self.assertTrue(device.wait())
                self.assertNotEqual(device.ask("undo", id=entry)["id"], entry)
                self.assertEqual(device.ask("tray")["unread"], 1)
                self.assertTrue(device.wait())
                self.assertEqual(server.get("/v1/users/ann/history").lines[-1]["kind"], "undone")
                self.assert_equal_trays(device, server, "ann")

    def test_an_expired_token_waits_for_a_new_one(self):
        with Server() as server:
            server.notify("ann", title="n")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                device.ask("live", on=False)
                device.write_token("no.such.token")
                # The token that is known goes on until the server refuses it: a fresh start has only the file.
                device.process.stdin.close()
                device.process.wait(timeout=30)
                device.close_pipes()
                with Device(server, "ann", directory=device.directory) as other:
                    self.assertTrue(other.wait())
                other.write_token("no.such.token")

    def test_a_token_that_is_refused_is_read_again(self):
        with Server() as server, Device(server, "ann") as device:
            self.assertTrue(device.wait())
            # The same device with another server, whose key is another one.
            with Server() as second, Proxy(second.port) as proxy:
                second.notify("ann", title="over there")
                with Device(server, "ann", port=proxy.port) as stranger:
                    stranger.until(lambda: any(
                        event.get("status") == "authenticationRequired" for event in stranger.events))
                    stranger.write_token(second.token("ann"))
                    self.assertTrue(stranger.wait(seconds=30))
                    self.assertEqual(stranger.ask("tray")["unread"], 1)

    def test_a_directory_belongs_to_one_process_at_a_time(self):
        with Server() as server, Device(server, "ann") as device:
            device.wait()
            with Device(server, "ann", directory=device.directory) as second:
                self.assertEqual(second.process.wait(timeout=30), 69)
            device.ask("logout")
            left = [os.path.join(path, name) for path, _, names in os.walk(os.path.join(device.directory, "device")) for name in names]
            self.assertEqual(left, [])

    def test_an_unchanged_badge_costs_one_304_of_less_than_500_bytes(self):
        with Server() as server, Proxy(server.port) as proxy:
            server.notify("ann", title="n")
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                device.ask("live", on=False)
                self.assertTrue(device.wait())
                self.assertTrue(device.wait())
                server.notify("somebody else", title="not for ann")
                before = proxy.sent
                self.assertTrue(device.wait())
                *_, badge, _ = server.logged(after=server.get("/healthz", who=None)).splitlines()
                self.assertIn("304", badge)
                self.assertGreater(proxy.sent, before)
                self.assertLess(proxy.sent - before, 500)

    def test_an_attachment_is_uploaded_before_its_message(self):
        stored = {}

        class Store(BaseHTTPRequestHandler):
            def do_PUT(self):
                stored[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        files = ThreadingHTTPServer(("127.0.0.1", 0), Store)
        threading.Thread(target=files.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{files.server_port}/files"
        with Server() as server, Device(server, "ann", options=["--upload", address]) as device:
            photo = os.path.join(device.directory, "photo.jpg")
            content = random.Random(1).randbytes(300_000)
            with open(photo, "wb") as file:
                file.write(content)
            entry = device.ask("send", to="bob", lane="media", content={"title": "A photo"}, attachment=photo)["id"]
            self.assertTrue(device.wait())
            states = device.states(entry)
            self.assertEqual(list(dict.fromkeys(states)), ["queued", "uploading", "syncing", "synced"])
            self.assertEqual(stored, {f"/files/{entry}": content})
            data = server.get("/v1/users/bob/inbox").json["items"][0]["data"]["attachment"]
            self.assertEqual((data["url"], data["bytes"]), (f"{address}/{entry}", len(content)))
            self.assertTrue(any(event.get("fraction") for event in device.events), "it was told how much is uploaded")
            trays = [event for event in device.events if event["event"] == "tray"]
            self.assertEqual([one for one, next in zip(trays, trays[1:]) if one == next], [])
        files.shutdown()
        files.server_close()

    def test_a_compacted_or_erased_stream_is_fetched_anew_or_removed(self):
        with Server() as server, Proxy(server.port) as proxy:
            for index in range(5):
                server.notify("ann", title=f"n{index}")
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                proxy.stop()
                device.until(lambda: any(event.get("status") == "offline" for event in device.events))
                for index in range(5):
                    server.notify("ann", title=f"m{index}")
                head = server.get("/v1/admin/stats").json["head"]
                self.run_job(server, "compactions", {"before": head})
                mark = device.ask("mark", **{"as": "read", "items": [1]})["id"]
                proxy.start()
                self.assertTrue(device.wait())
                self.assertEqual(device.states(mark)[-1], "synced")
                self.assert_equal_trays(device, server, "ann")
                self.run_job(server, "erasures", {"user": "ann", "confirm": "ann"})
                device.ask("refresh")
                device.until(lambda: any(event.get("status") == "erased" for event in device.events))
                self.assertEqual(device.ask("tray")["total"], 0)

    def run_job(self, server, kind, body):
        job = server.post(f"/v1/admin/{kind}", body).json["id"]
        while True:
            state = server.get(f"/v1/admin/jobs/{job}").json
            if state["state"] != "running":
                self.assertEqual(state["state"], "done", state)
                return

    def test_a_sign_in_page_is_no_answer(self):
        html = b"Content-Type: text/html\r\nContent-Length: 14\r\nConnection: close\r\n\r\n<html>Hi</html>"[:-1]
        for head in (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/sign-in\r\n", b"HTTP/1.1 200 OK\r\n",
                     b"HTTP/1.1 403 Forbidden\r\n", b"HTTP/1.1 511 Network Authentication Required\r\n"):
            with self.subTest(head=head), Server() as server, Proxy(server.port) as proxy:
                for index in range(3):
                    server.notify("ann", title=f"n{index}")
                with Device(server, "ann", port=proxy.port) as device:
                    self.assertTrue(device.wait())
                    proxy.stop()
                    with SignInPage(head + html, port=proxy.port):
                        device.ask("mark", **{"as": "read", "items": [1, 2]})
                        device.ask("send", to="bob", lane="text", content={"title": "from the lobby"})
                        device.until(lambda: "cannot reach the service" in device.ask("tray")["connection"].get("message", ""))
                        tray = device.ask("tray")
                        self.assertEqual((tray["status"], tray["unread"]), ("offline", 1))
                        device.until(lambda: [(entry["state"], entry["attempts"]) for entry in device.ask("outbox")["entries"]]
                                     == [("queued", 0)] * 2)
                    proxy.start()
                    self.assertTrue(device.wait())
                    self.assert_equal_trays(device, server, "ann")
                    self.assertEqual(len(server.get("/v1/users/bob/inbox").json["items"]), 1)

    def test_a_certificate_that_nobody_trusts_is_no_connection(self):
        with tempfile.TemporaryDirectory() as directory, Server() as server:
            with SignInPage(b"", certificate=certificate(directory)) as page:
                with Device(server, "ann", url=f"https://127.0.0.1:{page.port}") as device:
                    device.ask("send", to="bob", lane="text", content={"title": "from the lobby"})
                    device.until(lambda: device.ask("tray")["connection"].get("error") == "offline")
                    self.assertIn("cannot reach the service", device.ask("tray")["connection"]["message"])
                    device.until(lambda: [(entry["state"], entry["attempts"]) for entry in device.ask("outbox")["entries"]]
                                 == [("queued", 0)])

    def test_a_directory_belongs_to_one_user_of_one_server(self):
        with Server() as server, Server() as other:
            with Device(server, "wendy", url="http://127.0.0.1:9") as device:
                device.ask("send", to="bob", lane="text", content={"title": "from wendy"})
                device.kill()
                for stranger in (Device(server, "zoe", url="http://127.0.0.1:9", directory=device.directory),
                                 Device(other, "wendy", directory=device.directory)):
                    with stranger:
                        self.assertEqual(stranger.process.wait(timeout=30), 65)
                        self.assertIn("wendy at http://127.0.0.1:9", stranger.process.stderr.read())
                with Device(server, "wendy", url="HTTP://127.0.0.1:9/", directory=device.directory) as again:
                    self.assertEqual(len(again.ask("outbox")["entries"]), 1)

    def test_a_directory_goes_along_when_its_server_moves(self):
        with Server() as server, Server() as other, Proxy(server.port) as former:
            with Device(server, "ann", port=former.port) as device:
                self.assertTrue(device.wait())
                device.ask("offline", on=True)
                device.ask("send", to="bob", lane="text", content={"title": "hello"})
                device.kill()
                moved = ("--moved-from", f"http://127.0.0.1:{former.port}")
                with Device(other, "ann", directory=device.directory, options=moved) as stranger:
                    stranger.until(lambda: "another store" in stranger.ask("tray")["connection"].get("message", ""))
                    stranger.ask("offline", on=True)
                    stranger.kill()
                with Device(server, "ann", directory=device.directory, options=moved) as again:
                    self.assertTrue(again.wait())
                self.assertEqual([len(one.get("/v1/users/bob/inbox").json["items"]) for one in (other, server)], [0, 1])

    def test_wrong_lines_are_answered(self):
        with Server() as server, Device(server, "ann") as device:
            for line in ["nonsense", "[]", '{"do":"fly"}', '{"do":"mark","as":"eaten","items":[1]}', '{"do":"wait","for":"ever"}',
                         '{"do":"tray","x":1}', '{"do":"mark","as":"read","items":[]}']:
                device.process.stdin.write(line + "\n")
                device.process.stdin.flush()
                self.assertEqual(set(device.answers.get(timeout=30)), {"error", "message"}, line)

    def test_a_line_without_an_end_is_refused_and_not_kept(self):
        with Server() as server, Device(server, "ann") as device:
            for _ in range(256):
                device.process.stdin.write("x" * (1 << 20))
            device.process.stdin.write("\n")
            device.process.stdin.flush()
            self.assertEqual(
                device.answers.get(timeout=60), {"error": "invalid", "message": "the line has more than 1048576 bytes"})
            with open(f"/proc/{device.process.pid}/status") as status:
                peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
            self.assertLess(peak, 160 << 10, "KiB at most")
            self.assertIn("entries", device.ask("outbox"))

    def test_questions_that_come_faster_than_answers_are_all_answered(self):
        with Server() as server, Device(server, "ann") as device:
            writer = threading.Thread(target=lambda: device.process.stdin.write('{"do":"outbox"}\n' * 2_000), daemon=True)
            writer.start()
            for _ in range(2_000):
                self.assertIn("entries", device.answers.get(timeout=60))
            writer.join()


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class BrokenNetworkTests(unittest.TestCase):
    """Random work through a proxy that loses, doubles, delays and cuts, with the process killed anywhere."""

    def test_after_all_is_quiet_trays_are_equal_and_each_entry_is_stored_once(self):
        seed = int(os.environ.get("TRAYLOG_TEST_SEED", "1"))
        for number in range(int(os.environ.get("TRAYLOG_RUNS", "2"))):
            with self.subTest(seed=seed + number):
                self.run_seed(seed + number)

    def run_seed(self, seed):
        chance = random.Random(seed)
        with Server() as server, Proxy(server.port, seed=seed, faults=20) as proxy:
            for index in range(10):
                server.notify("ann", title=f"n{index}", thread=chance.choice(["t", "u"]), category="c")
            device = Device(server, "ann", port=proxy.port)
            sent = []
            try:
                for step in range(60):
                    device = self.step(chance, server, proxy, device, sent, step)
                proxy.faults = 0
                self.assertTrue(device.wait(seconds=90), f"seed {seed}")
                for entry in device.ask("outbox")["entries"]:
                    if entry["state"] == "failed":
                        device.ask("resend", id=entry["id"])
                self.assertTrue(device.wait(seconds=90), f"seed {seed}")
                DeviceTests.assert_equal_trays(self, device, server, "ann")
                self.check_messages(server, sent, seed)
            finally:
                device.__exit__()

    def step(self, chance, server, proxy, device, sent, step):
        kind = chance.choice(["notify", "mark", "mark", "see", "markAll", "undo", "send", "send", "kill", "offline"])
        if kind == "notify":
            server.notify("ann", title=f"later {step}", thread="t")
        elif kind == "mark":
            page = device.ask("inbox", limit=20, cursor=None, unread=False)["items"]
            if page:
                item = chance.choice(page)["seq"]
                device.ask("mark", **{"as": chance.choice(["read", "unread", "archived", "deleted"]), "items": [item]})
        elif kind == "see":
            device.ask("see")
        elif kind == "markAll":
            device.ask("markAll", **{"as": "read", "thread": "u"})
        elif kind == "undo":
            marks = [entry for entry in device.ask("outbox")["entries"] if entry["lane"] == "marks"]
            if marks:
                device.ask("undo", id=marks[-1]["id"])
        elif kind == "send":
            lane = chance.choice(["text", "media"])
            entry = device.ask("send", to="bob", lane=lane, content={"title": f"{lane} {step}"})["id"]
            sent.append((entry, lane, f"{lane} {step}"))
        elif kind == "kill" and chance.random() < 0.4:
            directory = device.directory
            device.kill()
            device = Device(server, "ann", port=proxy.port, directory=directory)
            device.owns = True
        elif kind == "offline":
            device.ask("offline", on=chance.random() < 0.5)
            device.ask("offline", on=False)
        return device

    def check_messages(self, server, sent, seed):
        arrived = [item["title"] for item in reversed(server.get("/v1/users/bob/inbox?limit=100").json["items"])]
        self.assertEqual(sorted(arrived), sorted(title for _, _, title in sent), f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
