"""What the service promises beside what its operations do (test_trays.py): access, headers, bad input, lines, feeds, operation."""

import http.client
import json
import os
import random
import socket
import tempfile
import time
import unittest
from urllib.parse import quote

from served import Server, Stream
from trays import Tray

SEED = int(os.environ.get("TRAYLOG_TEST_SEED", random.randrange(1 << 32)))


class ServiceCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        self.user = f"user {self.id().rsplit('.', 1)[1]}/é"
        self.path = "/v1/users/" + "".join(f"%{byte:02x}" for byte in self.user.encode())
        self.token = self.server.token(self.user)

    def is_problem(self, answer, status, error=None, **members):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        problem = answer.json
        for name in ("type", "title", "status", "detail"):
            self.assertIn(name, problem)
        self.assertEqual(problem["status"], status)
        if error is not None:
            self.assertEqual(problem["error"], error)
        for name, value in members.items():
            self.assertEqual(problem[name], value)


class AccessTests(ServiceCase):
    def test_credentials_are_checked_before_anything_else(self):
        server, tray = self.server, f"{self.path}/tray"
        for who in (None, "nonsense", "tlk_a_b", server.key + "x", server.key[:-1], "a.b.c"):
            answer = server.get(tray, who=who)
            self.is_problem(answer, 401)
            self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
        self.assertEqual(server.get(tray).status, 200)
        self.assertEqual(server.get(tray, who=self.token).status, 200)
        self.is_problem(server.get(tray, who=server.token("somebody else")), 403)

class WritingTests(ServiceCase):
    def test_a_notification_is_stored_and_shown(self):
        body = b'{"title":"Hello","data":{"a": [1, 2.50]}}'
        answer = self.server.call("POST", f"{self.path}/notifications", body, {"Content-Type": "application/json"})
        self.assertEqual(answer.status, 201)
        self.assertEqual(answer.json["result"], "appended")
        seq = answer.json["seq"]
        self.assertEqual(answer.headers["Traylog-Seq"], str(seq))
        item = self.server.get(answer.headers["Location"], who=self.token).json
        self.assertEqual((item["seq"], item["title"], item["data"], item["deleted"]), (seq, "Hello", {"a": [1, 2.5]}, False))
        self.assertIn(b'"data":{"a": [1, 2.50]}', self.server.get(f"{self.path}/inbox").body)

    def test_a_key_makes_a_repetition_harmless(self):
        path, body = f"{self.path}/notifications", {"title": "Once"}
        first = self.server.post(path, body, headers={"Idempotency-Key": '"k 1"'})
        again = self.server.post(path, body, headers={"Idempotency-Key": "k 1"})
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(again.json, {"result": "duplicate", "seq": first.json["seq"]})
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertEqual(self.server.post(path, {**body, "key": "k 1"}, headers={"Idempotency-Key": "k 1"}).status, 200)
        self.is_problem(self.server.post(path, {**body, "key": "k 2"}, headers={"Idempotency-Key": "k 1"}), 400)
        self.is_problem(self.server.post(path, {"title": "Other", "key": "k 1"}), 422, "keyConflict")
        for key in ("", '""', "x" * 257):
            self.is_problem(self.server.post(path, body, headers={"Idempotency-Key": key}), 400)
        self.assertEqual(self.server.get(f"{self.path}/tray").json["total"], 1)

    def test_what_is_invalid_has_one_title_wherever_it_stands(self):
        bad = [("notifications", {"title": 7}, "title"), ("marks", {"as": "read", "items": []}, "items"), ("tray?asOf=never", None, "asOf"),
               ("inbox?since=never", None, "since"), ("inbox?cursor=x", None, "cursor"), ("inbox?limit=x", None, "limit")]
        for path, body, field in bad:
            path = f"{self.path}/{path}"
            answer = self.server.get(path) if body is None else self.server.post(path, body)
            self.is_problem(answer, 400, "invalid", field=field, title="Invalid request")
        for route, member in (("ticks", "now"), ("compactions", "before")):
            answer = self.server.post(f"/v1/admin/{route}", {member: "never"})
            self.is_problem(answer, 400, "invalid", field=member, title="Invalid request")

    def test_an_invalid_body_is_refused_and_stores_nothing(self):
        head = self.server.get("/v1/tree-head").json
        path = f"{self.path}/notifications"
        for body in ({"kind": "notify"}, {"user": "x"}, {"titel": "x"}, {"title": 5}, {"title": "x" * 1025}, {"level": "x"}):
            self.is_problem(self.server.post(path, body), 400, "invalid")
        for body in (b"", b"[]", b"{", b'{"title":"a"}x', b'{"title":"a",}', b'"x"', b"\xff", b'{"title":"a","title":"b"}'):
            self.is_problem(self.server.call("POST", path, body), 400)
        self.is_problem(self.server.call("POST", path, b"{}", {"Content-Type": "text/plain"}), 415)
        self.is_problem(self.server.call("POST", path, b'{"body":"' + b"x" * (9 << 20) + b'"}'), 413)
        self.assertEqual(self.server.get("/v1/tree-head").json, head)

    def test_a_user_in_the_body_does_not_make_it_another_command(self):
        seq = self.server.notify(self.user, title="A").json["seq"]
        head = self.server.get("/v1/tree-head").json
        self.is_problem(self.server.call("PATCH", f"/v1/items/{seq}", {"user": self.user, "title": "B"}), 400, "invalid", field="user")
        self.is_problem(self.server.call("DELETE", f"/v1/items/{seq}", {"user": self.user}), 400, "invalid", field="user")
        self.is_problem(self.server.post("/v1/topics/t/broadcasts", {"user": self.user, "title": "B"}), 400, "invalid", field="user")
        self.assertEqual(self.server.get("/v1/tree-head").json, head)

    def test_many_commands_at_once(self):
        notify = {"kind": "notify", "user": self.user, "title": "A"}
        answer = self.server.perform(notify, {"kind": "wake", "user": self.user, "item": 1 << 40}, {"kind": "x"}, notify)
        results = answer["results"]
        self.assertEqual([result["result"] for result in results], ["appended", "refused", "refused", "appended"])
        self.assertEqual([results[1]["error"], results[2]["error"]], ["unknownItem", "invalid"])
        self.assertEqual(answer["head"], results[3]["seq"])
        head = answer["head"]
        bad = [notify, {"kind": "x"}]
        self.is_problem(self.server.post("/v1/commands?atomic=true", bad), 400, "invalid", line=2)
        self.is_problem(
            self.server.post("/v1/commands?atomic=true", [notify, {"kind": "wake", "user": self.user, "item": 1 << 40}]),
            404, "unknownItem", line=2)
        self.assertEqual(self.server.perform()["head"], head)
        self.is_problem(self.server.post("/v1/commands", [notify] * 1001), 400)
        self.is_problem(self.server.post("/v1/commands", [notify, notify], headers={"Idempotency-Key": "k"}), 400)
        self.is_problem(self.server.post("/v1/commands?atomic=maybe", []), 400)
        single = self.server.post("/v1/commands", [{"kind": "x"}], headers={"Idempotency-Key": "k"})
        self.assertEqual(single.json["results"][0]["error"], "invalid")
        lines = self.server.call("POST", "/v1/commands", b"", {"Content-Type": "Application/X-NDJSON; charset=utf-8"})
        self.assertEqual((lines.status, lines.json["read"]), (200, 0))

    def test_lines_are_answered_one_by_one_as_they_come(self):
        connection = self.server.connection()
        connection.putrequest("POST", "/v1/commands")
        for name, value in (("Authorization", f"Bearer {self.server.key}"), ("Content-Type", "application/x-ndjson"),
                            ("Transfer-Encoding", "chunked")):
            connection.putheader(name, value)
        connection.endheaders()

        def send(data):
            connection.send(b"%x\r\n%s\r\n" % (len(data), data))

        line = json.dumps({"kind": "notify", "user": self.user, "title": "A"}).encode() + b"\n"
        send(line[:20])
        send(line[20:] + b"\n")
        response = connection.getresponse()
        self.assertEqual(json.loads(response.readline())["line"], 1)
        send(b"nonsense\n" + line)
        self.assertEqual(json.loads(response.readline())["result"], "refused")
        self.assertEqual(json.loads(response.readline())["line"], 4)
        connection.send(b"0\r\n\r\n")
        summary = json.loads(response.readline())
        self.assertEqual((summary["read"], summary["appended"], summary["refused"]), (3, 2, 1))
        self.assertEqual(response.read(), b"")
        connection.close()

    def test_lines_that_are_all_sent_before_an_answer_is_read_are_all_answered(self):
        """As most clients do: more answers than the buffers of a connection hold, and more lines behind them."""
        count = 80_000
        good = json.dumps({"kind": "notify", "user": self.user, "title": "A"})
        lines = "".join((good if number % 200 == 0 else '{"kind":"none"}').ljust(400) + "\n" for number in range(count)).encode()
        with socket.socket() as connection:
            connection.settimeout(300)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", self.server.port))
            connection.sendall((
                f"POST /v1/commands HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.server.key}\r\n"
                f"Content-Type: application/x-ndjson\r\nContent-Length: {len(lines)}\r\n\r\n").encode() + lines)
            response = http.client.HTTPResponse(connection)
            response.begin()
            answers = [json.loads(line) for line in response.read().splitlines()]
        self.assertEqual(len(answers), count + 1, answers[-1])
        self.assertEqual([answer["line"] for answer in answers[:-1]], list(range(1, count + 1)))
        self.assertEqual((answers[-1]["read"], answers[-1]["appended"]), (count, count // 200))
        self.assertEqual({answer["result"] for answer in answers[0:-1:200]}, {"appended"})
        self.assertEqual([name for name in os.listdir(os.path.join(self.server.directory, "store")) if "answers" in name], [])
        self.assertEqual(self.server.get(f"{self.path}/tray").json["unread"], count // 200)

    def test_a_line_above_its_limit_ends_the_lines_and_says_so(self):
        headers = {"Content-Type": "application/x-ndjson"}
        line = json.dumps({"kind": "notify", "user": self.user, "title": "A"}).encode() + b"\n"
        long = b'{"kind":"notify","title":"' + b"x" * (3 << 20) + b'"}\n'
        alone = self.server.call("POST", "/v1/commands", long, headers)
        self.assertEqual((alone.status, alone.headers["Content-Type"]), (413, "application/problem+json"), alone)
        answers = self.server.call("POST", "/v1/commands", line + long + line, headers).lines
        if len(answers) > 1:
            self.assertEqual((answers[0]["line"], answers[0]["result"]), (1, "appended"))
        self.assertEqual((answers[-1]["status"], self.server.get(f"{self.path}/tray").json["unread"]), (413, len(answers) - 1))


    def test_a_user_says_up_to_where(self):
        server, path, token = self.server, self.path, self.token
        newest = server.notify(self.user, title="A").json["seq"]
        self.is_problem(server.post(f"{path}/marks/all", {"as": "read"}, who=token), 400, "invalid", field="upTo")
        self.is_problem(server.post(f"{path}/seen", {}, who=token), 400, "invalid", field="upTo")
        self.assertIn(f"such as {newest} ", server.post(f"{path}/seen", {}, who=token).json["detail"])
        self.assertIn("this path takes asOf", server.get(f"{path}/tray?since=1").json["detail"])

    def test_what_is_no_answer_or_no_action_is_refused(self):
        server, path, token = self.server, self.path, self.token
        actions = [{"id": "yes", "label": "Deploy"}, {"id": "no", "label": "Wait"}]
        seq = server.notify(self.user, title="Deploy?", key="deploy", actions=actions).json["seq"]
        plain = server.notify(self.user, title="Plain").json["seq"]
        act, answer = f"{path}/items/key:deploy/action", {"action": "yes", "note": "now", "asOf": plain}
        for body, field in [({}, "action"), ({"action": ""}, "action"), ({"action": "maybe", "asOf": plain}, "action"),
                            ({"action": "yes"}, "asOf"), ({**answer, "asOf": str(plain)}, "asOf"), ({**answer, "note": "x" * 1025}, "note"),
                            ({**answer, "item": seq}, "item")]:
            self.is_problem(server.post(act, body, who=token), 400, "invalid", field=field)
        self.is_problem(server.post(f"{path}/items/{plain}/action", answer, who=token), 400, "invalid", field="action")
        self.is_problem(server.post(f"{path}/items/999999/action", answer, who=token), 404, "unknownItem")
        for bad in ([], [{"id": "a"}], [{"id": "a", "label": ""}], [{"id": "a", "label": "A"}] * 2, [{"id": "x" * 65, "label": "A"}],
                    [{"id": str(number), "label": "A"} for number in range(9)], [{"id": "a", "label": "A", "url": "x"}]):
            self.is_problem(server.post(f"{path}/notifications", {"actions": bad}), 400, "invalid")
        self.is_problem(server.call("PATCH", f"{path}/items/{seq}", {"actions": actions}), 400, "invalid")


class ReadingTests(ServiceCase):
    def test_a_search_names_the_field_that_it_does_not_take(self):
        for query, field in [("level=loud", "level"), ("since=5", "since"), ("until=x", "until"), ("actor=", "actor"),
                             ("text=" + "x" * 1_025, "text")]:
            self.is_problem(self.server.get(f"{self.path}/inbox?{query}"), 400, "invalid", field=field)
        self.assertIn("until", self.server.get(f"{self.path}/inbox?untill=x").json["detail"])

    def test_an_audience_is_asked_for_as_it_is_described(self):
        seq = self.server.post("/v1/topics/audience/broadcasts", {"title": "A"}).json["seq"]
        for query in ("list=x", "limit=5", "cursor=x", "list=read&limit=0", "list=read&cursor=*", "part=read"):
            self.is_problem(self.server.get(f"/v1/items/{seq}/audience?{query}"), 400)

    def test_pages_filters_and_the_whole_screen_in_one_request(self):
        server, path = self.server, self.path
        for number in range(25):
            server.notify(self.user, title=str(number), thread="a" if number % 2 else "b", silent=number == 3)
        seen, cursor = [], ""
        while cursor is not None:
            page = server.get(f"{path}/inbox?limit=7{cursor and '&cursor=' + cursor}").json
            seen += [item["title"] for item in page["items"]]
            cursor = page["next"]
        self.assertEqual(seen, [str(number) for number in reversed(range(25)) if number != 3])
        self.assertEqual(len(server.get(f"{path}/inbox?thread=a&limit=100&includeSilent=true").json["items"]), 12)
        self.assertEqual(len(server.get(f"{path}/inbox?view=archived").json["items"]), 0)
        for flag in ("archived", "snoozed"):
            named, flagged = (server.get(f"{path}/inbox?{query}").json for query in (f"view={flag}", f"{flag}=true"))
            self.assertEqual(flagged, named)
            for query in (f"{flag}=true&view={flag}", "archived=true&snoozed=true", f"{flag}=yes"):
                self.assertEqual(server.get(f"{path}/inbox?{query}").status, 400, query)
        screen = server.get(f"{path}/inbox?with=tray,threads").json
        self.assertEqual(screen["tray"], server.get(f"{path}/tray").json)
        self.assertEqual(screen["threads"], server.get(f"{path}/threads").json)
        self.assertEqual({screen["asOf"], screen["tray"]["asOf"], screen["threads"]["asOf"]}, {screen["asOf"]})
        past = server.get(f"{path}/tray?asOf={seen and screen['items'][-1]['seq']}").json
        self.assertLess(past["total"], 24)
        for query in ("limit=0", "limit=101", "limit=x", "view=x", "unread=yes", "cursor=x", "with=x", "more=1", "limit=1&limit=2",
                      "thread=a&unthreaded=true", "asOf=x", "category=%ff", "category=%4"):
            self.is_problem(server.get(f"{path}/inbox?{query}"), 400)
        self.is_problem(server.get(f"{path}/tray?asOf=999999999"), 422, "upToBeyondHead")

    def test_a_tag_changes_with_the_user_s_events_and_no_others(self):
        server, path = self.server, self.path
        server.notify(self.user, title="A")
        server.call("PUT", f"{path}/subscriptions/tags")
        for route in ("tray", "inbox", "threads"):
            answer = server.get(f"{path}/{route}", who=self.token)
            tag = answer.headers["ETag"]
            self.assertEqual(answer.headers["X-Poll-Interval"], "120")
            self.assertEqual(answer.headers["Cache-Control"], "private, no-cache")
            server.notify("somebody else", title="B")
            server.post("/v1/topics/other/broadcasts", {"title": "B"})
            same = server.get(f"{path}/{route}", headers={"If-None-Match": f'"x", {tag}'})
            self.assertEqual((same.status, same.body, same.headers["ETag"]), (304, b"", tag))
            server.post("/v1/topics/tags/broadcasts", {"title": "C"})
            self.assertNotEqual(server.get(f"{path}/{route}").headers["ETag"], tag)

    def test_reading_waits_for_what_was_written(self):
        seq = self.server.notify(self.user, title="A").headers["Traylog-Seq"]
        self.assertEqual(self.server.get(f"{self.path}/tray", headers={"Traylog-Min-Seq": seq}).status, 200)
        start = time.monotonic()
        answer = self.server.get(f"{self.path}/tray", headers={"Traylog-Min-Seq": str(int(seq) + 10**6)})
        self.is_problem(answer, 503)
        self.assertIn("Retry-After", answer.headers)
        self.assertGreater(time.monotonic() - start, 4)

    def test_a_head_has_the_headers_of_get(self):
        self.server.notify("test_head", title="A")
        path, changes = "/v1/users/test_head", "/v1/users/test_head/changes"
        offset = self.server.get(f"{changes}?offset=-1").headers["Stream-Next-Offset"]
        stable = lambda answer: {name: value for name, value in answer.headers.items() if name not in ("Date", "X-Request-Id", "RateLimit")}
        for read in (f"{path}/tray", f"{path}/inbox", f"{path}/inbox?with=tray,threads", f"{path}/threads", f"{path}/snapshot",
                     f"{changes}?offset=-1", f"{changes}?offset=now", f"{changes}?offset={offset}", "/v1/log?offset=-1", "/v1/tree-head"):
            head = self.server.call("HEAD", read)
            self.assertEqual((head.status, head.body), (200, b""), read)
            self.assertEqual(stable(head), stable(self.server.get(read)), read)
        tag = self.server.call("HEAD", f"{changes}?offset={offset}").headers["ETag"]
        self.assertEqual(self.server.call("HEAD", f"{changes}?offset={offset}", headers={"If-None-Match": tag}).status, 304)
        # Without an offset it says where the feed ends, and it waits for nothing.
        for read in (changes, f"{changes}?offset=now&live=long-poll", "/v1/log"):
            head = self.server.call("HEAD", read)
            self.assertEqual(head.headers["Stream-Up-To-Date"], "true")
            self.assertTrue(head.headers["Stream-Next-Offset"].endswith(f"{self.server.get('/v1/admin/stats').json['head']:020}"))

    def test_a_method_that_nobody_has_heard_of_is_not_allowed(self):
        for method, target, status, allowed in (
                ("BREW", f"{self.path}/tray", 405, b"Allow: GET, HEAD\r\n"), ("BREW", f"{self.path}/marks?x=1", 405, b"Allow: POST\r\n"),
                ("get", "/healthz", 405, b"Allow: GET, HEAD\r\n"), ("BREW", "/nothing", 404, b""), ("BREW", "*", 400, b""),
                ("BR\x01EW", "/healthz", 400, b"")):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
                connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                answer = b""
                while more := connection.recv(65536):
                    answer += more
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), answer)
            self.assertIn(allowed, answer)
            self.assertIn(b"application/problem+json", answer)

class FeedTests(ServiceCase):
    def read_all(self, path, offset="-1", **more):
        events = []
        while True:
            answer = self.server.get(f"{path}?offset={offset}", **more)
            self.assertEqual(answer.status, 200, answer)
            events += answer.json
            offset = answer.headers["Stream-Next-Offset"]
            if answer.headers.get("Stream-Up-To-Date") == "true":
                return events, offset

    def test_changes_folded_elsewhere_give_the_tray(self):
        """Random histories; every cut of them: a snapshot, and the changes after it, give what all changes give."""
        rnd = random.Random(SEED)
        server, path = self.server, self.path
        cuts = []
        offset, tags = None, None
        for step in range(120):
            self.random_step(rnd)
            # Tags change with events that the feed shows, and with no other.
            answer = server.get(f"{path}/changes?offset={offset or '-1'}")
            now = [server.get(f"{path}/{route}").headers["ETag"] for route in ("tray", "inbox?unread=true", "threads")]
            if tags is not None:
                self.assertEqual([old != new for old, new in zip(tags, now)], [bool(answer.json)] * 3, (SEED, step, answer))
            offset, tags = answer.headers["Stream-Next-Offset"], now
            if step % 20 == 10:
                cuts.append(server.get(f"{path}/snapshot").lines)
        events, offset = self.read_all(f"{path}/changes", who=self.token)
        with self.subTest(seed=SEED):
            self.compare(Tray.of_events(events))
            for lines in cuts:
                head = lines[0]
                after, _ = self.read_all(f"{path}/changes", head["offset"])
                if any(event["kind"] == "undone" and event["event"] <= head["asOf"] for event in after):
                    continue
                tray = Tray.of_snapshot([lines])
                voided = {event["event"] for event in after if event["kind"] == "undone"}
                for event in after:
                    if event["seq"] not in voided:
                        tray.apply(event)
                self.compare(tray)
        self.assertEqual(server.get(f"{path}/changes?offset={offset}").json, [])

    def random_step(self, rnd):
        server, path = self.server, self.path
        items = [item["seq"] for item in server.get(f"{path}/inbox?limit=100&includeSilent=true").json["items"]]
        kind = rnd.choice(["notify"] * 4 + ["seen", "mark", "all", "mute", "snooze", "wake", "undo", "topic", "other", "retract", "edit", "back"])
        thread, category = rnd.choice(["a", "b", None]), rnd.choice(["x", "y", None])
        given = {name: value for name, value in (("thread", thread), ("category", category)) if value}
        if kind == "notify":
            more = {"collapseKey": "k"} if rnd.random() < 0.2 else {}
            server.notify(self.user, title="t", silent=rnd.random() < 0.1, **given, **more)
        elif kind == "seen":
            server.post(f"{path}/seen", {"upTo": rnd.choice(items)} if items else {})
        elif kind == "mark" and items:
            name = rnd.choice(["seen", "read", "unread", "archived", "deleted"])
            server.post(f"{path}/marks", {"as": name, "items": rnd.sample(items, min(3, len(items)))})
        elif kind == "all":
            server.post(f"{path}/marks/all", {"as": rnd.choice(["seen", "read", "archived", "deleted"]), **given})
        elif kind == "mute":
            server.call(rnd.choice(["PUT", "DELETE"]), f"{path}/mutes/threads/a")
        elif kind == "snooze" and items:
            server.call("PUT", f"{path}/items/{rnd.choice(items)}/snooze", {"until": "2099-01-01T00:00:00Z"})
        elif kind == "wake":
            for item in server.get(f"{path}/inbox?view=snoozed").json["items"][:1]:
                server.call("DELETE", f"{path}/items/{item['seq']}/snooze")
        elif kind == "undo":
            own = [event for event in server.get(f"{path}/history").lines if event["kind"] in ("traySeen", "marked", "allMarked")]
            if own:
                server.post(f"{path}/undo", {"event": rnd.choice(own[-3:])["seq"]})
        elif kind == "topic":
            server.call(rnd.choice(["PUT", "PUT", "DELETE"]), f"{path}/subscriptions/folded")
            server.post("/v1/topics/folded/broadcasts", {"title": "b", **given})
        elif kind == "other":
            server.notify("nobody in particular", title="o")
        elif kind == "edit" and items:
            server.call("PATCH", f"{path}/items/{rnd.choice(items)}", {"title": rnd.choice(["t", "u"]), "level": "passive"})
        elif kind == "back":
            archived = server.get(f"{path}/inbox?view=archived&limit=100").json["items"]
            for item in archived[:2]:
                server.post(f"{path}/marks", {"as": "unarchived", "items": [item["seq"]]})
            own = [event for event in server.get(f"{path}/history").lines if event["kind"] == "notified"]
            for event in rnd.sample(own, min(2, len(own))):
                server.post(f"{path}/marks", {"as": "restored", "items": [event["seq"]]})
        elif kind == "retract" and items:
            server.call("DELETE", f"{path}/items/{rnd.choice(items)}")

    def compare(self, tray):
        shown = self.server.get(f"{self.path}/tray").json
        counts = tray.counts()
        self.assertEqual({name: shown[name] for name in counts}, counts)
        inbox, cursor = [], ""
        while cursor is not None:
            page = self.server.get(f"{self.path}/inbox?limit=100{cursor and '&cursor=' + cursor}").json
            inbox += [(item["seq"], item["position"], item["seen"], item["read"], item["muted"]) for item in page["items"]]
            cursor = page["next"]
        self.assertEqual(inbox, tray.inbox())

    def test_offsets_belong_to_one_feed_and_come_further_though_others_wrote(self):
        server, path = self.server, self.path
        server.notify(self.user, title="A")
        _, offset = self.read_all(f"{path}/changes")
        server.notify("somebody else", title="B")
        answer = server.get(f"{path}/changes?offset={offset}")
        self.assertEqual(answer.json, [])
        self.assertGreater(answer.headers["Stream-Next-Offset"], offset)
        now = server.call("HEAD", f"{path}/changes")
        self.assertEqual(now.headers["Stream-Next-Offset"], answer.headers["Stream-Next-Offset"])
        self.assertEqual(server.get(f"{path}/changes?offset=now").json, [])
        log = server.call("HEAD", "/v1/log").headers["Stream-Next-Offset"]
        _, other = self.read_all("/v1/users/somebody%20else/changes")
        for bad in (log, other, "x", "0", "-2", offset[:-1], offset + "0", "", "x" + offset[1:]):
            self.is_problem(server.get(f"{path}/changes?offset={bad}"), 400, "invalid")
        beyond = offset[:-20] + "%020d" % 10**12
        self.is_problem(server.get(f"{path}/changes?offset={beyond}"), 410, "rewound")
        tag = answer.headers["ETag"]
        self.assertEqual(server.get(f"{path}/changes?offset={offset}", headers={"If-None-Match": tag}).status, 304)
        head = server.get("/v1/tree-head").json
        asked = server.get(f"{path}/changes?offset=now", headers={"Prefer": "tree-head"})
        self.assertEqual(asked.headers["Traylog-Tree-Head"], f"{head['treeSize']}:{head['rootHash']}")

    def test_the_log_is_filtered(self):
        server = self.server
        server.notify(self.user, title="A", device="phone")
        server.post(f"{self.path}/seen", {})
        events, _ = self.read_all("/v1/log")
        self.assertEqual([event["seq"] for event in events], list(range(1, len(events) + 1)))
        quoted = "".join(f"%{byte:02x}" for byte in self.user.encode())
        answer = server.get(f"/v1/log?user={quoted}&kind=notified")
        self.assertEqual([event["kind"] for event in answer.json], ["notified"])
        self.assertEqual(len(server.get(f"/v1/log?user={quoted}&device=phone").json), 1)
        self.is_problem(server.get("/v1/log?kind=x"), 400)

    def test_a_long_poll_ends_with_the_event(self):
        server, path = self.server, self.path
        _, offset = self.read_all(f"{path}/changes")
        connection = server.connection()
        connection.request("GET", f"{path}/changes?offset={offset}&live=long-poll", headers={"Authorization": f"Bearer {self.token}"})
        server.wait_for("traylog_long_polls", 1)
        server.notify("somebody else", title="B")
        seq = server.notify(self.user, title="A").json["seq"]
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertIn("Stream-Cursor", response.headers)
        self.assertEqual([event["seq"] for event in json.loads(response.read())], [seq])
        connection.close()

    def test_a_live_feed_misses_nothing(self):
        server, path = self.server, self.path
        first = server.notify(self.user, title="A").json["seq"]
        with Stream(server, f"{path}/changes?offset=-1&live=sse", who=self.token) as stream:
            self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
            kind, _, events = stream.next()
            self.assertEqual((kind, [event["seq"] for event in events]), ("data", [first]))
            kind, _, control = stream.next()
            self.assertEqual((kind, control["upToDate"]), ("control", True))
            seqs, found = [server.notify(self.user, title=str(n)).json["seq"] for n in range(5)], []
            while len(found) < 5:
                kind, _, data = stream.next()
                if kind == "data":
                    found += [event["seq"] for event in data]
                else:
                    offset = data["streamNextOffset"]
            self.assertEqual(found, seqs)
        self.assertEqual(server.get(f"{path}/changes?offset={offset}").status, 200)

    def test_a_live_tray_begins_with_the_present_one(self):
        server, path = self.server, self.path
        server.notify(self.user, title="A")
        with Stream(server, f"{path}/live", who=self.token) as stream:
            kind, identity, tray = stream.next()
            self.assertEqual((kind, tray["unread"], identity), ("tray", 1, str(tray["asOf"])))
            server.notify("somebody else", title="B")
            server.post(f"{path}/marks/all", {"as": "read"})
            _, _, after = stream.next()
            self.assertEqual(after["unread"], 0)
            self.assertGreater(after["asOf"], tray["asOf"])
        with Stream(server, f"{path}/live", headers={"Last-Event-ID": str(after["asOf"])}) as stream:
            self.assertEqual(stream.next()[2]["unread"], 0)

    def test_erasure_and_compaction_end_offsets(self):
        with Server() as server:
            for name in ("ann", "bob"):
                for number in range(3):
                    server.notify(name, title=str(number))
            ann = server.get("/v1/users/ann/changes").headers["Stream-Next-Offset"]
            first = server.get("/v1/users/bob/snapshot?asOf=1").lines[0]["offset"]

            def job(route, body):
                answer = server.post(f"/v1/admin/{route}", body)
                self.assertEqual(answer.status, 202, answer)
                while server.get(answer.headers["Location"]).json["state"] == "running":
                    time.sleep(0.05)
                return server.get(answer.headers["Location"]).json

            self.is_problem(server.post("/v1/admin/erasures", {"user": "ann", "confirm": "bob"}), 400)
            self.assertEqual(job("erasures", {"user": "ann", "confirm": "ann"})["state"], "done")
            self.is_problem(server.get(f"/v1/users/ann/changes?offset={ann}"), 410, "erased")
            self.assertEqual(server.get("/v1/users/ann/changes").json, [])
            for dry in (True, False):
                done = job("compactions", {"before": 5, "dryRun": dry})
                self.assertEqual((done["state"], done["outcome"]["floor"], done["outcome"]["dryRun"]), ("done", 5, dry))
            answer = server.get(f"/v1/users/bob/changes?offset={first}")
            self.is_problem(answer, 410, "compacted", floor=5)
            self.is_problem(server.get("/v1/users/bob/changes?offset=-1"), 410, "compacted")
            self.assertEqual(server.get(f"/v1/users/bob/changes?offset={answer.json['offset']}").status, 200)
            self.assertEqual(job("compactions", {"before": 10**9})["state"], "failed")
            self.assertEqual(job("replays", {})["outcome"]["identical"], True)
            checked = job("verifications", {})
            self.assertEqual((checked["state"], checked["outcome"]["ok"], checked["outcome"]["findings"]), ("done", True, []))
            head = server.get("/v1/tree-head").json
            self.assertEqual(job("verifications", {"treeHead": head})["outcome"]["findings"], [])
            for kept in ({**head, "treeSize": head["treeSize"] - 1}, {**head, "treeSize": 10**9}):
                self.assertEqual(len(job("verifications", {"treeHead": kept})["outcome"]["findings"]), 1)
            self.is_problem(server.post("/v1/admin/replays", {"rebuild": True}), 400, "invalid", field="rebuild")
            self.assertEqual(job("ticks", {})["outcome"]["woken"], 0)
            backup = job("backups", {"dest": os.path.join(server.directory, "copy")})
            self.assertEqual((backup["state"], os.path.exists(os.path.join(server.directory, "copy"))), ("done", True))
            self.is_problem(server.get("/v1/admin/jobs/none"), 404)


class OperationTests(ServiceCase):
    def test_health_figures_and_logs(self):
        server = self.server
        self.assertEqual(server.get("/healthz", who=None).status, 200)
        self.assertEqual(server.get("/readyz", who=None).json["status"], "ok")
        server.notify(self.user, title="a secret title")
        text = server.get("/metrics").body.decode()
        self.assertIn('route="/v1/users/{u}/notifications",status="201"', text)
        self.assertIn("traylog_head ", text)
        for name in ("traylog_group_write_seconds_count", "traylog_group_events_total", "traylog_cache_bytes", "traylog_floor",
                     "traylog_tail_events", "traylog_reader_lag_commits", "traylog_live_streams", "traylog_tick_seconds_count",
                     'traylog_background_failures_total{work="tick"}'):
            self.assertIn(f"\n{name} ", text)
        groups = next(line for line in text.splitlines() if line.startswith("traylog_group_events_total"))
        self.assertGreaterEqual(int(groups.split()[1]), 1)
        self.is_problem(server.get("/metrics", who=None), 401)
        answer = server.get("/v1/tree-head")
        self.assertEqual(server.get("/v1/admin/stats").json["head"], answer.json["treeSize"])
        logged = server.logged(after=answer)
        self.assertNotIn("secret title", logged)
        self.assertNotIn("test_health", logged)
        for line in logged.splitlines():
            json.loads(line)

    def test_a_server_that_stops_has_logged_every_request(self):
        with Server() as server:
            answers = [server.get("/v1/users/ann/tray") for _ in range(20)]
            self.assertEqual(server.stop(), 0)
            logged = server.logged()
            for answer in answers:
                self.assertIn(answer.headers["X-Request-Id"], logged)

    def test_the_description_has_every_route_and_nothing_else(self):
        document = self.server.get("/openapi.json", who=None).json
        self.assertEqual(document["openapi"][:3], "3.1")
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                concrete = path.replace("{", "").replace("}", "")
                answer = self.server.call(method.upper(), concrete, who=None)
                self.assertEqual(answer.status, 401 if operation["security"] else 200, (method, path))
                self.assertIn(str(answer.status), {**operation["responses"], "401": 1})
            missing = {"get", "put", "post", "patch", "delete"} - set(operations)
            for method in missing:
                answer = self.server.call(method.upper(), path.replace("{", "").replace("}", ""))
                self.is_problem(answer, 405)

    def test_rates_are_limited_by_caller(self):
        with Server("--rate-user", "5") as server:
            token = server.token("ann")
            statuses = [server.get("/v1/users/ann/tray", who=token).status for _ in range(7)]
            self.assertEqual(statuses, [200] * 5 + [429] * 2)
            answer = server.get("/v1/users/ann/tray", who=token)
            self.assertIn("Retry-After", answer.headers)
            self.assertIn("q=5", answer.headers["RateLimit-Policy"])
            self.assertEqual(server.get("/v1/users/ann/tray").status, 200)
            self.assertEqual(server.get("/v1/users/bob/tray", who=server.token("bob")).status, 200)

    def test_a_stop_lets_requests_end_and_keeps_what_was_acknowledged(self):
        directory = tempfile.mkdtemp()
        with Server(directory=directory) as server:
            seq = server.notify("ann", title="A").json["seq"]
            with Stream(server, "/v1/users/ann/live") as stream:
                self.assertEqual(stream.next()[0], "tray")
                polling = server.connection()
                polling.request("GET", "/v1/users/ann/changes?offset=now&live=long-poll",
                                headers={"Authorization": f"Bearer {server.key}"})
                server.wait_for("traylog_long_polls", 1)
                server.process.terminate()
                self.assertEqual(stream.next()[0], "end")
                answer = polling.getresponse()
                self.assertEqual((answer.status, answer.headers["Stream-Up-To-Date"]), (204, "true"))
                polling.close()
            self.assertEqual(server.process.wait(timeout=20), 0)
        with Server(directory=directory) as server:
            self.assertEqual(server.get("/v1/users/ann/tray").json["newest"], seq)
            self.assertEqual(server.stop(9), -9)
        with Server(directory=directory) as server:
            self.assertEqual(server.get("/v1/users/ann/tray").json["newest"], seq)

    def test_hostile_bytes_cost_nobody_else_anything(self):
        for data in (b"\x00" * 100, b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 70_000 + b"\r\n\r\n", b"POST /v1/commands HTTP/1.1\r\n",
                     b"GET /v1/users/a%00b/tray HTTP/1.1\r\nHost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=5) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(5)
                try:
                    connection.recv(1_000)
                except (TimeoutError, ConnectionError):
                    pass
        self.assertEqual(self.server.get("/healthz", who=None).status, 200)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
