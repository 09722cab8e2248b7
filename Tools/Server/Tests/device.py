"""Runs traylog-tray against a server, through a proxy that loses, doubles, delays and cuts. Loopback only."""

import json
import os
import queue
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from clustered import machines

PROGRAM = os.environ.get("TRAYLOG_TRAY")


def until(condition, seconds, seen):
    """Waits for a condition; after so many seconds the error says what was seen instead."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {seen()}")
        time.sleep(0.02)


class Device:
    """One `traylog-tray --json` on a directory of its own."""

    def __init__(self, server, user, port=None, directory=None, scope="inbox:read inbox:write publish", options=(),
                 environment=None, url=None):
        self.owns = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="traylog-tray.")
        self.token_file = os.path.join(self.directory, "token")
        self.write_token(server.token(user, scope=scope))
        self.process = subprocess.Popen(
            [PROGRAM, "--server", url or f"http://127.0.0.1:{port or server.port}", "--user", user, "--token-file",
             self.token_file, "--directory", os.path.join(self.directory, "device"), "--device", "test", "--json",
             *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | (environment or {}))
        self.answers = queue.Queue()
        self.events = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def write_token(self, token):
        with open(self.token_file, "w") as file:
            file.write(token)

    def read(self):
        for line in self.process.stdout:
            # The last line of a program that was killed may be a part of one.
            if not line.endswith("\n"):
                break
            value = json.loads(line)
            if "event" in value:
                self.events.append(value)
            else:
                self.answers.put(value)
        self.answers.put(None)

    def ask(self, do, timeout=180, **fields):
        self.process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self.process.stdin.flush()
        answer = self.answers.get(timeout=timeout)
        if answer is None:
            raise RuntimeError(f"the program ended: {self.process.stderr.read()}")
        return answer

    def wait(self, goal="synced", seconds=60):
        return self.ask("wait", **{"for": goal, "seconds": seconds})["ok"]

    def states(self, entry):
        return [event["state"] for event in self.events if event["event"] == "outbox" and event["id"] == entry]

    def until(self, condition, seconds=30):
        until(condition, seconds, lambda: f"the last events are {self.events[-5:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.close_pipes()

    def close_pipes(self):
        self.reader.join(timeout=10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.close_pipes()
        if self.owns:
            shutil.rmtree(self.directory, ignore_errors=True)


class SignInPage:
    """What answers in the place of every server in some networks: the same answer to everything."""

    def __init__(self, answer, port=0, certificate=None):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.context:
                    connection = self.context.wrap_socket(connection, server_side=True)
                connection.recv(65536)
                connection.sendall(self.answer)
            except OSError:
                pass
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(timeout=10)


class Proxy:
    """Passes connections on, and breaks some of them: `faults` is how many of a hundred."""

    def __init__(self, port, seed=0, faults=0):
        self.target = port
        self.random = random.Random(seed)
        self.faults = faults
        self.listener = None
        self.connections = set()
        self.received = 0
        self.sent = 0
        self.lock = threading.Lock()
        self.port, = machines.free_ports(1)
        self.start()

    def start(self):
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        """Refuses connections until `start`."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            connections, self.connections = self.connections, set()
        for connection in connections:
            self.cut(connection)

    @staticmethod
    def cut(connection):
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.close()
        except OSError:
            pass

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def fault(self):
        with self.lock:
            if self.random.randrange(100) >= self.faults:
                return None
            return self.random.choice(["lose", "answerless", "double", "delay", "half", "empty"])

    def serve(self, client):
        with self.lock:
            self.connections.add(client)
        try:
            while True:
                head, body = self.request(client)
                if head is None:
                    return
                fault = self.fault()
                if fault == "lose":
                    return self.cut(client)
                if fault == "delay":
                    time.sleep(self.random.random() * 0.5)
                if fault == "empty":
                    return client.close()
                if fault == "double" and not head.startswith(b"GET"):
                    self.exchange(head, body, None)
                if fault == "answerless":
                    self.exchange(head, body, None)
                    return self.cut(client)
                if not self.exchange(head, body, client, half=fault == "half"):
                    return
        except OSError:
            pass
        finally:
            with self.lock:
                self.connections.discard(client)
            # What was passed on is to arrive; a fault has cut the connection already.
            client.close()

    def request(self, client):
        data = b""
        while b"\r\n\r\n" not in data:
            more = client.recv(65536)
            if not more:
                return None, None
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(body) < length:
            more = client.recv(65536)
            if not more:
                return None, None
            body += more
        self.received += len(head) + 4 + len(body)
        return head, body

    def forward(self, head, body):
        """Passes a request on, and returns the connection that its answer comes by."""
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        upstream = socket.create_connection(("127.0.0.1", self.target), timeout=60)
        upstream.sendall(b"\r\n".join(lines + [b"Connection: close"]) + b"\r\n\r\n" + body)
        return upstream

    def exchange(self, head, body, client, half=False):
        """One request on a connection of its own; the answer goes to the client, unless there is none."""
        upstream = self.forward(head, body)
        try:
            while True:
                data = upstream.recv(65536)
                if not data:
                    break
                if client is None:
                    if b"event-stream" in data:
                        break
                    continue
                if half:
                    client.sendall(data[:len(data) // 2])
                    self.cut(client)
                    return False
                self.sent += len(data)
                client.sendall(data)
        finally:
            upstream.close()
        # The answer says `Connection: close`.
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        except OSError:
            pass
