"""Makes a stream as a JSON object says: stream.py nats://HOST:PORT CONFIGURATION. Speaks the brokers' protocol itself."""

import json
import socket
import sys
from urllib.parse import urlsplit


class Broker:
    """One connection; one request at a time."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=10)
        self.file = self.socket.makefile("rb")
        self.file.readline()
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _INBOX.1 1\r\n')

    def request(self, subject, body=b"", headers=None):
        """(headers, body) of the answer."""
        if headers:
            head = b"NATS/1.0\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items()) + b"\r\n"
            first = f"HPUB {subject} _INBOX.1 {len(head)} {len(head) + len(body)}\r\n".encode()
            self.socket.sendall(first + head + body + b"\r\n")
        else:
            self.socket.sendall(f"PUB {subject} _INBOX.1 {len(body)}\r\n".encode() + body + b"\r\n")
        while True:
            words = self.file.readline().split()
            if not words:
                raise ConnectionError("the broker closed the connection")
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                data = self.file.read(int(words[-1]) + 2)[:-2]
                size = int(words[-2]) if words[0] == b"HMSG" else 0
                return data[:size], data[size:]

    def ask(self, method, body):
        return json.loads(self.request(f"$JS.API.{method}", json.dumps(body).encode())[1])


if __name__ == "__main__":
    configuration = json.loads(sys.argv[2])
    answer = Broker(sys.argv[1]).ask(f"STREAM.CREATE.{configuration['name']}", configuration)
    if "error" in answer:
        sys.exit(json.dumps(answer["error"]))
