"""The edges of the service's rules: what a HEAD says, names that are none, bodies where none belongs, tags of what changed."""

import json
import socket
import time
import unittest

from served import Server


class EdgeTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def refused(self, answer, status, **members):
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "application/problem+json"), answer)
        problem = answer.json
        self.assertEqual({name: problem.get(name) for name in members}, members)

    def done(self, answer):
        """Waits for a job."""
        self.assertEqual(answer.status, 202, answer)
        while (job := self.server.get(answer.headers["Location"]).json)["state"] == "running":
            time.sleep(0.05)
        self.assertEqual(job["state"], "done", job)

    def test_a_head_never_says_a_length_that_get_would_not_have(self):
        authorized = b"Host: a\r\nAuthorization: Bearer " + self.server.key.encode() + b"\r\n"
        paths = (b"live", b"history", b"audit", b"changes", b"tray")
        requests = [b"HEAD /v1/users/ann/" + path + b" HTTP/1.1\r\n" + authorized + b"\r\n" for path in paths]
        last = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        # What came after a head would be taken for the next answer.
        answers = self.server.raw(b"".join(requests) + last).split(b"\r\n\r\n")
        self.assertEqual(len(answers), len(paths) + 2, answers)
        for path, answer in zip(paths, answers):
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
            self.assertEqual(b"content-length" in answer.lower(), path == b"tray", answer)
        self.assertEqual(json.loads(answers[-1])["status"], "ok")

    def test_a_name_that_is_none_is_refused_wherever_it_stands(self):
        server = self.server
        for name in ("", "x" * 257, "%00", "a%0ab", "%c2%85"):
            for path in ("tray", "inbox", "threads", "items/1", "changes", "changes?live=sse", "snapshot", "live", "history",
                         "audit", "difference?from=0", "subscriptions", "devices"):
                self.refused(server.get(f"/v1/users/{name}/{path}"), 400, error="invalid", field="user")
            self.refused(server.get("/v1/users/ann/inbox?" + "&".join(["category=a"] * 9)), 400, error="invalid", field="category")
            for field in ("thread", "category"):
                self.refused(server.get(f"/v1/users/ann/inbox?{field}={name}"), 400, error="invalid", field=field)
            for field in ("user", "actor", "device", "kind"):
                self.refused(server.get(f"/v1/log?{field}={name}"), 400, error="invalid", field=field)
        for user in ("", "a\n", "x" * 257):
            body = {"user": user, "confirm": user}
            self.refused(server.post("/v1/admin/erasures", body), 400, error="invalid", field="user")
        self.refused(server.get("/v1/users/ann/inbox?with="), 400, error="invalid", field="with")
        for scope in ("", "  "):
            self.refused(server.post("/v1/tokens", {"user": "ann", "scope": scope}), 400, error="invalid", field="scope")

    def test_a_body_where_none_belongs_is_refused(self):
        path = "/v1/users/ann/devices/abcd"
        for method in ("PUT", "DELETE"):
            self.refused(self.server.call(method, path, {"kind": "x"}), 400, error="invalid", field="kind")
            self.refused(self.server.call(method, path, b"{"), 400, error="invalid")
            self.assertEqual(self.server.call(method, path).status, 204)
        many = [{"kind": "notify", "user": "ann"}] * 1_001
        self.refused(self.server.post("/v1/commands", many), 400, error="invalid", field="array")
        packed = self.server.call("POST", "/v1/users/ann/notifications", b"{}", {"Content-Encoding": "gzip"})
        self.refused(packed, 415)

    def test_a_body_that_is_announced_too_large_is_not_waited_for(self):
        head = b"POST /v1/users/ann/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + self.server.key.encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=25) as connection:
            connection.sendall(head + b"\r\nContent-Length: 99999999999\r\n\r\n{")
            self.assertIn(b" 413 ", connection.recv(65_536)[:20])

    def test_a_query_is_checked_before_its_tag(self):
        for query in ("inbox?limit=101", "inbox?limit=0", "threads?limit=0", "inbox?cursor=x", "tray?asOf=x"):
            self.refused(self.server.get(f"/v1/users/ann/{query}", headers={"If-None-Match": "*"}), 400, error="invalid")

    def test_a_time_to_come_has_the_tag_of_the_head(self):
        server, path = self.server, "/v1/users/tom/tray?asOf=2099-01-01T00:00:00Z"
        server.notify("tom", title="A")
        tag = server.get(path).headers["ETag"]
        server.notify("somebody else", title="B")
        self.assertEqual(server.get(path, headers={"If-None-Match": tag}).status, 304)
        server.notify("tom", title="C")
        self.assertEqual(server.get(path, headers={"If-None-Match": tag}).status, 200)

    def test_a_page_that_an_erasure_changed_has_another_tag(self):
        server = self.server
        first = int(server.notify("eve", title="a secret").headers["Traylog-Seq"])
        for _ in range(2):
            server.perform(*({"kind": "notify", "user": "crowd"} for _ in range(1_000)))
        offset = server.call("HEAD", "/v1/log").headers["Stream-Next-Offset"][:-20] + f"{first - 1:020}"
        path = f"/v1/log?offset={offset}"
        before = server.get(path)
        self.assertNotIn("Stream-Up-To-Date", before.headers)
        tag = {"If-None-Match": before.headers["ETag"]}
        server.notify("crowd")
        self.assertEqual(server.get(path, headers=tag).status, 304)
        self.done(server.post("/v1/admin/erasures", {"user": "eve", "confirm": "eve"}))
        after = server.get(path, headers=tag)
        self.assertEqual(after.status, 200)
        self.assertNotIn(b"a secret", after.body)


if __name__ == "__main__":
    unittest.main()
