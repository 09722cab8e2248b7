"""Web pages of other origins: what they may call, the modules that they load, and the user of a token."""

import http.client
import json
import os
import re
import subprocess
import tempfile
import unittest

from served import PROGRAM, Server, Stream

APP = "https://app.example.org"
OTHER = "https://other.example.org"
EXPOSED = {
    "ETag", "Location", "Retry-After", "RateLimit", "RateLimit-Policy", "Traylog-Seq", "Stream-Next-Offset",
    "Stream-Up-To-Date", "Idempotency-Replayed", "X-Request-Id", "WWW-Authenticate"}


def names(answer, header):
    return {name.strip() for name in (answer.headers.get(header) or "").split(",") if name.strip()}


class OriginTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--allow-origin", APP, "--allow-origin", "http://127.0.0.1:9000", "--rate-user", "5")
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.notify("ann", title="one")
        cls.document = cls.server.get("/openapi.json", who=None).json

    def ask(self, method, path, origin=APP, who="key", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if origin is not None:
            headers["Origin"] = origin
        return self.server.call(method, path, headers=headers, who=who)

    def preflight(self, path, method="GET", origin=APP):
        return self.ask("OPTIONS", path, origin, who=None, Access_Control_Request_Method=method)

    def check_closed(self, answer):
        found = [name for name in answer.headers if name.lower().startswith("access-control-")]
        self.assertEqual(found, [], answer)

    def test_every_answer_of_the_api_says_whose_pages_may_read_it(self):
        token = self.server.token("ann")
        etag = self.ask("GET", "/v1/users/ann/tray").headers["ETag"]
        for status, path, more in (
            (200, "/v1/users/ann/tray", {}), (304, "/v1/users/ann/tray", {"If_None_Match": etag}),
            (401, "/v1/users/ann/tray", {"who": None}), (401, "/v1/users/ann/tray", {"who": "nonsense"}),
            (403, "/v1/users/bob/tray", {"who": token}), (404, "/v1/nothing", {}), (404, "/v1/users/ann/nothing", {}),
            (400, "/v1/users/ann/tray?a=1", {}), (404, "/v1/users/ann/items/99", {}), (200, "/v1/log", {}),
        ):
            answer = self.ask("GET", path, **more)
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (status, APP), path)
            self.assertEqual(answer.headers["Vary"], "Origin")
            self.assertLessEqual(EXPOSED, names(answer, "Access-Control-Expose-Headers"))
            self.assertIsNone(answer.headers["Access-Control-Allow-Credentials"])
        self.assertEqual(self.ask("POST", "/v1/users/ann/tray").status, 405)
        self.assertEqual(self.ask("POST", "/v1/users/ann/tray").headers["Access-Control-Allow-Origin"], APP)
        for origin in (None, OTHER, "null", APP + ":8443", APP.replace("https", "http"), APP + ".evil.example"):
            answer = self.ask("GET", "/v1/users/ann/tray", origin)
            self.assertEqual((answer.status, answer.headers["Vary"]), (200, "Origin"), origin)
            self.check_closed(answer)

    def test_a_refusal_for_too_many_requests_can_be_read_by_the_page(self):
        token = self.server.token("hasty")
        answers = [self.ask("GET", "/v1/users/me/tray", who=token) for _ in range(8)]
        self.assertEqual(answers[-1].status, 429)
        self.assertEqual(answers[-1].headers["Access-Control-Allow-Origin"], APP)
        self.assertIn("Retry-After", names(answers[-1], "Access-Control-Expose-Headers"))

    def test_a_stream_can_be_read_by_the_page(self):
        with Stream(self.server, "/v1/users/ann/live", headers={"Origin": APP}) as stream:
            self.assertEqual(stream.headers["Access-Control-Allow-Origin"], APP)
            self.assertEqual(stream.next()[0], "tray")

    def test_a_preflight_names_the_methods_and_headers_of_the_route(self):
        """For every route of the description."""
        for template, operations in self.document["paths"].items():
            path = re.sub(r"\{[^}]*\}", "1", template)
            if template.startswith(("/v1/admin/", "/metrics")) or template.endswith(
                    ("/hold", "/complete-history", "/dossier", "/reads")):
                for origin in (APP, OTHER):
                    answer = self.preflight(path, origin=origin)
                    self.assertEqual(answer.status, 403, template)
                    self.check_closed(answer)
                continue
            own = {name.upper() for name in operations}
            for method in own:
                answer = self.preflight(path, method)
                self.assertEqual((answer.status, answer.body), (204, b""), template)
                self.assertEqual(own, names(answer, "Access-Control-Allow-Methods") - {"HEAD"} | own & {"HEAD"})
                self.assertEqual(answer.headers["Access-Control-Max-Age"], "7200")
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*" if template.startswith("/bell/") else APP)
                self.assertIsNone(answer.headers["RateLimit"])
                headers = names(answer, "Access-Control-Allow-Headers")
                self.assertIn("Authorization", headers)
                if method in ("POST", "PATCH"):
                    self.assertIn("Content-Type", headers)
                if method in ("POST", "PUT", "PATCH", "DELETE") and template.startswith("/v1/users/"):
                    self.assertLessEqual({"Idempotency-Key", "Traylog-Device"}, headers, template)
                if method == "GET" and template.startswith("/v1/"):
                    self.assertIn("Traylog-Min-Seq", headers)
        self.assertNotIn("Idempotency-Key", names(self.preflight("/v1/tokens", "POST"), "Access-Control-Allow-Headers"))
        for end in ("tray", "inbox", "threads"):
            headers = names(self.preflight(f"/v1/users/ann/{end}"), "Access-Control-Allow-Headers")
            self.assertIn("If-None-Match", headers)
        headers = names(self.preflight("/v1/users/ann/live"), "Access-Control-Allow-Headers")
        self.assertIn("Last-Event-ID", headers)

    def test_a_preflight_of_an_unknown_path_or_origin_allows_nothing(self):
        answer = self.preflight("/v1/nothing")
        self.assertEqual((answer.status, names(answer, "Access-Control-Allow-Methods")), (204, set()))
        for origin in (OTHER, "null", "*"):
            answer = self.preflight("/v1/users/ann/tray", origin=origin)
            self.assertEqual((answer.status, answer.json["error"]), (403, "originNotAllowed"))
            self.check_closed(answer)
        self.assertEqual(self.ask("OPTIONS", "/v1/users/ann/tray", None, who=None).status, 405)

    def test_the_console_the_figures_and_the_operators_routes_stay_closed(self):
        for path in ("/metrics", "/v1/admin/stats", "/v1/admin/jobs/1", "/v1/admin/nothing", "/console", "/console/sign-in"):
            answer = self.ask("GET", path)
            self.check_closed(answer)
            self.assertIsNone(answer.headers["Vary"], path)

    def test_without_an_allowed_origin_nothing_is_said_about_origins(self):
        with Server() as server:
            for method, status in (("GET", 200), ("OPTIONS", 405)):
                answer = server.call(method, "/v1/users/ann/tray", headers={"Origin": APP})
                self.assertEqual((answer.status, answer.headers["Vary"]), (status, None))
                self.check_closed(answer)

    def test_what_is_not_exactly_one_origin_ends_the_start(self):
        with tempfile.TemporaryDirectory() as directory:
            def start(*options, **environment):
                return subprocess.run(
                    [PROGRAM, "--store", directory + "/store", "--dev", "--check-config", *options], capture_output=True,
                    text=True, timeout=60, env={**os.environ, **environment})

            for text in (
                "*", "null", "", "https://*.example.org", "app.example.org", "//app.example.org", APP + "/", APP + "/a",
                APP + "?a", APP + "#a", "https://ann@app.example.org", APP + ":", APP + ":0", APP + ":65536", APP + ":x",
                "ftp://app.example.org", "file:///a", f"{APP} {OTHER}", f"{APP},{OTHER}", "https://", "https://a..b",
                "https://[::1", " " + APP, "https://[]", "https://[::1]a", "chrome-extension://abc",
            ):
                done = start("--allow-origin", text)
                self.assertNotEqual(done.returncode, 0, text)
                self.assertIn("--allow-origin", done.stderr, text)
            for text in (APP, APP + ":8443", "http://localhost:3000", "http://127.0.0.1", "https://[::1]:9"):
                self.assertEqual(start("--allow-origin", text).returncode, 0, text)
            self.assertEqual(start(TRAYLOG_ALLOW_ORIGIN=f"{APP},{OTHER}").returncode, 0)
            self.assertNotEqual(start(TRAYLOG_ALLOW_ORIGIN="*").returncode, 0)
            path = os.path.join(directory, "config")
            for origins, is_sound in (([APP, OTHER], True), ([APP, "*"], False)):
                with open(path, "w") as file:
                    json.dump({"allow-origin": origins}, file)
                self.assertEqual(start("--config", path).returncode == 0, is_sound)


class ModuleTests(unittest.TestCase):
    def get(self, server, method, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body

    def test_any_page_may_load_the_modules(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Sources", "TraylogServer", "Bell")
        files = [name for name in sorted(os.listdir(folder)) if name.endswith((".js", ".d.ts"))]
        with Server() as server:
            for name in files:
                status, headers, body = self.get(server, "GET", f"/bell/v1/{name}")
                with open(os.path.join(folder, name), "rb") as file:
                    written = file.read()
                if name.endswith(".js"):
                    # Served without what only readers of the source need.
                    lines = (line.lstrip(b"\t") for line in written.split(b"\n"))
                    written = b"\n".join(line for line in lines if line and not line.startswith(b"//"))
                self.assertEqual((status, body), (200, written), name)
                self.assertEqual(headers["Content-Type"], "text/javascript")
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertTrue(headers["Cache-Control"].startswith("public"))
                again = self.get(server, "GET", f"/bell/v1/{name}", If_None_Match=headers["ETag"])
                head = self.get(server, "HEAD", f"/bell/v1/{name}")
                self.assertEqual((again[0], again[2], head[0], head[2]), (304, b"", 200, b""))
                self.assertEqual(head[1]["Content-Length"], str(len(body)))
                for headers in (headers, again[1], head[1]):
                    self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
                    self.assertEqual(headers["Cross-Origin-Resource-Policy"], "cross-origin")
            self.assertEqual(self.get(server, "GET", "/bell/v1/README.md")[0], 404)
        with Server("--no-bell") as server:
            for name in ["client.js", "nothing.js", *files]:
                self.assertEqual(self.get(server, "GET", f"/bell/v1/{name}")[0], 404, name)


class OwnUserTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.perform(
            {"kind": "notify", "user": "ann", "title": "for ann", "key": "k"},
            {"kind": "notify", "user": "me", "title": "for a user of this name"})

    def test_a_token_need_not_name_its_user(self):
        token = self.server.token("ann")
        for path in ("tray", "inbox", "threads", "items/1", "items/key:k"):
            own = self.server.get(f"/v1/users/me/{path}", who=token)
            self.assertEqual((own.status, own.json), (200, self.server.get(f"/v1/users/ann/{path}").json), path)
        marked = self.server.post("/v1/users/me/marks", {"as": "read", "items": [1]}, who=token)
        self.assertEqual((marked.status, marked.json["tray"]["user"]), (200, "ann"))
        with Stream(self.server, "/v1/users/me/live", who=token) as stream:
            self.assertEqual(stream.next()[2]["user"], "ann")

    def test_a_token_learns_whose_it_is(self):
        answer = self.server.get("/v1/users/me", who=self.server.token("ann", scope="inbox:read"))
        self.assertEqual((answer.json["user"], answer.json["scopes"]), ("ann", ["inbox:read"]))
        self.assertEqual(self.server.get("/v1/users/me").json["error"], "missingScope")
        self.assertEqual(self.server.get("/v1/users/me", who=None).json["error"], "tokenMissing")

    def test_a_key_means_the_user_of_that_name(self):
        self.assertEqual(self.server.get("/v1/users/me/tray").json["user"], "me")
        self.assertEqual(self.server.get("/v1/users/me/inbox").json["items"][0]["title"], "for a user of this name")


class RetryTests(unittest.TestCase):
    def test_every_stream_begins_with_how_long_to_wait_before_coming_back(self):
        with Server() as server:
            server.notify("ann", title="one")
            for path in ("/v1/users/ann/live", "/v1/users/ann/live?with=items", "/v1/users/ann/changes?live=sse",
                         "/v1/log?live=sse"):
                with Stream(server, path) as stream:
                    self.assertRegex(stream.response.readline(), rb"^retry: [1-9][0-9]*\n$", path)


if __name__ == "__main__":
    unittest.main()
