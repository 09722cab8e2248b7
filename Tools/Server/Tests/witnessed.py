"""Witnesses for tests: one that others wrote, Traylog's own, and ones that misbehave. Loopback only; each ends by its pid."""

import base64
import hashlib
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from aics_tlog import cosignature_vkey, format_vkey, parse_checkpoint, parse_note, sign_cosignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PROGRAM = os.environ.get("TRAYLOG") or os.path.join(os.path.dirname(os.environ["TRAYLOG_SERVER"]), "traylog")


def traylog(*words, status=0, **more):
    """What the program prints; fails where it ends otherwise than expected."""
    run = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False, **more)
    assert run.returncode == status, f"traylog {' '.join(words)}: {run.returncode}\n{run.stdout}{run.stderr}"
    return run.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def reachable(url):
    deadline = time.monotonic() + 20
    while True:
        try:
            urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            return
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.02)


def origin_hash(origin):
    return hashlib.sha256(origin.encode()).hexdigest()


class Ended:
    """A process that ends with its block."""

    process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=20)


class Aics(Ended):
    """The witness of PyPI's aics-witness, as it is."""

    def __init__(self, directory, origin, key, name="aics.example/w1"):
        os.makedirs(directory)
        self.config, self.url = os.path.join(directory, "w.json"), f"http://127.0.0.1:{free_port()}"
        listen = self.url.removeprefix("http://")
        self.key = self.run("init", "--name", name, "--listen", listen).strip()
        self.run("add-log", "--origin", origin, "--vkey", key)
        self.process = subprocess.Popen(
            [*self.program, "serve", "--config", self.config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        reachable(self.url)

    program = (sys.executable, "-m", "aics_witness")

    def run(self, command, *options):
        return subprocess.run(
            [*self.program, command, "--config", self.config, *options], check=True, capture_output=True, text=True).stdout


class Own(Ended):
    """`traylog witness`."""

    def __init__(self, directory, logs, name="own.example", **environment):
        os.makedirs(directory)
        self.directory, self.state, self.name = directory, os.path.join(directory, "state"), name
        self.key = traylog("keygen", os.path.join(directory, "key"), "--witness", "--name", name).strip()
        self.logs = os.path.join(directory, "logs")
        with open(self.logs, "w") as file:
            file.write("".join(f"log {key}\n" for key in logs) + "quorum none\n")
        self.port = 0
        self.start("--new", **environment)

    def start(self, *options, state=None, **environment):
        self.process = subprocess.Popen(
            [PROGRAM, "witness", "--key", os.path.join(self.directory, "key"), "--logs", self.logs, "--state", state or self.state,
             "--listen", f"127.0.0.1:{self.port}", *options], env={**os.environ, **environment},
            stdout=subprocess.PIPE, stderr=open(os.path.join(self.directory, "said"), "ab"), text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                self.port = int(self.url.rsplit(":", 1)[1])
                return
        raise RuntimeError(f"the witness did not start: {self.said}")

    def end(self):
        super().end()
        self.process.stdout.close()

    @property
    def said(self):
        with open(os.path.join(self.directory, "said")) as file:
            return file.read()

    def checkpoint(self, origin):
        """What it cosigned last; None for nothing."""
        try:
            with open(os.path.join(self.state, origin_hash(origin))) as file:
                return file.read()
        except FileNotFoundError:
            return None


class Hostile:
    """A witness that misbehaves: `answer` gets the request of http.server, the old size, and the checkpoint."""

    def __init__(self, answer, name="hostile.example"):
        self.private = Ed25519PrivateKey.generate()
        self.name, self.key = name, format_vkey(cosignature_vkey(name, self.private.public_key()))
        self.requests = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                self.requests += 1
                handler.body = handler.rfile.read(int(handler.headers["Content-Length"]))
                body = handler.body.decode()
                old, note = body.split("\n", 1)[0], body.split("\n\n", 1)[1]
                try:
                    answer(self, handler, int(old.removeprefix("old ")), note)
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def line(self, note, private=None, after=0):
        """The line of a cosignature."""
        head = parse_checkpoint(parse_note(note).text)
        _, signed = sign_cosignature(private or self.private, self.name, int(time.time()) + after, head.origin, head.size, head.root)
        # Another's signature under this one's name: the identifier is that of the key that the policy names.
        own = base64.b64decode(self.key.split("+", 2)[2])[1:]
        identifier = cosignature_vkey(self.name, own).key_id if private else signed.key_id
        return f"\u2014 {signed.name} {base64.b64encode(identifier + signed.signature).decode()}\n"


class Unsteady(Hostile):
    """A witness behind a network, and with habits: what happens to a request is left to chance.

    What it sends is never a cosignature that the witness behind it has not made."""

    HABITS = ("late", "twice", "another", "smaller", "endless", "deaf", "mute", "broken")

    def __init__(self, witness, chance, unsteadiness=0.4):
        super().__init__(self.pass_on, witness.name)
        self.witness, self.chance, self.unsteadiness = witness, chance, unsteadiness
        # The witness's own key counts, and no other.
        self.key, self.is_cut = witness.key, False
        self.done = set()

    def pass_on(self, _, handler, old, note):
        habit = self.chance.choice(self.HABITS) if self.chance.random() < self.unsteadiness else "well"
        if self.is_cut:
            habit = self.chance.choice(("deaf", "mute"))
        self.done.add(habit)
        if habit in ("another", "smaller", "endless", "broken", "deaf"):
            return getattr(self, habit)(handler, old, note)
        if habit == "late":
            time.sleep(self.chance.uniform(0, 1))
        status, headers, text = self.ask(handler.body)
        if habit == "twice" and status == 200:
            # It is asked again from where it is now.
            size = size_of(note)
            again = self.ask(f"old {size}\n\n{note}".encode())
            text += again[2] if again[0] == 200 else ""
        if habit == "mute" or status == 0:
            return self.deaf(handler)
        reply(handler, status, text, headers.get("Content-Type", "text/plain"))

    def ask(self, body):
        try:
            return post(f"{self.witness.url}/add-checkpoint", body)
        except OSError:
            return 0, {}, ""  # it is down

    def another(self, handler, _, note):
        reply(handler, 200, self.line(note, private=Ed25519PrivateKey.generate()))

    def smaller(self, handler, old, _):
        reply(handler, 409, f"{max(0, old - 1)}\n", "text/x.tlog.size")

    def broken(self, handler, *_):
        reply(handler, self.chance.choice((200, 404, 409, 429, 500)), self.chance.choice(("", "\n", "\u2014 a b\n", "x" * 40_000)))

    def endless(self, handler, *_):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"1\r\n.\r\n")
            handler.wfile.flush()
            time.sleep(0.2)

    def deaf(self, handler, *_):
        """The connection breaks."""
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)


def reply(handler, status, body, kind="text/plain"):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body.encode())))
    handler.end_headers()
    handler.wfile.write(body.encode())


def policy(path, log, witnesses, quorum):
    """Writes a policy: so many of the witnesses, or 'all'."""
    lines = [f"log {log}"] if log else []
    lines += [f"witness w{index} {one.key} {one.url}" for index, one in enumerate(witnesses)]
    lines += [f"group all-of-them {quorum} {' '.join(f'w{index}' for index in range(len(witnesses)))}", "quorum all-of-them"]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def size_of(note):
    return parse_checkpoint(parse_note(note).text).size


def post(url, body):
    """The status, headers and text of an answer to a POST."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()
