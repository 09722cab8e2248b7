"""After a kill the next start logs which requests were under way; after a clean end it has nothing to tell. A revoked key, a store that
is gone and a key's file are here, too: what an operator meets on a bad day."""

import json
import os
import shutil
import signal
import tempfile
import threading
import time
import unittest

from consoled import Visitor, console_server
from served import Server, Stream
from test_erasure import until


class UnderWayTests(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-under-way.")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def told(self, server):
        lines = [json.loads(line) for line in server.logged().splitlines() if line.startswith("{")]
        return [line for line in lines if "underWay" in line]

    def noted(self, note):
        """Slots with a time."""
        with open(note, "rb") as file:
            data = file.read()
        return sum(any(data[at:at + 8]) for at in range(16, 16 + 32 * 4_096, 32))

    def test_a_kill_leaves_a_note_of_the_requests_under_way_without_names(self):
        server = Server(directory=self.directory)
        server.notify("ann-the-user", title="x")
        path = "/v1/users/ann-the-user/changes?offset=now&live=long-poll"

        def wait():
            try:
                server.get(path)
            except OSError:
                pass
            except Exception:  # noqa: BLE001 - the server is killed meanwhile
                pass

        threading.Thread(target=wait, daemon=True).start()
        note = os.path.join(self.directory, "store", "requests-under-way")
        until(lambda: self.noted(note) == 1)
        self.assertEqual(server.stop(signal.SIGKILL), -9)
        with open(note, "rb") as file:
            self.assertNotIn(b"ann-the-user", file.read())
        with Server(directory=self.directory) as again:
            until(lambda: self.told(again))
            told = self.told(again)[-1]
            self.assertEqual(told["underWay"], 1)
            self.assertEqual(told["requests"][0]["route"], "GET /v1/users/{u}/changes")
            self.assertRegex(told["requests"][0]["request"], "^[0-9a-f]{16}$")
            self.assertRegex(told["requests"][0]["at"], r"^\d{4}-\d\d-\d\dT")
            before = len(self.told(again))
            self.assertEqual(again.stop(), 0)
        self.assertFalse(os.path.exists(note))
        with Server(directory=self.directory) as last:
            last.get("/v1/users")
            self.assertEqual(len(self.told(last)), before)

    def test_a_stream_of_events_takes_no_place_in_the_note(self):
        with Server(directory=self.directory) as server:
            server.notify("ann", title="x")
            with Stream(server, "/v1/users/ann/live") as stream:
                self.assertEqual(stream.next()[0], "tray")
                note = os.path.join(self.directory, "store", "requests-under-way")
                until(lambda: self.noted(note) == 0)

    def test_a_store_that_is_gone_is_the_servers_trouble_and_no_answer_says_where_it_was(self):
        with Server(directory=self.directory) as server:
            seq = server.notify("ann", title="x").json["seq"]
            store, away = (os.path.join(self.directory, name) for name in ("store", "away"))
            os.rename(store, away)
            for method, path, body, who in (
                ("POST", "/v1/users/ann/marks", {"as": "read", "items": [seq]}, server.token("ann")),
                ("POST", "/v1/users/ann/notifications", {"title": "y"}, "key"),
                ("PUT", "/v1/users/ann/devices/t1", {}, "key"),
            ):
                answer = server.call(method, path, body, who=who)
                self.assertIn(answer.status, (503, 507), (path, answer))
                self.assertNotIn(self.directory, answer.body.decode())
                if answer.status == 503:
                    self.assertTrue(answer.headers["Retry-After"])
            self.assertEqual(server.call("GET", "/readyz", who=None).status, 503)
            os.rename(away, store)
            self.assertEqual(server.call("POST", "/v1/users/ann/notifications", {"title": "y"}).status, 201)

    def test_a_key_that_is_taken_out_of_the_file_stops_working_at_the_reload(self):
        with console_server() as server:
            self.assertEqual(server.get("/v1/users", who=server.keys["viewer"]).status, 200)
            path = os.path.join(server.directory, "keys")
            with open(path) as file:
                lines = file.readlines()
            # As editors and tools do it: another file in its place.
            with open(path + ".new", "w") as file:
                file.writelines(lines[1:])
            os.replace(path + ".new", path)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: server.get("/v1/users", who=server.keys["viewer"]).status == 401)
            self.assertEqual(server.get("/v1/users", who=server.keys["auditor"]).status, 200)
            modified = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(os.stat(path).st_mtime))
            until(lambda: f'"modified":"{modified}' in server.logged())

    def test_the_log_names_console_pages_by_their_templates(self):
        with console_server() as server:
            server.notify("ann-the-user", title="x")
            visitor = Visitor(server, "all")
            for path, route in (
                ("/users/ann-the-user", "/console/users/{u}"), ("/events/1", "/console/events/{seq}"),
                ("/data/users/ann-the-user/inbox", "/console/data/users/{u}/inbox"), ("/nowhere", "none"),
            ):
                logged = server.logged(visitor.get(path))
                self.assertIn(f'"route":"{route}"', logged, path)
            self.assertNotIn("ann-the-user", server.logged())
            self.assertIn('route="/console/users/{u}"', server.get("/metrics").body.decode())

    def test_redirects_and_links_of_the_console_keep_a_proxys_path(self):
        with console_server("--behind-proxy") as server:
            answer = server.call("GET", "/console", headers={"Accept": "text/html", "X-Forwarded-Prefix": "/trays"}, who=None)
            self.assertEqual((answer.status, answer.headers["Location"]), (303, "/trays/console/sign-in"))
            page = server.call(
                "GET", "/console/sign-in", headers={"Accept": "text/html", "X-Forwarded-Prefix": "/a/b"}, who=None).body.decode()
            self.assertIn('href="/a/b/console/assets/', page)
            for wrong in ("//evil.example", "/a/", "https://evil.example", "/..", "/a\\b", "/a?b", "x"):
                answer = server.call(
                    "GET", "/console", headers={"Accept": "text/html", "X-Forwarded-Prefix": wrong}, who=None)
                self.assertEqual(answer.headers["Location"], "/console/sign-in", wrong)
        with console_server() as server:
            answer = server.call("GET", "/console", headers={"Accept": "text/html", "X-Forwarded-Prefix": "/trays"}, who=None)
            self.assertEqual(answer.headers["Location"], "/console/sign-in")


if __name__ == "__main__":
    unittest.main()
