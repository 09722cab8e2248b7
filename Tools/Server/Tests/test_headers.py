"""Headers are bytes: those that are no text are refused, and none is taken for another."""

import json
import ssl
import unittest

from served import Server

try:
    import httpx
except ImportError:
    httpx = None


class HeaderTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def send(self, method, path, headers, body=b"", token=True):
        head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode()
        if token:
            head += b"Authorization: Bearer " + self.server.key.encode() + b"\r\n"
        for name, value in headers.items():
            head += name.encode() + b": " + value + b"\r\n"
        answer = self.server.raw(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def notify(self, key):
        body = b'{"title":"A"}'
        return self.send("POST", "/v1/users/ann/notifications", {"Content-Type": b"application/json", "Idempotency-Key": key}, body)

    def test_keys_that_are_no_utf_8_are_refused_and_collide_with_nothing(self):
        for key in (b"caf\xe9", b"caf\xe8", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf", "\ufffd".encode()):
            status, body = self.notify(key)
            self.assertEqual(status, 400, body)
            self.assertEqual((json.loads(body)["error"], json.loads(body)["field"]), ("invalid", "Idempotency-Key"))
        self.assertEqual(self.server.get("/v1/users/ann/tray").json["total"], 0)
        self.assertEqual(self.notify("café".encode())[0], 201)
        self.assertEqual(self.notify("café".encode())[0], 200)
        self.assertEqual(self.notify("cafè".encode())[0], 201)

    def test_every_header_that_is_used_must_be_text(self):
        user = "/v1/users/ann"
        for method, path, name in (
            ("GET", f"{user}/tray", "If-None-Match"), ("GET", f"{user}/tray", "Traylog-Min-Seq"),
            ("GET", f"{user}/changes", "Prefer"), ("GET", f"{user}/changes", "If-None-Match"),
            ("DELETE", f"{user}/items/1", "Traylog-Device"), ("POST", f"{user}/seen", "Content-Type"),
            ("POST", f"{user}/seen", "Content-Encoding"), ("POST", "/v1/commands", "Idempotency-Key"),
            ("POST", "/compat/novu/v1/events/trigger", "Idempotency-Key"), ("GET", "/console", "Cookie"),
            ("GET", "/console", "Accept"), ("POST", "/console/sign-in", "Origin"), ("POST", "/console/sign-in", "Sec-Fetch-Site"),
        ):
            status, body = self.send(method, path, {name: b"a\xe9"}, b"[]" if path == "/v1/commands" else b"{}")
            self.assertEqual(status, 400, (path, name, body))
            self.assertEqual(json.loads(body)["field"], name)
        status, body = self.send("GET", f"{user}/tray", {"Authorization": b"Bearer \xe9"}, token=False)
        self.assertEqual((status, json.loads(body)["field"]), (400, "Authorization"))

    def test_a_proxys_header_must_be_text(self):
        with Server("--behind-proxy", "--rate-user", "5") as server:
            answer = server.raw(b"GET /v1/users/a/tray HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: \xe9\r\n\r\n")
            self.assertIn(b" 400 ", answer[:20])
            self.assertIn(b'"field":"X-Forwarded-For"', answer)

    def test_a_target_of_bytes_that_are_no_text_is_refused(self):
        for path in ("/v1/users/\udce9/tray", "/v1/users/a/inbox?thread=\udce9", "/console/\udce9"):
            head = f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n".encode("utf-8", "surrogateescape")
            answer = self.server.raw(head + b"Authorization: Bearer " + self.server.key.encode() + b"\r\n\r\n")
            self.assertIn(b" 400 ", answer[:20], answer)
        self.assertEqual(self.server.get("/v1/users/%EF%BF%BD/tray").status, 200)

    @unittest.skipUnless(httpx, "httpx is not installed")
    def test_the_same_holds_over_http_2(self):
        with Server(tls=True) as server, httpx.Client(
            http2=True, verify=ssl.create_default_context(cafile=server.certificate), base_url=f"https://localhost:{server.port}", timeout=60,
            headers={"Authorization": f"Bearer {server.key}"},
        ) as client:
            for key, status in ((b"caf\xe9", 400), ("café".encode(), 201), ("café".encode(), 200)):
                answer = client.post("/v1/users/ann/notifications", json={"title": "A"}, headers=[(b"idempotency-key", key)])
                self.assertEqual((answer.http_version, answer.status_code), ("HTTP/2", status), answer.text)
            # Huffman's code packs 17,000 letters into fewer bytes than the limit; others come in more than one frame.
            for value in ("a" * 17_000, "~" * 17_000, "~" * 60_000):
                with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=server.certificate), timeout=60) as other:
                    answer = other.get(f"https://localhost:{server.port}/healthz", headers={"a": value})
                    self.assertEqual((answer.http_version, answer.status_code), ("HTTP/2", 431))
                    self.assertEqual(answer.json()["status"], 431)
                    self.assertEqual(answer.headers["content-type"], "application/problem+json")
            self.assertEqual(client.get("/healthz", headers={"a": "x" * 12_000}).status_code, 200)


class MessageTests(unittest.TestCase):
    def test_messages_count_the_bytes_of_the_body_and_name_the_callers_fields(self):
        with Server() as server:
            for user in ("a", "b" * 200):
                answer = server.call("POST", f"/v1/users/{user}/notifications", b'{"title":"x"}!')
                self.assertIn("byte 14", answer.json["detail"])
            answer = server.post("/v1/users/ann/notifications", {"user": "ann", "title": "x"})
            self.assertEqual((answer.status, answer.json["detail"]), (400, "user: is given by the path"))
            answer = server.call("PUT", "/v1/users/ann/mutes/threads/t", {"thread": "t"})
            self.assertEqual((answer.status, answer.json["field"]), (400, "thread"))
            self.assertEqual(server.call("PUT", "/v1/users/ann/mutes/threads/t").status, 200)

    def test_a_stream_tells_proxies_not_to_hold_it_back(self):
        from served import Stream

        with Server() as server:
            for path in ("live", "changes?live=sse"):
                with Stream(server, f"/v1/users/ann/{path}") as stream:
                    self.assertEqual(stream.headers["X-Accel-Buffering"], "no")


if __name__ == "__main__":
    unittest.main()
