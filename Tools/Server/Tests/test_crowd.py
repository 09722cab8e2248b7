"""A crowd of connections that want nothing good, beside callers who do: each caller is answered, and the memory has a bound."""

import os
import random
import socket
import ssl
import struct
import threading
import time
import unittest

from served import Server

# Connections of the crowd: a quick run has some of each kind.
CROWD = 2_000 if os.environ.get("TRAYLOG_TESTS") == "nightly" else 400
CALLERS = 100 if os.environ.get("TRAYLOG_TESTS") == "nightly" else 20
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
# What Docs/operating/security.md promises for whatever strangers do, above what the server has when it is idle.
MOST_BYTES = 1 << 30


def memory(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def request(stream, path):
    """A GET without credentials, its head as literals that change no table."""
    def field(name, value):
        return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value
    head = field(b":method", b"GET") + field(b":scheme", b"https") + field(b":path", path) + field(b":authority", b"localhost")
    return frame(1, 5, stream, head)


class Crowd:
    """Connections of all kinds, which stay until the end, and come again when they are closed."""

    def __init__(self, server, token, count):
        self.server, self.token = server, token
        self.random = random.Random(SEED)
        self.isOver = False
        self.closed = 0
        kinds = [self.slow_head, self.unread_answers, self.idle_stream, self.cut_body, self.endless_body, self.silent]
        if server.certificate:
            kinds += [self.zero_window, self.half_handshake]
        self.kinds = [kinds[number % len(kinds)] for number in range(count)]
        self.threads = [threading.Thread(target=self.run, args=(self.kinds[part::8],), daemon=True) for part in range(8)]
        for thread in self.threads:
            thread.start()

    def connect(self, secure=True, protocols=None):
        plain = socket.create_connection(("127.0.0.1", self.server.port), 20)
        plain.settimeout(5)
        if not self.server.certificate or not secure:
            return plain
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if protocols:
            context.set_alpn_protocols(protocols)
        return context.wrap_socket(plain, server_hostname="localhost")

    def run(self, kinds):
        """Opens a connection of each kind, and writes to all of them from time to time."""
        mine = []
        while not self.isOver:
            for kind in kinds[len(mine):]:
                if self.isOver:
                    break
                try:
                    mine.append((kind, kind()))
                except OSError:
                    self.closed += 1
            rest = []
            for kind, connection in mine:
                try:
                    if kind in (self.slow_head, self.cut_body, self.endless_body):
                        connection.send(b"x")
                    rest.append((kind, connection))
                except OSError:
                    self.closed += 1
                    connection.close()
            mine = rest
            for _ in range(20):
                if self.isOver:
                    break
                time.sleep(0.05)
        for _, connection in mine:
            connection.close()

    def slow_head(self):
        connection = self.connect()
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX: ")
        return connection

    def unread_answers(self):
        connection = self.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        return connection

    def idle_stream(self):
        connection = self.connect()
        connection.sendall(f"GET /v1/users/eve/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        return connection

    def cut_body(self):
        connection = self.connect()
        connection.sendall(
            f"POST /v1/users/eve/seen HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{".encode() + b" " * self.random.randrange(50_000))
        return connection

    def endless_body(self):
        connection = self.connect()
        connection.sendall(b"POST /v1/commands HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n")
        return connection

    def silent(self):
        return self.connect(secure=False)

    def half_handshake(self):
        connection = self.connect(secure=False)
        connection.sendall(b"\x16\x03\x01\x02\x00\x01")
        return connection

    def zero_window(self):
        connection = self.connect(protocols=["h2"])
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, struct.pack(">HI", 4, 0)))
        connection.sendall(b"".join(request(2 * number + 1, b"/openapi.json") for number in range(50)))
        return connection

    def end(self):
        self.isOver = True
        for thread in self.threads:
            thread.join()


class CrowdTest(unittest.TestCase):
    def callers(self, server, seconds):
        """Honest callers for a while, each a user with a connection of its own: all latencies, and what was not answered with 200."""
        latencies, faults, lock = [], [], threading.Lock()
        end = time.monotonic() + seconds

        def call(number):
            token = server.token(f"user {number}")
            while time.monotonic() < end:
                begin = time.monotonic()
                try:
                    answer = server.call("GET", f"/v1/users/user%20{number}/tray", who=token)
                    fault = None if answer.status == 200 else repr(answer)
                except OSError as error:
                    fault = repr(error)
                with lock:
                    latencies.append(time.monotonic() - begin)
                    if fault:
                        faults.append(fault)
                time.sleep(0.02)

        threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(latencies), faults

    def beside_a_crowd(self, tls):
        print(f"seed {SEED}")
        with Server(tls=tls) as server:
            token = server.token("eve")
            alone, faults = self.callers(server, 3)
            self.assertEqual(faults, [])
            before = memory(server.process.pid)
            crowd = Crowd(server, token, CROWD)
            try:
                time.sleep(3)
                beside, faults = self.callers(server, 10)
                most = memory(server.process.pid)
            finally:
                crowd.end()
            self.assertIsNone(server.process.poll())
            # Each caller is answered, however many wait at the door.
            self.assertEqual(faults[:3], [])
            self.assertLess(most - before, MOST_BYTES)
            p99 = [1_000 * values[len(values) * 99 // 100] for values in (alone, beside)]
            print(f"{CROWD} connections: p99 {p99[0]:.1f} ms alone, {p99[1]:.1f} ms beside them; {(most - before) >> 20} MiB more")

    def test_callers_are_answered_beside_a_crowd_that_reads_and_finishes_nothing(self):
        self.beside_a_crowd(tls=False)

    def test_callers_are_answered_beside_such_a_crowd_with_tls_and_http_2(self):
        self.beside_a_crowd(tls=True)


if __name__ == "__main__":
    unittest.main()
