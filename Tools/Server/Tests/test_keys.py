"""Keys of teams: names, and limits to the names of users and topics that begin with a prefix."""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from urllib.parse import quote, urlencode

from consoled import console_server
from served import PROGRAM, Answer, Server, Stream, base64url

LENGTH = os.environ.get("TRAYLOG_TESTS", "quick")
REQUESTS = 1_000 if LENGTH == "quick" else 10_000


def made(*options):
    """A new key, and the line of the keys file."""
    done = subprocess.run([PROGRAM, "key", "new", *options], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout.splitlines()


def session(server, key):
    """The status of signing in to the console."""
    body = urlencode({"key": key})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{server.port}"}
    return server.call("POST", "/console/sign-in", body, headers, who=None)


class KeyTests(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        self.keys = os.path.join(holder.name, "keys")

    def write(self, *lines):
        with open(self.keys, "w") as file:
            file.write("\n".join(lines) + "\n")

    def serve(self, line, *options):
        self.write(line)
        server = Server("--keys", self.keys, *options)
        self.addCleanup(server.__exit__)
        return server

    def test_a_named_key_is_the_actor_of_what_it_does_without_one(self):
        key, line = made("--scope", "publish,users,audit", "--name", "Billing")
        self.assertEqual(json.loads(line)["name"], "Billing")
        server = self.serve(line)
        server.notify("ann", title="by the operator")
        server.post("/v1/users/ann/notifications", {"title": "one"}, who=key)
        server.post("/v1/users/ann/notifications", {"title": "two", "actor": "bob"}, who=key)
        server.post("/v1/commands", [{"kind": "notify", "user": "ann", "title": "three"}], who=key)
        lines = b'{"kind":"notify","user":"ann","title":"four"}\n'
        server.post("/v1/commands", lines, headers={"Content-Type": "application/x-ndjson"}, who=key)
        server.post("/v1/users/ann/marks/all", {"as": "read"}, who=key)
        trigger = {"name": "news", "to": "ann", "payload": {"subject": "five"}}
        server.post("/compat/novu/v1/events/trigger", trigger, who=key)
        actors = [event.get("actor") for event in server.get("/v1/users/ann/history").lines]
        self.assertEqual(actors, [None, "Billing", "bob", "Billing", "Billing", "Billing", "Billing"])

    def test_a_server_without_a_key_for_tokens_says_how_it_gets_one(self):
        with console_server() as server:
            answer = server.post("/v1/tokens", {"user": "ann"})
            self.assertEqual(answer.status, 422)
            self.assertIn("--user-token-key FILE", answer.json["detail"])

    def test_the_key_that_the_installation_guide_makes_signs_tokens(self):
        guide = Path(__file__).parents[3].joinpath("Docs/operating/install.md").read_text(encoding="utf-8")
        command = re.search(r"^\$ (printf (?:.*\\\n)?.*> user-token-key)$", guide, re.MULTILINE)[1]
        subprocess.run(["sh", "-c", command], check=True, cwd=self.directory, timeout=60)
        key, line = made("--scope", "publish,users")
        server = self.serve(line, "--user-token-key", os.path.join(self.directory, "user-token-key"))
        token = server.post("/v1/tokens", {"user": "ann"}, who=key).json["token"]
        self.assertEqual(server.get("/v1/users/ann/tray", who=token).status, 200)

    def test_a_key_is_not_limited_by_half(self):
        for options in (("--scope", "admin", "--users", "a."), ("--scope", "metrics", "--topics", "a."),
                        ("--scope", "users", "--name", ""), ("--scope", "users", "--name", "x" * 257)):
            with self.assertRaises(ValueError):
                made(*options)
        _, line = made("--scope", "users", "--users", "a.")
        for wrong in ({"user": "a."}, {"users": None}, {"users": ["a."]}, {"topics": 1}):
            self.write(json.dumps(json.loads(line) | wrong))
            done = subprocess.run(
                [PROGRAM, "--store", self.keys + ".store", "--keys", self.keys, "--check-config"], capture_output=True,
                text=True, timeout=60)
            self.assertEqual(done.returncode, 64, wrong)

    def test_a_limited_key_concerns_its_own_names_alone(self):
        key, line = made("--scope", "publish,users,audit", "--users", "a.", "--topics", "t.")
        server = self.serve(line)
        server.notify("b.1", title="hidden")
        other = server.post("/v1/topics/x/broadcasts", {"title": "hidden"}).json["seq"]
        own = server.post("/v1/topics/t.1/broadcasts", {"title": "shown"}, who=key).json["seq"]
        self.assertEqual(server.post("/v1/users/a.1/notifications", {"title": "one"}, who=key).status, 201)
        for method, path, body in (
            ("GET", "/v1/users/b.1/tray", None), ("GET", "/v1/users/a/tray", None), ("GET", "/v1/users/A.1/tray", None),
            ("GET", "/v1/users/b.1/history", None), ("GET", "/v1/users/b.1/changes", None),
            ("POST", "/v1/users/b.1/notifications", {"title": "x"}), ("POST", "/v1/topics/x/broadcasts", {"title": "x"}),
            ("PUT", "/v1/users/a.1/subscriptions/x", None), ("PUT", "/v1/users/b.1/subscriptions/t.1", None),
            ("PATCH", f"/v1/items/{other}", {"title": "x"}), ("DELETE", f"/v1/items/{other}", None),
            ("DELETE", "/v1/items/1", None), ("DELETE", "/v1/items/999", None),
            ("POST", "/v1/tokens", {"user": "b.1"}), ("POST", "/v1/tokens", {"user": "a.1", "scope": "publish"}),
            ("GET", "/compat/novu/v2/subscribers/b.1/notifications", None), ("GET", "/compat/novu/v2/topics", None),
            ("POST", "/compat/novu/v1/events/trigger", {"name": "n", "to": "b.1", "payload": {}}),
            ("POST", "/v1/commands?atomic=true", [{"kind": "notify", "user": "b.1", "title": "x"}]),
        ):
            answer = server.call(method, path, body, who=key)
            self.assertEqual((answer.status, answer.json.get("error")), (403, "outsidePrefix"), f"{method} {path}")
        self.assertEqual(server.call("PATCH", f"/v1/items/{own}", {"title": "better"}, who=key).status, 200)
        self.assertEqual(server.post("/v1/tokens", {"user": "a.1"}, who=key).status, 200)
        results = server.post("/v1/commands", [
            {"kind": "notify", "user": "b.1", "title": "x"}, {"kind": "notify", "user": "a.2", "title": "x"},
            {"kind": "broadcast", "topic": "x", "title": "x"}, {"kind": "retract", "item": other}], who=key).json["results"]
        self.assertEqual([result.get("error") for result in results], ["outsidePrefix", None, "outsidePrefix", "outsidePrefix"])
        self.assertEqual([tray["user"] for tray in server.get("/v1/users", who=key).json["users"]], ["a.1", "a.2"])
        self.assertEqual(server.get("/v1/users?prefix=b", who=key).json["users"], [])
        log = server.get("/v1/log", who=key).json
        self.assertEqual([event.get("user", event.get("topic")) for event in log], ["t.1", "a.1", "a.2"])
        self.assertEqual(server.get("/v1/tree-head", who=key).status, 200)
        self.assertEqual(session(server, key).status, 403)
        self.assertEqual(server.get("/v1/users/b.1/tray").json["total"], 1)

    def test_a_key_that_is_limited_to_users_reaches_no_topic(self):
        key, line = made("--scope", "publish,users", "--users", "a.")
        server = self.serve(line)
        self.assertEqual(server.post("/v1/topics/t/broadcasts", {"title": "x"}, who=key).json["error"], "outsidePrefix")
        everywhere, line = made("--scope", "publish,users", "--users", "a.", "--topics", "")
        self.write(line)
        server.process.send_signal(signal.SIGHUP)
        self.wait(lambda: server.get("/v1/users/a.1/tray", who=everywhere).status == 200)
        self.assertEqual(server.post("/v1/topics/t/broadcasts", {"title": "x"}, who=everywhere).status, 201)
        self.assertEqual(server.get("/v1/users/a.1/tray", who=key).json["error"], "keyUnknown")

    def test_a_limit_that_the_keys_file_gains_holds_after_the_signal(self):
        key, line = made("--scope", "publish,users")
        server = self.serve(line)
        self.assertEqual(server.get("/v1/users/b.1/tray", who=key).status, 200)
        self.write(json.dumps(json.loads(line) | {"users": "a."}))
        server.process.send_signal(signal.SIGHUP)
        self.wait(lambda: server.get("/v1/users/b.1/tray", who=key).status == 403)
        self.assertEqual(server.get("/v1/users/a.1/tray", who=key).status, 200)

    def test_users_keys_change_at_the_signal_and_end_what_stands_on_them(self):
        secrets = {kid: kid.encode() * 32 for kid in ("a", "b")}
        file = os.path.join(self.directory, "jwk")

        def write(text):
            with open(file + ".new", "w") as new:
                new.write(text)
            os.replace(file + ".new", file)

        def jwk(kid, secret):
            return json.dumps({"kty": "oct", "alg": "HS256", "kid": kid, "k": base64url(secret)})

        def token(kid, secret):
            return server.token("ann", secret=secret, header={"kid": kid})

        write(jwk("a", secrets["a"]))
        key, line = made("--scope", "publish,users")
        server = self.serve(line, "--user-token-key", file)
        old, new = token("a", secrets["a"]), token("b", secrets["b"])
        self.assertEqual(server.get("/v1/users/ann/tray", who=old).status, 200)
        self.assertEqual(server.get("/v1/users/ann/tray", who=new).status, 401)
        with Stream(server, "/v1/users/ann/live", who=old) as stream:
            self.assertEqual(stream.next()[0], "tray")
            # A file that has no key changes nothing.
            write("no JSON")
            server.process.send_signal(signal.SIGHUP)
            self.wait(lambda: '"userTokenKeys":"not read again' in server.logged())
            self.assertEqual(server.get("/v1/users/ann/tray", who=old).status, 200)
            write(jwk("b", secrets["b"]))
            server.process.send_signal(signal.SIGHUP)
            self.assertEqual(stream.next(), ("end", None, {"reason": "keyRemoved"}))
        self.assertEqual(server.get("/v1/users/ann/tray", who=new).status, 200)
        self.assertEqual(server.get("/v1/users/ann/tray", who=old).status, 401)
        # Another key with the same name is another key.
        write(jwk("b", secrets["a"]))
        server.process.send_signal(signal.SIGHUP)
        self.wait(lambda: server.get("/v1/users/ann/tray", who=new).status == 401)
        self.assertEqual(server.get("/v1/users/ann/tray", who=token("b", secrets["a"])).status, 200)

    def wait(self, condition):
        for _ in range(3_000):
            if condition():
                return
            time.sleep(0.02)
        self.fail("it did not come")


class RandomRequestTests(unittest.TestCase):
    """Random requests of a tenant, beside a filter that only compares the beginnings of names."""

    USERS = ["a.1", "a.2", "a.", "a.é", "a", "A.1", "b.1", "b.a.1", "ab", "á.1"]
    TOPICS = ["a.t", "a.", "a", "b.t", "b.a.t"]

    def test_a_tenants_key_never_reads_or_changes_a_name_outside_its_prefix(self):
        seed = int(os.environ.get("TRAYLOG_SEED", random.randrange(1 << 32)))
        print(f"keys: seed {seed}", file=sys.stderr)
        self.random = random.Random(seed)
        key, line = made("--scope", "publish,users,audit", "--users", "a.", "--topics", "a.")
        with tempfile.TemporaryDirectory() as directory:
            keys = os.path.join(directory, "keys")
            with open(keys, "w") as file:
                file.write(line + "\n")
            with Server("--keys", keys) as server:
                self.run_requests(server, key)

    def run_requests(self, server, key):
        self.items = {}
        for name in self.USERS:
            marker = "shown" if self.is_own(name) else "hidden"
            self.items[name] = server.notify(name, title=f"{marker} {name}").json["seq"]
        self.broadcasts = {
            name: server.post(f"/v1/topics/{quote(name, safe='')}/broadcasts",
                              {"title": "shown" if self.is_own(name) else "hidden"}).json["seq"] for name in self.TOPICS}
        for name in self.USERS:
            if not self.is_own(name):
                server.call("PUT", f"/v1/users/{quote(name, safe='')}/subscriptions/b.t")
        before = self.outside(server)
        connection, description = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), server.describe()
        outcomes = {True: 0, False: 0}
        for number in range(REQUESTS):
            method, path, body, names = self.request()
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
            where = f"request {number}: {method} {path} {body} -> {answer}"
            description.check(method, path, answer)
            self.assertNotIn(b"hidden", answer.body, where)
            self.assertLess(answer.status, 500, where)
            if names is None:
                self.assertEqual(answer.status, 200, where)
                continue
            is_own = all(self.is_own(name) for name in names)
            outcomes[is_own] += 1
            error = answer.json.get("error") if answer.headers["Content-Type"] == "application/problem+json" else None
            if path == "/v1/commands":
                error = answer.json["results"][0].get("error")
            self.assertEqual(error == "outsidePrefix", not is_own, where)
        connection.close()
        self.assertGreater(min(outcomes.values()), REQUESTS // 10)
        self.assertEqual(self.outside(server), before)

    @staticmethod
    def is_own(name):
        return name.encode().startswith(b"a.")

    def outside(self, server):
        """Everything that happened to names outside of the prefix."""
        events = [event for event in server.get("/v1/log").json if not self.is_own(event.get("user", event.get("topic", "")))]
        # An edit or a retraction of a broadcast names the item alone.
        own = {str(self.broadcasts[name]) for name in self.TOPICS if self.is_own(name)}
        return [event for event in events if str(event.get("item")) not in own]

    def request(self):
        """(method, path, body, names that it concerns; none where its answer is filtered)."""
        user, topic = self.random.choice(self.USERS), self.random.choice(self.TOPICS)
        at, topic_at = f"/v1/users/{quote(user, safe='')}", quote(topic, safe="")
        item, broadcast = self.items[user], self.broadcasts[topic]
        command = self.random.choice([
            ({"kind": "notify", "user": user, "title": "shown", "collapseKey": "c"}, [user]),
            ({"kind": "seeTray", "user": user}, [user]), ({"kind": "mark", "user": user, "as": "read", "items": [item]}, [user]),
            ({"kind": "broadcast", "topic": topic, "title": "shown"}, [topic]), ({"kind": "edit", "item": broadcast, "title": "shown"}, [topic]),
            ({"kind": "subscribe", "user": user, "topic": topic}, [user, topic]),
            ({"kind": "unsubscribe", "user": user, "topic": topic}, [user, topic]),
            ({"kind": "mute", "user": user, "thread": "t"}, [user]),
        ])
        choices = [
            ("GET", f"{at}/tray", None, [user]), ("GET", f"{at}/inbox?with=tray,threads", None, [user]),
            ("GET", f"{at}/threads", None, [user]), ("GET", f"{at}/items/{item}", None, [user]),
            ("GET", f"{at}/snapshot", None, [user]), ("GET", f"{at}/changes?offset=now", None, [user]),
            ("GET", f"{at}/history?limit=10", None, [user]), ("GET", f"{at}/subscriptions", None, [user]),
            ("GET", f"{at}/devices", None, [user]), ("PUT", f"{at}/devices/t{item}", None, [user]),
            ("POST", f"{at}/notifications", {"title": "shown", "collapseKey": "c"}, [user]),
            ("POST", f"{at}/seen", {}, [user]), ("POST", f"{at}/marks", {"as": "unread", "items": [item]}, [user]),
            ("POST", f"{at}/marks/all", {"as": "read"}, [user]), ("PATCH", f"{at}/items/{item}", {"title": "shown"}, [user]),
            ("PUT", f"{at}/mutes/threads/x", None, [user]), ("DELETE", f"{at}/mutes/threads/x", None, [user]),
            ("PUT", f"{at}/subscriptions/{topic_at}", None, [user, topic]),
            ("DELETE", f"{at}/subscriptions/{topic_at}", None, [user, topic]),
            ("POST", f"/v1/topics/{topic_at}/broadcasts", {"title": "shown"}, [topic]),
            ("PATCH", f"/v1/items/{broadcast}", {"title": "shown"}, [topic]), ("POST", "/v1/tokens", {"user": user}, [user]),
            ("POST", "/v1/commands", [command[0]], command[1]),
            ("POST", "/v1/commands?atomic=true", [command[0]], command[1]),
            ("GET", f"/compat/novu/v2/subscribers/{quote(user, safe='')}/notifications", None, [user]),
            ("GET", f"/v1/users?prefix={quote(user[:self.random.randrange(3)])}", None, None),
            ("GET", f"/v1/log?user={quote(user)}", None, None),
        ]
        return self.random.choice(choices)


if __name__ == "__main__":
    unittest.main()
