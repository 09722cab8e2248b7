"""What people mark while their page has no connection, or nobody is signed in: it is kept while the page is open, and sent later."""

import json
import os
import random
import signal
import time
import unittest

import device
from browsed import Browser
from served import Server
from test_bell import IS_LONG, ROOT
from test_bell_pages import BELL, PageCase

# Cuts the page off, or what it writes, as a network does; `wire.writes` has what it tried to send.
WIRE = """
window.wire = { isOff: false, status: 0, writes: [] };
const real = window.fetch;
window.fetch = (...call) => {
    if (call[1]?.method && call[1].method !== "GET") wire.writes.push(String(call[0]).split("/").at(-1));
    if (wire.isOff) return Promise.reject(new TypeError("cut off"));
    if (wire.status && call[1]?.method === "POST") return Promise.resolve(new Response("{}", { status: wire.status }));
    return real(...call);
};
window.cut = (isOff) => { wire.isOff = isOff; dispatchEvent(new Event(isOff ? "offline" : "online")); };
"""


class OfflineTest(PageCase):
    def setUp(self):
        super().setUp()
        self.before(WIRE)

    def page(self, items, **content):
        self.fill(items, **content)
        self.show()
        self.open_panel()
        self.count(items)
        self.browser.run(f"window.client = {BELL}.client; window.told = []; window.done = [];"
                         "client.addEventListener('problem', ({ detail }) => told.push(detail.error))")
        self.browser.wait("client.state === 'live' && !client.pending")
        return [item["seq"] for item in self.server.get("/v1/users/ann/inbox?limit=100").json["items"]]

    def cut(self, is_off):
        self.browser.run("cut(arguments[0])", is_off)
        if is_off:
            self.browser.wait("client.state === 'offline'")

    def marks(self):
        """What the person marked, in the log's order."""
        return [event for event in self.server.get("/v1/users/ann/history").lines if event["kind"] in ("marked", "allMarked", "snoozed", "undone", "muted")]

    def test_marks_made_offline_show_at_once_and_are_sent_in_their_order(self):
        seqs = self.page(6)
        self.cut(True)
        self.browser.run("for (const seq of arguments[0].slice(0, 4)) client.mark('read', seq); client.mark('archived', arguments[0][4]); client.markAll('read')", seqs)
        self.browser.wait(f"client.tray.unread === 0 && {ROOT}.querySelectorAll('article').length === 5")
        self.browser.wait(f"{ROOT}.querySelector('[part=banner]').innerText.includes('6 changes will be sent later')")
        time.sleep(10)
        self.assertEqual((self.browser.run("return [client.pending, told.length, client.tray.unread]"), self.unread()), ([6, 0, 0], 6))
        self.cut(False)
        self.wait_for(lambda: self.unread() == 0, "they are stored")
        self.browser.wait("!client.pending && client.state === 'live'")
        self.assertEqual([event.get("items", event["kind"]) for event in self.marks()], [[seq] for seq in seqs[:5]] + ["allMarked"])
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 5 && !{ROOT}.querySelector('[part=banner]').checkVisibility()")

    def test_a_mark_that_is_refused_later_is_taken_back_visibly_and_the_others_are_sent(self):
        seqs = self.page(3)
        self.cut(True)
        self.browser.run(f"client.snooze(arguments[0][0], Date.now() + 1e7); client.mark('read', arguments[0][1])", seqs)
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.server.post("/v1/users/ann/marks", {"as": "deleted", "items": [seqs[0]]})
        self.cut(False)
        self.browser.wait("told.length")
        self.assertEqual(self.browser.run("return told"), ["itemGone"])
        self.assertTrue(self.part("[part=toast]").text.strip())
        self.wait_for(lambda: self.unread() == 1, "the other is stored")
        self.server.post("/v1/users/ann/marks", {"as": "restored", "items": [seqs[0]]})
        self.count(3)

    def test_undo_of_what_was_not_sent_removes_it_and_of_what_may_have_arrived_takes_it_back(self):
        self.page(4)
        self.cut(True)
        self.browser.run(f"{ROOT}.querySelector('[part=mark-all]').click()")
        self.browser.wait("client.tray.unread === 0")
        self.browser.run("client.mute({ all: true }).catch(() => {})")
        self.browser.run(f"client.undo(client.mark('archived', 2))")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 4")
        self.part("[part=undo]").click()
        self.browser.wait(f"{ROOT}.querySelectorAll('article.unread').length === 4")
        self.cut(False)
        self.browser.wait("!client.pending && client.state === 'live'")
        # The first was tried once, and nobody knew whether it had arrived.
        self.wait_for(lambda: [event["kind"] for event in self.marks()] == ["allMarked", "muted", "undone"], "the last is stored")
        self.assertEqual(self.unread(), 4)
        self.browser.wait(f"{ROOT}.querySelectorAll('article.unread').length === 4")

    def test_a_mark_made_while_nobody_is_signed_in_waits_for_them(self):
        self.app.seconds = 2
        seqs = self.page(2)
        self.app.session = (401, "text/plain", "", None)
        self.browser.wait("client.state === 'refused'", seconds=30)
        self.browser.run("client.mark('read', arguments[0]).then(({ seq }) => done.push(seq))", seqs[0])
        time.sleep(2)
        self.assertEqual(self.browser.run("return [told, client.tray.unread]"), [[], 1])
        self.app.session, self.app.seconds = None, 600
        self.browser.run("client.retry()")
        self.browser.wait("done.length === 1")
        self.assertEqual(self.unread(), 1)

    def test_what_may_pass_by_itself_is_tried_three_times_more_and_then_taken_back(self):
        seqs = self.page(2)
        self.browser.run("wire.writes = []; wire.status = 503; client.mark('read', arguments[0]).catch(({ status }) => done.push(status))", seqs[0])
        self.browser.wait("client.tray.unread === 1")
        self.browser.wait("done.length", seconds=40)
        self.assertEqual(self.browser.run("return [done, wire.writes]"), [[503], ["marks"] * 4])
        self.browser.wait("client.tray.unread === 2")
        self.browser.run("wire.status = 0; return client.mark('read', arguments[0])", seqs[0])
        self.assertEqual(self.unread(), 1)

    def test_random_marks_in_three_tabs_and_on_a_device_lose_and_double_nothing_when_browser_and_server_are_killed(self):
        if not device.PROGRAM:
            self.skipTest("TRAYLOG_TRAY names no program")
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        self.fill(40, category="a")
        acknowledged = set()
        phone = device.Device(self.server, "ann")
        self.addCleanup(phone.__exit__)
        browser, tabs = None, []

        def start():
            nonlocal browser, tabs
            browser = self.browser = Browser()
            browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WIRE})
            tabs = [browser.tab(), browser.new_tab(), browser.new_tab()]
            for tab in tabs:
                browser.switch(tab)
                browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WIRE})
                self.show()
                browser.run(f"window.client = {BELL}.client; window.done = []; window.told = []; window.list = client.inbox({{ pageSize: 100 }}); list.loadMore()")
                browser.wait("client.tray && list.loaded")

        def kill_browser():
            for tab in tabs:
                browser.switch(tab)
                acknowledged.update(browser.run("return done"))
            directory = browser.driver.capabilities["chrome"]["userDataDir"]
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        words = file.read().decode(errors="replace").split("\0")
                except OSError:
                    continue
                if f"--user-data-dir={directory}" in words and not any(word.startswith("--type=") for word in words):
                    os.kill(int(name), signal.SIGKILL)
            browser.__exit__()

        def kill_server():
            old = self.server
            old.owns = False
            old.stop(signal.SIGKILL)
            self.server = Server("--allow-origin", self.app.url, "--rate-user", "0", "--listen", f"127.0.0.1:{old.port}", directory=old.directory)
            self.server.owns = True
            self.app.server = self.server
            phone.write_token(self.server.token("ann", scope="inbox:read inbox:write publish"))
            phone.ask("refresh")

        self.addCleanup(lambda: setattr(self, "browser", type(self).browser))
        start()
        self.addCleanup(lambda: browser.__exit__())
        for step in range(240 if IS_LONG else 60):
            what = chance.random()
            if step % 25 == 20:
                kill_server()
            elif step % 60 == 32:
                kill_browser()
                start()
            elif what < 0.05:
                phone.ask("offline", on=chance.random() < 0.6)
            elif what < 0.15:
                self.fill(1, category=chance.choice("ab"))
            elif what < 0.3:
                items = phone.ask("inbox", limit=20)["items"]
                phone.ask("mark", items=[chance.choice(items)["seq"]], **{"as": chance.choice(["read", "unread", "archived"])})
            else:
                browser.switch(chance.choice(tabs))
                if what < 0.42:
                    browser.run("cut(arguments[0])", chance.random() < 0.6)
                else:
                    mark = chance.choice(["'read'", "'unread'", "'archived'", "'deleted'", "'seen'"])
                    browser.run(chance.choice([
                        f"const item = list.items[{chance.randrange(10)}]; item && client.mark({mark}, item.seq).then(({{ seq }}) => done.push(seq), () => {{}})",
                        "client.markAll('read').then(({ seq }) => done.push(seq), () => {})", "client.see().then(({ seq }) => done.push(seq), () => {})"]))
        phone.ask("offline", on=False)
        for tab in tabs:
            browser.switch(tab)
            browser.run("cut(false)")
        for tab in tabs:
            browser.switch(tab)
            browser.wait("client.state === 'live' && !client.pending", seconds=60)
            acknowledged.update(browser.run("return done"))
        phone.ask("refresh")
        self.assertTrue(phone.wait())
        self.check(tabs, acknowledged - {None}, phone)

    def check(self, tabs, acknowledged, phone):
        """Every view equals the server, each answer's event is in the log, and no write is there twice."""
        history = self.server.get("/v1/users/ann/history").lines
        self.assertLessEqual(acknowledged, {event["seq"] for event in history})
        keys = [event["key"] for event in history if "key" in event]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertGreater(len(acknowledged), 5)
        tray = self.server.get("/v1/users/ann/tray").json
        items = [[item["seq"], item["read"], item["seen"]] for item in self.server.get("/v1/users/ann/inbox?limit=100").json["items"]]
        counts = ("unseen", "unread", "total")
        for tab in tabs:
            self.browser.switch(tab)
            self.browser.wait("JSON.stringify(list.items.map(({ seq, read, seen }) => [seq, read, seen])) === arguments[0]", json.dumps(items, separators=(",", ":")))
            mine = self.browser.run("return client.tray")
            self.assertEqual({name: mine[name] for name in counts}, {name: tray[name] for name in counts})
        there = phone.ask("tray")
        self.assertEqual({name: there[name] for name in counts}, {name: tray[name] for name in counts})


if __name__ == "__main__":
    unittest.main()
