"""The server behind nginx and behind Caddy, with the configurations of Docs/operating/proxy.md.

TRAYLOG_PROXIES names the directory that has their programs, as their packages lay them out."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from served import Server, certificate

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Docs/operating/proxy.md"


def program(name):
    place = os.environ.get("TRAYLOG_PROXIES")
    found = [os.path.join(place, "usr", folder, name) for folder in ("sbin", "bin")] if place else []
    return next((path for path in found if os.access(path, os.X_OK)), shutil.which(name))


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1)


def replaced(text, *pairs):
    for old, new in pairs:
        assert old in text, f"{PAGE} has no {old!r} any more"
        text = text.replace(old, new)
    return text


def free_port():
    """One that is free for HTTP/3, too."""
    while True:
        with socket.socket() as listener, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            try:
                datagrams.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class ProxyCase:
    """What must work through any proxy. A subclass says how to start one."""

    # Whether answers come before the end of a request, over HTTP/1.1.
    is_duplex = True

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-proxy.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.certificate, self.key = certificate(self.directory, "proxy")
        self.server = Server("--behind-proxy", "--rate-user", "5")
        self.addCleanup(self.server.__exit__)
        self.port = free_port()
        self.log = open(os.path.join(self.directory, "proxy.log"), "wb")
        self.addCleanup(self.log.close)
        self.start()
        self.addCleanup(self.stop)
        while True:
            self.assertIsNone(self.process.poll(), self.logged())
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    break
            except OSError:
                time.sleep(0.05)

    def run_proxy(self, *command):
        home = {"HOME": self.directory, "XDG_DATA_HOME": self.directory, "XDG_CONFIG_HOME": self.directory}
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=self.directory, env={**os.environ, **home})

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def logged(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def connection(self, address="127.0.0.1"):
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("localhost", self.port, timeout=60, context=context, source_address=(address, 0))

    def call(self, method, path, body=None, headers=None, address="127.0.0.1"):
        connection = self.connection(address)
        try:
            connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    @property
    def credentials(self):
        return {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"}

    def notify(self, title):
        status, _, body = self.call("POST", "/v1/users/ann/notifications", {"title": title}, self.credentials)
        self.assertEqual(status, 201, body)

    def test_a_live_stream_is_not_held_back(self):
        connection = self.connection()
        connection.request("GET", "/v1/users/ann/live", headers=self.credentials)
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"].split(";")[0]), (200, "text/event-stream"))

        def unread():
            while not (line := response.readline()).startswith(b"data: "):
                self.assertTrue(line)
            return json.loads(line[6:])["unread"]

        self.assertEqual(unread(), 0)
        self.notify("one")
        self.assertEqual(unread(), 1)
        # The server's own end comes through as well.
        self.server.process.terminate()
        self.assertIn(b"event: end\n", response.read() + b"")
        connection.close()

    def test_lines_of_commands_are_answered_one_by_one(self):
        connection = self.connection()
        connection.putrequest("POST", "/v1/commands")
        for name, value in {**self.credentials, "Content-Type": "application/x-ndjson", "Transfer-Encoding": "chunked"}.items():
            connection.putheader(name, value)
        connection.endheaders()

        def send(data):
            connection.send(b"%x\r\n%s\r\n" % (len(data), data))

        line = json.dumps({"kind": "notify", "user": "ann", "title": "A"}).encode() + b"\n"
        send(line)
        if self.is_duplex:
            response = connection.getresponse()
            self.assertEqual(json.loads(response.readline())["line"], 1)
        send(line)
        if self.is_duplex:
            self.assertEqual(json.loads(response.readline())["line"], 2)
        connection.send(b"0\r\n\r\n")
        if not self.is_duplex:
            response = connection.getresponse()
            self.assertEqual([json.loads(response.readline())["line"] for _ in range(2)], [1, 2])
        self.assertEqual(json.loads(response.readline())["appended"], 2)
        connection.close()

    def test_strangers_are_limited_by_their_own_address(self):
        forged = {"X-Forwarded-For": "192.0.2.7"}
        answers = [self.call("GET", "/v1/users/ann/tray", headers=forged, address="127.0.0.2")[0] for _ in range(30)]
        self.assertEqual(answers[0], 401)
        self.assertIn(429, answers)
        # Another address is not affected, and the forged one would be, had it been believed.
        self.assertEqual(self.call("GET", "/v1/users/ann/tray", headers=forged, address="127.0.0.3")[0], 401)

    def test_problems_are_the_servers_own(self):
        for method, path, body, status in (
            ("GET", "/v1/nothing", None, 404), ("GET", "/v1/users/ann/tray", None, 401),
            ("POST", "/v1/users/ann/notifications", b" " * (9 << 20), 413),
        ):
            headers = {} if status == 401 else self.credentials
            try:
                found, answered, text = self.call(method, path, body, headers)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                # The answer came before the end of the body, which closes the connection: allowed for the large one only.
                self.assertEqual(status, 413)
                continue
            self.assertEqual((found, answered["Content-Type"]), (status, "application/problem+json"), text)

    def test_the_console_is_reached_by_the_proxys_name(self):
        status, headers, _ = self.call("GET", "/console")
        self.assertEqual(status, 303)
        body = f"key={self.server.key}".encode()
        origin = f"https://localhost:{self.port}"
        status, headers, text = self.call(
            "POST", "/console/sign-in", body, {"Content-Type": "application/x-www-form-urlencoded", "Origin": origin})
        self.assertEqual(status, 303, text)
        self.assertIn("Secure", headers["Set-Cookie"])

    def test_the_proxy_goes_on_after_a_restart_of_the_server(self):
        self.notify("one")
        options = ("--listen", f"127.0.0.1:{self.server.port}", "--behind-proxy")
        self.server.stop()
        self.assertIn(self.call("GET", "/readyz")[0], (502, 503))
        with Server(*options, directory=self.server.directory) as again:
            while self.call("GET", "/readyz")[0] != 200:
                time.sleep(0.05)
            status, _, body = self.call("GET", "/v1/users/ann/tray", headers={"Authorization": f"Bearer {again.key}"})
            self.assertEqual((status, json.loads(body)["unread"]), (200, 1))


@unittest.skipUnless(program("nginx"), "nginx is not there")
class NginxTests(ProxyCase, unittest.TestCase):
    def start(self):
        site = replaced(
            block("nginx"), ("127.0.0.1:8080", f"127.0.0.1:{self.server.port}"), ("listen 443", f"listen 127.0.0.1:{self.port}"),
            ("tray.example.org;", "localhost;"), ("/etc/ssl/tray.example.org.pem", self.certificate),
            ("/etc/ssl/tray.example.org.key", self.key))
        folders = "".join(f"{name}_temp_path {self.directory}/{name};\n" for name in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        path = os.path.join(self.directory, "nginx.conf")
        pathlib.Path(path).write_text(
            f"daemon off;\npid {self.directory}/pid;\nerror_log stderr;\nworker_processes 1;\n"
            + ("user root;\n" if os.getuid() == 0 else "")
            + f"events {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\n{folders}{site}}}\n")
        self.run_proxy(program("nginx"), "-p", self.directory, "-c", path)


@unittest.skipUnless(program("caddy"), "Caddy is not there")
class CaddyTests(ProxyCase, unittest.TestCase):
    is_duplex = False

    def start(self):
        site = replaced(
            block("caddyfile"), ("127.0.0.1:8080", f"127.0.0.1:{self.server.port}"),
            ("tray.example.org {", f"https://localhost:{self.port} {{\n    bind 127.0.0.1\n    tls {self.certificate} {self.key}"))
        path = os.path.join(self.directory, "Caddyfile")
        pathlib.Path(path).write_text(f"{{\n    admin off\n    auto_https disable_redirects\n}}\n{site}")
        self.run_proxy(program("caddy"), "run", "--config", path, "--adapter", "caddyfile")

    def test_the_composition_has_the_same_configuration(self):
        file = (pathlib.Path(__file__).resolve().parents[1] / "Caddyfile").read_text()
        self.assertEqual(
            file.split("\n", 1)[1].replace("{$TRAYLOG_NAME}", "tray.example.org").replace("traylog:8080", "127.0.0.1:8080"),
            block("caddyfile"))


if __name__ == "__main__":
    unittest.main()
