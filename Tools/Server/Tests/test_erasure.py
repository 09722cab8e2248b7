"""Answers that wait or go on end with what they stand on: their person, their token, their key."""

import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from urllib.parse import quote

from served import PROGRAM, Server, Stream

SEED = int(os.environ.get("TRAYLOG_TEST_SEED", random.randrange(1 << 32)))


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.02)


def erase(server, user):
    job = server.post("/v1/admin/erasures", {"user": user, "confirm": user}).headers["Location"]
    until(lambda: server.get(job).json["state"] != "running")
    assert server.get(job).json["state"] == "done", server.get(job)


def offset(server, user, who="key"):
    return server.get(f"/v1/users/{user}/changes", who=who).headers["Stream-Next-Offset"]


class Poll:
    """A request that waits, on a thread of its own."""

    def __init__(self, server, path, who="key"):
        self.answer = None
        self.thread = threading.Thread(target=self.run, args=(server, path, who))
        self.thread.start()

    def run(self, server, path, who):
        self.answer = server.get(path, who=who)

    def get(self):
        self.thread.join(30)
        return self.answer


class EndTests(unittest.TestCase):
    def test_every_open_answer_ends_with_its_person_and_never_shows_the_newcomer(self):
        with Server() as server:
            server.notify("ann", title="for the first ann")
            at = quote(offset(server, "ann"))
            for who in (server.token("ann"), "key"):
                changes, live = (Stream(server, f"/v1/users/ann/{path}", who)
                                 for path in (f"changes?live=sse&offset={at}", "live"))
                polls = [Poll(server, f"/v1/users/ann/changes?live=long-poll&offset={at}", who)]
                self.assertEqual((changes.next()[0], live.next()[0]), ("control", "tray"))
                server.wait_for("traylog_long_polls", 1)
                erase(server, "ann")
                server.notify("ann", title="SECRET of a newcomer")
                for stream in (changes, live):
                    seen = []
                    while (event := stream.next()) is not None:
                        seen.append(event)
                    self.assertEqual(seen[-1][0], "end", seen)
                    self.assertIn(seen[-1][2]["reason"], ("erased", "tokenRevoked"))
                    self.assertNotIn("SECRET", json.dumps(seen))
                    self.assertTrue(all(data["total"] == 0 for name, _, data in seen if name == "tray"), seen)
                    stream.close()
                for poll in polls:
                    self.assertIn(poll.get().status, (401, 410))
                    self.assertNotIn(b"SECRET", poll.get().body)
                answer = server.get(f"/v1/users/ann/changes?offset={at}")
                self.assertEqual((answer.status, answer.json["error"]), (410, "erased"))
                at = quote(offset(server, "ann"))

    def test_a_stream_ends_when_its_token_expires(self):
        with Server() as server:
            token = server.token("ann", exp=int(time.time()) + 2)
            streams = [Stream(server, f"/v1/users/ann/{path}", token) for path in ("live", "changes?live=sse&offset=now")]
            poll = Poll(server, "/v1/users/ann/changes?live=long-poll&offset=now", token)
            for stream in streams:
                stream.next()
                self.assertEqual(stream.next(), ("end", None, {"reason": "tokenExpired"}))
                self.assertIsNone(stream.next())
                stream.close()
            answer = poll.get()
            self.assertEqual((answer.status, answer.json["error"]), (401, "tokenExpired"))
            self.assertIn('error="tokenExpired"', answer.headers["WWW-Authenticate"])

    def test_streams_of_a_removed_key_end(self):
        with tempfile.TemporaryDirectory() as directory:
            made = [subprocess.run([PROGRAM, "key", "new", "--scope", "users,audit,publish,metrics"], check=True, capture_output=True,
                                   text=True).stdout.split("\n") for _ in range(2)]
            path = os.path.join(directory, "keys")
            with open(path, "w") as file:
                file.write(made[0][1] + "\n" + made[1][1] + "\n")
            with Server("--keys", path, dev=False) as server:
                kept, gone = (lines[0] for lines in made)
                server.key = kept
                streams = [Stream(server, target, gone) for target in
                           ("/v1/users/ann/live", "/v1/users/ann/changes?live=sse&offset=now", "/v1/log?live=sse&offset=now")]
                others = Stream(server, "/v1/users/ann/live", kept)
                poll = Poll(server, "/v1/log?live=long-poll&offset=now", gone)
                for stream in (*streams, others):
                    stream.next()
                server.wait_for("traylog_long_polls", 1)
                # A file that cannot be read changes nothing.
                with open(path, "w") as file:
                    file.write("nonsense\n")
                server.process.send_signal(signal.SIGHUP)
                until(lambda: "not read again" in server.logged())
                self.assertEqual(server.get("/v1/users/ann/tray", who=gone).status, 200)
                with open(path, "w") as file:
                    file.write(made[0][1] + "\n")
                server.process.send_signal(signal.SIGHUP)
                for stream in streams:
                    self.assertEqual(stream.next(), ("end", None, {"reason": "keyRemoved"}))
                    stream.close()
                self.assertEqual((poll.get().status, poll.get().json["error"]), (401, "keyUnknown"))
                self.assertEqual(server.get("/v1/users/ann/tray", who=gone).json["error"], "keyUnknown")
                server.notify("ann", title="still here")
                self.assertEqual(others.next()[2]["total"], 1)
                others.close()

    def test_a_session_of_the_console_ends_with_its_key(self):
        with tempfile.TemporaryDirectory() as directory:
            made = [subprocess.run([PROGRAM, "key", "new", "--scope", "users,audit"], check=True, capture_output=True,
                                   text=True).stdout.split("\n") for _ in range(2)]
            path = os.path.join(directory, "keys")
            with open(path, "w") as file:
                file.write(made[0][1] + "\n" + made[1][1] + "\n")
            with Server("--keys", path, dev=False) as server:
                server.key = made[0][0]
                form = {"Content-Type": "application/x-www-form-urlencoded"}
                answer = server.call("POST", "/console/sign-in", "key=" + quote(made[1][0], safe=""), form, who=None)
                self.assertEqual(answer.status, 303, answer)
                cookie = {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}
                stream = Stream(server, "/console/data/log?live=sse&offset=now", headers=cookie)
                while not stream.response.readline().startswith(b"event: control"):
                    pass
                with open(path, "w") as file:
                    file.write(made[0][1] + "\n")
                server.process.send_signal(signal.SIGHUP)
                rest = stream.response.read().decode()
                self.assertIn('event: end\ndata: {"reason":"keyRemoved"}', rest)
                stream.close()
                answer = server.get("/console", who=None, headers=cookie)
                self.assertEqual((answer.status, answer.headers["Location"]), (303, "/console/sign-in"))

    def test_a_server_that_stops_says_so(self):
        with Server() as server, Stream(server, "/v1/users/ann/live") as stream:
            stream.next()
            server.process.terminate()
            self.assertEqual(stream.next(), ("end", None, {"reason": "closing"}))


class TokenTests(unittest.TestCase):
    def test_a_token_of_before_an_erasure_is_refused_also_after_a_restart(self):
        directory = tempfile.mkdtemp(prefix="traylog-server.")
        with Server(directory=directory) as server:
            secret = server.secret
            old = server.token("ann")
            server.notify("ann", title="A")
            self.assertEqual(server.get("/v1/users/ann/tray", who=old).status, 200)
            erase(server, "ann")
            answer = server.get("/v1/users/ann/tray", who=old)
            self.assertEqual((answer.status, answer.json["error"]), (401, "tokenRevoked"))
            self.assertEqual(answer.json["type"], "urn:traylog:problem:tokenRevoked")
            # One that is made now is the newcomer's, in the same second, too.
            made = server.post("/v1/tokens", {"user": "ann", "ttl": 60}).json["token"]
            self.assertEqual(server.get("/v1/users/ann/tray", who=made).status, 200)
            self.assertEqual(server.get("/v1/users/bob/tray", who=server.token("bob")).status, 200)
        for name in os.listdir(os.path.join(directory, "store")):
            path = os.path.join(directory, "store", name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(b"ann", file.read())
        # --dev makes a new secret at each start: a key file keeps it.
        jwk = os.path.join(directory, "jwk")
        import base64
        with open(jwk, "w") as file:
            json.dump({"kty": "oct", "alg": "HS256", "kid": "old",
                       "k": base64.urlsafe_b64encode(secret).rstrip(b"=").decode()}, file)
        with Server("--user-token-key", jwk, directory=directory) as server:
            again = server.token("ann", secret=secret, header={"kid": "old"}, iat=int(time.time()) - 300)
            self.assertEqual(server.get("/v1/users/ann/tray", who=again).json["error"], "tokenRevoked")
            new = server.token("ann", secret=secret, header={"kid": "old"}, iat=int(time.time()) + 1)
            self.assertEqual(server.get("/v1/users/ann/tray", who=new).status, 200)

    def test_each_reason_of_401_and_403_has_its_name(self):
        with Server() as server:
            tray, now = "/v1/users/ann/tray", int(time.time())
            for who, status, error in (
                (None, 401, "tokenMissing"), ("a.b.c", 401, "tokenMalformed"), (server.token("ann", aud="x"), 401, "tokenMalformed"),
                (server.token("ann", iat=now - 9, exp=now - 1), 401, "tokenExpired"), ("tlk_a_b", 401, "keyUnknown"),
                (server.token("bob"), 403, "otherUser"), (server.token("ann", scope="inbox:write"), 403, "missingScope"),
            ):
                answer = server.get(tray, who=who)
                self.assertEqual((answer.status, answer.json["error"]), (status, error))
                self.assertEqual(answer.json["type"], f"urn:traylog:problem:{error}")
                self.assertIn(f'error="{error}"', answer.headers["WWW-Authenticate"])


class FirstEventTests(unittest.TestCase):
    def test_a_reader_of_an_empty_stream_gets_the_first_event_and_an_erasure(self):
        with Server() as server:
            server.notify("somebody", title="x")
            at = quote(offset(server, "newbie"))
            poll = Poll(server, f"/v1/users/newbie/changes?live=long-poll&offset={at}")
            with Stream(server, f"/v1/users/newbie/changes?live=sse&offset={at}") as stream:
                stream.next()
                server.wait_for("traylog_long_polls", 1)
                server.notify("newbie", title="first")
                self.assertEqual([event["title"] for event in poll.get().json], ["first"])
                self.assertEqual(stream.next()[2][0]["title"], "first")
                ends = [poll.get().headers["Stream-Next-Offset"], stream.next()[2]["streamNextOffset"]]
                for end in ends:
                    self.assertEqual(server.get(f"/v1/users/newbie/changes?offset={quote(end)}").status, 200)
                erase(server, "newbie")
                server.notify("newbie", title="SECRET")
                self.assertEqual(stream.next(), ("end", None, {"reason": "erased"}))
                for end in (*ends, at):
                    self.assertEqual(server.get(f"/v1/users/newbie/changes?offset={quote(end)}").json["error"], "erased")


class HistoryTests(unittest.TestCase):
    def test_no_reader_gets_anothers_notification_and_none_is_lost_or_doubled(self):
        """Random histories over HTTP; the longer ones are in ErasedStreamModelTests."""
        print(f"seed {SEED}")
        rng = random.Random(SEED)
        with Server() as server:
            for history in range(12):
                self.play(server, rng, f"h{history}")

    def play(self, server, rng, user):
        person, there, sent, readers = 0, False, {}, []

        def notify(text):
            nonlocal person, there
            if not there:
                person, there = person + 1, True
            title = f"{person}/{text}"
            sent.setdefault(person, []).append((server.notify(user, title=title).json["seq"], title))

        def read(stream, got):
            while (event := stream.next()) is not None:
                got.append(event)
                if event[0] == "data" and event[2][-1]["title"].endswith("/last"):
                    break

        for step in range(rng.randrange(5, 12)):
            choice = rng.random()
            if choice < 0.5:
                notify(str(step))
            elif choice < 0.7:
                erase(server, user)
                there = False
                if rng.random() < 0.6:
                    notify(f"{step}b")
            else:
                start = server.get(f"/v1/users/{user}/changes?offset=now")
                at = start.headers["Stream-Next-Offset"]
                stream = Stream(server, f"/v1/users/{user}/changes?live=sse&offset={quote(at)}")
                got = []
                thread = threading.Thread(target=read, args=(stream, got))
                thread.start()
                readers.append((int(at.rsplit("_", 1)[1]), stream, got, thread))
        notify("last")
        for start, stream, got, thread in readers:
            thread.join(30)
            self.assertFalse(thread.is_alive(), f"seed {SEED}: {got}")
            stream.close()
            titles = [event["title"] for name, _, data in got if name == "data" for event in data]
            people = {title.split("/")[0] for title in titles}
            self.assertLessEqual(len(people), 1, f"seed {SEED}: {titles}")
            if people:
                due = [title for seq, title in sent[int(people.pop())] if seq > start]
                is_erased = got[-1][0] == "end"
                self.assertEqual(titles, due[:len(titles)] if is_erased else due, f"seed {SEED}")


if __name__ == "__main__":
    unittest.main()
