"""Legal holds, complete histories and dossiers while the server runs: by route, by the console, and by the command line."""

import html
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from consoled import Visitor, console_server, text_of
from served import Server

PROGRAM = os.environ.get("TRAYLOG") or os.path.join(os.path.dirname(os.environ["TRAYLOG_SERVER"]), "traylog")


def reader(server, role):
    """Signs in to a server that records reading, which asks what for."""
    visitor = Visitor(server)
    assert visitor.send("/sign-in", {"key": server.keys[role], "purpose": "a test"}).status == 303
    return visitor


class PersonCase(unittest.TestCase):
    def start(self, *options, **more):
        server = console_server(*options, **more)
        self.addCleanup(server.__exit__)
        for user in ("ann", "bob"):
            server.notify(user, title=f"Hello {user}", category="approval")
        return server

    def program(self, server, *arguments, status=0, environment=None):
        done = subprocess.run(
            [PROGRAM, "--store", os.path.join(server.directory, "store"), *arguments], capture_output=True, text=True,
            env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, done)
        return done

    def check_as_it_is(self, server, content):
        """Both checkers take a file with the log's public key alone, and none that another key would have signed."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file, own, other = (os.path.join(folder.name, name) for name in ("file.jsonl", "own.pub", "other"))
        pathlib.Path(file).write_bytes(content)
        page = Visitor(server, "auditor").get("/tree").body.decode()
        pathlib.Path(own).write_text(html.unescape(re.search('data-key="([^"]+)"', page).group(1)) + "\n")
        subprocess.run([PROGRAM, "keygen", other, "--name", "other"], check=True, capture_output=True)
        auditor = pathlib.Path(__file__).parents[2] / "auditor.py"
        for key, status in ((own, 0), (other + ".pub", 1)):
            for words in ((PROGRAM, "check", file, "--complete"), (sys.executable, auditor, "--complete", file)):
                done = subprocess.run([*words, "--public-key", key], capture_output=True, text=True)
                self.assertEqual(done.returncode, status, done)
                self.assertEqual("complete: all" in done.stdout, status == 0, done)

    def complete(self, server, text, *more):
        """Checks a file, with the head that the server states."""
        with tempfile.TemporaryDirectory() as folder:
            file, head = os.path.join(folder, "file.jsonl"), os.path.join(folder, "head.json")
            pathlib.Path(file).write_text(text)
            pathlib.Path(head).write_text(json.dumps(server.get("/v1/tree-head").json))
            done = subprocess.run([PROGRAM, "check", file, "--complete", "--tree-head", head, *more], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("complete: all", done.stdout)
        return done.stdout


class RouteTests(PersonCase):
    def test_a_hold_begins_and_ends_by_route_with_the_right_scope(self):
        server = self.start()
        self.assertEqual(server.get("/v1/users/ann/hold").json, {"user": "ann", "held": False})
        for role, status in (("viewer", 403), ("auditor", 403), ("publisher", 403)):
            self.assertEqual(server.call("PUT", "/v1/users/ann/hold", who=server.keys[role]).status, status, role)
        first = server.call("PUT", "/v1/users/ann/hold", {"actor": "legal"})
        self.assertEqual((first.status, first.json["result"]), (200, "appended"))
        self.assertEqual(server.call("PUT", "/v1/users/ann/hold").json, {"result": "unchanged"})
        held = server.get("/v1/users/ann/hold", who=server.keys["viewer"]).json
        self.assertEqual((held["held"], held["actor"], held["seq"]), (True, "legal", first.json["seq"]))
        erasure = server.post("/v1/admin/erasures", {"user": "ann", "confirm": "ann"}).json["id"]
        while (job := server.get(f"/v1/admin/jobs/{erasure}").json)["state"] == "running":
            pass
        self.assertEqual((job["state"], job["outcome"]["error"]), ("failed", "held"))
        self.assertEqual(server.call("DELETE", "/v1/users/ann/hold").json["result"], "appended")
        self.assertEqual(server.get("/v1/users/ann/hold").json["held"], False)
        self.assertEqual(server.call("PUT", "/v1/users/ann/hold", {"nobody": 1}).status, 400)

    def test_a_complete_history_and_a_dossier_come_from_a_running_server_and_prove_themselves(self):
        server = self.start()
        server.post("/v1/users/bob/marks", {"as": "read", "items": [2], "actor": "ann"})
        for role in ("viewer", "publisher"):
            self.assertEqual(server.post("/v1/users/ann/complete-history", {}, who=server.keys[role]).status, 403, role)
        answer = server.post("/v1/users/ann/complete-history", {"actor": "eve", "purpose": "complaint 7"}, who=server.keys["auditor"])
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/x-ndjson"))
        self.complete(server, answer.body.decode())
        looks = [line for line in server.get("/v1/users/ann/history").lines if line["kind"] == "audited"]
        self.assertEqual([(look["actor"], look["purpose"]) for look in looks], [("eve", "complaint 7")])
        dossier = server.post("/v1/users/ann/dossier", {})
        self.complete(server, dossier.body.decode())
        first = dossier.lines[0]
        self.assertEqual((first["user"], first["held"], first["actor"]), ("ann", False, 1))
        self.assertIn("actor", {line.get("role") for line in dossier.lines})
        # Somebody of whom nothing is stored has no history, and a dossier that says so.
        self.assertEqual(server.post("/v1/users/nobody/complete-history", {}).status, 400)
        self.assertEqual(server.post("/v1/users/nobody/dossier", {}).lines[0]["events"], 0)
        self.assertEqual(server.post("/v1/users/ann/dossier", {"purpose": "x" * 300}).status, 400)


class CommandTests(PersonCase):
    def test_commands_ask_the_running_server_and_do_the_same_as_without_one(self):
        server = self.start()
        self.assertIn("appended as event", self.program(server, "hold", "ann", "--actor", "legal").stdout)
        self.assertIn("unchanged", self.program(server, "hold", "ann").stdout)
        self.assertEqual(server.get("/v1/users/ann/hold").json["actor"], "legal")
        self.assertIn("appended", self.program(server, "release", "ann", "--json").stdout)
        text = self.program(server, "audit", "ann", "--complete", "--actor", "eve", "--purpose", "why").stdout
        self.complete(server, text)
        target = os.path.join(server.directory, "dossier")
        self.program(server, "dossier", "ann", target, "--actor", "dpo")
        self.complete(server, pathlib.Path(target, "dossier.jsonl").read_text())
        self.assertIn("All data stored about", pathlib.Path(target, "dossier.html").read_text())
        looks = [line["actor"] for line in server.get("/v1/users/ann/history").lines if line["kind"] == "audited"]
        self.assertEqual(looks, ["eve", "dpo"])
        # The server refuses as the program would.
        self.assertIn("invalid", self.program(server, "audit", "nobody", "--complete", status=65).stderr)
        self.assertIn("invalid", self.program(server, "hold", "x" * 300, status=65).stderr)
        # A name that nobody has is held, with a note; one that somebody has is held without.
        done = self.program(server, "hold", "bbo")
        self.assertIn("appended", done.stdout)
        self.assertEqual(done.stderr, 'traylog: note: there is no user "bbo" yet; did you mean "bob"?\n')
        self.assertEqual(self.program(server, "release", "bbo").stderr, "")
        # What no server does for others is refused as before.
        refused = self.program(server, "notify", "ann", "--title", "x", status=69)
        self.assertEqual(refused.stdout, "")
        words = " ".join(refused.stderr.split())
        self.assertIn(f"process {server.process.pid}", words)
        self.assertIn("It is a server: send it the command with POST /v1/commands, or end it.", words)
        self.assertIn("POST /v1/admin/erasures", self.program(server, "erase", "ann", "--yes", status=69).stderr)
        server.stop()
        self.assertIn("appended", self.program(server, "hold", "ann").stdout)

    def test_a_name_of_any_kind_and_a_directory_of_any_length_reach_the_server(self):
        base = tempfile.mkdtemp(prefix="traylog-long.")
        self.addCleanup(shutil.rmtree, base, True)
        directory = os.path.join(base, "d" * 120)
        os.mkdir(directory)
        server = self.start(directory=directory)
        for name in ("a/b?c#d", "Zoë …", "me", "%41"):
            self.assertIn("appended", self.program(server, "hold", name).stdout, name)
        held = [line["user"] for line in server.get("/v1/log").json if line["kind"] == "held"]
        self.assertEqual(held, ["a/b?c#d", "Zoë …", "me", "%41"])

    def test_the_way_to_the_server_is_its_users_alone_and_ends_with_it(self):
        server = self.start()
        store = os.path.join(server.directory, "store")
        for name in ("server.local", "server.socket"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(store, name)).st_mode), 0o600, name)
        text = pathlib.Path(store, "server.local").read_text()
        key = text.split("key ")[1].split()[0]
        # It reads and holds, and publishes nothing.
        self.assertEqual(server.post("/v1/users/ann/notifications", {"title": "x"}, who=key).status, 403)
        server.stop()
        self.assertEqual([name for name in os.listdir(store) if name.startswith("server.")], [])
        with Server(directory=server.directory) as again:
            self.assertEqual(again.get("/v1/users/ann/hold", who=key).status, 401)
            again.stop(signal.SIGKILL)
        # What a killed server left leads nowhere, and hinders nobody.
        self.assertTrue(os.path.exists(os.path.join(store, "server.local")))
        self.assertIn("appended", self.program(server, "hold", "ann").stdout)
        with Server(directory=server.directory):
            self.assertIn("unchanged", self.program(server, "hold", "ann").stdout)


class RecordedReadingTests(PersonCase):
    def looks(self, server, user="ann"):
        return [(line["actor"], line.get("device"), line.get("purpose"))
                for line in server.get(f"/v1/users/{user}/history").lines if line["kind"] == "audited"]

    def test_reading_by_the_command_line_is_recorded_where_reading_is(self):
        server = self.start("--record-access")
        me = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        why = {"TRAYLOG_PURPOSE": "ticket 12"}
        for command in (["tray", "ann"], ["inbox", "ann"], ["audit", "ann"], ["history", "ann"], ["show", "ann", "1"], ["mutes", "ann"],
                        ["threads", "ann"], ["diff", "ann", "--from", "0", "--to", "1"], ["log", "--user", "ann"], ["show", "1"]):
            self.program(server, *command, environment=why)
            self.assertIn((me, "command line", "ticket 12"), self.looks(server), command)
        # Once an hour for each reader and purpose.
        self.assertEqual(self.looks(server).count((me, "command line", "ticket 12")), 1)
        self.program(server, "tray", "ann", environment={"TRAYLOG_PURPOSE": "ticket 13"})
        self.assertEqual(len([look for look in self.looks(server) if look[1] == "command line"]), 2)
        self.assertEqual([look for look in self.looks(server, "bob") if look[1] == "command line"], [])
        # And without the server.
        server.stop()
        self.program(server, "tray", "bob", environment=why)
        self.assertIn((me, "command line", "ticket 12"), [
            (line["actor"], line.get("device"), line.get("purpose"))
            for line in map(json.loads, self.program(server, "history", "bob", "--json").stdout.splitlines()) if line["kind"] == "audited"])

    def test_nothing_is_recorded_where_nobody_asked_for_it(self):
        server = self.start()
        self.program(server, "tray", "ann")
        self.assertEqual(self.looks(server), [])
        self.assertFalse(os.path.exists(os.path.join(server.directory, "store", "records-access")))


class ConsoleTests(PersonCase):
    def test_a_held_persons_pages_all_say_so_and_others_do_not(self):
        server = self.start()
        operator = Visitor(server, "operator")
        answer = operator.send("/users/ann/hold", {"form": operator.form("/users/ann")})
        self.assertEqual(answer.status, 303, answer)
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        server.notify("ann", title="Later", notBefore=later)
        for role in ("viewer", "auditor", "operator"):
            visitor = Visitor(server, role)
            pages = ["", "/items/1"] + (["/timeline", "/difference", "/looked"] if role != "viewer" else [])
            for page in pages:
                shown = visitor.get(f"/users/ann{page}")
                text = text_of(shown)
                self.assertIn("On legal hold since", text, (role, page))
                self.assertEqual("/users/ann/release" in shown.body.decode(), role == "operator", (role, page))
                self.assertNotIn("On legal hold", text_of(visitor.get(f"/users/bob{page.replace('1', '2')}")), (role, page))
            self.assertRegex(text_of(visitor.get("/users")), r"ann on hold")
            # An item is also shown beside its list, where the page behind it is dimmed.
            self.assertRegex(visitor.get("/users/ann/items/1").body.decode(), r'<div class="sheet-hold"><div[^>]* data-hold>')
            self.assertIn("On legal hold since", text_of(visitor.get("/planned?user=ann")))
            self.assertNotIn("On legal hold", text_of(visitor.get("/planned?user=bob")))
            self.assertRegex(text_of(visitor.get("/planned")), r"ann on hold")
        self.assertIn("ann since", text_of(operator.get("/operations")).replace("\n", " "))
        asked = operator.send("/users/ann/release", {"form": operator.form("/users/ann")})
        self.assertEqual(asked.status, 200)
        self.assertIn("End the legal hold?", text_of(asked))
        self.assertIn("On legal hold", text_of(operator.get("/users/ann")))
        self.assertEqual(operator.send("/users/ann/release", self.fields(asked)).status, 303)
        self.assertNotIn("On legal hold", text_of(operator.get("/users/ann")))
        self.assertEqual(operator.send("/holds", {"form": operator.form("/operations"), "held": "bob"}).status, 303)
        self.assertIn("On legal hold", text_of(operator.get("/users/bob")))
        auditor = Visitor(server, "auditor")
        self.assertEqual(auditor.send("/users/bob/release", {"form": auditor.form()}).status, 403)

    def fields(self, answer):
        """The fields of the form that a page has in its middle."""
        form = re.search(r'<form method="post"[^>]*class="stack">(.*?)</form>', answer.body.decode()).group(1)
        return {name: html.unescape(value) for name, value in re.findall(r'name="([^"]+)" value="([^"]*)"', form)}

    def test_a_hold_on_a_name_that_nobody_has_asks_first(self):
        server = self.start()
        operator = Visitor(server, "operator")
        asked = operator.send("/holds", {"form": operator.form("/operations"), "held": "anne <b>"})
        self.assertEqual(asked.status, 200)
        self.assertIn('There is no user "anne <b>" yet', text_of(asked))
        asked = operator.send("/holds", {"form": operator.form("/operations"), "held": "anne"})
        self.assertIn('There is no user "anne" yet; did you mean "ann"?', text_of(asked))
        self.assertEqual(server.get("/v1/users/anne/hold").json["held"], False)
        self.assertNotIn("/users/anne\"", operator.get("/users").body.decode())
        self.assertEqual(operator.send("/holds", self.fields(asked)).status, 303)
        self.assertEqual(server.get("/v1/users/anne/hold").json["held"], True)

    def test_the_buttons_save_files_that_prove_themselves(self):
        server = self.start()
        auditor = Visitor(server, "auditor")
        self.assertIn("Save the complete history", text_of(auditor.get("/users/ann")))
        for path, name in (("complete-history", "history-ann.jsonl"), ("dossier", "dossier-ann.jsonl")):
            answer = auditor.get(f"/users/ann/{path}")
            self.assertEqual((answer.status, answer.headers["Content-Disposition"]), (200, f'attachment; filename="{name}"'))
            self.complete(server, answer.body.decode())
            self.check_as_it_is(server, answer.body)
        self.assertEqual(Visitor(server, "viewer").get("/users/ann/dossier").status, 403)
        looked = text_of(auditor.get("/users/ann/looked"))
        self.assertIn("console", looked)

    def test_who_looked_says_what_is_recorded_since_when_and_what_never_is(self):
        server = self.start("--record-access")
        text = text_of(reader(server, "auditor").get("/users/ann/looked"))
        self.assertRegex(text, r"Recorded here since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: whoever reads")
        self.assertIn("Never recorded:", text)
        plain = text_of(Visitor(self.start(), "auditor").get("/users/ann/looked"))
        self.assertIn("Recorded here: complete histories and dossiers alone", plain)

    def test_the_readers_own_visit_is_no_cause_of_what_a_page_shows(self):
        server = self.start("--record-access")
        for _ in range(2):
            page = reader(server, "auditor").get("/users/ann").body.decode()
        self.assertIn("Hello ann", page.split('class="cause"')[1][:700])

    def test_who_looked_made_no_difference_to_a_tray(self):
        server = self.start("--record-access")
        auditor = reader(server, "auditor")
        self.assertEqual(auditor.get("/users/ann").status, 200)
        self.assertIn("audited", [line["kind"] for line in server.get("/v1/users/ann/history").lines])
        page = auditor.get("/users/ann/difference?from=0").body.decode()
        between = page.split('id="by-title"')[1]
        self.assertIn("k-notified", between)
        self.assertNotIn("k-audited", between)


if __name__ == "__main__":
    unittest.main()
