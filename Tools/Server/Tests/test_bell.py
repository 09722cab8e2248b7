"""The bell in Chromium, on a page of another origin, against a real server."""

import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import threading
import time
import unittest

from accessible import axe, axe_findings
from bellpage import App
from browsed import Browser, BrowserCase, Keys
from served import Server

# The counts that the bell's promises name, unless it is one of many parts of a run.
IS_LONG = os.environ.get("TRAYLOG_BELL") != "short"
FOLDER = pathlib.Path(__file__).parent.parent / "Sources/TraylogServer/Bell"
ROOT = "document.querySelector('traylog-bell').shadowRoot"

HOSTILE = ["<img src=x onerror=alert(1)>", "\u202egnp.exe", "a\u0000b".replace("\u0000", "\u2400"), "👩‍👩‍👧‍👦🏳️‍🌈" * 20, "&lt;b&gt;", "n" * 1024]
LINKS = [
    "javascript:alert(1)", "//evil.example/x", "/\\evil.example", "\\\\evil.example", "data:text/html,x", "http://other.example/",
    "https://user@ok.example/", "https://evil.example/", " /order", "/or\tder", "java\nscript:alert(1)", "HTTPS://evil.example", 7, None,
    ["/order"], {"url": "/order"}, "order", "blob:https://ok.example/1", "https:/\\evil.example", "/\u0000x",
]


class FilesTest(unittest.TestCase):
    def test_what_every_page_loads_is_at_most_24_kib_and_all_modules_are_served(self):
        with Server() as server:
            served = {path: server.get(f"/bell/v1/{path.name}", who=None) for path in FOLDER.rglob("*.js")}
        self.assertEqual({answer.status for answer in served.values()}, {200})
        sizes = {path.name: len(gzip.compress(answer.body, 9)) for path, answer in served.items()}
        always = sizes["client.js"] + sizes["bell.js"]
        print(f"gzipped: {sizes}, always loaded {always} of {24 * 1024} bytes")
        self.assertLessEqual(always, 24 * 1024)
        for path, answer in served.items():
            # Nothing but indentation and comments is left out.
            lines = [line.strip() for line in path.read_text().split("\n")]
            self.assertEqual(answer.body.decode().split("\n"), [line for line in lines if line and not line.startswith("//")])

    def test_the_code_uses_no_markup_no_storage_and_no_address(self):
        for path in FOLDER.rglob("*.js"):
            code = path.read_text()
            for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function", "localStorage",
                         "sessionStorage", "indexedDB", "document.cookie"):
                self.assertNotIn(word, code, path.name)
            self.assertEqual([found for found in re.findall(r"https?://[\w.]+", code) if "www.w3.org" not in found], [])
            self.assertTrue(all(name.startswith("./") for name in re.findall(r'\b(?:from\s*|import\s*\(?\s*)"([^"]+)"', code)))

    def test_the_types_name_every_export_and_every_public_member(self):
        for name in ("client", "bell"):
            code, types = ((FOLDER / f"{name}.{end}").read_text() for end in ("js", "d.ts"))
            exported = set(re.findall(r"^export (?:default )?(?:class|function|const) (\w+)", code, re.M))
            exported |= {word.strip() for group in re.findall(r"^export \{([^}]*)\}", code, re.M) for word in group.split(",")}
            for word in exported:
                self.assertRegex(types, rf"\b{word}\b", name)
        code, types = (FOLDER / "client.js").read_text(), (FOLDER / "client.d.ts").read_text()
        body = code[code.index("export class TrayClient"):]
        inner = {"overlay", "replay", "changed", "forget", "constructor"}
        for method in set(re.findall(r"^\t(?:async |get )?(\w+)\(", body, re.M)) - inner:
            self.assertRegex(types, rf"\b{method}\b")


class BellCase(BrowserCase):
    """Each test has a server, an app's page on another origin, and a bell on it."""

    def setUp(self):
        self.app = App()
        self.addCleanup(self.app.stop)
        self.start()
        self.addCleanup(lambda: self.server.__exit__())
        self.addCleanup(lambda: self.browser.open("about:blank"))

    def start(self, **more):
        self.server = Server("--allow-origin", self.app.url, "--rate-user", "0", **more)
        self.app.server, self.app.url_of_server = self.server, f"http://127.0.0.1:{self.server.port}"

    def fill(self, count, **content):
        self.server.perform(*({"kind": "notify", "user": "ann", "title": f"Item {n}", **content} for n in range(count)))

    def show(self, **fields):
        self.browser.open(self.app.page(**fields))
        self.browser.wait(f"{ROOT}?.querySelector('.bell')")

    def open_panel(self):
        self.part(".bell").click()
        self.browser.wait(f"{ROOT}.querySelector('[role=dialog]').matches(':popover-open')")

    def part(self, selector):
        return self.browser.element(f"{ROOT}.querySelector({json.dumps(selector)})")

    def badge(self, text, seconds=30):
        self.browser.wait(f"{ROOT}?.querySelector('.badge')?.textContent === arguments[0]", text, seconds=seconds)

    def articles(self):
        return self.browser.run(f"return [...{ROOT}.querySelectorAll('article')].map((one) => one.querySelector('[part=title]').textContent)")

    def unread(self):
        return self.server.get("/v1/users/ann/tray").json["unread"]

    def wait_for(self, true, what, seconds=20):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"this did not come true: {what}")
            time.sleep(0.05)

    def press(self, *keys):
        self.browser.press(*keys)


class BellTest(BellCase):
    def test_the_button_has_the_exact_number(self):
        self.show()
        label = f"{ROOT}.querySelector('.bell').getAttribute('aria-label')"
        self.browser.wait(f"document.querySelector('traylog-bell').client.tray")
        self.assertNotRegex(self.browser.run(f"return {label}"), r"[1-9]")
        self.fill(1000)
        self.badge("999+")
        self.assertEqual(re.findall(r"\d+", self.browser.run(f"return {label}")), ["1000"])

    def test_opening_sees_and_focus_goes_in_and_back(self):
        self.fill(3)
        self.show()
        self.badge("3")
        self.part(".bell").send_keys(Keys.ENTER)
        self.badge("")
        self.wait_for(lambda: self.server.get("/v1/users/ann/tray").json["unseen"] == 0, "the tray is seen")
        self.browser.wait(f"{ROOT}.activeElement?.getAttribute('role') === 'tab'")
        self.assertEqual(self.part(".bell").get_attribute("aria-expanded"), "true")
        self.press(Keys.ESCAPE)
        self.browser.wait(f"{ROOT}.activeElement === {ROOT}.querySelector('.bell')")
        self.assertEqual(self.part(".bell").get_attribute("aria-expanded"), "false")

    def test_it_works_by_keyboard_alone(self):
        self.fill(3, thread="builds")
        self.show()
        self.badge("3")
        self.part(".bell").send_keys(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 3")
        self.browser.run(f"{ROOT}.querySelector('article').focus()")
        self.press(Keys.ARROW_DOWN)
        self.browser.wait(f"{ROOT}.activeElement === {ROOT}.querySelectorAll('article')[1]")
        self.press(Keys.TAB)
        self.browser.wait(f"{ROOT}.activeElement?.getAttribute('aria-haspopup') === 'menu'")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.activeElement?.getAttribute('role') === 'menuitem'")
        self.press(Keys.ARROW_DOWN)
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.wait_for(lambda: self.server.get("/v1/users/ann/inbox?view=archived").json["items"][0:], "the item is archived")
        self.assertEqual(self.articles(), ["Item 2", "Item 0"])

    def test_an_empty_store_says_so_and_shows_the_first_item(self):
        self.show()
        self.open_panel()
        self.browser.wait(f"/Nothing here/.test({ROOT}.querySelector('[role=dialog]').innerText)")
        self.fill(1)
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 1")

    def test_mark_all_says_how_many_and_undo_restores_them(self):
        self.fill(5)
        self.show()
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').textContent === 'Mark all as read (5)'")
        self.part("[part=mark-all]").click()
        self.wait_for(lambda: self.unread() == 0, "all are read")
        self.browser.wait(f"{ROOT}.querySelector('[part=undo]')")
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        self.wait_for(lambda: self.unread() == 5, "all are unread again")
        self.browser.wait(f"{ROOT}.querySelectorAll('article.unread').length === 5")

    def test_a_hostile_title_is_text_and_nothing_is_reported(self):
        for title in HOSTILE:
            self.server.notify("ann", title=title, body=title * 8)
        self.show()
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === {len(HOSTILE)}")
        self.assertEqual(self.articles(), HOSTILE[::-1])
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelectorAll('img, b:not([id])').length"), 0)
        self.assertEqual(self.browser.messages(), [])

    def test_only_paths_and_listed_origins_are_followed(self):
        for url in LINKS:
            self.server.notify("ann", title="x", data={"url": url})
        self.show(attributes='link-origins="https://ok.example"')
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === {len(LINKS)}")
        before = self.browser.run("return location.href")
        for index in range(len(LINKS)):
            self.browser.run(f"{ROOT}.querySelectorAll('article')[arguments[0]].click()", index)
        self.wait_for(lambda: self.unread() == 0, "all are read")
        time.sleep(1.2)
        self.assertEqual(self.browser.run("return location.href"), before)
        self.server.notify("ann", title="fine", data={"url": "/order?id=1"})
        self.browser.wait(f"{ROOT}.querySelector('[part=title]').textContent === 'fine'")
        self.browser.run(f"{ROOT}.querySelector('article').click()")
        self.browser.wait("location.pathname === '/order'")

    def test_opening_an_item_can_be_prevented(self):
        self.server.notify("ann", title="x", data={"url": "/order"})
        self.show()
        self.browser.run("addEventListener('traylog-open', (event) => { window.opened = event.detail; event.preventDefault(); })")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('article')")
        self.browser.run(f"{ROOT}.querySelector('article').click()")
        self.assertEqual(self.browser.wait("window.opened")["data"], {"url": "/order"})
        self.wait_for(lambda: self.unread() == 0, "it is read")
        self.assertIn("/page", self.browser.run("return location.href"))

    def test_the_number_is_right_after_the_server_was_killed_and_started_again(self):
        self.fill(2)
        self.show()
        self.badge("2")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        old = self.server
        old.owns = False
        old.stop(signal.SIGKILL)
        self.browser.wait(f"{ROOT}.querySelector('[part=banner]').checkVisibility()")
        self.assertRegex(self.part("[part=banner]").text.lower(), "offline|as of")
        self.assertEqual(len(self.articles()), 2)
        # The same port: what a page was given.
        self.server = Server("--allow-origin", self.app.url, "--listen", f"127.0.0.1:{old.port}", directory=old.directory)
        self.server.owns = True
        self.app.server = self.server
        self.fill(3)
        self.badge("3")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 5")

    def test_a_server_restored_from_an_older_copy_is_believed(self):
        self.fill(2)
        self.show()
        self.badge("2")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.part(".bell").send_keys(Keys.ESCAPE)
        old = self.server
        old.owns = False
        old.stop()
        store, copy = (os.path.join(old.directory, name) for name in ("store", "copy"))
        shutil.copytree(store, copy)
        options = ("--allow-origin", self.app.url, "--listen", f"127.0.0.1:{old.port}", "--rate-user", "0")
        self.app.server = self.server = Server(*options, directory=old.directory)
        self.fill(5)
        self.badge("5")
        self.server.stop()
        shutil.rmtree(store)
        os.rename(copy, store)
        self.app.server = self.server = Server(*options, directory=old.directory)
        self.server.owns = True
        self.badge("")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.fill(1)
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 3")

    def test_what_comes_into_the_open_list_is_seen_and_what_waits_above_it_is_not(self):
        unseen = lambda count: self.wait_for(lambda: self.server.get("/v1/users/ann/tray").json["unseen"] == count, f"{count} are unseen")  # noqa: E731
        self.fill(40)
        self.show()
        self.open_panel()
        self.badge("")
        self.browser.run(f"window.told = []; const live = {ROOT}.querySelector('p.away[role=status]'); new MutationObserver(() => told.push(live.textContent))"
                         ".observe(live, { childList: true, characterData: true, subtree: true })")
        self.fill(1)
        self.browser.wait(f"{ROOT}.querySelector('[part=title]')?.textContent === 'Item 0'")
        unseen(0)
        self.badge("")
        # It is told all the same.
        self.assertRegex(self.browser.wait("told[0]"), "1 new")
        self.browser.run(f"{ROOT}.querySelector('.body').scrollTop = 600")
        time.sleep(0.3)
        self.fill(2)
        self.badge("2")
        time.sleep(4)
        unseen(2)
        self.browser.run(f"{ROOT}.querySelector('[part=new]').click()")
        unseen(0)
        self.badge("")
        # A tab of other items does not show it.
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[2].click()")
        self.fill(1)
        self.badge("1")
        time.sleep(4)
        unseen(1)
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[0].click()")
        unseen(0)
        self.browser.run("document.querySelector('traylog-bell').close()")
        self.fill(1)
        self.badge("1")

    def test_one_click_on_mark_all_is_enough_however_late_the_list_comes(self):
        """The first page of the list would move the button away from below the pointer."""
        self.fill(9)
        self.show()
        self.badge("9")
        self.browser.run("const real = fetch; window.fetch = async (...call) => { if (String(call[0]).includes('/inbox?')) await new Promise((go) => setTimeout(go, 1500)); return real(...call) }")
        self.open_panel()
        self.assertFalse(self.browser.run(f"return {ROOT}.querySelector('[part=mark-all]').checkVisibility()"))
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
        self.part("[part=mark-all]").click()
        self.wait_for(lambda: self.unread() == 0, "all are read")

    def menu(self, *words, index=0):
        """Opens an item's menu, and chooses the entries that hold the words, one after the other."""
        self.browser.wait(f"{ROOT}.querySelectorAll('[aria-haspopup=menu]')[{index}]")
        self.browser.run(f"{ROOT}.querySelectorAll('[aria-haspopup=menu]')[{index}].click()")
        for word in words:
            entry = f"[...{ROOT}.querySelectorAll('[role=menuitem]')].find((one) => one.textContent.toLowerCase().includes('{word}'))"
            self.browser.wait(f"{entry}?.checkVisibility()")
            self.browser.run(f"{entry}.click()")

    def test_the_menu_does_what_it_says(self):
        self.fill(4, thread="builds")
        self.show()
        self.open_panel()
        left = lambda count: self.browser.wait(f"{ROOT}.querySelectorAll('article').length === {count}")  # noqa: E731
        left(4)
        one = self.server.get("/v1/users/ann/inbox").json["items"][0]["seq"]
        self.menu("snooze", "1 hour")
        left(3)
        self.wait_for(lambda: [item["seq"] for item in self.server.get("/v1/users/ann/inbox?view=snoozed").json["items"]] == [one], "it sleeps")
        self.menu("archive")
        left(2)
        self.menu("delete")
        left(1)
        # The bar is drawn anew with each answer, so it is found and clicked in one go.
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        left(2)
        self.menu("read")
        self.wait_for(lambda: [item["read"] for item in self.server.get("/v1/users/ann/inbox").json["items"]] == [True, False], "one is read")
        self.browser.wait(f"!{ROOT}.querySelector('article').classList.contains('unread')")
        self.menu("unread")
        self.browser.wait(f"{ROOT}.querySelector('article').classList.contains('unread')")
        self.menu("mute")
        self.wait_for(lambda: self.server.get("/v1/users/ann/history").lines[-1]["kind"] == "muted", "the thread is muted")
        self.fill(1, thread="builds")
        left(3)
        self.assertEqual(self.server.get("/v1/users/ann/tray").json["unseen"], 0)

    def test_an_item_that_came_through_a_topic_offers_to_mute_the_topic(self):
        self.server.call("PUT", "/v1/users/ann/subscriptions/releases")
        self.server.post("/v1/topics/releases/broadcasts", {"title": "One"})
        self.show()
        self.open_panel()
        self.menu("mute this topic")
        self.wait_for(lambda: self.server.get("/v1/users/ann/mutes").json["mutes"], "the topic is muted")
        self.assertEqual(self.server.get("/v1/users/ann/mutes").json["mutes"][0]["topic"], "releases")
        self.server.post("/v1/topics/releases/broadcasts", {"title": "Two"})
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.assertEqual(self.server.get("/v1/users/ann/tray").json["unread"], 1)
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        self.wait_for(lambda: not self.server.get("/v1/users/ann/mutes").json["mutes"], "it is not muted any more")

    def ask(self, title):
        return self.server.notify("ann", title=title, actions=[{"id": "yes", "label": "Deploy"}, {"id": "no", "label": "Wait"}]).json["seq"]

    def test_an_item_is_answered_by_its_buttons_once(self):
        first, second = self.ask("First"), self.ask("Second")
        self.show()
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('[part~=action]').length === 4")
        # By keyboard: Tab leads from the item to its answers.
        self.browser.run(f"{ROOT}.querySelector('article').focus()")
        self.press(Keys.TAB)
        self.browser.wait(f"{ROOT}.activeElement?.textContent === 'Deploy'")
        # The item is drawn anew, and the button keeps the focus.
        self.browser.run("document.querySelector('traylog-bell').client.mark('read', arguments[0])", second)
        self.browser.wait(f"!{ROOT}.querySelector('article').classList.contains('unread')")
        self.assertEqual(self.browser.run(f"return {ROOT}.activeElement.textContent"), "Deploy")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelector('[part=outcome]')?.textContent === '✓ Deploy'")
        self.wait_for(lambda: self.server.get(f"/v1/users/ann/items/{second}").json.get("outcome", {}).get("action") == "yes", "it is answered")
        self.browser.wait(f"document.querySelector('traylog-bell').client.tray.awaiting === 1")
        self.browser.wait(f"!{ROOT}.querySelector('article').classList.contains('unread')")
        # Another device answers; here the answer shows, and a click that came too late is told.
        self.browser.run("window.client = document.querySelector('traylog-bell').client; window.told = [];"
                         "client.addEventListener('problem', ({ detail }) => told.push(detail.error))")
        self.server.post(f"/v1/users/ann/items/{first}/action", {"action": "no", "note": "after lunch"})
        self.browser.wait(f"[...{ROOT}.querySelectorAll('[part=outcome]')].map((one) => one.textContent).join() === '✓ Deploy,✓ Wait'")
        self.browser.run(f"return client.act({first}, 'yes').catch(() => {{}})")
        self.assertEqual(self.browser.run("return told"), ["alreadyActed"])
        self.browser.wait(f"{ROOT}.querySelectorAll('[part=outcome]')[1].textContent === '✓ Wait'")
        self.assertEqual(self.browser.run("return client.tray.awaiting"), 0)

    def test_quiet_times_begin_and_end_at_a_button(self):
        self.show()
        self.open_panel()
        pressed = lambda state: self.browser.wait(f"{ROOT}.querySelector('[part=quiet]').ariaPressed === '{state}'")  # noqa: E731
        pressed("false")
        for entry, is_endless in (("1 hour", False), ("Until I turn it off", True)):
            self.part("[part=quiet]").click()
            self.browser.run(f"[...{ROOT}.querySelectorAll('[role=menuitem]')].find((one) => one.textContent === '{entry}').click()")
            pressed("true")
            (mute,) = self.server.get("/v1/users/ann/mutes").json["mutes"]
            self.assertEqual((mute["all"], "until" not in mute), (True, is_endless))
            self.fill(1)
            self.server.notify("ann", title="Fire", level="critical")
            self.browser.wait(f"{ROOT}.querySelector('article')?.innerText.includes('Fire')")
            self.assertEqual(self.server.get("/v1/users/ann/tray").json["unread"], 1)
            # What another device did is known when the panel opens.
            self.browser.run("document.querySelector('traylog-bell').close()")
            self.open_panel()
            pressed("true")
            self.part("[part=quiet]").click()
            pressed("false")
            self.assertEqual(self.server.get("/v1/users/ann/mutes").json["mutes"], [])
            self.server.post("/v1/users/ann/marks/all", {"as": "deleted"})

    def test_a_search_finds_words_in_any_language_and_follows_what_comes(self):
        for content in ({"title": "M\u00fcller \u00fcber alles"}, {"title": "Stra\u00dfe", "body": "gesperrt"}, {"title": "Anything"}):
            self.server.notify("ann", **content)
        self.show()
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 3")
        shown = f"[...{ROOT}.querySelectorAll('article [part=title]')].map((one) => one.textContent).join()"
        search = self.part("[part=search]")
        search.send_keys("MULLER")
        self.browser.wait(f"{shown} === 'M\u00fcller \u00fcber alles'")
        self.assertEqual(self.browser.run(f"return {ROOT}.activeElement?.type"), "search")
        self.server.notify("ann", title="New", body="from Mueller and M\u00fcller")
        self.server.notify("ann", title="Another")
        self.browser.wait(f"{shown} === 'New,M\u00fcller \u00fcber alles'")
        search.clear()
        search.send_keys("sperr strasse")
        self.browser.wait(f"{shown} === 'Stra\u00dfe'")
        search.clear()
        search.send_keys("nothing of this")
        self.browser.wait(f"{ROOT}.querySelector('.note')?.checkVisibility() && {shown} === ''")
        self.browser.run("document.querySelector('traylog-bell').close()")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 5")

    def test_items_of_a_thread_stand_together_on_request(self):
        for number in range(3):
            self.server.notify("ann", title=f"Comment {number}", thread="post", summaryArgument="Bob")
        self.server.notify("ann", title="Alone")
        self.show(attributes="group")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")
        self.assertEqual(self.articles(), ["Alone", "Comment 2"])
        more = f"{ROOT}.querySelector('article .more')"
        self.assertRegex(self.browser.run(f"return {more}.textContent"), "2 more notifications from Bob")
        self.browser.run(f"{more}.click()")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 3")
        self.browser.run(f"[...{ROOT}.querySelectorAll('button')].find((one) => one.textContent === 'Back').click()")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")

    def test_what_has_no_thread_stands_alone_and_a_question_stands_for_its_thread(self):
        ask = {"actions": [{"id": "y", "label": "Approve"}]}
        self.server.notify("ann", title="Your card was used abroad", level="critical")
        self.server.notify("ann", title="Approve the refund", level="timeSensitive", **ask)
        self.server.notify("ann", title="Deploy?", level="timeSensitive", thread="release", **ask)
        for content in ({"title": "Also deploy the docs?", **ask}, {"title": "Build 1 passed", "summaryCount": 3}, {"title": "Build 2 passed"}):
            self.server.notify("ann", thread="release", summaryArgument="Bob", **content)
        self.server.notify("ann", title="Menu of the week")
        self.show(attributes="group")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 4")
        self.assertEqual(self.articles(), ["Menu of the week", "Deploy?", "Approve the refund", "Your card was used abroad"])
        more = f"[...{ROOT}.querySelectorAll('article .more')].map((one) => one.textContent)"
        self.assertEqual(self.browser.run(f"return {more}"), ["5 more notifications"])
        # One question less, and the next one stands for the thread; without any its newest item.
        for title, others in (("Also deploy the docs?", "5 more notifications"), ("Build 2 passed", "5 more notifications from Bob")):
            self.browser.run(f"{ROOT}.querySelectorAll('article')[1].querySelector('[part~=action]').click()")
            self.browser.wait(f"{ROOT}.querySelectorAll('article [part=title]')[1].textContent === arguments[0] && {more}.join() === arguments[1]", title, others)

    def test_a_list_of_threads_has_each_item_without_one_at_its_place(self):
        random_ = random.Random(5)
        for number in range(80):
            thread = random_.choice([None, None, "a", "b", f"t{number}"])
            self.server.notify("ann", title=f"Item {number}", **({"thread": thread} if thread else {}))
        self.show()
        expected, threads = [], set()
        for item in self.server.get("/v1/users/ann/inbox?limit=100").json["items"]:
            if item.get("thread") not in threads or not item.get("thread"):
                expected.append(item["seq"])
            threads.add(item.get("thread"))
        for size in (1, 3, 7, 100):
            found = self.browser.run("""
                const list = document.querySelector("traylog-bell").client.inbox({ group: true, pageSize: arguments[0] });
                const firsts = [];
                return (async () => {
                    while (!list.end) {
                        const before = list.items.map(({ seq }) => seq);
                        await list.loadMore();
                        firsts.push(list.items.slice(0, before.length).every(({ seq }, at) => seq === before[at]));
                    }
                    list.close();
                    return [list.items.map(({ seq }) => seq), firsts.every(Boolean)];
                })()""", size)
            self.assertEqual(found, [expected, True], size)

    def test_many_events_at_once_are_told_a_few_times(self):
        self.show()
        self.browser.wait("document.querySelector('traylog-bell').client.tray")
        self.browser.run(f"window.told = []; new MutationObserver(() => told.push({ROOT}.querySelector('.away').textContent))"
                         f".observe({ROOT}.querySelector('.away'), {{ childList: true, characterData: true, subtree: true }})")
        self.fill(15)
        self.badge("15")
        time.sleep(4)
        told = self.browser.run("return told")
        self.assertIn(len(told), range(1, 5), told)
        self.assertIn("15", told[-1])

    def test_undo_goes_by_itself_after_ten_seconds(self):
        self.fill(1)
        self.show()
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
        # By the page's clock, so that a slow machine changes nothing.
        self.browser.run(f"const toast = {ROOT}.querySelector('.toast'); window.shown = 0; new MutationObserver(() => {{"
                         " if (!toast.hidden) shown ||= performance.now(); else if (shown) window.lasted ??= performance.now() - shown;"
                         " }).observe(toast, { attributes: true })")
        self.part("[part=mark-all]").click()
        self.browser.wait(f"{ROOT}.querySelector('[part=undo]')?.checkVisibility()")
        self.assertGreaterEqual(self.browser.wait("window.lasted", seconds=60), 8_000)
        self.assertFalse(self.browser.run(f"return {ROOT}.querySelector('[part=undo]').checkVisibility()"))

    def test_an_app_chooses_the_theme_the_title_the_badge_and_the_items(self):
        self.show(attributes='page-title badge theme="dark"')
        self.browser.run("window.badges = []; navigator.setAppBadge = async (count) => { badges.push(count) }")
        self.browser.run("document.querySelector('traylog-bell').renderItem = (item) => {"
                         " const one = document.createElement('em'); one.textContent = '* ' + item.title; return one }")
        self.fill(3)
        self.browser.wait("document.title === '(3) Shop'")
        self.assertEqual(self.browser.run("return badges.at(-1)"), 3)
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article em').length === 3")
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelector('article em').textContent"), "* Item 2")
        self.browser.wait("document.title === 'Shop'")
        colour = f"return getComputedStyle({ROOT}.querySelector('.panel')).backgroundColor"
        dark = self.browser.run(colour)
        self.browser.run("document.querySelector('traylog-bell').setAttribute('theme', 'light')")
        self.assertNotEqual(self.browser.run(colour), dark)

    def test_tabs_of_an_app_have_their_own_counts(self):
        self.fill(2, category="build")
        self.fill(1, category="mention")
        self.show(attributes='tabs="Builds:build,deploy;Mentions:mention"')
        self.open_panel()
        tabs = f"[...{ROOT}.querySelectorAll('[role=tab]')].map((tab) => tab.textContent).join('|')"
        self.browser.wait(f"{tabs} === 'Inbox|Unread 3|Archived|Builds 2|Mentions 1'")
        self.browser.element(f"{ROOT}.querySelectorAll('[role=tab]')[3]").click()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 2")

    def test_two_devices_mark_at_once(self):
        self.fill(6)
        self.show()
        first = self.browser.tab()
        self.browser.wait("document.querySelector('traylog-bell').client.tray?.unread === 6")
        mark = "return document.querySelector('traylog-bell').client.mark('read', arguments[0])"
        seqs = [item["seq"] for item in self.server.get("/v1/users/ann/inbox").json["items"]]
        other = threading.Thread(target=lambda: self.server.post("/v1/users/ann/marks", {"as": "read", "items": seqs[2:5]}))
        other.start()
        self.browser.run(mark, seqs[:3])
        other.join()
        self.browser.wait("document.querySelector('traylog-bell').client.tray.unread === 1")
        self.assertEqual(self.unread(), 1)
        self.assertEqual(self.browser.tab(), first)

    def test_a_refused_token_is_said_and_asked_for_rarely(self):
        self.app.refuses = True
        self.show()
        self.open_panel()
        self.browser.wait(f"/sign in|expired/i.test({ROOT}.querySelector('[role=dialog]').innerText)")
        time.sleep(8)
        self.assertLessEqual(self.app.asked, 6)
        self.app.refuses = False
        self.fill(2)
        self.browser.wait("document.querySelector('traylog-bell').client.tray?.unread === 2")

    def test_an_expiring_token_is_renewed_without_a_gap(self):
        self.app.seconds = 3
        self.show()
        self.browser.wait("document.querySelector('traylog-bell').client.state === 'live'")
        self.browser.run("window.states = []; const { client } = document.querySelector('traylog-bell');"
                         "client.addEventListener('state', () => states.push(client.state))")
        for count in range(1, 5):
            self.fill(1)
            self.badge(str(count))
            time.sleep(1.5)
        self.assertEqual(self.browser.run("return states"), [])
        self.assertGreater(self.app.asked, 1)

    def test_german_is_shown_by_the_language_of_the_page(self):
        self.show(lang="de")
        self.open_panel()
        tabs = self.browser.run(f"return [...{ROOT}.querySelectorAll('[role=tab]')].map((tab) => tab.textContent)")
        self.assertTrue(tabs[2].startswith("Archiv"))

    def test_german_keeps_its_full_stop_at_the_end_in_a_page_from_right_to_left(self):
        self.fill(1)
        self.show(lang="de", dir="rtl")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
        self.part("[part=mark-all]").click()
        self.browser.wait(f"{ROOT}.querySelector('[part=undo]')?.checkVisibility()")
        text, stop, first = self.browser.run(f"""
            const text = {ROOT}.querySelector('.toast').firstChild.firstChild;
            const left = (at) => {{ const range = new Range(); range.setStart(text, at); range.setEnd(text, at + 1); return range.getBoundingClientRect().left; }};
            return [text.data, left(text.length - 1), left(0)]""")
        self.assertTrue(text.endswith("."), text)
        self.assertGreater(stop, first)

    def test_the_panel_fits_every_width_and_direction(self):
        self.server.notify("ann", title="w" * 1000, body="w" * 16_000, thread="t")
        for width in (390, 1440):
            for direction in ("ltr", "rtl"):
                self.browser.size(width)
                self.show(dir=direction)
                self.open_panel()
                self.browser.wait(f"{ROOT}.querySelector('article')")
                wide = self.browser.run(
                    f"const panel = {ROOT}.querySelector('[role=dialog]'); const box = panel.getBoundingClientRect();"
                    "return [document.documentElement.scrollWidth - innerWidth, panel.scrollWidth - panel.clientWidth, box.left, box.width]")
                self.assertLessEqual(wide[0], 0)
                self.assertLessEqual(wide[1], 0)
                self.assertGreaterEqual(wide[2], 0)
                if width == 390:
                    self.assertEqual(wide[3], 390)
        self.browser.size(1440)


@unittest.skipIf(axe() is None, "needs the Python package axe-core-python")
class AccessibleTest(BellCase):
    def check(self, state):
        found = axe_findings(self.browser)
        self.assertEqual(found, [], state)

    def test_axe_finds_nothing_in_any_state(self):
        self.addCleanup(lambda: self.browser.scheme("light"))
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            self.app.refuses = False
            self.show(attributes='theme="auto"')
            self.check("closed")
            self.open_panel()
            self.check("opening")
            self.fill(3, thread="t", level="critical", actions=[{"id": "yes", "label": "Deploy"}])
            self.browser.wait(f"{ROOT}.querySelectorAll('article').length >= 3")
            self.check("full")
            self.browser.run(f"{ROOT}.querySelector('.dots').click()")
            self.check("menu")
            self.browser.run(f"{ROOT}.querySelectorAll('[role=menuitem]')[2].click()")
            self.browser.run(f"[...{ROOT}.querySelectorAll('[role=menuitem]')].at(-1).click()")
            self.check("date")
            self.browser.run(f"{ROOT}.querySelector('.menu').hidePopover(); {ROOT}.querySelectorAll('[role=tab]')[2].click()")
            self.browser.wait(f"{ROOT}.querySelector('.note')")
            self.check("empty")
            self.browser.run("dispatchEvent(new Event('offline'))")
            self.check("offline")
            self.app.refuses = True
            self.show(attributes='theme="auto"')
            self.open_panel()
            self.browser.wait(f"/sign in/i.test({ROOT}.querySelector('[role=dialog]').innerText)")
            self.check("refused")
            self.app.refuses = False
            self.show(attributes='theme="auto"')
            self.browser.wait("document.querySelector('traylog-bell').client.tray")
            self.server.owns = False
            self.server.stop()
            self.open_panel()
            self.browser.wait(f"/cannot be reached/i.test({ROOT}.querySelector('[role=dialog]').innerText)")
            self.check("unreachable")
            self.server = self.app.server = Server(
                "--allow-origin", self.app.url, "--listen", f"127.0.0.1:{self.server.port}", "--rate-user", "0",
                directory=self.server.directory)
            self.server.owns = True


class CountsTest(BellCase):
    def client(self):
        self.browser.run("window.client = document.querySelector('traylog-bell').client")

    def test_what_arrives_beside_a_click_stays_unread(self):
        self.show()
        self.client()
        self.browser.wait("client.tray")
        for _ in range(200 if IS_LONG else 25):
            self.browser.run("return client.markAll('read')")
            self.browser.wait("client.tray.unread === 0")
            self.fill(1)
            self.browser.wait("client.tray.unread === 1")
            late = threading.Thread(target=self.fill, args=(1,))
            late.start()
            shown = self.browser.run("const { newest } = client.tray; return client.markAll('read').then(() => newest)")
            late.join()
            self.browser.wait("client.tray.newest === arguments[0]", self.newest())
            for item in self.server.get("/v1/users/ann/inbox?limit=5").json["items"]:
                self.assertEqual(item["read"], item["position"] <= shown)

    def test_see_leaves_out_what_arrives_beside_it(self):
        self.show()
        self.client()
        self.browser.wait("client.tray")
        for _ in range(200 if IS_LONG else 25):
            self.fill(1)
            self.browser.wait("client.tray.newest === arguments[0]", self.newest())
            late = threading.Thread(target=self.fill, args=(1,))
            late.start()
            shown = self.browser.run("const { newest } = client.tray; return client.see().then(() => newest)")
            late.join()
            for item in self.server.get("/v1/users/ann/inbox?limit=5").json["items"]:
                self.assertEqual(item["seen"], item["position"] <= shown)

    def newest(self):
        return self.server.get("/v1/users/ann/tray").json["newest"]

    def check_list(self):
        """The page's list becomes the server's, which is at rest."""
        items = self.server.get("/v1/users/ann/inbox?limit=20").json["items"]
        self.browser.wait("JSON.stringify(inbox.items.slice(0, 20).map(({ seq, read, seen }) => [seq, read, seen])) === arguments[0]",
                          json.dumps([[item["seq"], item["read"], item["seen"]] for item in items], separators=(",", ":")))

    def list(self, count):
        self.fill(count)
        self.show()
        self.client()
        self.browser.wait("client.tray")
        self.browser.run("window.inbox = client.inbox(); return inbox.refresh()")

    def test_what_another_device_takes_back_before_a_marks_answer_arrives_is_shown(self):
        self.list(2)
        seq = self.browser.run("return inbox.items[0].seq")
        self.browser.run("""
            const real = window.fetch;
            window.fetch = async (...call) => {
                const answer = await real(...call);
                if (call[1]?.method === "POST") await new Promise((go) => (window.release = go));
                return answer;
            };
            client.mark("read", arguments[0]);""", seq)
        self.browser.wait("typeof window.release === 'function'")
        self.server.post("/v1/users/ann/marks", {"as": "unread", "items": [seq]})
        # The page has heard of both once it has heard of this.
        self.fill(1)
        self.browser.wait("inbox.items.length === 3")
        self.browser.run("window.release()")
        self.browser.wait("inbox.items.find(({ seq }) => seq === arguments[0]).read === false", seq)
        self.check_list()

    def test_a_mark_that_is_taken_back_at_once_is_shown_as_the_server_has_it(self):
        """The stream has nothing to say of an item that is as it was."""
        self.list(3)
        self.browser.run("""
            const token = () => fetch("/token").then((answer) => answer.json()).then(({ token }) => token);
            window.other = new client.constructor({ server: arguments[0], token });""", self.app.url_of_server)
        for _ in range(10):
            self.browser.run("""
                const [one, two] = inbox.items.map(({ seq }) => seq);
                return (async () => {
                    await other.mark(inbox.items[1].read ? "unread" : "read", two);
                    await client.mark("read", one);
                    await other.mark("unread", one);
                    await other.mark("seen", two);
                })()""")
            self.check_list()

    def test_the_counts_are_the_servers_after_random_writes(self):
        """Three other clients write at the same time, and the page marks beside them."""
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        self.list(20)

        def write(chance, count):
            for _ in range(count):
                seqs = [item["seq"] for item in self.server.get("/v1/users/ann/inbox?limit=20").json["items"]]
                if chance.random() < 0.5 or not seqs:
                    self.fill(1, category=chance.choice(["a", "b"]))
                else:
                    mark = chance.choice(["read", "unread", "archived", "deleted", "seen"])
                    self.server.post("/v1/users/ann/marks", {"as": mark, "items": [chance.choice(seqs)]})

        writers = [threading.Thread(target=write, args=(random.Random(seed + number), 334 if IS_LONG else 60)) for number in range(3)]
        for writer in writers:
            writer.start()
        chance = random.Random(seed + 3)
        while any(writer.is_alive() for writer in writers):
            self.browser.run(chance.choice([
                "client.markAll('read')", "client.see()", "inbox.items[0] && client.mark('read', inbox.items[0].seq)",
                "inbox.items[1] && client.mark('archived', [inbox.items[1].seq])"]))
            time.sleep(chance.random() / 5)
        for writer in writers:
            writer.join()
        counts = ("unseen", "unread", "total")

        def is_equal():
            tray = self.server.get("/v1/users/ann/tray").json
            mine = self.browser.run("return client.tray")
            return {name: tray[name] for name in (*counts, "categories")} == {name: mine[name] for name in (*counts, "categories")}

        self.wait_for(is_equal, "the page's counts are the server's")
        self.check_list()

    def test_a_long_inbox_scrolls_to_its_end_and_shows_each_item_once(self):
        count = 10_000 if IS_LONG else 1_500
        for _ in range(count // 500):
            self.fill(500)
        self.show()
        self.open_panel()
        titles = self.browser.run(
            f"return new Promise((done) => {{ const body = {ROOT}.querySelector('.body'); const go = () => {{"
            " body.scrollTop = body.scrollHeight; /That is all/.test(body.innerText)"
            " ? done([...body.querySelectorAll('article')].map((one) => one.getAttribute('aria-labelledby'))) : setTimeout(go, 30); };"
            " go() })")
        self.assertEqual(len(titles), count)
        self.assertEqual(len(set(titles)), count)

    def test_a_page_that_was_offline_catches_up(self):
        self.fill(1)
        self.show()
        self.badge("1")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 1")
        self.client()
        try:
            self.browser.offline(True)
            self.browser.wait("client.state === 'offline'", seconds=60)
            self.fill(2)
        finally:
            self.browser.offline(False)
        self.badge("2")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 3")

    def test_a_refused_write_rejects_with_the_problem_that_the_event_carries(self):
        self.show()
        self.client()
        problem = self.browser.run(
            "let told; client.addEventListener('problem', ({ detail }) => (told = detail));"
            "return client.snooze(999, new Date(Date.now() + 1e7)).then(() => null, (one) => [one === told, one.name, one.error, one.status])")
        self.assertEqual(problem, [True, "TrayProblem", "unknownItem", 404])


class GuideTest(BellCase):
    def test_the_plain_samples_of_the_guide_run(self):
        guide = (pathlib.Path(__file__).parents[3] / "Docs/guides/bell.md").read_text()
        samples = re.findall(r"^```html\n(.*?)^```", guide, re.M | re.S)
        self.assertEqual(len(samples), 2)
        for path, sample in zip(("/element", "/own"), samples):
            for old, new in (("https://trays.example.org", self.app.url_of_server), ("/session/tray-token", "/token")):
                sample = sample.replace(old, new)
            self.app.pages[path] = f"<!doctype html><html lang=en><title>Sample</title>{sample}"
        self.fill(3)
        self.browser.open(self.app.page("/element"))
        self.badge("3")
        self.browser.open(self.app.page("/own"))
        self.browser.wait("document.querySelector('#unread').value === '3'")
        self.browser.wait("document.querySelectorAll('#items li').length === 3")
        self.fill(1)
        self.browser.wait("document.querySelectorAll('#items li').length === 4")


class TabsTest(BellCase):
    def test_ten_tabs_share_one_stream_and_another_takes_over(self):
        self.fill(1)
        browser = self.browser
        first = browser.tab()
        self.show()
        self.badge("1")
        others = []
        try:
            for _ in range(9):
                others.append(browser.new_tab())
                self.show()
                self.badge("1")
            held = browser.run("return navigator.locks.query().then(({ held, pending }) => [held, pending].map("
                               "(locks) => locks.filter(({ name }) => name.startsWith('traylog ')).length))")
            self.assertEqual(held, [1, 9])
            self.assertEqual(self.streams(), 1)
            browser.switch(first)
            browser.open("about:blank")
            browser.switch(others[0])
            self.fill(1)
            self.badge("2", seconds=15)
            self.assertEqual(self.streams(), 1)
        finally:
            for tab in others:
                browser.switch(tab)
                browser.close_tab()
            browser.switch(first)

    def test_a_tab_without_a_connection_leaves_the_stream_to_one_that_has_it(self):
        self.fill(1)
        browser, first = self.browser, self.browser.tab()
        self.show()
        self.badge("1")
        second = browser.new_tab()
        try:
            self.show()
            self.badge("1")
            browser.switch(first)
            browser.offline(True)
            browser.switch(second)
            self.fill(1)
            self.badge("2", seconds=10)
            browser.wait("document.querySelector('traylog-bell').client.state === 'live'")
            # A page that is opened now is not offline either.
            self.show()
            self.badge("2", seconds=10)
        finally:
            browser.close_tab()
            browser.switch(first)
            browser.offline(False)
        self.fill(1)
        self.badge("3", seconds=15)

    def streams(self):
        """The streams that the server holds, once that is a number at rest: one that was left takes a moment."""
        def count():
            return int(re.search(r"^traylog_live_streams (\d+)", self.server.get("/metrics").body.decode(), re.M)[1])
        self.wait_for(lambda: count() <= 1, "the streams of closed tabs end")
        return count()


if __name__ == "__main__":
    unittest.main()
