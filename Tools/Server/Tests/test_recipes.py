"""The programs of the guides that stand between Traylog and something else, run as they stand and killed anywhere."""

import base64
import contextlib
import datetime
import http.server
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from mailbox import Mailbox
from served import Server
from standardwebhooks.webhooks import Webhook
from test_guide import TRAYLOG, blocks, start_program

import http_ece
import psycopg
from browsed import Browser, missing
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def initdb():
    """PostgreSQL's program that makes a database, or None."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return str(found[-1]) if found else shutil.which("initdb")


def log_of(server):
    """All events."""
    events, offset = [], "-1"
    while True:
        answer = server.get(f"/v1/log?offset={offset}")
        events += answer.json
        offset = answer.headers["Stream-Next-Offset"]
        if answer.headers.get("Stream-Up-To-Date") == "true":
            return events


class Postgres:
    """A database server of its own, on a socket in its directory. Ends by its pid."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-postgres.")
        # It refuses to run as root.
        self.user = []
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres")
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = os.path.join(self.directory, "data")
        subprocess.run(
            [*self.user, initdb(), "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync"], check=True,
            capture_output=True, cwd=self.directory)
        self.process = subprocess.Popen(
            [*self.user, os.path.join(os.path.dirname(initdb()), "postgres"), "-D", data, "-k", self.directory, "-c",
             "listen_addresses=", "-c", "fsync=off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.directory)
        self.address = f"host={self.directory} user=postgres dbname=postgres"
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.address):
                return self
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not start")
            time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Listener(http.server.ThreadingHTTPServer):
    """A server on loopback that answers from the beginning to the end of a `with`."""

    daemon_threads = True

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Receiver(Listener):
    """Takes webhooks, refuses some, and keeps what a verifying library makes of those it took."""

    def __init__(self, chance):
        self.chance, self.taken = chance, []
        super().__init__(Hook)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"


class Hook(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = Webhook(SECRET).verify(body, dict(self.headers))
        refused = self.server.chance.random() < 0.02
        if not refused:
            self.server.taken.append((self.headers["webhook-id"], event))
        self.send_response(503 if refused else 204)
        self.end_headers()


class PushService(Listener):
    """Takes pushes as a browser's service does, and reads them with the browsers' keys."""

    def __init__(self):
        self.browsers, self.taken, self.gone = {}, [], set()
        super().__init__(Push)

    def subscribe(self, directory, user, name):
        """A new browser of a user."""
        key, secret = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.browsers[f"/{user}/{name}"] = key, secret
        text = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()  # noqa: E731
        folder = pathlib.Path(directory, "subscriptions", user)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps({
            "endpoint": f"http://127.0.0.1:{self.port}/{user}/{name}", "keys": {"p256dh": text(point), "auth": text(secret)}}))


class Push(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 410 if self.path in self.server.gone else 201
        if status == 201:
            key, secret = self.server.browsers[self.path]
            message = json.loads(http_ece.decrypt(body, private_key=key, auth_secret=secret, version="aes128gcm"))
            signed = self.headers["Authorization"].startswith("vapid t=")
            self.server.taken.append((self.path, message, signed and self.headers["Topic"]))
        self.send_response(status)
        self.end_headers()


class Site(Listener):
    """A page with a service worker."""

    def __init__(self, worker):
        self.files = {"/": ("text/html", "<!doctype html><title>App</title>"), "/sw.js": ("text/javascript", worker)}
        super().__init__(Files)

    @property
    def origin(self):
        return f"http://localhost:{self.port}"


class Files(Handler):
    def do_GET(self):
        kind, text = self.server.files.get(self.path, ("text/plain", ""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())


class RecipeTests(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("SEED") or random.randrange(2**32))
        print(f"seed {seed}")
        self.chance = random.Random(seed)

    @contextlib.contextmanager
    def directory(self):
        with tempfile.TemporaryDirectory(prefix="traylog-recipe.") as directory:
            yield directory

    def start(self, page, server, directory, *words, **more):
        return start_program(f"Docs/guides/{page}.md", server, directory, *words, **more)

    def wait_for(self, condition, what, program=None, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            if program is not None and program.poll() is not None:
                self.fail(f"the program ended: {program.communicate()}")
            if time.monotonic() > deadline:
                self.fail(f"this did not come true: {what}")
            time.sleep(0.02)

    def kill_again_and_again(self, start, times, is_done):
        """Starts the program, kills it at any moment, and at last lets it work until all is done."""
        for _ in range(times):
            program = start()
            time.sleep(self.chance.random() * 1.2)
            program.kill()
            program.communicate()
        program = start()
        try:
            self.wait_for(is_done, "all was handed on", program)
        finally:
            program.kill()
            program.communicate()

    @unittest.skipUnless(initdb(), "PostgreSQL is not installed")
    def test_the_outbox_notifies_once_for_each_committed_row_and_never_for_another(self):
        with Server() as server, Postgres() as postgres, self.directory() as directory:
            with psycopg.connect(postgres.address, autocommit=True) as database:
                database.execute("CREATE TABLE orders (customer text, amount int)")
                for block in blocks("Docs/guides/outbox.md", "sql").split(";\n"):
                    if block.strip():
                        database.execute(block)
                committed = []
                stop = threading.Event()

                def work():
                    number = 0
                    while not stop.is_set():
                        number += 1
                        with contextlib.suppress(ZeroDivisionError), database.transaction():
                            user = f"user{number % 7}"
                            command = {"kind": "notify", "user": user, "title": f"Order {number}", "data": {"order": number}}
                            database.execute("INSERT INTO orders VALUES (%s, %s)", (user, number))
                            database.execute("INSERT INTO outbox (command) VALUES (%s)", (json.dumps(command),))
                            database.execute("NOTIFY outbox")
                            if number % 5 == 0:
                                1 / 0
                            committed.append((user, f"Order {number}"))
                        time.sleep(0.003)

                writer = threading.Thread(target=work)
                writer.start()

                def is_done():
                    if len(committed) <= 100:
                        return False
                    stop.set()
                    writer.join()
                    return database.execute("SELECT count(*) FROM outbox WHERE error IS NULL").fetchone()[0] == 0

                database.execute(
                    "INSERT INTO outbox (command) VALUES (%s)", (json.dumps({"kind": "notify", "user": "", "title": "Wrong"}),))
                self.kill_again_and_again(
                    lambda: self.start("outbox", server, directory, DATABASE=postgres.address), 6, is_done)
                wrong = database.execute("SELECT command ->> 'title', error FROM outbox").fetchall()
            self.assertEqual([(title, "error" in json.loads(error)) for title, error in wrong], [("Wrong", True)])
            events = [event for event in log_of(server) if event["kind"] == "notified"]
            self.assertEqual(
                sorted((event["user"], event["title"]) for event in events),
                sorted([*committed, ("ann", "Your order has left")]))

    def test_webhooks_arrive_in_order_with_right_signatures_and_none_is_lost(self):
        with Server() as server, Receiver(self.chance) as receiver, self.directory() as directory:
            def start():
                return self.start("webhooks", server, directory, WEBHOOK_URL=receiver.url, WEBHOOK_SECRET=SECRET)

            program = start()
            self.wait_for(pathlib.Path(directory, "webhooks.position").exists, "the program knows where the log stands", program)
            program.kill()
            program.communicate()
            for number in range(40):
                server.notify(f"user{number % 3}", title=f"Title {number}")
            self.kill_again_and_again(start, 5, lambda: len({id for id, _ in receiver.taken}) == 40)
            # Repeated from the last position on, and otherwise in the order of the log.
            firsts = list({id: event for id, event in receiver.taken}.values())
            self.assertEqual([event["data"]["title"] for event in firsts], [f"Title {number}" for number in range(40)])
            self.assertEqual({event["type"] for event in firsts}, {"tray.notified"})

    def test_web_push_ends_with_the_exact_number_in_each_browser_wherever_the_program_dies(self):
        with Server() as server, PushService() as service, self.directory() as directory:
            subprocess.run(
                ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", os.path.join(directory, "private_key.pem")],
                check=True, capture_output=True)
            browsers = [("ann", "phone"), ("ann", "laptop"), ("bob%20b", "phone"), ("cleo", "phone")]
            for user, name in browsers:
                service.subscribe(directory, user, name)
            service.gone.add("/ann/laptop")
            server.call("PUT", "/v1/users/bob%20b/subscriptions/news")

            def start():
                return self.start("web-push", server, directory)

            program = start()
            self.wait_for(pathlib.Path(directory, "push.state").exists, "the program knows where the log stands", program)
            server.notify("cleo", title="Nobody hears this", silent=True)
            for number in range(20):
                server.notify("ann", title=f"Title {number}")
                if number % 4 == 0:
                    server.call("POST", "/v1/users/ann/seen", {"upTo": server.get("/v1/users/ann/tray").json["newest"]})
                    program.kill()
                    program.communicate()
                    program = start()
            server.call("POST", "/v1/topics/news/broadcasts", {"title": "News for all", "body": "Text"})
            last = {}

            def is_done():
                last.update({path: message for path, message, _ in service.taken})
                return last.get("/ann/phone", {}).get("title") == "Title 19" and "/bob%20b/phone" in last

            try:
                self.wait_for(is_done, "the newest was pushed", program)
            finally:
                program.kill()
                program.communicate()
            self.assertEqual(last, {
                "/ann/phone": {"unseen": server.get("/v1/users/ann/tray").json["unseen"], "title": "Title 19", "body": ""},
                "/bob%20b/phone": {"unseen": 1, "title": "News for all", "body": "Text"}})
            self.assertEqual({topic for _, _, topic in service.taken}, {"tray"})
            # The browser that had unsubscribed is forgotten.
            self.assertFalse(pathlib.Path(directory, "subscriptions/ann/laptop.json").exists())

    @unittest.skipUnless(os.environ.get("TRAYLOG_TESTS") == "nightly", "runs in nightly length")
    @unittest.skipIf(missing(), missing())
    def test_the_service_worker_shows_what_was_pushed(self):
        with Site(blocks("Docs/guides/web-push.md", "javascript")) as site, Browser() as browser:
            browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"origin": site.origin, "permissions": ["notifications"]})
            browser.driver.execute_cdp_cmd("ServiceWorker.enable", {})
            browser.open(f"{site.origin}/")
            browser.run("navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => (window.isReady = true))")
            browser.wait("window.isReady")
            # The first registration of a new profile.
            for unseen, title in ((2, "One"), (3, "Two")):
                browser.driver.execute_cdp_cmd("ServiceWorker.deliverPushMessage", {
                    "origin": site.origin, "registrationId": "0",
                    "data": json.dumps({"unseen": unseen, "title": title, "body": "Text"})})
                browser.run("navigator.serviceWorker.ready.then((r) => (window.ask = () => r.getNotifications().then((n) => (window.shown = n.map((one) => `${one.title} ${one.body}`)))))")
                # The second takes the first one's place.
                browser.wait(f"(window.ask?.(), window.shown?.join() === '{title} Text')")

    def people(self, directory, **people):
        pathlib.Path(directory, "people.json").write_text(json.dumps(people))

    def test_quiet_hours_mute_once_for_each_window_and_a_digest_comes_once_a_day(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        today, tomorrow = (["mon", "tue", "wed", "thu", "fri", "sat", "sun"][(now + datetime.timedelta(days=days)).weekday()]
                           for days in (0, 1))
        always = {"days": [today], "from": "00:00", "until": "24:00"}
        with Server() as server, Mailbox() as mailbox, self.directory() as directory:
            self.people(
                directory,
                ann={"zone": "UTC", "quiet": [always, {"days": [tomorrow], "from": "00:00", "until": "06:00"}], "digest": "00:00",
                     "mail": "ann@example.org"},
                bob={"zone": "Pacific/Auckland", "quiet": [], "digest": "24:00", "mail": "bob@example.org"})
            server.notify("ann", title="Before the window")
            server.notify("bob", title="Not yet")
            start = lambda: self.start("quiet-hours", server, directory, SMTP=mailbox.address)  # noqa: E731

            def mutes():
                return server.get("/v1/users/ann/mutes").json["mutes"]

            for _ in range(3):
                program = start()
                self.wait_for(mutes, "ann is muted", program)
                time.sleep(self.chance.random())
                program.kill()
                program.communicate()
            until = datetime.datetime.fromisoformat(mutes()[0]["until"])
            midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
            self.assertEqual(until, midnight + datetime.timedelta(days=1, hours=6))
            # Whoever ends the mute is not muted again by the same window.
            self.assertTrue(pathlib.Path(directory, "quiet.state").exists())
            server.call("DELETE", "/v1/users/ann/mutes/all")
            program = start()
            mailbox.wait(1)
            self.wait_for(lambda: json.loads(pathlib.Path(directory, "quiet.state").read_text())["ann"].get("digest"), "saved", program)
            self.wait_for(lambda: "bob" in json.loads(pathlib.Path(directory, "quiet.state").read_text()), "bob was looked at", program)
            program.kill()
            program.communicate()
            self.assertEqual(mutes(), [])
            # What comes in quiet hours is not counted, and listed all the same.
            server.call("PUT", "/v1/users/bob/mutes/all", {})
            server.notify("bob", title="In the night")
            page = server.get("/v1/users/bob/inbox?unread=true&limit=20&with=tray").json
            self.assertEqual(([item["title"] for item in page["items"]], page["tray"]["unread"]), (["In the night", "Not yet"], 1))
            mails = mailbox.wait(1)
            # A killed program may have sent the same message before.
            self.assertEqual({(mail["To"], mail["Subject"]) for mail in mails}, {("ann@example.org", "1 unread")})
            self.assertEqual(len({mail["Message-ID"] for mail in mails}), 1)
            self.assertIn("Before the window", mails[-1].get_payload())

    def test_windows_end_where_the_clock_on_the_wall_says_also_when_clocks_change(self):
        names = {"__name__": "quiet"}
        exec(blocks("Docs/guides/quiet-hours.md", "python").split("while True:")[0], names)
        person = {"zone": "Europe/Paris", "quiet": [
            {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "20:00", "until": "07:30"},
            {"days": ["sat", "sun"], "from": "00:00", "until": "24:00"}]}

        def until(text):
            end = names["quiet_until"](person, datetime.datetime.fromisoformat(text))
            return end and end.isoformat()

        self.assertIsNone(until("2026-01-07T12:00:00+00:00"))
        self.assertEqual(until("2026-01-07T20:30:00+00:00"), "2026-01-08T06:30:00+00:00")
        # Friday evening leads through the weekend, and Sunday's midnight is Monday.
        self.assertEqual(until("2026-01-09T21:00:00+00:00"), "2026-01-11T23:00:00+00:00")
        # The night in which summer begins.
        self.assertEqual(until("2026-03-28T12:00:00+00:00"), "2026-03-29T22:00:00+00:00")
        self.assertEqual(until("2026-03-26T20:00:00+00:00"), "2026-03-27T06:30:00+00:00")

    def test_what_came_before_signing_in_is_moved_once_wherever_the_program_dies(self):
        with Server() as server, self.directory() as directory:
            for number in range(250):
                server.notify("install-1", title=f"Title {number}", thread=f"t{number % 3}", data={"n": number})
            server.call("POST", "/v1/users/install-1/marks", {"as": "read", "items": [3]})
            shown = {number: f"Title {number}" for number in range(250) if number != 2}
            for _ in range(4):
                program = self.start("sign-in", server, directory, "install-1", "ann")
                time.sleep(self.chance.random() * 0.8)
                program.kill()
                program.communicate()
            for _ in range(2):
                # Again after all is done: nothing is left to do.
                program = self.start("sign-in", server, directory, "install-1", "ann")
                printed = program.communicate(timeout=120)
                self.assertEqual(program.returncode, 0, printed)
            self.assertEqual(server.get("/v1/users/ann/tray").json["unread"], len(shown))
            log = log_of(server)
            moved = [event for event in log if event["kind"] == "notified" and event.get("user") == "ann"]
            self.assertEqual([event["title"] for event in moved], list(shown.values()))
            self.assertEqual([event["data"]["n"] for event in moved], list(shown))
            self.assertNotIn("install-1", {event.get("user") for event in log})

    @unittest.skipUnless(TRAYLOG, "TRAYLOG does not name the program")
    def test_the_questions_in_sql_agree_with_the_log(self):
        with self.directory() as directory:
            store = os.path.join(directory, "store")
            commands = [{"kind": "notify", "user": f"u{number % 5}", "title": "T", "category": "ab"[number % 2]} for number in range(40)]
            commands += [{"kind": "seeTray", "user": "u1"}, {"kind": "mark", "user": "u1", "as": "read", "items": [2, 7]}]
            subprocess.run(
                [TRAYLOG, "--store", store, "append", "-"], input="".join(json.dumps(command) + "\n" for command in commands),
                text=True, check=True, capture_output=True)
            done = subprocess.run(
                [sys.executable, "-c", blocks("Docs/guides/sql.md", "python")], cwd=directory, capture_output=True, text=True,
                env={**os.environ, "STORE": store})
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in done.stdout.splitlines() if line.startswith("│")]
            self.assertIn([datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "a", "20", "5"], rows)
            # Of u1's eight notifications each category has four; one of each was opened.
            self.assertEqual([row[:2] for row in rows if len(row) == 3 and row[1] == "4"], [["a", "4"], ["b", "4"]])
            self.assertEqual([row for row in rows if len(row) == 4 and row[1:3] == ["20", "1"]], [["a", "20", "1", "5.0"], ["b", "20", "1", "5.0"]])


if __name__ == "__main__":
    unittest.main()
