"""Random bytes in the forms of HTTP/1.1, HTTP/2 and tokens: the server lives, answers nothing with 500, and goes on to answer others.

`SEED` repeats a run; `BUDGET` is the seconds of each form."""

import base64
import http.client
import json
import os
import random
import socket
import ssl
import struct
import time
import unittest

from served import Server

NIGHTLY = os.environ.get("TRAYLOG_TESTS") == "nightly"
BUDGET = float(os.environ.get("BUDGET") or (300 if NIGHTLY else 8))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
NUMBERS = ["0", "-1", "2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
           "-9223372036854775808", "1e300", "-1e300", "nan", "0x7fffffff", "00000000000000000001", "", "1.5", "+1"]
PATHS = ["/", "/v1/users/ann/tray", "/v1/users/ann/inbox?limit=5", "/v1/users/me", "/v1/users/ann/notifications", "/v1/commands", "/v1/log?offset=-1",
         "/openapi.json", "/readyz", "/bell/v1/bell.js", "/console", "/console/sign-in", "/v1/cluster/backup", "@host/", "*", "http://host/v1/users/me", "//", "/%ff"]
HEADERS = ["Content-Length", "Transfer-Encoding", "Authorization", "Host", "Connection", "Expect", "Upgrade", "Cookie", "Origin", "If-None-Match", "Last-Event-ID",
           "Traylog-Min-Seq", "Idempotency-Key", "X-Forwarded-For", "Content-Type", "Prefer", "Range", "TE", "X"]
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE", "M-SEARCH", "", "get", "G\x00T"]


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class WireFuzz(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        print(f"seed {SEED}")

    def value(self, server):
        """The value of a header: of the right form, nearly so, or anything."""
        choose = self.random
        return choose.choice([
            choose.choice(NUMBERS), "chunked", "close", f"Bearer {server.key}", f"Bearer {self.token()}", "Bearer " + choose.choice(NUMBERS),
            f"Traylog-Node {choose.choice(NUMBERS)}:{choose.choice(NUMBERS)}:00", "100-continue", "h2c", "application/json", "application/x-ndjson",
            f'W/"1-{choose.choice(NUMBERS)}"', f"bytes=0-{choose.choice(NUMBERS)}", "x" * choose.randrange(20_000), "\xff\xfe", "\u0301",
            "".join(chr(choose.randrange(1, 256)) for _ in range(choose.randrange(30))).replace("\r", "").replace("\n", "")])

    def token(self):
        """A token that nobody signed."""
        number = self.random.choice([text for text in NUMBERS if text not in ("nan", "", "+1", "0x7fffffff")] + ["99999999999999999999999999"])
        member = self.random.choice([f'"x":{number}', f'"x":[{number}]', f'"alg":{number}', f'"crit":{number}', '"kid":"\\ud800"', '"alg":"none"', "[" * 70])
        header = f'{{"alg":"HS256","kid":"dev",{member}}}'
        payload = self.random.choice(["{}", f'{{"exp":{number},"iat":{number}}}', "[]", "1e300", ""])
        parts = [base64url(header.encode()), base64url(payload.encode()), base64url(self.random.randbytes(self.random.randrange(70)))]
        if self.random.random() < 0.2:
            self.random.shuffle(parts)
            parts = parts[:self.random.randrange(4)]
        return ".".join(parts)

    def body(self):
        choose = self.random
        return choose.choice([
            b"", b"{}", b"[]", b"{" * 500, choose.randbytes(choose.randrange(400)),
            json.dumps({choose.choice(["upTo", "items", "as", "title", "data", "until"]): choose.choice([1 << 70, -1, None, [], {}, "x", 1e308])}).encode(),
            b"%s\r\nxx\r\n0\r\n\r\n" % choose.choice(NUMBERS).encode(), b"2\r\n{}\r\n0\r\n\r\n", b"{}\n" * 50])

    def check(self, server, answers, sent):
        """No answer that came says that the server failed."""
        for part in answers.split(b"HTTP/1.1 ")[1:]:
            self.assertNotEqual(part[:3], b"500", f"seed {SEED}: {sent[:500]!r}")
        self.assertIsNone(server.process.poll(), f"seed {SEED}: the server ended after {sent[:2_000]!r}")

    def is_alive(self, server):
        self.assertEqual(server.call("GET", "/v1/users/ann/tray").status, 200)

    def test_no_bytes_in_the_form_of_http_1_end_the_server_or_fail_in_it(self):
        with Server() as server:
            end = time.monotonic() + BUDGET
            while time.monotonic() < end:
                requests = b""
                for _ in range(self.random.randrange(1, 4)):
                    lines = [f"{self.random.choice(METHODS)} {self.random.choice(PATHS)} HTTP/{self.random.choice(['1.1', '1.1', '1.1', '1.0', '2.0', '9'])}"]
                    lines += [f"{self.random.choice(HEADERS)}: {self.value(server)}" for _ in range(self.random.randrange(8))]
                    requests += "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + self.body()
                if self.random.random() < 0.3:
                    place = self.random.randrange(len(requests))
                    requests = requests[:place] + self.random.randbytes(3) + requests[place + self.random.randrange(4):]
                self.check(server, self.sent(server, requests), requests)
            self.is_alive(server)

    def sent(self, server, data):
        """What comes back within a moment. A connection that is cut off says nothing more."""
        answers = b""
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                connection.sendall(data)
                connection.settimeout(0.05)
                while part := connection.recv(65_536):
                    answers += part
                    if len(answers) > 4 << 20:
                        break
        except OSError:
            pass
        return answers

    def test_no_frames_of_http_2_end_the_server(self):
        with Server(tls=True) as server:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            end = time.monotonic() + BUDGET
            while time.monotonic() < end:
                frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(4, 0, 0, b"")
                for number in range(self.random.randrange(1, 30)):
                    frames += self.any_frame(2 * number + 1, server)
                try:
                    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain:
                        with context.wrap_socket(plain, server_hostname="localhost") as connection:
                            connection.sendall(frames)
                            connection.settimeout(0.05)
                            for _ in range(50):
                                if not connection.recv(65_536):
                                    break
                except (OSError, http.client.HTTPException):
                    pass
                self.assertIsNone(server.process.poll(), f"seed {SEED}: the server ended after {frames[:2_000].hex()}")
            self.is_alive(server)

    def frame(self, kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream & 0xffff_ffff) + payload

    def any_frame(self, stream, server):
        """A request as literals, with odd fields, or another frame of a random kind, length, flags and stream."""
        choose = self.random
        if choose.random() < 0.6:
            fields = [(":method", choose.choice(METHODS)), (":scheme", "https"), (":path", choose.choice(PATHS)), (":authority", "localhost")]
            fields += [(choose.choice(HEADERS).lower(), self.value(server)[:120]) for _ in range(choose.randrange(5))]
            if choose.random() < 0.2:
                choose.shuffle(fields)
                fields = fields[:choose.randrange(5)]
            head = b"".join(b"\x00" + self.text(name) + self.text(value) for name, value in fields)
            frames = self.frame(1, choose.choice([4, 5, 5, 5]), stream, head)
            if choose.random() < 0.4:
                frames += self.frame(0, choose.choice([0, 1]), stream, self.body()[:10_000])
            if choose.random() < 0.2:
                frames += self.frame(3, 0, stream, struct.pack(">I", choose.randrange(20)))
            return frames
        payload = choose.choice([b"", choose.randbytes(choose.randrange(40)), struct.pack(">I", choose.choice([0, 1, 0x7fff_ffff, 0xffff_ffff])),
                                 struct.pack(">HI", choose.randrange(9), choose.choice([0, 1, 0x7fff_ffff, 0xffff_ffff]))])
        return self.frame(choose.randrange(12), choose.randrange(256), choose.choice([0, stream, stream - 2, 0x7fff_ffff]), payload)

    def text(self, text):
        data = text.encode("latin-1", "replace")[:126]
        return bytes([len(data)]) + data

    def test_no_token_that_nobody_signed_ends_the_server_or_is_taken(self):
        with Server() as server:
            connection = server.connection()
            end = time.monotonic() + BUDGET / 2
            while time.monotonic() < end:
                token = self.token()
                connection.request("GET", "/v1/users/me", headers={"Authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(answer.status, 401, f"seed {SEED}: {token}")
            connection.close()
            self.is_alive(server)


if __name__ == "__main__":
    unittest.main()
