"""The bell in pages, browsers and sessions of all kinds: what they may be must not keep the number and the items from showing."""

import json
import re
import time
import unittest

import test_bell
from accessible import axe, axe_findings
from browsed import Browser
from test_bell import ROOT

BELL = "document.querySelector('traylog-bell')"
# What frameworks, operating systems and translators write, and the language that the bell's times have then.
TAGS = {
    "en_US": "now", "pt_BR": "agora", "zh_Hans_CN": "现在", "de_DE@euro": "jetzt", "de_AT.UTF-8": "jetzt", "de-DE-1996": "jetzt",
    "DE": "jetzt", "sr@latin": "now", "C": "now", "POSIX": "now", "x-klingon": "now", "i-klingon": "now", "english": "now", "": "now",
    "en-x-mtfrom-de": "now", "de-": "now", "*": "now", "zh-CN, en": "现在", "a" * 300: "now",
}
# Newer than the browsers that the guide names, or missing from some of them.
NEWER = [
    "URL.parse", "Promise.try", "AbortSignal.any", "Set.prototype.union", "Iterator", "Intl.DurationFormat", "RegExp.escape",
    "Error.isError", "Uint8Array.fromBase64", "Element.prototype.moveBefore", "Math.sumPrecise", "Array.fromAsync",
    "ShadowRoot.prototype.getSelection", "Selection.prototype.getComposedRanges", "navigation", "scheduler", "cookieStore",
    "ReadableStream.prototype[Symbol.asyncIterator]", "Element.prototype.setHTMLUnsafe", "Element.prototype.ariaNotify",
    "HTMLButtonElement.prototype.command", "Document.prototype.startViewTransition", "Promise.withResolvers", "Object.groupBy",
    "Map.groupBy", "URL.canParse", "navigator.setAppBadge", "Temporal", "BroadcastChannel.prototype.constructor",
]
SIGN_IN = "<!doctype html><title>Sign in</title><form></form>"


class PageCase(test_bell.BellCase):
    """A bell whose page, browser and session a test chooses."""

    def before(self, script):
        """Runs a script in each page that is opened from now on, before the page's own."""
        forget = self.browser.before(script)
        self.addCleanup(forget)
        return forget

    def severe(self):
        """What the console said since it was asked last."""
        return self.browser.severe()

    def said(self):
        """What a person can read or hear: the button's label, and the open panel."""
        return self.browser.run(f"return {ROOT}.querySelector('.bell').ariaLabel + ' ' + {ROOT}.querySelector('.panel').innerText")

    def says(self, words, seconds=15):
        self.wait_for(lambda: re.search(words, self.said(), re.I), f"the bell says {words}: {self.said()}", seconds)

    def count(self, items):
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === {items}")

    def is_read(self):
        self.wait_for(lambda: self.unread() == 0, "the item is read")


class LanguageTest(PageCase):
    def test_every_tag_that_a_page_may_have_shows_the_items_in_its_language_or_in_english(self):
        self.fill(3)
        self.show(lang="pt_BR")
        self.open_panel()
        for tag, now in TAGS.items():
            # As a translator changes it while the panel is open.
            self.browser.run("document.documentElement.lang = arguments[0]", tag)
            try:
                self.browser.wait(f"[...{ROOT}.querySelectorAll('article time')].map((one) => one.textContent).join() === arguments[0]", ",".join([now] * 3), seconds=10)
            except AssertionError:
                self.fail(f"{tag!r}: {self.browser.run(f'return {ROOT}.querySelector(`.body`).innerText')}")
        self.fill(1)
        self.count(4)
        for tag in ("x-klingon", "pt_BR", ""):
            self.show(lang=tag, attributes='lang="sr@latin"')
            self.open_panel()
            self.count(4)
        self.assertEqual(self.severe(), [])


class BlockedTest(PageCase):
    def test_the_number_shows_where_locks_and_channels_refuse_or_are_missing(self):
        refuse = "() => { throw new DOMException('blocked', 'SecurityError') }"
        reject = "async () => { throw new DOMException('blocked', 'SecurityError') }"
        locks = "Object.defineProperty(Navigator.prototype, 'locks', { value: %s });"
        for number, script in enumerate((
            locks % f"{{ request: {reject} }}", locks % f"{{ request: {refuse} }}", locks % "undefined",
            f"window.BroadcastChannel = function () {{ ({refuse})() }};",
            locks % f"{{ request: {reject} }}" + f"window.BroadcastChannel = function () {{ ({refuse})() }};"
            + "".join(f"Object.defineProperty(window, '{name}', {{ get: {refuse} }});" for name in ("localStorage", "sessionStorage", "indexedDB")),
        ), 1):
            with self.subTest(script):
                forget = self.before(script)
                self.fill(1)
                self.show()
                self.badge(str(number), seconds=10)
                self.assertEqual(self.severe(), [])
                forget()

    def test_the_number_shows_in_a_browser_that_blocks_all_site_data(self):
        self.fill(2)
        with Browser(preferences={"profile.default_content_setting_values.cookies": 2}) as self.browser:
            self.addCleanup(lambda: setattr(self, "browser", type(self).browser))
            self.show()
            self.badge("2", seconds=10)
            self.fill(1)
            self.badge("3", seconds=10)
            self.browser.open("about:blank")
        del self.browser


class LifeTest(PageCase):
    def streams(self):
        return int(re.search(r"^traylog_live_streams (\d+)", self.server.get("/metrics").body.decode(), re.M)[1])

    def freeze(self, is_frozen):
        state = "frozen" if is_frozen else "active"
        self.browser.driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": state})

    def two_tabs(self):
        """The first has the stream, the second is in front."""
        self.fill(1)
        first = self.browser.tab()
        self.show()
        self.badge("1")
        second = self.browser.new_tab()
        self.show()
        self.badge("1")

        def close():
            self.browser.switch(second)
            self.browser.close_tab()
            self.browser.switch(first)

        self.addCleanup(close)
        return first, second

    def test_a_frozen_tab_gives_its_stream_to_the_one_in_front_and_comes_back(self):
        first, second = self.two_tabs()
        self.browser.switch(first)
        self.freeze(True)
        self.browser.switch(second)
        self.fill(1)
        self.badge("2", seconds=3)
        self.browser.switch(first)
        self.freeze(False)
        self.badge("2", seconds=10)
        self.wait_for(lambda: self.streams() == 1, "there is one stream")

    def test_a_tab_that_stops_without_a_word_is_replaced_within_seconds(self):
        self.before("addEventListener('freeze', (event) => event.stopImmediatePropagation(), true);")
        first, second = self.two_tabs()
        self.browser.switch(first)
        self.freeze(True)
        self.browser.switch(second)
        self.fill(1)
        self.badge("2", seconds=12)
        self.browser.switch(first)
        self.freeze(False)
        self.badge("2", seconds=10)
        self.fill(1)
        self.badge("3", seconds=10)
        self.wait_for(lambda: self.streams() == 1, "there is one stream")

    def test_a_page_that_is_left_ends_its_stream_and_one_that_is_restored_goes_on(self):
        self.fill(1)
        self.show()
        self.badge("1")
        self.browser.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        self.wait_for(lambda: self.streams() == 0, "the stream ends")
        self.fill(1)
        self.browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        self.badge("2")
        self.browser.open(self.app.page("/elsewhere"))
        self.wait_for(lambda: self.streams() == 0, "the stream ends")
        self.browser.driver.back()
        self.badge("2")


class PeopleTest(PageCase):
    def test_eight_people_in_one_browser_all_have_their_numbers_and_their_lists(self):
        """A browser opens six connections to a server, and a stream keeps one."""
        people = [f"u{number}" for number in range(8)]
        for number, name in enumerate(people, 1):
            self.server.perform(*({"kind": "notify", "user": name, "title": name} for _ in range(number)))
        bell = '<traylog-bell server="{}" user="{}" token-url="/token?user={}"></traylog-bell>'
        self.show(after="".join(bell.format(self.app.url_of_server, name, name) for name in people))
        numbers = "[...document.querySelectorAll('traylog-bell')].slice(1).map((one) => one.shadowRoot.querySelector('.badge').textContent).join()"
        self.browser.wait(f"{numbers} === '1,2,3,4,5,6,7,8'", seconds=15)
        last = "[...document.querySelectorAll('traylog-bell')].at(-1)"
        self.browser.run(f"{last}.open()")
        self.browser.wait(f"{last}.shadowRoot.querySelectorAll('article').length === 8", seconds=10)
        for name in people:
            self.server.notify(name, title="more")
        # What comes into the open list is seen.
        self.browser.wait(f"{numbers} === '2,3,4,5,6,7,8,'", seconds=15)
        self.browser.wait(f"{last}.shadowRoot.querySelectorAll('article').length === 9", seconds=10)

    def test_another_person_sees_nothing_of_the_one_before(self):
        self.fill(3)
        self.server.notify("bob", title="For Bob")
        self.show(tokens="/token?user=ann")
        self.open_panel()
        self.count(3)
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
        self.part("[part=mark-all]").click()
        self.browser.wait(f"{ROOT}.querySelector('[part=undo]')?.checkVisibility()")
        left = self.browser.run(f"""
            const bell = {BELL};
            bell.setAttribute("token-url", "/token?user=bob");
            bell.setAttribute("user", "bob");
            const {{ shadowRoot: root }} = bell;
            return [root.querySelectorAll("article").length, root.querySelector(".badge").textContent, root.querySelector(".toast").checkVisibility()]""")
        self.assertEqual(left, [0, "", False])
        self.browser.wait(f"{ROOT}.querySelector('[part=title]')?.textContent === 'For Bob'")
        self.assertEqual(len(self.articles()), 1)
        self.assertEqual(self.unread(), 0)

    def test_a_bell_without_a_user_follows_its_session_to_another_person(self):
        self.app.seconds = 3
        self.fill(3)
        self.server.notify("bob", title="For Bob")
        self.show(user="")
        self.badge("3")
        self.app.user, self.app.seconds = "bob", 600
        # The stream goes on with the token that it began with, and ends with it.
        self.badge("1", seconds=20)
        self.open_panel()
        self.count(1)
        self.assertEqual(self.articles(), ["For Bob"])


class LinkTest(PageCase):
    def mouse(self, *steps, button="left", modifiers=0):
        for kind, x, y in steps:
            self.browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": x, "y": y, "button": button, "buttons": 4 if button == "middle" else 1, "modifiers": modifiers, "clickCount": 1})

    def box(self, selector):
        return self.browser.run(
            f"const {{ x, y, width, height }} = {ROOT}.querySelector(arguments[0]).getBoundingClientRect(); return [x, y, width, height]", selector)

    def item(self, **content):
        self.server.notify("ann", title="Build failed", body="error 4711 in module seventeen", **content)
        self.show(attributes='link-origins="https://ok.example"')
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('article')")
        self.browser.run("window.opens = 0; addEventListener('traylog-open', () => opens++)")

    def test_selecting_words_leaves_the_item_closed_and_unread(self):
        for selector in ("[part=body]", "[part=title]"):
            self.item(data={"url": "/order"})
            x, y, _, height = self.box(selector)
            y += height / 2
            self.mouse(("mousePressed", x + 2, y), *(("mouseMoved", x + 2 + 20 * step, y) for step in range(1, 4)), ("mouseReleased", x + 62, y))
            time.sleep(0.5)
            self.assertIn("/page", self.browser.run("return location.pathname"), selector)
            self.assertEqual(self.browser.run("return opens"), 0)
            self.assertEqual(self.unread(), 1)
            selected = self.browser.run(f"return String(({ROOT}.getSelection?.() ?? document.getSelection()))")
            self.assertGreater(len(selected), 2, f"nothing of {selector} is selected")
            # A click that stays where it is opens the item.
            self.mouse(("mousePressed", x + 8, y), ("mouseReleased", x + 8, y))
            self.browser.wait("location.pathname === '/order'")
            self.is_read()

    def test_items_with_a_link_open_in_another_tab_as_links_do(self):
        for selector, button, modifiers in (("[part=title]", "left", 2), ("[part=title]", "middle", 0), ("[part=body]", "left", 2), ("[part=body]", "middle", 0)):
            with self.subTest(f"{button} click on {selector}"):
                self.app.visited.clear()
                self.item(data={"url": "/order"})
                tabs = set(self.browser.driver.window_handles)
                x, y, _, height = self.box(selector)
                self.mouse(("mousePressed", x + 20, y + height / 2), ("mouseReleased", x + 20, y + height / 2), button=button, modifiers=modifiers)
                self.wait_for(lambda: "/order" in self.app.visited, "the link is open")
                self.is_read()
                self.assertIn("/page", self.browser.run("return location.pathname"))
                self.assertEqual(self.browser.run("return opens"), 0)
                here = self.browser.tab()
                for tab in set(self.browser.driver.window_handles) - tabs:
                    self.browser.switch(tab)
                    self.assertIsNone(self.browser.run("return opener"))
                    self.browser.close_tab()
                self.browser.switch(here)

    def test_a_middle_click_on_an_item_without_a_link_does_nothing(self):
        self.item(data={"url": "javascript:alert(1)"})
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelectorAll('article a').length"), 0)
        x, y, width, height = self.box("article")
        self.mouse(("mousePressed", x + width / 2, y + height / 2), ("mouseReleased", x + width / 2, y + height / 2), button="middle")
        time.sleep(0.3)
        self.assertEqual((self.unread(), self.browser.run("return opens"), len(self.browser.driver.window_handles)), (1, 0, 1))

    def test_a_link_is_a_real_one_and_its_item_keeps_the_focus(self):
        self.item(data={"url": "https://ok.example/a?b#c"})
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelector('article a').href"), "https://ok.example/a?b#c")
        self.browser.run("addEventListener('traylog-open', (event) => event.preventDefault())")
        self.part("article a").click()
        self.is_read()
        self.browser.wait(f"!{ROOT}.querySelector('article').classList.contains('unread')")
        self.assertTrue(self.browser.run(f"return {ROOT}.querySelector('article').contains({ROOT}.activeElement)"))
        self.assertEqual(self.browser.run("return opens"), 1)
        self.assertEqual(self.severe(), [])

    def test_the_bell_works_without_what_is_newer_than_the_browsers_that_it_names(self):
        self.before("for (const path of %s) try { const at = path.match(/^(.*?)(?:\\.(\\w+)|\\[(.*)\\])$/);"
                    " const [owner, name] = at ? [eval(at[1]), at[2] ?? eval(at[3])] : [window, path]; delete owner[name] } catch {}" % json.dumps(NEWER))
        self.item(data={"url": "/order"})
        self.assertEqual(self.browser.run("return [typeof URL.parse, typeof AbortSignal.any, typeof Iterator, typeof Promise.withResolvers]"), ["undefined"] * 4)
        self.part("[part=mark-all]").click()
        self.browser.wait(f"{ROOT}.querySelector('[part=undo]')?.checkVisibility()")
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        self.browser.wait(f"{ROOT}.querySelector('article.unread')")
        self.browser.run(f"{ROOT}.querySelector('article').click()")
        self.browser.wait("location.pathname === '/order'")
        self.assertEqual(self.severe(), [])


class ClockTest(PageCase):
    def test_what_has_arrived_is_never_ahead_and_as_old_as_it_is(self):
        self.server.notify("ann", title="Meeting", occurredAt="2040-01-01T00:00:00Z")
        self.fill(2)
        for seconds in (-26 * 3600, -300, -40, 0, 300, 26 * 3600):
            with self.subTest(f"a clock that is {seconds} s ahead"):
                forget = self.before(f"const Own = Date; const now = Own.now; Date = class extends Own {{ constructor(...given) {{ super(...(given.length ? given : [now() + {seconds * 1000}])) }}"
                                     f" static now() {{ return now() + {seconds * 1000} }} }};")
                self.show()
                self.open_panel()
                self.count(3)
                times = f"[...{ROOT}.querySelectorAll('article time')].map((one) => one.textContent)"
                self.browser.wait(f"{times}.every((one) => /^(now|[12]m ago)$/.test(one)) || 0")
                # An hour from now is one for the server, too.
                self.browser.run(f"{ROOT}.querySelector('[part=quiet]').click()")
                self.browser.wait(f"{ROOT}.querySelector('[role=menuitem]')")
                self.browser.run(f"{ROOT}.querySelector('[role=menuitem]').click()")
                self.wait_for(lambda: self.server.get("/v1/users/ann/mutes").json["mutes"], "it is quiet")
                (mute,) = self.server.get("/v1/users/ann/mutes").json["mutes"]
                until = self.browser.run("return Date.parse(arguments[0]) - arguments[1]", mute["until"], time.time() * 1000)
                self.assertAlmostEqual(until / 1000, 3600, delta=30)
                self.browser.run(f"return {BELL}.client.unmute({{ all: true }})")
                forget()


class SessionTest(PageCase):
    ENDED = {
        "a way to the page to sign in at": (302, "text/html", "", "/sign-in"),
        "a way to another origin": (302, "text/html", "", "http://localhost:1/sign-in"),
        "a page": (200, "text/html", SIGN_IN, None),
        "an answer without a token": (200, "application/json", '{"error":"none"}', None),
        "an empty token": (200, "application/json", '{"token":""}', None),
        "null": (200, "application/json", "null", None),
        "401": (401, "text/plain", "", None),
        "403": (403, "application/json", "{}", None),
        "404": (404, "text/html", SIGN_IN, None),
    }

    def test_a_session_that_has_ended_says_so_and_is_asked_rarely(self):
        for what, self.app.session in self.ENDED.items():
            with self.subTest(what):
                self.app.asked = 0
                self.show()
                self.open_panel()
                self.says("sign in again", 5)
                self.assertNotRegex(self.said().lower(), "offline")
                self.assertLessEqual(self.app.asked, 3)
        time.sleep(8)
        self.assertLessEqual(self.app.asked, 6)
        # Signed in again, in another tab.
        self.app.session = None
        self.fill(2)
        self.browser.run("dispatchEvent(new Event('pageshow'))")
        self.browser.wait(f"{BELL}.client.tray?.unread === 2", seconds=5)

    def test_a_session_that_ends_while_the_page_is_open_says_so(self):
        self.app.seconds = 3
        self.fill(1)
        self.show()
        self.badge("1")
        self.app.session = (302, "text/html", "", "/sign-in")
        self.open_panel()
        self.says("sign in again", 20)

    def test_an_app_that_fails_is_no_session_that_ended(self):
        for status in (500, 503, 429):
            self.app.session = (status, "text/plain", "", None)
            self.show()
            self.open_panel()
            self.says("offline", 5)
        self.app.session = None
        self.fill(1)
        self.browser.wait(f"{BELL}.client.tray?.unread === 1", seconds=15)

    def test_a_token_that_is_one_redirect_away_is_taken(self):
        self.fill(1)
        self.app.session = (302, "text/html", "", "/token-2")
        self.app.pages["/token-2"] = json.dumps({"token": self.app.token(), "expires": "2030-01-01T00:00:00.000Z"})
        self.show()
        self.badge("1")


class TitleTest(PageCase):
    def title(self, text, seconds=5):
        self.browser.wait("document.title === arguments[0]", text, seconds=seconds)

    def test_a_router_that_sets_the_title_leaves_the_number(self):
        self.fill(2)
        self.show(attributes="page-title")
        self.title("(2) Shop")
        for change, title in (
            ("document.title = 'Cart'", "Cart"), ("document.querySelector('title').firstChild.data = 'Pay'", "Pay"),
            ("document.querySelector('title').replaceWith(Object.assign(document.createElement('title'), { textContent: 'Done' }))", "Done"),
            # A router that goes back to the title that it noted.
            ("document.title = '(2) Cart'", "Cart"), ("document.title = '(7) days'", "(7) days"),
        ):
            self.browser.run(change)
            self.title(f"(2) {title}")
        self.fill(1)
        self.title("(3) (7) days")
        self.browser.run("document.title = '(2) Cart'")
        self.title("(3) Cart")
        self.browser.run(f"{BELL}.remove()")
        self.title("Cart")

    def test_several_bells_show_one_number(self):
        self.fill(1)
        self.server.perform(*({"kind": "notify", "user": "bob", "title": "x"} for _ in range(2)))
        bell = '<traylog-bell page-title server="{}" user="{}" token-url="/token?user={}"></traylog-bell>'
        self.show(attributes="page-title", after="".join(bell.format(self.app.url_of_server, name, name) for name in ("ann", "bob")))
        self.title("(3) Shop")
        self.browser.run(f"{BELL}.remove()")
        time.sleep(0.3)
        self.title("(3) Shop")
        self.browser.run(f"{BELL}.remove()")
        self.title("(2) Shop")


class AddressTest(PageCase):
    def test_a_server_under_the_pages_own_origin_is_found(self):
        self.fill(1)
        for address in ("/", "/trays", "./", "?a=1", "#x"):
            with self.subTest(address):
                self.app.visited.clear()
                self.show(server=address)
                # The app's own server answers with a page: no tray, and the bell says so.
                self.open_panel()
                self.says("offline|failed")
                path = "/trays/v1/users/ann/live" if address == "/trays" else "/v1/users/ann/live" if address in ("/", "./") else "/page/v1/users/ann/live"
                self.assertIn(path, self.app.visited)
        self.show(server=self.app.url_of_server.removeprefix("http:"))
        self.badge("1")
        self.show(server=f" {self.app.url_of_server}/?a=1#b ")
        self.badge("1")

    def test_an_address_that_is_none_is_named(self):
        self.severe()
        for address in ("//", "http://", "ftp://trays.example.org", "javascript:alert(1)", "localhost:8080", "https://ann:secret@trays.example.org", "http://[", ""):
            with self.subTest(address):
                self.show(server=address)
                self.says("not set up: server is")
                self.open_panel()
                self.says(re.escape(f'server="{address}"'))
        self.show(tokens="http://[")
        self.says("not set up: token-url is")
        self.show(tokens="")
        self.open_panel()
        self.says("not set up: token-url is")
        self.assertEqual(self.severe(), [])
        self.fill(1)
        self.browser.run(f"{BELL}.setAttribute('token-url', '/token')")
        self.browser.wait(f"{ROOT}.querySelectorAll('article').length === 1")
        self.assertNotIn("Not set up", self.said())


class ModuleTest(PageCase):
    def ask(self, path, method="GET", **headers):
        return self.server.call(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}, who=None)

    def test_a_module_may_be_asked_for_with_a_query_of_the_pages_own(self):
        plain = self.ask("/bell/v1/bell.js")
        for query in ("?v=3", "?", "?v=3&v=4", "?%zz", "?=", "?category=a%0ab"):
            answer = self.ask(f"/bell/v1/bell.js{query}")
            self.assertEqual((answer.status, answer.body, answer.headers["ETag"]), (200, plain.body, plain.headers["ETag"]), query)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
        self.assertEqual(self.ask("/bell/v1/bell.js?v=3", If_None_Match=plain.headers["ETag"]).status, 304)
        # Only modules do not look at it.
        self.assertEqual(self.server.get("/v1/users/ann/tray?v=3").status, 400)
        self.assertEqual(self.ask("/openapi.json?v=3").status, 400)

    def test_pages_may_read_what_is_wrong_with_an_address(self):
        for path, status in (("/bell/v1/none.js", 404), ("/bell/v2/bell.js", 404), ("/bell/v1/%zz", 400), ("/bell/%ff/bell.js", 400), ("/bell/v1/bell.js/", 404)):
            answer = self.ask(path, Origin="https://anybody.example")
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (status, "*"), path)
        self.assertEqual(self.ask("/bell/v1/bell.js", "POST").headers["Access-Control-Allow-Origin"], "*")
        for path in ("/v1/users/%zz/tray", "/v1/users/a%/tray", "/v1/users/%ff/tray", "/v1/%zz", "/v1/users/ann/tray?a=%zz", "/v1/users/ann/%c3%28"):
            answer = self.server.get(path, headers={"Origin": self.app.url})
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (400, self.app.url), path)
            self.assertIsNone(self.server.get(path, headers={"Origin": "https://other.example"}).headers["Access-Control-Allow-Origin"])
        for path in ("/v1/admin/%zz", "/%zz", "/metrics/%zz", "/console/%zz"):
            self.assertIsNone(self.server.get(path, headers={"Origin": self.app.url}).headers["Access-Control-Allow-Origin"], path)


@unittest.skipIf(axe() is None, "needs the Python package axe-core-python")
class LandmarkTest(PageCase):
    def test_axe_finds_nothing_in_a_page_with_landmarks_of_its_own_and_no_style_is_an_attribute(self):
        self.fill(3, data={"url": "/order"}, level="critical")
        self.show(before='<header><a href="/">Shop</a></header><nav aria-label="Shop"><a href="/cart">Cart</a></nav>', after="</main><footer>Imprint</footer><main hidden>")
        styled = f"[...{ROOT}.querySelectorAll('[style]')].map((one) => one.outerHTML.slice(0, 80))"
        for state, script in (
            ("closed", ""), ("open", f"{BELL}.open()"), ("menu", f"{ROOT}.querySelector('.dots').click()"),
            ("quiet", f"{ROOT}.querySelector('.menu').hidePopover(); {ROOT}.querySelector('[part=quiet]').click()"),
        ):
            self.browser.run(script)
            if state == "open":
                self.count(3)
            self.assertEqual(axe_findings(self.browser), [], state)
            self.assertEqual(self.browser.run(f"return {styled}"), [], state)
        panel, bell = (self.browser.run(f"const {{ right, top, bottom }} = {ROOT}.querySelector('{name}').getBoundingClientRect(); return [right, top, bottom]") for name in (".panel", ".bell"))
        self.assertGreaterEqual(panel[1], bell[2])


if __name__ == "__main__":
    unittest.main()
