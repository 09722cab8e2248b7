"""Starts a server on a store of its own, and talks to it; loopback only.

What an operation does is asked with `Server.ask`, by the client that is generated from the description. `call`, `raw` and `Stream` send
requests as they are written, with the standard library alone: for headers, transport, bad input, lines and streams, and where a test
only prepares a store."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from urllib.parse import quote

from description import Description

PROGRAM = os.environ["TRAYLOG_SERVER"]
# Shows a program another time. Its wrapper is not used: it fails where a killed process with the same number left a semaphore behind.
FAKETIME = next(filter(os.path.exists, (
    f"/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1" for machine in ("x86_64", "aarch64"))), None)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Answer:
    """An answer, its body read."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines() if line]

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def certificate(directory, name="server", authority=None):
    """Makes a certificate for loopback, signed by itself or by an authority: the paths of certificate and key."""
    path, key = (os.path.join(directory, f"{name}.{end}") for end in ("pem", "key"))
    if os.path.exists(path):
        return path, key
    options = ["-CA", authority[0], "-CAkey", authority[1]] if authority else []
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", path, *options],
        check=True, capture_output=True)
    return path, key


class Server:
    """A server with `--dev`, or with the options given. Ends by its pid."""

    def __init__(self, *options, directory=None, dev=True, tls=False):
        self.owns = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="traylog-server.")
        self.certificate = None
        self.providers = None
        if tls:
            self.certificate, key = certificate(self.directory)
            options = (*options, "--tls-certificate", self.certificate, "--tls-key", key)
        arguments = [PROGRAM, "--store", os.path.join(self.directory, "store"), "--listen", "127.0.0.1:0", *options]
        self.log = open(os.path.join(self.directory, "log"), "ab")
        self.process = subprocess.Popen(
            arguments + (["--dev"] if dev else []), stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.clients, self.lock = {}, threading.Lock()
        self.key = self.secret = self.port = None
        for line in self.process.stdout:
            if line.startswith("key: "):
                self.key = line.split()[1]
            elif line.startswith("secret: "):
                secret = line.split()[1]
                self.secret = base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4))
            elif line.startswith("listening on "):
                self.port = int(line.rsplit(":", 1)[1])
                if "--apns-listen" not in options:
                    break
            elif line.startswith("providers: "):
                self.providers = int(line.rsplit(":", 1)[1])
                break
        if self.port is None:
            raise RuntimeError(f"the server did not start: {self.logged()}")

    def logged(self, after=None):
        """What the server has logged; with an answer, once it has logged that, which may come a moment later."""
        deadline = time.monotonic() + 10
        while True:
            with open(os.path.join(self.directory, "log"), errors="replace") as file:
                text = file.read()
            if after is None or after.headers["X-Request-Id"] in text:
                return text
            if time.monotonic() > deadline:
                raise RuntimeError("the answer was not logged")
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        if self.owns:
            shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self, sign=signal.SIGTERM):
        while self.clients:
            self.clients.popitem()[1].close()
        if self.process.poll() is None:
            self.process.send_signal(sign)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.log.close()
        return status

    def token(self, user, secret=None, header=None, **claims):
        now = int(time.time())
        payload = {"sub": user, "aud": "traylog", "iat": now, "exp": now + 600, **claims}
        payload = {name: value for name, value in payload.items() if value is not None}
        head = {"alg": "HS256", "kid": "dev", "typ": "JWT", **(header or {})}
        message = ".".join(base64url(json.dumps(part).encode()) for part in (head, payload))
        signature = hmac.new(secret or self.secret, message.encode(), hashlib.sha256).digest()
        return f"{message}.{base64url(signature)}"

    def connection(self):
        if self.certificate:
            context = ssl.create_default_context(cafile=self.certificate)
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    description = None

    def describe(self):
        """The description of the API, read once for all servers."""
        if Server.description is None:
            connection = self.connection()
            connection.request("GET", "/openapi.json")
            Server.description = Description(json.loads(connection.getresponse().read()))
            connection.close()
        return Server.description

    def client(self, who="key"):
        """The generated client, with the server key or a user's token."""
        token = self.key if who == "key" else who
        with self.lock:
            if token not in self.clients:
                # What generates it need not be installed for the other tests.
                from generated import Client
                self.clients[token] = Client(self, token)
            return self.clients[token]

    def ask(self, operation, *arguments, who="key", **named):
        """Calls an operation by its name in the generated client, as `trays.get_tray`, which knows its path and its forms."""
        return self.client(who).ask(operation, *arguments, **named)

    def call(self, method, path, body=None, headers=None, who="key"):
        headers = dict(headers or {})
        if who == "key":
            headers.setdefault("Authorization", f"Bearer {self.key}")
        elif who is not None:
            headers.setdefault("Authorization", f"Bearer {who}")
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = self.connection()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            self.describe().check(method, path, answer)
            return answer
        finally:
            connection.close()

    def raw(self, data):
        """Sends bytes as they are, and returns all that comes until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(data)
            answer = b""
            while part := connection.recv(65_536):
                answer += part
            return answer

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def notify(self, user, **content):
        return self.post(f"/v1/users/{quote(user, safe='')}/notifications", content)

    def wait_for(self, figure, value):
        """Waits until a metric has this value: until all streams are gone, or a long poll waits."""
        deadline = time.monotonic() + 60
        while f"\n{figure} {value}\n" not in self.get("/metrics").body.decode():
            if time.monotonic() > deadline:
                raise AssertionError(f"{figure} does not become {value}")
            time.sleep(0.02)

    def perform(self, *commands):
        return self.post("/v1/commands", list(commands)).json


def busy(pid, seconds=2):
    """The share of moments in which a thread of a process runs or wants to. One that spins does in all of them, on any machine."""
    moments = found = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        states = []
        for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                states.append(stat.read_text().rsplit(")", 1)[1].split()[0])
            except OSError:
                # The thread has ended.
                continue
        moments, found = moments + 1, found + ("R" in states)
        time.sleep(0.02)
    return found / moments


class Stream:
    """The events of a live stream."""

    def __init__(self, server, path, who="key", headers=None):
        self.connection, self.path, self.description = server.connection(), path, server.describe()
        token = server.key if who == "key" else who
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {token}", **(headers or {})})
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers

    def next(self):
        """(event, id, data); None at the end."""
        event = identity = None
        data = []
        while True:
            line = self.response.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if not line:
                if event is not None:
                    value = json.loads("\n".join(data))
                    self.description.check_event(self.path, event, identity, value)
                    return event, identity, value
            elif line.startswith("event: "):
                event = line[7:]
            elif line.startswith("id: "):
                identity = line[4:]
            elif line.startswith("data: "):
                data.append(line[6:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()
