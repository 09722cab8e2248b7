"""The lives of three tabs and a device of one person: random marks through a broken network, with kills of everything."""

import collections
import http.client
import io
import json
import os
import random
import shutil
import signal
import tempfile
import time
import unittest

from bellpage import App
from browsed import Browser, missing
from device import PROGRAM, Device, Proxy
from served import Server
from test_bell import ROOT
from test_bell_pages import BELL
from trays import Tray

IS_NIGHTLY = os.environ.get("TRAYLOG_TESTS") == "nightly"
COUNTS = ("unseen", "unread", "awaiting", "total", "seenUpTo", "newest", "newestCounted", "categories")
VIEWS = {"inbox": {}, "unread": {"unread": True}, "archived": {"view": "archived"}}
# The events that a person's marks make, each with the writes that ask for it.
KINDS = {
    "marked": ["mark"], "allMarked": ["markAll"], "traySeen": ["see"], "snoozed": ["snooze"], "woken": ["wake"], "muted": ["mute"],
    "unmuted": ["unmute"], "undone": ["undo"], "acted": ["act"],
}
# Notes each write that is asked of the bell's client, by whomever, with its key and how it ended. Writes go one after the other, so
# that a key that was never sent before is that of the oldest write that has neither a key nor an end.
WATCH = """
if (!window.marks) {
    window.marks = [];
    const keys = new Set(), real = window.fetch;
    window.fetch = (...call) => {
        const key = call[1]?.headers?.["Idempotency-Key"];
        if (key && !keys.has(key)) keys.add(key), marks.find((mark) => !mark.key && !mark.end).key = key;
        return real(...call);
    };
    window.watch = (client) => {
        for (const name of %s) {
            const work = client[name].bind(client);
            client[name] = (...words) => {
                const promise = work(...words);
                promise.catch(() => {});
                // The undo of a promise is one of an event, once there is one.
                if (words[0] instanceof Promise) return promise;
                const mark = { name, words, promise };
                marks.push(mark);
                promise.then(({ result, seq }) => Object.assign(mark, { end: result, seq }), ({ error }) => Object.assign(mark, { end: "refused", error }));
                return promise;
            };
        }
        window.lists = Object.fromEntries(Object.entries(%s).map(([name, filter]) => [name, client.inbox({ pageSize: 100, ...filter })]));
        for (const list of Object.values(lists)) list.loadMore().catch(() => {});
        window.client = client;
    };
    window.shown = () => {
        const { shadowRoot: root } = document.querySelector("traylog-bell");
        const row = ({ seq, position, seen, read, archived, muted }) => [seq, position, seen, read, archived, muted];
        const panel = root.querySelector(".panel").matches(":popover-open");
        return {
            state: client.state, pending: client.pending, tray: client.tray, badge: root.querySelector(".badge").textContent,
            ...Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.items.map(row)])),
            panel: panel && [...root.querySelectorAll("[role=tab]")].findIndex((tab) => tab.ariaSelected === "true"),
            articles: [...root.querySelectorAll("article")].map((node) => [node.seq, !node.classList.contains("unread")]),
            all: root.querySelector("[part=mark-all]").checkVisibility() && +/\\d+/.exec(root.querySelector("[part=mark-all]").textContent)[0],
        };
    };
    window.article = (at) => { const all = document.querySelector("traylog-bell").shadowRoot.querySelectorAll("article"); return all[Math.floor(at * all.length)] };
    window.item = (at, list = lists.inbox) => list.items[Math.floor(at * Math.min(list.items.length, 20))]?.seq ?? 1;
}
""" % (json.dumps(sorted(sum(KINDS.values(), []))), json.dumps(VIEWS))


class Wire(Proxy):
    """A broken network that notes what the server answered to each write, whoever received that."""

    def __init__(self, *words, **named):
        self.answers = collections.defaultdict(list)
        super().__init__(*words, **named)

    def exchange(self, head, body, client, half=False):
        key = self.key(head, body)
        if key is None:
            return super().exchange(head, body, client, half)
        answers = self.answers[key]
        answers.append(None)
        with self.forward(head, body) as upstream:
            data = b"".join(iter(lambda: upstream.recv(65_536), b""))
        answers.append(self.read(data))
        if client:
            client.sendall(data[:len(data) // 2] if half else data)
        if half:
            self.cut(client)
        return False

    @staticmethod
    def key(head, body):
        """The key of a write, which the page sends in a header and the device in the command; None for what is no write."""
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"idempotency-key:"):
                return line.split(b":")[1].strip().decode()
        return json.loads(body).get("key") if body else None

    @staticmethod
    def read(data):
        """An answer's status and JSON; None if the server was killed before it had told all."""
        answer = http.client.HTTPResponse(Bytes(data))
        try:
            answer.begin()
            return answer.status, json.loads(answer.read())
        except (http.client.HTTPException, ValueError):
            return None


class Bytes:
    """Bytes as the socket that they came by."""

    def __init__(self, data):
        self.data = data

    def makefile(self, *_):
        return io.BytesIO(self.data)


class Life:
    """One person with three tabs and a device, whose networks break apart from each other."""

    def __init__(self, test, make_browser, seed, steps):
        self.test, self.make_browser, self.steps = test, make_browser, steps
        self.chance = random.Random(seed)
        self.app = App()
        self.app.seconds = 20
        self.server = self.start_server()
        self.wire, self.phone_wire = Wire(self.server.port, seed), Wire(self.server.port, seed + 1)
        self.app.url_of_server = f"http://127.0.0.1:{self.wire.port}"
        self.directory = tempfile.mkdtemp(prefix="traylog-tray.")
        self.is_down, self.is_cut, self.off = False, False, set()
        # The marks of pages that have ended, and how many of each page had no end yet.
        self.ended, self.open_ends = [], 0
        self.phone_marks, self.phone_is_off = {}, False
        self.count = 0
        for _ in range(25):
            self.notify()
        self.phone = Device(self.server, "ann", port=self.phone_wire.port, directory=self.directory)
        self.start_browser()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.__exit__()
        self.phone.__exit__()
        for wire in (self.wire, self.phone_wire):
            wire.__exit__()
        self.server.__exit__()
        self.app.stop()
        for directory in (self.server.directory, self.directory):
            shutil.rmtree(directory, ignore_errors=True)

    def start_server(self, **more):
        self.app.server = Server("--allow-origin", self.app.url, "--rate-user", "0", **more)
        return self.app.server

    def start_browser(self):
        self.heal()
        self.browser = self.make_browser()
        self.tabs = [self.browser.tab(), self.browser.new_tab(), self.browser.new_tab()]
        for tab in self.tabs:
            self.browser.switch(tab)
            self.browser.before(WATCH)
            self.show()

    def show(self):
        self.wire.faults = 0
        self.browser.open(self.app.page())
        self.browser.wait(f"{ROOT}?.querySelector('.panel')")
        self.browser.run(f"watch({BELL}.client)")
        self.browser.wait("client.state === 'live' && Object.values(lists).every((list) => list.loaded)")
        self.wire.faults = 8

    # What happens

    def notify(self):
        if self.is_down:
            return
        self.count += 1
        self.server.notify("ann", title=f"Item {self.count}", **self.chance.choice([
            {"thread": "t"}, {"category": "a"}, {"thread": "u", "category": "b"}, {"actions": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]}]))

    def live(self):
        """Each kill comes in every life, the rest by chance."""
        weights = {self.notify: 10, self.use_phone: 20, self.phone_offline: 4, self.mark: 30, self.click: 25, self.tab_offline: 10, self.cut: 3, self.reload: 2}
        for step in range(self.steps):
            if step % 25 == 10:
                self.kill_server()
            elif self.is_down and step % 25 == 13:
                self.restart_server()
            elif step % 50 == 33:
                self.kill_browser()
            elif step % 40 == 38:
                self.kill_phone()
            else:
                self.chance.choices(list(weights), weights.values())[0]()
            time.sleep(self.chance.random() * 0.15)

    def tab(self):
        tab = self.chance.choice(self.tabs)
        self.browser.switch(tab)
        return tab

    def run(self, scripts):
        script = self.chance.choice(scripts)
        self.browser.run(f"const [at, other] = arguments; const root = {ROOT}; {script}", self.chance.random(), self.chance.random())

    def mark(self):
        """By the client, which an app uses, too."""
        self.tab()
        name = self.chance.choice(["read", "unread", "unread", "archived", "unarchived", "deleted", "restored", "seen"])
        only = self.chance.choice(["{}", "{ thread: 't' }", "{ thread: null }", "{ category: 'a' }"])
        what = self.chance.choice(["{ thread: 't' }", "{ category: 'b' }"])
        self.run([
            *[f"client.mark('{name}', item(at))"] * 6, f"client.mark('{name}', [item(at), item(other), item(at, lists.archived)])",
            f"client.mark('{name}', item(at, lists.archived))", "client.mark('read', 1_000_000)", "client.see()",
            *[f"client.markAll('{self.chance.choice(['read', 'read', 'seen', 'archived'])}', {only})"] * 2,
            "client.snooze(item(at), client.now + 3_600_000)", "client.snooze(item(at), client.now + 1_500)", "client.wake(item(at))",
            f"client.mute({what})", f"client.unmute({what})", "client.act(lists.inbox.items.find((one) => one.actions)?.seq ?? 1, at < 0.5 ? 'yes' : 'no')",
            *["client.undo(marks[Math.floor(at * marks.length)]?.promise ?? 1).catch(() => {})"] * 3, "client.undo(marks.findLast(({ seq }) => seq)?.seq ?? 1)"])

    def click(self):
        """In the bell itself."""
        self.tab()
        self.browser.front()
        self.run([
            f"{BELL}.open()", f"{BELL}.open()", f"{BELL}.close()", *["article(at)?.click()"] * 4,
            "root.querySelectorAll('[role=tab]')[Math.floor(at * 3)].click()", *["root.querySelector('[part=mark-all]').click()"] * 2,
            *["root.querySelector('[part=undo]')?.click()"] * 3,
            *["article(at)?.querySelector('[part=more]').click(); setTimeout(() => { const all = root.querySelectorAll('[role=menuitem]'); all[Math.floor(other * all.length)]?.click() }, 50)"] * 4])

    def tab_offline(self):
        tab = self.tab()
        is_off = tab not in self.off
        self.browser.offline(is_off)
        (self.off.add if is_off else self.off.discard)(tab)

    def cut(self):
        """The whole browser."""
        self.wire.start() if self.is_cut else self.wire.stop()
        self.is_cut = not self.is_cut

    def heal(self):
        if self.is_down:
            self.restart_server()
        if self.is_cut:
            self.cut()

    def reload(self):
        self.heal()
        tab = self.tab()
        if tab in self.off:
            self.browser.offline(False)
            self.off.discard(tab)
        self.leave(tab)
        self.show()

    def leave(self, tab):
        marks = self.collect(tab)
        self.ended.append(marks)
        self.open_ends += 1 + sum("end" not in mark and "key" not in mark for mark in marks)

    def collect(self, tab):
        self.browser.switch(tab)
        return self.browser.run("return marks.map(({ promise, ...mark }) => mark)")

    def kill_browser(self):
        for tab in self.tabs:
            self.leave(tab)
        self.browser.kill()
        self.off.clear()
        self.start_browser()

    def kill_server(self):
        if self.is_down:
            return
        self.server.owns = False
        self.server.stop(signal.SIGKILL)
        self.is_down = True

    def restart_server(self):
        self.server = self.start_server(directory=self.server.directory)
        self.is_down = False
        self.wire.target = self.phone_wire.target = self.server.port
        self.phone.write_token(self.server.token("ann", scope="inbox:read inbox:write publish"))
        self.phone.ask("refresh")

    def kill_phone(self):
        self.phone.kill()
        self.phone = Device(self.server, "ann", port=self.phone_wire.port, directory=self.directory)
        self.phone_is_off = False

    def phone_offline(self):
        self.phone_is_off = not self.phone_is_off
        self.phone.ask("offline", on=self.phone_is_off)

    def use_phone(self):
        items = [item["seq"] for item in self.phone.ask("inbox", limit=20)["items"]] or [1]
        mine = list(self.phone_marks)
        words = self.chance.choice([
            *[{"do": "mark", "as": self.chance.choice(["read", "unread", "archived", "deleted"]), "items": [self.chance.choice(items)]}] * 5,
            {"do": "markAll", "as": "read", "thread": "u"}, {"do": "see"},
            *[{"do": "undo", "id": self.chance.choice(mine)} if mine else {"do": "see"}] * 2])
        answer = self.phone.ask(**words)
        if answer.get("id") in self.phone_marks:
            self.phone_marks[answer["id"]]["is_undone"] = True
        elif "id" in answer:
            self.phone_marks[answer["id"]] = words

    # What must hold

    def end(self):
        """Everything is connected again, and nobody does anything any more."""
        self.wire.faults = self.phone_wire.faults = 0
        self.heal()
        for tab in self.off:
            self.browser.switch(tab)
            self.browser.offline(False)
        self.phone.ask("offline", on=False)
        for tab in self.tabs:
            self.browser.switch(tab)
            self.browser.wait("client.state === 'live' && !client.pending && marks.every(({ end }) => end)", seconds=90)
        for _ in range(2):
            self.test.assertTrue(self.phone.wait())
            self.failed = {entry["id"]: entry for entry in self.phone.ask("outbox")["entries"] if entry["state"] == "failed"}
            for entry in self.failed:
                self.phone.ask("resend", id=entry)
        # What sleeps for a moment has woken.
        time.sleep(2)
        self.check_views()
        self.check_marks()

    def served(self):
        view = {"tray": {name: self.server.get("/v1/users/ann/tray").json[name] for name in COUNTS}}
        for name, filter in (("inbox", ""), ("unread", "&unread=true"), ("archived", "&view=archived")):
            items = self.server.get(f"/v1/users/ann/inbox?limit=100{filter}").json["items"]
            view[name] = [[item[part] for part in ("seq", "position", "seen", "read", "archived", "muted")] for item in items]
        return view

    def seen(self, tab):
        """What a tab shows, and what it has to show with these lists and counts."""
        self.browser.switch(tab)
        self.browser.front()
        shown = self.browser.run("return shown()")
        view = {"tray": {name: shown["tray"][name] for name in COUNTS}, **{name: shown[name] for name in VIEWS}}
        drawn, due = {"badge": shown["badge"]}, {"badge": str(view["tray"]["unseen"] or "")}
        if shown["panel"] is not False:
            name = list(VIEWS)[shown["panel"]]
            drawn |= {"articles": shown["articles"], "all": shown["all"]}
            count = sum(not item[3] for item in view[name]) if name == "archived" else view["tray"]["unread"]
            # A panel that nobody scrolls has the first page of 30.
            articles = [[item[0], item[3]] for item in view[name]][:max(30, len(drawn["articles"]))]
            due |= {"articles": articles, "all": count or False}
        return view, drawn, due

    def check_views(self):
        deadline = time.monotonic() + 40
        while True:
            before = self.served()
            seen = [self.seen(tab) for tab in self.tabs]
            phone = self.phone_view()
            is_quiet = before == self.served()
            if is_quiet and phone == before and all(view == before and drawn == due for view, drawn, due in seen):
                break
            if time.monotonic() > deadline:
                self.test.maxDiff = None
                self.test.assertTrue(is_quiet, "the tray is not quiet")
                self.test.assertEqual(phone, before, "the device")
                for at, (view, drawn, due) in enumerate(seen):
                    self.test.assertEqual(view, before, f"the client of tab {at}")
                    self.test.assertEqual(drawn, due, f"the bell of tab {at}")
            time.sleep(0.2)

    def phone_view(self):
        tray = self.phone.ask("tray")
        view = {"tray": {name: tray.get(name) for name in COUNTS}}
        for name, filter in VIEWS.items():
            items = self.phone.ask("inbox", limit=100, **filter)["items"]
            view[name] = [[item[part] for part in ("seq", "position", "seen", "read", "archived", "muted")] for item in items]
        return view

    def check_marks(self):
        check = self.test
        history = self.server.get("/v1/users/ann/history").lines
        tray = self.server.get("/v1/users/ann/tray").json
        # The server's own numbers, by rules that know nothing of it.
        check.assertLessEqual(Tray.of_events(history).counts().items(), tray.items())
        stored = collections.defaultdict(list)
        for event in history:
            if "key" in event:
                stored[event["key"]].append(event)
        check.assertEqual({key: events for key, events in stored.items() if len(events) > 1}, {}, "stored twice")
        answers = {**self.wire.answers, **self.phone_wire.answers}
        for key, told in answers.items():
            for status, answer in filter(None, told):
                if answer.get("result") in ("appended", "duplicate"):
                    check.assertEqual([event["seq"] for event in stored[key]], [answer["seq"]], "what the server said to have stored")
        alive = [self.collect(tab) for tab in self.tabs]
        claimed = {mark["key"] for marks in alive + self.ended for mark in marks if "key" in mark}
        acknowledged = sum((self.check_page(marks, stored) for marks in alive + self.ended), 0)
        check.assertGreater(acknowledged, self.steps // 20)
        check.assertLessEqual(len(self.wire.answers.keys() - claimed), self.open_ends, "writes that nobody asked for")
        check.assertLessEqual(self.phone_wire.answers.keys(), self.phone_marks.keys(), "writes that nobody asked for")
        for event in history:
            if event["kind"] in KINDS and not (event["kind"] == "woken" and "key" not in event):
                check.assertTrue(event["key"] in answers, event)
        for entry, words in self.phone_marks.items():
            if entry in self.failed:
                check.assertEqual(stored[entry], [], self.failed[entry])
            elif stored[entry]:
                check.assertIn(words["do"], KINDS[stored[entry][0]["kind"]])
            # The undo of what changed nothing is not sent.
            elif "is_undone" not in words and not (words["do"] == "undo" and not stored[words["id"]]):
                check.assertIn("unchanged", [answer.get("result") for _, answer in filter(None, answers.get(entry, []))], f"{entry} {words} {self.phone_marks} {history}")

    def check_page(self, marks, stored):
        """How many marks of a page were acknowledged: each is there once, and they stand in the order in which they were made."""
        check, seqs = self.test, []
        for mark in marks:
            events = stored[mark["key"]] if "key" in mark else []
            if mark.get("end") in ("appended", "duplicate"):
                check.assertEqual([event["seq"] for event in events], [mark["seq"]], mark)
                check.assertIn(mark["name"], KINDS[events[0]["kind"]])
                if mark["name"] in ("mark", "markAll"):
                    check.assertEqual(events[0]["as"], mark["words"][0])
                seqs.append(mark["seq"])
            elif "end" in mark:
                check.assertEqual(events, [], mark)
        check.assertEqual(seqs, sorted(seqs))
        return len(seqs)


class LifeCase:
    def test_after_random_marks_and_kills_every_view_equals_the_server_and_each_mark_is_stored_once(self):
        seed = int(os.environ.get("TRAYLOG_TEST_SEED") or random.randrange(2**32))
        for seed in range(seed, seed + (20 if IS_NIGHTLY else 1)):
            print(f"seed {seed}")
            with self.subTest(seed=seed), Life(self, self.browser_type, seed, 150 if IS_NIGHTLY else 60) as life:
                life.live()
                life.end()


@unittest.skipIf(missing(), missing() or "")
@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class ChromiumLifeTest(LifeCase, unittest.TestCase):
    browser_type = Browser


if __name__ == "__main__":
    unittest.main()
