"""With --record-access the log says who reads what was stored about a person; nobody reads unrecorded."""

import html
import json
import os
import re
import unittest

from consoled import Visitor, console_server
from served import Server
from test_erasure import erase, until


class AccessLogTests(unittest.TestCase):
    def read(self, server, role="auditor", purpose=None, path="history", user="ann"):
        headers = {"Authorization": f"Bearer {server.keys[role]}"}
        if purpose is not None:
            headers["Traylog-Purpose"] = purpose
        return server.call("GET", f"/v1/users/{user}/{path}", headers=headers, who=None)

    def audited(self, server, user="ann"):
        return [line for line in self.read(server, "all", "counting", user=user).lines if line["kind"] == "audited"]

    def notify(self, server, user="ann"):
        answer = server.call("POST", f"/v1/users/{user}/notifications", {"title": "Hello"})
        self.assertLess(answer.status, 300, answer)

    def test_a_read_is_recorded_once_an_hour_for_each_key_and_purpose_across_restarts(self):
        with console_server("--record-access") as server:
            self.notify(server)
            for _ in range(3):
                self.assertEqual(self.read(server, purpose="complaint 17").status, 200)
                self.assertEqual(self.read(server, purpose="complaint 17", path="audit").status, 200)
            self.assertEqual(self.read(server, purpose="complaint 18").status, 200)
            records = self.audited(server)
            self.assertEqual([record.get("purpose") for record in records], ["complaint 17", "complaint 18", "counting"])
            self.assertEqual(len({record["actor"] for record in records}), 2)
            server.stop()
            keys = os.path.join(server.directory, "keys")
            with Server("--record-access", "--keys", keys, directory=server.directory, dev=False) as again:
                again.keys, again.key = server.keys, server.key
                self.assertEqual(self.read(again, purpose="complaint 17").status, 200)
                self.assertEqual(self.audited(again), records)

    def test_a_stranger_and_a_person_who_reads_the_own_tray_are_not_recorded(self):
        with console_server("--record-access") as server:
            self.notify(server)
            self.assertEqual(self.read(server, user="nobody", purpose="x").status, 200)
            self.assertEqual(server.call("GET", "/v1/users/ann/tray").status, 200)
            self.assertEqual(len(self.audited(server)), 1)
            self.assertEqual(self.read(server, purpose="x" * 257).status, 400)

    def test_a_person_who_came_after_the_first_look_is_read_with_a_record(self):
        with console_server("--record-access") as server:
            self.assertEqual(self.read(server, purpose="x").status, 200)
            self.notify(server)
            self.assertEqual(self.read(server, purpose="x").status, 200)
            self.assertEqual([record["purpose"] for record in self.audited(server)], ["x", "counting"])

    def test_a_newcomer_with_an_erased_persons_name_is_read_with_a_record_of_their_own(self):
        with console_server("--record-access") as server:
            self.notify(server)
            self.assertEqual(self.read(server, purpose="x").status, 200)
            erase(server, "ann")
            self.notify(server)
            self.assertEqual(self.read(server, purpose="x").status, 200)
            self.assertEqual([record["purpose"] for record in self.audited(server)], ["x", "counting"])

    def test_the_overview_counts_what_came_today_whoever_was_erased_since(self):
        with console_server() as server:
            visitor = Visitor(server, "all")
            today = lambda: visitor.get("/pulse").json["recent"]["today"]  # noqa: E731
            for _ in range(3):
                self.notify(server)
            until(lambda: today() == "3")
            erase(server, "ann")
            self.notify(server)
            until(lambda: today() == "4")

    def test_the_console_asks_what_for_and_shows_who_looked(self):
        with console_server("--record-access") as server:
            self.notify(server)
            visitor = Visitor(server)
            self.assertIn('name="purpose"', visitor.get("/sign-in").body.decode())
            refused = visitor.send("/sign-in", {"key": server.keys["auditor"]})
            self.assertEqual(refused.status, 403)
            self.assertEqual(
                visitor.send("/sign-in", {"key": server.keys["auditor"], "purpose": "a <b>bold</b> question"}).status, 303)
            for path in ("/users/ann", "/users/ann/timeline", "/users/ann/looked"):
                self.assertEqual(visitor.get(path).status, 200, path)
            page = visitor.get("/users/ann/looked").body.decode()
            self.assertIn("a &lt;b&gt;bold&lt;/b&gt; question", page)
            self.assertEqual(page.count("/console/events/"), 1)

    def test_readers_are_not_in_the_way_of_what_happened(self):
        with console_server("--record-access") as server:
            for user in ("ann", "bob"):
                self.notify(server, user=user)
            visitor = Visitor(server)
            visitor.send("/sign-in", {"key": server.keys["auditor"], "purpose": "complaint 17"})
            seqs = lambda path: re.findall(r'<tr data-seq="(\d+)"', visitor.get(path).body.decode())  # noqa: E731
            for _ in range(2):
                for path, shown in (("", ["2", "1"]), ("/log", ["2", "1"]), ("/users/ann/timeline", ["1"])):
                    self.assertEqual(seqs(path), shown, path)
            # Each page that shows several persons is a record of its own, which can be asked for.
            looks = seqs("/log?kind=audited")
            self.assertGreaterEqual(len(looks), 5)
            self.assertEqual(seqs("/log?looks=true"), looks + ["2", "1"])
            self.assertIn("1", seqs("/users/ann/timeline?looks=true"))
            self.assertGreater(len(seqs("/users/ann/timeline?looks=true")), 1)
            page = html.unescape(visitor.get("/users/ann/looked").body.decode())
            self.assertEqual(
                set(re.findall(r'data-label="Where" class="name"><bdi>([^<]*)</bdi>', page)),
                {"overview", "log", "the person's own pages"})

    def test_a_look_is_found_behind_many_other_events(self):
        with console_server("--record-access") as server:
            self.notify(server)
            self.assertEqual(self.read(server, purpose="complaint 17").status, 200)
            lines = [json.dumps({"kind": "notify", "user": "ann", "title": f"Item {index}"}) for index in range(4_500)]
            server.post("/v1/commands", "\n".join(lines), headers={"Content-Type": "application/x-ndjson"})
            visitor = Visitor(server)
            visitor.send("/sign-in", {"key": server.keys["auditor"], "purpose": "a newer question"})
            path, pages = "/users/ann/looked", []
            while path:
                pages.append(visitor.get(path).body.decode())
                older = re.search(r'href="/console(/users/ann/looked\?before=\d+)"', pages[-1])
                path = older and older[1]
                self.assertLess(len(pages), 10)
            self.assertIn("a newer question", pages[0])
            self.assertIn("complaint 17", pages[-1])
            self.assertEqual("".join(pages).count("/console/events/"), 2)

    def test_without_the_option_nothing_is_recorded_and_nothing_asked(self):
        with console_server() as server:
            self.notify(server)
            self.assertEqual(self.read(server, purpose="complaint 17").status, 200)
            self.assertEqual(self.audited(server), [])
            self.assertNotIn('name="purpose"', Visitor(server).get("/sign-in").body.decode())


if __name__ == "__main__":
    unittest.main()
