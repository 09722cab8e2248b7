"""Who may do what in the console, without a browser. The names follow OWASP's checks for sessions (WSTG-SESS)."""

import os
import re
import unittest
from urllib.parse import quote

from consoled import HOSTILE, Visitor, console_server, text_of
from served import FAKETIME, Server

COOKIE = r"^traylog=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict$"


class ConsoleCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = console_server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.notify("ann", title="Hello")


class SessionTests(ConsoleCase):
    def test_sess_01_tokens_are_random_and_the_server_keeps_none(self):
        tokens = {Visitor(self.server, "viewer").cookie for _ in range(8)}
        self.assertEqual(len(tokens), 8)
        logged = self.server.logged(after=self.server.get("/healthz", who=None))
        for token in tokens:
            self.assertNotIn(token.split("=")[1], logged)

    def test_sess_02_cookies_are_for_this_host_and_no_script(self):
        answer = Visitor(self.server).send("/sign-in", {"key": self.server.keys["viewer"]})
        self.assertEqual(answer.status, 303)
        self.assertRegex(answer.headers["Set-Cookie"], COOKIE)
        with console_server("--behind-proxy") as proxied:
            proxied.url = proxied.url.replace("http:", "https:")
            answer = Visitor(proxied).send("/sign-in", {"key": proxied.keys["viewer"]})
            self.assertRegex(
                answer.headers["Set-Cookie"],
                r"^__Host-traylog=[A-Za-z0-9_-]{43}; Path=/; HttpOnly; SameSite=Strict; Secure$")

    def test_sess_03_signing_in_makes_a_new_session_and_ends_the_old_one(self):
        visitor = Visitor(self.server, "viewer")
        old = visitor.cookie
        visitor.send("/sign-in", {"key": self.server.keys["viewer"]})
        self.assertNotEqual(visitor.cookie, old)
        visitor.cookie = old
        self.assertEqual(visitor.get("").status, 303)
        planted = Visitor(self.server)
        planted.cookie = "traylog=" + "A" * 43
        self.assertEqual(planted.get("").status, 303)
        planted.send("/sign-in", {"key": self.server.keys["viewer"]})
        self.assertNotEqual(planted.cookie, "traylog=" + "A" * 43)

    def test_sess_04_nothing_of_a_session_is_in_an_address_or_a_cache(self):
        visitor = Visitor(self.server, "operator")
        for path in ("", "/users", "/users/ann", "/log", "/events/1", "/tree", "/operations", "/pulse"):
            answer = visitor.get(path)
            self.assertEqual(answer.status, 200, path)
            self.assertEqual(answer.headers["Cache-Control"], "no-store", path)
            self.assertNotIn(visitor.cookie.split("=")[1], answer.body.decode())
        self.assertEqual(Visitor(self.server).get(f"?key={self.server.keys['viewer']}").status, 400)

    def test_sess_05_forms_of_other_sites_are_refused(self):
        visitor = Visitor(self.server, "operator")
        for origin, more in (
                ("https://evil.example", {}), (None, {}), ("null", {}), ("null", {"Sec_Fetch_Site": "cross-site"}),
                (None, {"Sec_Fetch_Site": "same-site"}), ("own", {"Sec_Fetch_Site": "cross-site"}),
                (self.server.url.replace("http:", "https:"), {}), (self.server.url + "0", {})):
            answer = visitor.send("/operations/replays", {"form": visitor.form()}, origin=origin, **more)
            self.assertEqual(answer.status, 403, (origin, more))
        self.assertEqual(self.server.post("/v1/admin/stats", who=None).status, 405)
        self.assertNotIn(">Replay</a>", visitor.get("/operations").body.decode())
        answer = visitor.send(
            "/operations/verifications", {"form": visitor.form()}, origin="null", Sec_Fetch_Site="same-origin")
        self.assertEqual(answer.status, 303)
        self.assertEqual(
            Visitor(self.server).send("/sign-in", {"key": self.server.keys["all"]}, origin="https://evil.example").status,
            403)

    def test_sess_05_a_form_needs_its_token_and_is_sent_once(self):
        visitor, other = Visitor(self.server, "operator"), Visitor(self.server, "operator")
        form = visitor.form()
        # The last character of 48 bytes carries bits that count.
        changed = form[:-1] + ("B" if form.endswith("A") else "A")
        for fields in ({}, {"form": ""}, {"form": "A" * 64}, {"form": other.form()}, {"form": changed}):
            answer = visitor.send("/operations/verifications", fields)
            self.assertEqual(answer.status, 403, fields)
        self.assertEqual(visitor.send("/operations/verifications", {"form": form}).status, 303)
        replayed = visitor.send("/operations/verifications", {"form": form})
        self.assertEqual(replayed.status, 403)
        self.assertIn("sent before", text_of(replayed))

    def test_sess_06_signing_out_ends_the_session(self):
        visitor = Visitor(self.server, "viewer")
        cookie, form = visitor.cookie, visitor.form()
        answer = visitor.send("/sign-out", {"form": form})
        self.assertEqual((answer.status, answer.headers["Location"]), (303, "/console/sign-in"))
        self.assertIn("Max-Age=0", answer.headers["Set-Cookie"])
        visitor.cookie = cookie
        self.assertEqual(visitor.get("/users").headers["Location"], "/console/sign-in?next=%2Fconsole%2Fusers")
        self.assertEqual(visitor.get("/data/users/ann/tray").status, 401)
        self.assertEqual(visitor.send("/sign-out", {"form": form}).status, 401)

    def test_sess_07_sessions_end_by_themselves(self):
        if FAKETIME is None:
            self.skipTest("needs libfaketime")
        clock = os.path.join(self.server.directory, "clock")

        def pass_hours(hours):
            with open(clock + ".new", "w") as file:
                file.write(f"+{hours}h\n")
            os.replace(clock + ".new", clock)

        pass_hours(0)
        # Under the library the program sees no arguments, so that these come by the environment.
        server = console_server(environment={
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TRAYLOG_LISTEN": "127.0.0.1:0",
            "TRAYLOG_STORE": os.path.join(self.server.directory, "faked")})
        with server:
            idle, busy = Visitor(server, "viewer"), Visitor(server, "viewer")
            for hours in (7.9, 15, 22, 23.9):
                pass_hours(hours)
                self.assertEqual(busy.get("").status, 200, hours)
                if hours > 8:
                    self.assertEqual(idle.get("").status, 303, "8 hours without use")
            pass_hours(24.1)
            self.assertEqual(busy.get("").status, 303, "24 hours in all")

    def test_sess_09_cookies_open_nothing_but_the_console(self):
        visitor = Visitor(self.server, "all")
        answer = self.server.call("GET", "/v1/users", headers={"Cookie": visitor.cookie}, who=None)
        self.assertEqual(answer.status, 401)
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = self.server.call(
                method, "/console/data/users/ann/seen", b"{}", {"Cookie": visitor.cookie, "Origin": self.server.url},
                who=None)
            self.assertEqual(answer.status, 405, method)


class RoleTests(ConsoleCase):
    def test_keys_without_a_page_and_wrong_ones_do_not_sign_in(self):
        for key in ("", "nonsense", "tlk_a_b", self.server.keys["viewer"][:-1], self.server.keys["publisher"]):
            answer = Visitor(self.server).send("/sign-in", {"key": key})
            self.assertEqual(answer.status, 403)
            self.assertNotIn("Set-Cookie", answer.headers)

    def test_guesses_are_limited_and_lock_nobody_out(self):
        with console_server() as server:
            statuses = [Visitor(server).send("/sign-in", {"key": f"tlk_a_{n}"}).status for n in range(40)]
            self.assertEqual(set(statuses), {403, 429})
            self.assertEqual(Visitor(server).send("/sign-in", {"key": server.keys["viewer"]}).status, 303)
            self.assertIn("Retry-After", Visitor(server).send("/sign-in", {"key": "tlk_a_b"}).headers)

    def test_a_role_sees_its_pages_and_no_others(self):
        auditors = ("/log", "/events/1", "/events/1/disclosure", "/users/ann/timeline", "/users/ann/difference",
                    "/data/log", "/data/users/ann/history")
        operators = ("/operations", "/data/admin/stats")
        for role, refused in (("viewer", auditors + operators), ("auditor", operators), ("operator", ())):
            visitor = Visitor(self.server, role)
            for path in ("", "/users", "/users/ann", "/users/ann/moments", "/tree", *auditors, *operators):
                status = visitor.get(path).status
                self.assertEqual(status, 403 if path in refused else 200, (role, path))
            shown = visitor.get("").body.decode()
            for page, scope in (("log", "auditor"), ("operations", "operator")):
                self.assertEqual(f'href="/console/{page}"' in shown, f"/{page}" not in refused, (role, page))

    def test_a_viewer_who_tries_what_operators_do_is_refused(self):
        for role in ("viewer", "auditor"):
            visitor = Visitor(self.server, role)
            for kind in ("compactions", "erasures", "replays", "verifications", "backups"):
                fields = {"form": visitor.form(), "user": "ann", "confirm": "ann", "before": "1", "directory": "/nowhere/copy"}
                self.assertEqual(visitor.send(f"/operations/{kind}", fields).status, 403, (role, kind))
        self.assertEqual(self.server.get("/v1/users/ann/tray").json["total"], 1)

    def test_a_signed_out_visitor_is_sent_to_sign_in_and_back(self):
        visitor = Visitor(self.server)
        answer = visitor.get("/users/ann?asOf=1")
        self.assertEqual(answer.headers["Location"], "/console/sign-in?next=%2Fconsole%2Fusers%2Fann%3FasOf%3D1")
        for wanted, given in (
                ("/console/users?sort=unread", "/console/users?sort=unread"), ("//evil.example", "/console"),
                ("https://evil.example", "/console"), ("/console/\\evil", "/console"), ("/consolefoo", "/console"),
                ("/console/\r\nSet-Cookie: a=b", "/console")):
            answer = Visitor(self.server).send("/sign-in", {"key": self.server.keys["viewer"], "next": wanted})
            self.assertEqual(answer.headers["Location"], given)


class AnswerTests(ConsoleCase):
    def test_every_answer_says_what_a_page_may_load(self):
        visitor = Visitor(self.server, "operator")
        style = re.search(r"/assets/[^\"]+\.css", visitor.get("").body.decode()).group(0)
        for path in ("", "/sign-in", "/nowhere", style, "/users/ann", "/pulse", "/data/tree-head"):
            headers = visitor.get(path).headers
            policy = headers["Content-Security-Policy"]
            self.assertEqual(policy, (
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"), path)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")

    def test_a_server_may_have_no_console(self):
        with Server("--no-console") as server:
            self.assertEqual(server.get("/console", who=None).status, 404)

    def test_mistakes_say_what_to_do(self):
        visitor = Visitor(self.server, "operator")
        for path, status, words in (
                ("/events/0", 400, "from 1 on"), ("/events/99", 404, "there is no event 99"), ("/nowhere", 404, "overview"),
                ("/users/ann?asOf=soon", 400, "2026-11-22"), ("/users/ann?asOf=99", 422, "99"),
                ("/log?kind=nothing", 400, "kind"), ("/users?colour=red", 400, "colour"),
                ("/operations/0123456789abcdef", 404, "runs")):
            answer = visitor.get(path)
            self.assertEqual(answer.status, status, (path, answer))
            self.assertIn(words, text_of(answer), path)

    def test_hostile_text_is_text_in_every_page(self):
        for index, text in enumerate(HOSTILE.values()):
            name = text[:250].encode()[:250].decode(errors="ignore")
            key = {"key": name}
            self.assertEqual(self.server.notify(name, title=text, body=text + "\u0007\u009b\n", thread=name,
                                                category=name, actor=name, device=name, **key).status, 201, name)
        visitor = Visitor(self.server, "operator")
        head = self.server.get("/v1/tree-head").json["treeSize"]
        paths = ["", "/users", "/log", *(f"/events/{seq}" for seq in range(2, head + 1))]
        for text in HOSTILE.values():
            user = quote(text[:250], safe="")
            paths += [f"/users/{user}", f"/users/{user}/timeline", f"/users/{user}/difference?from=0",
                      f"/users?prefix={user}", f"/log?user={user}&actor={user}"]
        for path in paths:
            answer = visitor.get(path)
            self.assertEqual(answer.status, 200, path)
            page = answer.body.decode()
            for broken in ("<script>d", "<img", "<svg on", "<b>", "\u202e", "\u2066", "\u0007", "\u009b"):
                self.assertNotIn(broken, page, path)
            # No attribute ends within a name, whatever stands on its quotation mark.
            self.assertNotIn("\"\u0301", page, path)
            for tag in re.findall(r"<[a-z][^<>]*>", page):
                self.assertNotRegex(re.sub(r'"[^"]*"', "", tag), r"\son[a-z]+=|autofocus onfocus", path)


if __name__ == "__main__":
    unittest.main()
