"""What needs a socket of the rules in EdgeTests.swift: the bytes of a HEAD's answer, and a body that never comes."""

import json
import socket
import unittest

from served import Server


class EdgeTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

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

    def test_a_body_that_is_announced_too_large_is_not_waited_for(self):
        head = b"POST /v1/users/ann/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + self.server.key.encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=25) as connection:
            connection.sendall(head + b"\r\nContent-Length: 99999999999\r\n\r\n{")
            self.assertIn(b" 413 ", connection.recv(65_536)[:20])


if __name__ == "__main__":
    unittest.main()
