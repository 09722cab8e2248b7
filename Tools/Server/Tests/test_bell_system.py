"""New notifications that the system shows while no page of the person is in front: once for all tabs, and only where they were asked for."""

import time
import unittest

from test_bell import ROOT
from test_bell_pages import BELL, PageCase

# Tells the app's server what the page asks of the system, in the order of the pages, which are not looked at: that would show them.
TOLD = """{
const tell = (...words) => fetch("/told/" + words.map(encodeURIComponent).join("/"), { keepalive: true });
const Own = window.Notification;
%s
window.Notification = new Proxy(Own, {
    construct(target, given) {
        tell("shown", given[0]);
        const one = Reflect.construct(target, given);
        (window.shown ??= []).push(one);
        const { close } = one;
        one.close = () => (tell("closed", given[0]), close.call(one));
        return one;
    },
    get: (target, name) => name === "requestPermission" ? (...given) => (tell("asked"), target[name](...given)) : Reflect.get(target, name),
});
Object.defineProperty(Navigator.prototype, "setAppBadge", { value: async (count) => { tell("badge", count) }, configurable: true });
}"""
# Permissions that a person was not asked for yet, or that they refuse.
PERMISSION = "Object.defineProperty(Own, 'permission', {{ get: () => window.permission ??= '{}' }}); Own.requestPermission = async () => window.permission = '{}';"
SYSTEM = 'system-notifications page-title'


class SystemCase(PageCase):
    def setUp(self):
        super().setUp()
        self.first = self.browser.tab()
        self.tabs, self.scripts, self.forgets = [], [], []
        self.addCleanup(self.close)

    def close(self):
        for tab in self.tabs:
            self.browser.switch(tab)
            self.browser.close_tab()
        self.browser.switch(self.first)
        for forget in self.forgets:
            forget()
        self.reset()

    def before(self, script):
        """Runs a script in each page of each tab."""
        self.scripts.append(script)
        self.forgets.append(self.browser.before(script))

    def reset(self):
        self.browser.driver.execute_cdp_cmd("Browser.resetPermissions", {})

    def grant(self):
        self.before(TOLD % "")
        self.browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"origin": self.app.url, "permissions": ["notifications"]})

    def answer(self, first, then):
        """A person who was asked `first`, and answers `then`."""
        while self.forgets:
            self.forgets.pop()()
        self.before(TOLD % PERMISSION.format(first, then))

    def pages(self, count, attributes=SYSTEM):
        """So many tabs with a bell, the last of them in front."""
        for number in range(count):
            if number:
                self.tabs.append(self.browser.new_tab())
                self.prepare()
            self.show(attributes=attributes)
            self.browser.wait(f"{BELL}.client.tray")
        # What is asked of the system is asked after the module came.
        time.sleep(1)

    def prepare(self):
        """A new tab is as the others."""
        for script in self.scripts:
            self.browser.before(script)

    def leave(self):
        """A tab of another app comes in front."""
        self.tabs.append(self.browser.new_tab())
        time.sleep(0.5)

    def told(self, kind):
        return [path.split("/")[3] for path in self.app.visited if path.startswith(f"/told/{kind}/")]

    def shown(self, *titles, seconds=15):
        self.wait_for(lambda: self.told("shown") == list(titles), f"{titles} are shown: {self.told('shown')}", seconds)

    def never(self, kind, seconds=3):
        time.sleep(seconds)
        self.assertEqual(self.told(kind), [])


class SystemTest(SystemCase):
    def test_three_tabs_in_the_background_show_a_new_item_once_and_the_badge_has_the_number(self):
        self.fill(2)
        self.grant()
        self.pages(3)
        self.leave()
        for number in range(3):
            self.server.notify("ann", title=f"News-{number}", body="Body")
            self.shown(*(f"News-{one}" for one in range(number + 1)))
            self.wait_for(lambda: self.told("badge")[-1:] == [str(3 + number)], "the badge has the number")
        self.assertEqual(len(self.told("asked")), 0)
        # Each is told of once, however long one waits.
        time.sleep(3)
        self.shown("News-0", "News-1", "News-2")

    def test_nothing_is_shown_while_one_of_the_pages_is_in_front(self):
        self.grant()
        self.pages(2)
        self.server.notify("ann", title="News")
        self.badge("1")
        self.never("shown")
        # Nor later: it was in front of the person.
        self.leave()
        self.never("shown", 2)
        self.server.notify("ann", title="Later")
        self.shown("Later")

    def test_another_tab_goes_on_when_the_one_that_showed_them_is_closed(self):
        self.grant()
        self.pages(3)
        self.leave()
        self.server.notify("ann", title="One")
        self.shown("One")
        for left in ("Two", "Three"):
            # The first has the lock; a page that is left gives it up.
            self.browser.switch(self.first if left == "Two" else self.tabs[0])
            self.browser.driver.execute_cdp_cmd("Page.navigate", {"url": "about:blank"})
            time.sleep(2)
            self.server.notify("ann", title=left)
            self.shown("One", "Two") if left == "Two" else self.shown("One", "Two", "Three")

    def test_what_is_not_counted_is_not_shown_and_many_at_once_are_one(self):
        self.server.call("PUT", "/v1/users/ann/mutes/threads/quiet")
        self.grant()
        self.pages(1)
        self.leave()
        self.server.notify("ann", title="Muted", thread="quiet")
        self.server.notify("ann", title="Silent", silent=True)
        self.never("shown")
        self.fill(12)
        self.shown("12%20new")
        self.server.notify("ann", title="Next")
        self.shown("12%20new", "Next")

    def test_a_bell_that_is_mounted_again_goes_on_and_takes_away_what_was_another_persons(self):
        self.grant()
        self.pages(1)
        self.leave()
        self.server.notify("ann", title="One")
        self.shown("One")
        self.browser.switch(self.first)
        self.browser.run(f"const bell = {BELL}; const {{ parentNode }} = bell; bell.remove(); parentNode.append(bell)")
        self.wait_for(lambda: self.told("closed") == ["One"], "it is taken away")
        self.browser.wait(f"{BELL}.client?.tray")
        self.tabs.append(self.browser.new_tab())
        time.sleep(1)
        self.server.notify("ann", title="Two")
        self.shown("One", "Two")

    def test_what_is_seen_on_another_device_is_taken_away(self):
        self.grant()
        self.pages(1)
        self.leave()
        self.server.notify("ann", title="News")
        self.shown("News")
        self.server.post("/v1/users/ann/seen", {"upTo": self.server.get("/v1/users/ann/tray").json["newest"]})
        self.wait_for(lambda: self.told("closed") == ["News"], "it is taken away")

    def test_a_click_opens_the_item_or_the_list(self):
        self.grant()
        self.pages(1)
        self.leave()
        self.server.notify("ann", title="Order", data={"url": "/order"})
        self.shown("Order")
        self.server.notify("ann", title="Plain")
        self.shown("Order", "Plain")
        self.browser.switch(self.first)
        self.browser.run("window.opened = []; addEventListener('traylog-open', (event) => { opened.push(event.detail.title); event.preventDefault() })")
        self.browser.run("shown[0].onclick()")
        self.browser.wait("opened.join() === 'Order'")
        self.wait_for(lambda: self.unread() == 1, "it is read")
        self.browser.run("shown[1].onclick()")
        self.browser.wait(f"{ROOT}.querySelector('.panel').matches(':popover-open')")

    def test_a_page_in_the_background_keeps_its_stream_only_where_it_shows_them(self):
        # Five minutes that are short.
        self.before("const wait = window.setTimeout; window.setTimeout = (work, time, ...more) => wait(work, time === 300_000 ? 100 : time, ...more);")
        self.grant()
        self.pages(1)
        self.leave()
        time.sleep(2)
        self.server.notify("ann", title="News")
        self.shown("News")
        self.browser.switch(self.first)
        self.browser.run(f"{BELL}.removeAttribute('system-notifications')")
        self.fill(1)
        self.browser.wait(f"{BELL}.client.background === false")

    def test_where_locks_are_refused_the_page_shows_them_all_the_same(self):
        self.before("Object.defineProperty(Navigator.prototype, 'locks', { value: { request() { throw new DOMException('blocked', 'SecurityError') } } });")
        self.grant()
        self.pages(1)
        self.leave()
        self.server.notify("ann", title="News")
        self.shown("News")


class PermissionTest(SystemCase):
    TURN_ON = f"[...{ROOT}.querySelectorAll('[part=turn-on]')].find((one) => one.checkVisibility())"

    def open(self):
        self.show(attributes=SYSTEM)
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('[part=state]')")

    def test_permission_is_asked_for_on_a_click_and_at_no_other_time(self):
        self.answer("default", "granted")
        self.open()
        self.assertTrue(self.browser.wait(self.TURN_ON))
        self.never("asked", 2)
        self.browser.run(f"{self.TURN_ON}.click()")
        self.wait_for(lambda: "/told/asked" in self.app.visited, "it is asked for")
        self.browser.wait(f"!{self.TURN_ON}")
        self.assertTrue(self.browser.wait(f"{ROOT}.activeElement"))
        self.leave()
        self.server.notify("ann", title="News")
        self.shown("News")

    def test_a_refusal_is_respected(self):
        for first, then in (("denied", "denied"), ("default", "denied"), ("default", "default")):
            with self.subTest(f"{first}, then {then}"):
                self.app.visited.clear()
                self.answer(first, then)
                self.open()
                self.part("[part=settings]").click()
                self.browser.wait(f"{ROOT}.querySelectorAll('[part=setting]').length === 2")
                if first == "default":
                    self.browser.run(f"{self.TURN_ON}.click()")
                    self.wait_for(lambda: self.app.visited.count("/told/asked") == 1, "it is asked for")
                if then == "denied":
                    self.browser.wait(f"{ROOT}.querySelector('div[part=settings]').innerText.includes('Blocked. Allow them')")
                self.browser.run(f"{ROOT}.querySelector('div[part=settings] .turns').click()")
                # Opened again, it does not ask again.
                self.browser.run(f"{BELL}.close(); {BELL}.open()")
                time.sleep(0.5)
                self.assertFalse(self.browser.run(f"return !!{self.TURN_ON}"))
                self.leave()
                self.server.notify("ann", title="News")
                self.never("shown", 2)
                self.assertLessEqual(self.app.visited.count("/told/asked"), 1)
                self.server.post("/v1/users/ann/marks/all", {"as": "deleted"})
                self.browser.switch(self.first)

    def test_not_now_is_an_answer_for_the_page(self):
        self.answer("default", "granted")
        self.open()
        self.browser.wait(self.TURN_ON)
        self.browser.run(f"{ROOT}.querySelector('[part=system] .icon').click(); {BELL}.close(); {BELL}.open()")
        self.never("asked", 1)
        self.assertFalse(self.browser.run(f"return !!{self.TURN_ON}"))

    def test_a_page_without_the_attribute_loads_nothing_of_it_and_sets_no_badge(self):
        self.grant()
        before = len(self.browser.requests())
        for attributes in ("page-title", 'page-title system-notifications="false"'):
            self.pages(1, attributes)
            self.open_panel()
            self.part("[part=settings]").click()
            self.browser.wait(f"{ROOT}.querySelectorAll('[part=setting]').length === 1")
            self.browser.run(f"{BELL}.close()")
            self.server.notify("ann", title="News")
            self.browser.wait("document.title === '(1) Shop'")
        self.assertEqual([one for one in self.browser.requests()[before:] if "system.js" in one], [])
        self.assertEqual(self.told("shown") + self.told("badge"), [])

    def test_where_the_browser_has_none_nothing_is_offered(self):
        self.before("delete window.Notification;")
        self.open()
        self.part("[part=settings]").click()
        self.browser.wait(f"{ROOT}.querySelectorAll('[part=setting]').length === 1")
        self.assertEqual(self.severe(), [])


class MotionTest(PageCase):
    def test_the_number_and_the_dots_arrive_with_a_motion_that_the_system_can_turn_off(self):
        self.addCleanup(lambda: self.browser.scheme("light"))
        for motion in ("no-preference", "reduce"):
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": motion}]})
            self.server.notify("ann", title="News")
            self.show()
            self.badge("1")
            self.browser.run(f"window.moved = []; {ROOT}.addEventListener('animationend', ({{ target }}) => moved.push(target.part.value))")
            # The number moves with each one that comes.
            for number in ("2", "3"):
                self.server.notify("ann", title="News")
                self.badge(number)
                time.sleep(0.7)
            self.open_panel()
            self.browser.wait(f"{ROOT}.querySelector('.dot')")
            time.sleep(0.7)
            # The dots of what was there stand still.
            self.server.notify("ann", title="More")
            self.browser.wait(f"{ROOT}.querySelector('[part=title]').textContent === 'More'")
            time.sleep(0.7)
            self.badge("")
            moved = self.browser.run("return moved")
            self.assertEqual((moved[:2], moved.count("dot")), ([], 0) if motion == "reduce" else (["badge"] * 2, 1), motion)
            # An open panel would see what comes next.
            self.browser.run(f"{BELL}.close()")


if __name__ == "__main__":
    unittest.main()
