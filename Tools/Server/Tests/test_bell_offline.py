"""What people mark while their page has no connection, or nobody is signed in: it is kept while the page is open, and sent later."""

import json
import time
import unittest

from test_bell import ROOT
from test_bell_pages import BELL, PageCase

# Cuts the page off, or what it writes, as a network does, or holds what it reads; `wire.writes` has what it tried to send.
WIRE = """
window.wire = { isOff: false, status: 0, loses: 0, writes: [], holds: false, held: [] };
const real = window.fetch;
window.fetch = (...call) => {
    if (call[1]?.method && call[1].method !== "GET") wire.writes.push(String(call[0]).split("/").at(-1));
    if (wire.isOff) return Promise.reject(new TypeError("cut off"));
    if (wire.status && call[1]?.method === "POST") return Promise.resolve(new Response("{}", { status: wire.status }));
    if (wire.loses && /inbox\\?/.test(call[0])) return wire.loses--, Promise.reject(new TypeError("lost"));
    // What a list shows is read at once, and told late.
    if (wire.holds && /(inbox|threads)\\?/.test(call[0])) return real(...call).then((answer) => new Promise((go) => wire.held.push(() => go(answer))));
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

    def test_a_mark_made_while_its_list_is_read_again_shows_at_once_is_stored_and_stays(self):
        for attributes, way in (("", ""), ("", "[role=tab]:nth-child(2)"), ("group", ""), ("group", "article .more")):
            with self.subTest(attributes=attributes, way=way):
                self.server.post("/v1/users/ann/marks/all", {"as": "deleted"})
                self.fill(3, thread="a")
                self.fill(2, thread="b")
                self.show(attributes=attributes)
                self.open_panel()
                self.count(2 if attributes else 5)
                if way:
                    self.browser.run(f"{ROOT}.querySelector('{way}').click()")
                    self.count(2 if attributes else 5)
                self.browser.run(f"window.client = {BELL}.client; wire.holds = true")
                # A list of threads is read again when something comes.
                self.fill(1, thread="b")
                if attributes and not way:
                    self.browser.wait("wire.held.length")
                seq = self.browser.run(f"const one = [...{ROOT}.querySelectorAll('article.unread')].at(-1); one.click(); return one.seq")
                is_read = f"![...{ROOT}.querySelectorAll('article.unread')].some(({{ seq }}) => seq === {seq})"
                self.browser.wait(is_read, seconds=3)
                self.wait_for(lambda: self.server.get(f"/v1/users/ann/items/{seq}").json["read"], "it is stored", seconds=5)
                # What is read now is from before the mark was made.
                self.browser.run("wire.holds = false; for (const go of wire.held.splice(0)) go()")
                expected = [item["seq"] for item in self.unread_items(attributes, way)]
                self.browser.wait(f"JSON.stringify([...{ROOT}.querySelectorAll('article.unread')].map(({{ seq }}) => seq)) === arguments[0]", json.dumps(expected, separators=(",", ":")))
                self.assertTrue(self.browser.run(f"return {is_read}"))

    def test_a_list_that_did_not_come_is_asked_for_again_and_so_is_its_number(self):
        seqs = self.page(3)
        self.server.post("/v1/users/ann/marks", {"as": "archived", "items": seqs[:2]})
        self.count(1)
        # The list, and how many of it are unread.
        self.browser.run(f"wire.loses = 2; {ROOT}.querySelector('[role=tab]:nth-child(3)').click()")
        self.says("Loading failed")
        self.assertEqual(self.browser.run("return [client.state, wire.loses]"), ["live", 0])
        self.count(2)
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility() && {ROOT}.querySelector('[part=mark-all]').textContent.includes('(2)')")
        self.assertNotIn("failed", self.said())

    def unread_items(self, attributes, way):
        if attributes and not way:
            newest = [group["newest"] for group in self.server.get("/v1/users/ann/threads").json["threads"]]
            return [item for item in newest if not item["read"]]
        return self.server.get("/v1/users/ann/inbox?unread=true" + ("&thread=b" if attributes else "")).json["items"]

    def test_what_may_pass_by_itself_is_tried_three_times_more_and_then_taken_back(self):
        seqs = self.page(2)
        self.browser.run("wire.writes = []; wire.status = 503; client.mark('read', arguments[0]).catch(({ status }) => done.push(status))", seqs[0])
        self.browser.wait("client.tray.unread === 1")
        self.browser.wait("done.length", seconds=40)
        self.assertEqual(self.browser.run("return [done, wire.writes]"), [[503], ["marks"] * 4])
        self.browser.wait("client.tray.unread === 2")
        self.browser.run("wire.status = 0; return client.mark('read', arguments[0])", seqs[0])
        self.assertEqual(self.unread(), 1)


if __name__ == "__main__":
    unittest.main()
