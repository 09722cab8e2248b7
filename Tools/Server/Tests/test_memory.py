"""Memory that live streams take, and what is left when they went. Fewer of them than a server has to hold, and extrapolated.

`Tools/Benchmarks/service.py idle churn` measures a release build with all of them."""

import re
import resource
import socket
import time
import unittest

from served import Server

# A debug build takes some KiB more for each than a release build, which is to stay below 256 MiB with 10,000 of them.
MOST_BYTES_EACH = 36 << 10


class MemoryTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(cls.limits[1], 4_096), cls.limits[1]))

    @classmethod
    def tearDownClass(cls):
        resource.setrlimit(resource.RLIMIT_NOFILE, cls.limits)

    def memory(self, server):
        """Resident bytes, without pages of files."""
        with open(f"/proc/{server.process.pid}/status") as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read())[1]) * 1024

    def open(self, server, count):
        streams = []
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            connection.sendall((f"GET /v1/users/user{number % 50}/live HTTP/1.1\r\nHost: a\r\n"
                                f"Authorization: Bearer {server.key}\r\n\r\n").encode())
            streams.append(connection)
        for connection in streams:
            answer = b""
            while b"event: tray" not in answer:
                part = connection.recv(4_096)
                self.assertTrue(part, answer)
                answer += part
        return streams

    def close(self, streams):
        for connection in streams:
            connection.close()

    def gone(self, server):
        """Waits until the server has noticed that all streams are gone."""
        while "\ntraylog_live_streams 0\n" not in server.get("/metrics").body.decode():
            time.sleep(0.05)

    def test_an_idle_stream_takes_little(self):
        with Server() as server:
            first = self.open(server, 200)
            before = self.memory(server)
            streams = self.open(server, 800)
            each = (self.memory(server) - before) // len(streams)
            self.close(first + streams)
            self.assertLess(each, MOST_BYTES_EACH)
            self.gone(server)

    def test_streams_that_come_and_go_leave_memory_where_it_was(self):
        with Server() as server:
            sizes = []
            for _ in range(8):
                for _ in range(2):
                    self.close(self.open(server, 200))
                    self.gone(server)
                sizes.append(self.memory(server))
            # 1,600 connections, as many as before them: a leak of a quarter of what one takes would show.
            self.assertLess((sizes[7] - sizes[3]) / 1_600, MOST_BYTES_EACH / 4, sizes)


if __name__ == "__main__":
    unittest.main()
