"""Connections: TLS, HTTP/2, heads that are too large, and peers who do not go on."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from served import PROGRAM, Server, busy, certificate

try:
    import httpx
except ImportError:
    httpx = None


class TLSTests(unittest.TestCase):
    def test_both_versions_of_http_work_over_tls(self):
        with Server(tls=True) as server:
            self.assertEqual(server.notify("ann", title="A").status, 201)
            self.assertEqual(server.get("/v1/users/ann/tray").json["unread"], 1)
            context = ssl.create_default_context(cafile=server.certificate)
            for old in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
                context.minimum_version = context.maximum_version = old
                with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                    with self.assertRaises(OSError):
                        context.wrap_socket(connection, server_hostname="localhost")

    def test_a_new_certificate_is_shown_after_the_signal(self):
        def shown(port):
            return ssl.get_server_certificate(("127.0.0.1", port), timeout=20)

        def wait(condition):
            for _ in range(1_000):
                if condition():
                    return
                time.sleep(0.02)
            self.fail("it did not come")

        def content(path):
            with open(path) as file:
                return file.read()

        with Server(tls=True) as server, tempfile.TemporaryDirectory() as directory:
            before = content(server.certificate)
            self.assertEqual(shown(server.port).strip(), before.strip())
            self.assertEqual(server.get("/healthz").status, 200)
            files = certificate(directory)
            # One of the two has no use without the other.
            shutil.copy(files[0], server.certificate)
            server.process.send_signal(signal.SIGHUP)
            wait(lambda: '"certificate":"not read again' in server.logged())
            self.assertEqual(shown(server.port).strip(), before.strip())
            with open(os.path.join(server.directory, "server.key"), "w") as key:
                # As openssl writes the keys of curves that it makes by themselves.
                key.write("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + content(files[1]))
            server.process.send_signal(signal.SIGHUP)
            wait(lambda: shown(server.port).strip() == content(files[0]).strip())
            self.assertIn('"certificate":"read again","validUntil":"20', server.logged())
            # A connection that was open goes on.
            self.assertEqual(server.get("/healthz").status, 200)

    @staticmethod
    async def notifications(server, context, count):
        """Sends that many at once. One thread does it: a connection of httpx is not safe to share between threads."""
        async with httpx.AsyncClient(
            http2=True, verify=context, base_url=f"https://localhost:{server.port}",
            headers={"Authorization": f"Bearer {server.key}"}, timeout=60, limits=httpx.Limits(max_connections=1),
        ) as client:
            return await asyncio.gather(*(
                client.post("/v1/users/ann/notifications", json={"title": str(number)}) for number in range(count)))

    @unittest.skipUnless(httpx, "httpx is not installed")
    def test_many_streams_of_one_connection(self):
        with Server(tls=True) as server:
            context = ssl.create_default_context(cafile=server.certificate)
            with httpx.Client(
                http2=True, verify=context, base_url=f"https://localhost:{server.port}",
                headers={"Authorization": f"Bearer {server.key}"}, timeout=60,
            ) as client:
                answers = asyncio.run(self.notifications(server, context, 32))
                self.assertEqual({(answer.http_version, answer.status_code) for answer in answers}, {("HTTP/2", 201)})
                self.assertEqual(client.get("/v1/users/ann/tray").json()["unread"], 32)
                problem = client.post("/v1/users/ann/marks", json={"as": "x", "items": [1]})
                self.assertEqual((problem.status_code, problem.headers["content-type"]), (400, "application/problem+json"))
                with client.stream("GET", "/v1/users/ann/live") as stream:
                    lines = stream.iter_lines()
                    self.assertRegex(next(lines), r"^retry: \d+$")
                    self.assertIn("event: tray", [next(lines), next(lines)])
                    server.process.terminate()
                    self.assertIn("event: end", list(lines))
                self.assertEqual(server.process.wait(timeout=30), 0)

    def test_a_certificate_that_is_none_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            bad = os.path.join(directory, "bad.pem")
            with open(bad, "w") as file:
                file.write("nothing\n")
            good, key = certificate(directory)
            for pair in ((bad, key), (good, bad), ("/nowhere.pem", key)):
                done = subprocess.run(
                    [PROGRAM, "--store", os.path.join(directory, "store"), "--dev", "--listen", "127.0.0.1:0",
                     "--tls-certificate", pair[0], "--tls-key", pair[1]], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 64, done)
                self.assertIn(pair[1] if pair[0] == good else pair[0], done.stderr)


class ResourceTests(unittest.TestCase):
    def test_a_server_whose_log_nobody_reads_answers_and_stops(self):
        with tempfile.TemporaryDirectory() as directory:
            # Nobody reads the pipe, which takes 64 KiB.
            read, write = os.pipe()
            process = subprocess.Popen(
                [PROGRAM, "--store", os.path.join(directory, "store"), "--listen", "127.0.0.1:0", "--dev"],
                stdout=subprocess.PIPE, stderr=write, text=True)
            os.close(write)
            port = None
            while port is None:
                line = process.stdout.readline()
                port = int(line.rsplit(":", 1)[1]) if line.startswith("listening on") else None
            request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
            # More lines than the pipe and the server's memory for them take together.
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                for _ in range(120):
                    connection.sendall(request * 100)
                    answers = b""
                    while answers.count(b"HTTP/1.1 200") < 100:
                        part = connection.recv(1 << 20)
                        self.assertTrue(part)
                        answers += part
            process.terminate()
            self.assertEqual(process.wait(timeout=30), 0)
            os.set_blocking(read, False)
            # The pipe was full: sixteen pages of 4 KiB, each at least half filled.
            self.assertGreater(len(os.read(read, 1 << 20)), 32_768)
            os.close(read)
            process.stdout.close()

    def test_a_server_without_file_descriptors_waits_and_says_so_once(self):
        with tempfile.TemporaryDirectory() as directory:
            log = open(os.path.join(directory, "log"), "w+")
            process = subprocess.Popen(
                ["prlimit", "--nofile=48:48", PROGRAM, "--store", os.path.join(directory, "store"), "--listen", "127.0.0.1:0",
                 "--dev"], stdout=subprocess.PIPE, stderr=log, text=True)
            port = None
            while port is None:
                line = process.stdout.readline()
                port = int(line.rsplit(":", 1)[1]) if line.startswith("listening on") else None

            held = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(60)]
            deadline = time.monotonic() + 60
            while "new connections wait" not in open(log.name).read():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            self.assertLess(busy(process.pid), 0.5)
            for connection in held:
                connection.close()
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                self.assertIn(b" 200 ", connection.recv(4_096))
            process.terminate()
            self.assertEqual(process.wait(timeout=30), 0)
            process.stdout.close()
            log.seek(0)
            self.assertEqual(log.read().count("new connections wait"), 1)
            log.close()


class HeadTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def test_a_head_above_its_limit_is_431(self):
        for head in (b"A: " + b"x" * 17_000, b"\r\n".join(b"A%d: %s" % (n, b"x" * 1_000) for n in range(20)),
                     b"A: " + b"x" * 200_000, b"\r\n".join(b"A%d: x" % n for n in range(5_000))):
            answer = self.server.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n\r\n")
            status, _, body = answer.partition(b"\r\n")
            self.assertIn(b" 431 ", status, answer[:300])
            self.assertIn(b"application/problem+json", body)
            self.assertEqual(json.loads(body.split(b"\r\n\r\n", 1)[1])["status"], 431)
        fine = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\nA: " + b"x" * 15_000 + b"\r\n\r\n"
        self.assertIn(b" 200 ", self.server.raw(fine)[:20])

    def test_a_target_above_its_limit_is_414(self):
        # The second is above the limit of heads, too.
        for length in (9_000, 20_000):
            answer = self.server.get("/v1/users/" + "x" * length + "/tray")
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (414, "application/problem+json"))

    def test_bytes_that_are_no_request_are_400(self):
        answer = self.server.raw(b"\x00\x01nonsense\r\n\r\n")
        self.assertIn(b" 400 ", answer[:20])
        self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["status"], 400)

    def test_a_body_that_is_not_framed_or_not_whole_is_400_and_no_failure_of_the_server(self):
        head = b"POST /v1/users/ann/seen HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + self.server.key.encode() + b"\r\n"
        for rest in (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", b"Transfer-Encoding: gzip\r\n\r\n",
                     b"Content-Length: -3\r\n\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                     b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"):
            answer = self.server.raw(head + rest)
            self.assertIn(b" 400 ", answer[:20])
            self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["status"], 400)
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
        self.assertIn("traylog_server_failures_total 0\n", self.server.get("/metrics").body.decode())

    def test_rules_of_http_that_clients_rely_on(self):
        old = self.server.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
        self.assertTrue(old.startswith(b"HTTP/1.0 200 OK\r\n"), old)
        lines = self.server.raw(b"GET /v1/users/a/history HTTP/1.0\r\nAuthorization: Bearer " + self.server.key.encode() + b"\r\n\r\n")
        self.assertNotIn(b"chunked", lines.lower())
        self.assertIn(b" 200 ", self.server.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n")[:20])
        for hosts in (b"", b"Host: a\r\nHost: b\r\n"):
            self.assertIn(b" 400 ", self.server.raw(b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n")[:20])
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(b"POST /v1/users/ann/seen HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n"
                               b"Authorization: Bearer " + self.server.key.encode() + b"\r\n\r\n")
            self.assertEqual(connection.recv(1_000), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"{}")
            self.assertIn(b" 200 ", connection.recv(1_000)[:20])
        whole = self.server.get("/v1/users/ann/tray")
        head = self.server.call("HEAD", "/v1/users/ann/tray")
        self.assertEqual(head.headers["Content-Length"], str(len(whole.body)))

    def test_peers_who_do_not_go_on_are_cut_off_and_others_are_not(self):
        """A head, a body, the rest of a refused body, and a long answer that nobody reads."""
        key, port = self.server.key, self.server.port
        for number in range(80):
            self.server.notify("big", title=str(number), body="x" * 16_000)
        authorized = b"Authorization: Bearer " + key.encode() + b"\r\nContent-Type: application/json\r\n"
        slow = {
            "head": b"GET /v1/users/a/tray HTTP/1.1\r\nHost: a\r\nAuth",
            "body": b"POST /v1/commands HTTP/1.1\r\nHost: a\r\n" + authorized + b"Content-Length: 100\r\n\r\n[",
            "rest": b"POST /v1/commands HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n[",
        }
        connections = {}
        for name, data in slow.items():
            connections[name] = socket.create_connection(("127.0.0.1", port), timeout=150)
            connections[name].sendall(data)
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", port))
        request = b"GET /v1/users/big/inbox?limit=100 HTTP/1.1\r\nHost: a\r\n" + authorized + b"\r\n"
        deaf.sendall(request * 20)
        idle = self.server.connection()
        idle.request("GET", "/healthz")
        idle.getresponse().read()
        answers = {}
        for name, connection in connections.items():
            answer = b""
            while part := connection.recv(65_536):
                answer += part
            answers[name] = answer
            connection.close()
        self.assertEqual(answers["head"], b"")
        self.assertIn(b" 408 ", answers["body"][:20])
        self.assertIn(b" 401 ", answers["rest"][:20])
        # A keep-alive connection between requests owes nothing.
        idle.request("GET", "/healthz")
        self.assertEqual(idle.getresponse().read(), b'{"status":"ok"}')
        idle.close()
        self.assertTrue(self.is_gone(deaf))
        deaf.close()

    def is_gone(self, connection):
        """Whether the server closes it: what it sent before may still be read, and then nothing comes."""
        number = connection.getsockname()[1]
        for _ in range(120):
            with open("/proc/net/tcp") as file:
                rows = [line.split() for line in file]
            ends = f":{self.server.port:04X}", f":{number:04X}"
            if not any(row[1].endswith(ends[0]) and row[2].endswith(ends[1]) and row[3] == "01" for row in rows):
                return True
            threading.Event().wait(1)
        return False


if __name__ == "__main__":
    unittest.main()
