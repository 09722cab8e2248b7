"""The bell by keyboard: whatever somebody does, or what comes meanwhile, the focus stays in the open panel."""

import time
import unittest

from browsed import Keys
from test_bell import ROOT
from test_bell_pages import BELL, PageCase

QUESTION = {"level": "timeSensitive", "actions": [{"id": "y", "label": "Approve"}, {"id": "n", "label": "Reject"}]}
# Where the focus is: the words of what has it; nothing when it is not in the open panel, or on what does not show.
PLACE = f"""(() => {{
    const one = {ROOT}.activeElement;
    const isIn = document.activeElement === {BELL} && one?.closest(".panel:popover-open") && one.checkVisibility();
    return isIn ? [one.localName, one.getAttribute("part"), one.role, one.textContent].filter(Boolean).join(" ") : "";
}})()"""


class FocusTest(PageCase):
    def begin(self, count, **fields):
        self.show(**fields)
        self.open_panel()
        self.count(count)
        self.browser.wait(PLACE)

    def focus(self, selector, at=0):
        self.browser.wait(f"[...{ROOT}.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).at(arguments[1])", selector, at)
        self.browser.run(f"[...{ROOT}.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).at(arguments[1]).focus()", selector, at)

    def stays(self, what):
        """The focus is in the panel two frames later."""
        self.browser.run("window.frames2 = 0; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => (frames2 = 1))))")
        self.browser.wait("frames2")
        place = self.browser.run(f"return {PLACE}")
        self.assertTrue(place, f"after {what} the focus is on {self.browser.run('return document.activeElement.outerHTML.slice(0, 200)')}")
        return place

    def menu(self, at=0):
        self.focus("[part=more]", at)
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.activeElement?.role === 'menuitem'")

    def choose(self, name):
        self.browser.run(f"[...{ROOT}.querySelectorAll('[role=menuitem]')].find((one) => one.textContent === arguments[0]).focus()", name)
        self.press(Keys.ENTER)

    def is_open(self):
        return self.browser.run(f"return {ROOT}.querySelector('.menu').matches(':popover-open')")

    def test_a_menu_that_closes_gives_the_focus_back_to_its_button(self):
        self.fill(2, thread="t")
        self.begin(2)
        for key in (Keys.ESCAPE, Keys.TAB):
            self.menu(1)
            self.press(key)
            self.browser.wait(f"!{ROOT}.querySelector('.menu').matches(':popover-open')")
            place = self.stays(key)
            if key == Keys.ESCAPE:
                self.assertTrue(self.browser.run(f"return {ROOT}.querySelectorAll('[part=more]')[1] === {ROOT}.activeElement"), place)
        for step in ("1 hour", "Until a date…"):
            self.menu(1)
            self.choose("Snooze")
            self.stays("the second step")
            if step != "1 hour":
                self.choose(step)
                self.browser.wait(f"{ROOT}.activeElement.localName === 'input'")
            self.press(Keys.ESCAPE)
            self.browser.wait(f"{ROOT}.querySelectorAll('[part=more]')[1] === {ROOT}.activeElement")
        self.focus("[part=quiet]")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.activeElement?.role === 'menuitem'")
        self.press(Keys.ESCAPE)
        self.browser.wait(f"{ROOT}.activeElement?.part.contains('quiet')")

    def test_tab_from_the_last_field_of_a_menu_goes_on_from_its_button(self):
        self.fill(2)
        self.begin(2)
        self.menu()
        self.choose("Snooze")
        self.choose("Until a date…")
        self.focus(".menu button")
        self.press(Keys.TAB)
        self.stays("Tab")
        self.assertFalse(self.is_open())

    def test_a_menu_whose_item_changed_or_went_leaves_the_focus_at_the_item_or_the_next(self):
        self.fill(3)
        seqs = [item["seq"] for item in self.server.get("/v1/users/ann/inbox").json["items"]]
        self.begin(3)
        self.menu()
        self.server.call("PATCH", f"/v1/users/ann/items/{seqs[0]}", {"title": "Changed"})
        self.browser.wait(f"{ROOT}.querySelector('[part=title]').textContent === 'Changed'")
        self.press(Keys.ESCAPE)
        self.browser.wait(PLACE)
        self.assertIn("Changed", self.stays("Escape"))
        self.menu()
        self.server.post("/v1/users/ann/marks", {"as": "deleted", "items": seqs[:1]})
        self.count(2)
        self.stays("the item went")
        self.press(Keys.ESCAPE)
        self.browser.wait(PLACE)
        self.stays("Escape")

    def test_each_entry_of_the_menu(self):
        self.fill(6, thread="t")
        self.begin(6)
        for entry, left in (("Mark as read", 6), ("Mark as unread", 6), ("Archive", 5), ("Delete", 4), ("Mute this thread", 4)):
            self.menu(1)
            self.choose(entry)
            self.count(left)
            self.stays(entry)
        self.menu(1)
        self.choose("Snooze")
        self.choose("1 hour")
        self.count(3)
        self.stays("Snooze")

    def test_an_answer_in_the_inbox_and_where_it_takes_the_item_away(self):
        for number in range(3):
            self.server.notify("ann", title=f"Pay {number}?", **QUESTION)
        self.begin(3)
        self.focus("[part~=action]")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelector('[part=outcome]')")
        self.stays("an answer")
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[1].click()")
        for left in (1, 0):
            self.count(left + 1)
            self.focus("[part~=action]")
            self.press(Keys.ENTER)
            self.count(left)
            self.stays("an answer that took the item away")

    def test_mark_all_undo_and_a_bar_that_goes_or_is_replaced(self):
        self.fill(3)
        self.begin(3)
        for _ in range(2):
            self.focus("[part=mark-all]")
            self.press(Keys.ENTER)
            self.browser.wait(f"!{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
            self.stays("Mark all")
            self.focus("[part=undo]")
            self.press(Keys.ENTER)
            self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
            self.stays("Undo")
        self.focus("[part=mark-all]")
        self.press(Keys.ENTER)
        self.focus("[part=undo]")
        self.browser.run(f"{BELL}.client.dispatchEvent(new CustomEvent('problem', {{ detail: {{ error: 'x', detail: 'It was refused.' }} }}))")
        self.browser.wait(f"{ROOT}.querySelector('[part=toast]').textContent === 'It was refused.'")
        self.stays("another bar")
        self.server.notify("ann", title="Another")
        self.focus("[part=mark-all]")
        self.press(Keys.ENTER)
        self.focus("[part=undo]")
        self.browser.wait(f"{ROOT}.querySelector('[part=toast]').hidden")
        self.stays("the bar went")

    def test_settings_open_change_and_close(self):
        self.server.call("PUT", "/v1/users/ann/mutes/categories/news")
        self.fill(1)
        self.begin(1, attributes='categories="Builds:build"')
        self.focus("button[part=settings]")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelector('[part=unmute]')")
        self.stays("the settings opened")
        for selector in ("[role=switch]", "[part=unmute]"):
            self.focus(selector)
            before = self.server.get("/v1/users/ann/mutes").json["mutes"]
            self.press(Keys.ENTER)
            self.wait_for(lambda: self.server.get("/v1/users/ann/mutes").json["mutes"] != before, "it is changed")
            self.browser.wait(f"{ROOT}.querySelectorAll('[part=unmute]').length === {1 if selector == '[role=switch]' else 0}")
            self.stays(selector)
        self.focus("div[part=settings] .turns")
        self.press(Keys.ENTER)
        self.browser.wait(f"{ROOT}.querySelector('article').checkVisibility()")
        self.assertIn("button settings", self.stays("the settings closed"))

    def test_an_item_that_goes_leaves_the_focus_to_the_next_and_the_last_one_to_the_tab(self):
        self.fill(3)
        seqs = [item["seq"] for item in self.server.get("/v1/users/ann/inbox").json["items"]]
        self.begin(3)
        self.focus("article", 1)
        for seq, place in ((seqs[1], "Item 0"), (seqs[2], "Item 2"), (seqs[0], "tab")):
            self.server.post("/v1/users/ann/marks", {"as": "archived", "items": [seq]})
            self.browser.wait(f"{PLACE}.includes(arguments[0])", place)
            self.stays("an item went")

    def test_a_thread_opens_and_closes_and_the_list_is_drawn_anew(self):
        self.fill(3, thread="t")
        self.server.notify("ann", title="Alone")
        self.begin(2, attributes="group")
        self.focus("article .more")
        self.press(Keys.ENTER)
        self.count(3)
        self.stays("the thread opened")
        self.focus(".body > .turns")
        self.press(Keys.ENTER)
        self.count(2)
        self.stays("the thread closed")
        self.focus("article", 1)
        self.browser.run(f"{BELL}.removeAttribute('group')")
        self.count(4)
        self.browser.wait(PLACE)
        self.focus("article", 1)
        self.browser.run("document.documentElement.lang = 'de'")
        self.browser.wait(f"{ROOT}.querySelector('[role=tab]').textContent.startsWith('Eingang') && {PLACE}")
        self.stays("another language")

    def test_what_waits_above_the_list_and_what_a_list_that_failed_offers(self):
        self.before("window.isOff = false; const real = fetch; window.fetch = (...call) => isOff ? Promise.reject(new TypeError()) : real(...call)")
        self.fill(40)
        self.begin(30)
        self.browser.run(f"{ROOT}.querySelector('.body').scrollTop = 600")
        time.sleep(0.3)
        self.server.notify("ann", title="New")
        self.focus("[part=new]")
        self.press(Keys.ENTER)
        self.browser.wait(f"{PLACE}.includes('New')")
        self.browser.run("isOff = true; dispatchEvent(new Event('offline'))")
        self.browser.wait(f"{ROOT}.querySelector('[part=banner] button')?.checkVisibility()")
        self.focus("[part=banner] button")
        self.press(Keys.ENTER)
        self.stays("Try again")
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[2].click()")
        self.focus("[part=state] button")
        # The list is drawn again and again while it fails.
        self.browser.run(f"window.retry = {ROOT}.activeElement")
        self.press(Keys.ENTER)
        self.stays("Try again")
        self.browser.run("isOff = false; dispatchEvent(new Event('online'))")
        self.browser.wait(f"!{ROOT}.querySelector('[part=state] [part=retry]')")
        self.stays("the list came")


if __name__ == "__main__":
    unittest.main()
