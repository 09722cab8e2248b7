"""The bell as people see it: items, states, languages and settings. `TRAYLOG_PICTURES` names a directory for pictures of all of it."""

import json
import os
import re
import time
import unittest

from accessible import axe, axe_findings
from browsed import pictures
from test_bell import FOLDER, ROOT
from test_bell_pages import BELL, PageCase

LANGUAGES = sorted(path.stem for path in (FOLDER / "Languages").glob("*.js"))
FACE = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 36" width="36" height="36"><rect width="36" height="36" fill="#cfe3d6"/><path d="M9 18C8 6 28 6 27 18l2 9H7z" fill="#4a3226"/>'
        '<ellipse cx="18" cy="17" rx="6.500" ry="7.500" fill="#e2b08a"/><path d="M11 14c3 0 6-2 7-4 1 2 4 4 7 4-1-9-13-9-14 0" fill="#4a3226"/><path d="M5 36c1-8 7-10 13-10s12 2 13 10" fill="#2f6f57"/></svg>')


def english():
    """The bell's own texts, by their names."""
    code = (FOLDER / "bell.js").read_text()
    return set(re.findall(r'(?:^\t|[,{] )(\w+): (?=["{])', re.search(r"const ENGLISH = \{(.*?)^\};", code, re.M | re.S)[1], re.M)) - {"one", "other"}


QUESTION = {"actions": [{"id": "y", "label": "Approve"}, {"id": "n", "label": "Reject"}]}


class LooksCase(PageCase):
    def setUp(self):
        super().setUp()
        self.app.pages["/face.svg"] = FACE
        self.app.types = {"/face.svg": "image/svg+xml"}

        self.addCleanup(lambda: self.browser.size(1440))

    def open(self, items, **fields):
        self.show(**fields)
        self.open_panel()
        self.count(items)

    def style(self, selector, name):
        return self.browser.run(f"return getComputedStyle({ROOT}.querySelector(arguments[0]))[arguments[1]]", selector, name)

    def box(self, selector):
        return self.browser.run(
            f"const {{ x, y, width, height }} = {ROOT}.querySelector(arguments[0]).getBoundingClientRect(); return [x, y, width, height]", selector)

    def texts(self, selector):
        return self.browser.run(f"return [...{ROOT}.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).map((one) => one.textContent)", selector)

    def picture(self, name):
        if pictures():
            time.sleep(0.3)
            self.browser.picture(os.path.join(pictures(), f"bell-{name}.png"))


class ItemTest(LooksCase):
    def test_an_item_shows_its_sender_by_name_or_actor_and_never_by_a_number(self):
        for content in ({"data": {"name": "Maria Lopez"}, "actor": "u-17"}, {"actor": "Bob"}, {"actor": "8c9b2f0a-77d1-4a0e-9b3c-1f2e3d4c5b6a"}, {"actor": "4711"},
                        {"actor": "田中.花子"}, {"actor": "أحمد.حسن"}, {"actor": "٤٧١١"}, {"actor": "—"}, {"data": {"name": 7}}, {"data": "name"}, {"data": {"name": "  "}}, {"data": [1]}, {}):
            self.server.notify("ann", title="x", **content)
        self.open(13)
        self.assertEqual(self.texts("[part=sender]"), ["أحمد.حسن", "田中.花子", "Bob", "Maria Lopez"])
        self.assertEqual(self.browser.run(f"return [...{ROOT}.querySelectorAll('[part=avatar]')].slice(-2).map((one) => one.textContent)"), ["B", "ML"])
        self.assertEqual(self.severe(), [])

    def test_an_icon_covers_no_initial(self):
        self.server.notify("ann", title="x", data={"name": "Maria Meyer", "icon": "mention"})
        self.open(1)
        apart = self.browser.run(f"""const face = {ROOT}.querySelector('.face');
            const range = document.createRange(); range.selectNodeContents(face.firstChild);
            const letters = range.getBoundingClientRect(), chip = face.querySelector('.chip').getBoundingClientRect();
            // The letters have no descent, and the icon is round.
            const [x, y] = [(chip.left + chip.right) / 2 - letters.right, (chip.top + chip.bottom) / 2 - (letters.bottom - letters.height / 4)];
            return Math.hypot(x, y) - chip.width / 2""")
        self.assertGreaterEqual(apart, 0)

    def test_pictures_come_from_https_or_the_pages_own_origin_and_else_the_initials_show(self):
        images = ["/face.svg", "https://pictures.example/a.png", "http://pictures.example/a.png", "//pictures.example/a.png", "data:image/png;base64,AA==",
                  "javascript:alert(1)", 7, None, "/\\evil", "blob:x"]
        for image in images:
            self.server.notify("ann", title="x", data={"name": "Maria Lopez", "image": image})
        self.app.policy = "; img-src 'self'"
        self.open(len(images))
        # Pictures are loaded when they come into view.
        self.browser.run(f"{ROOT}.querySelector('article:last-child').scrollIntoView()")
        found = self.browser.wait(f"[...{ROOT}.querySelectorAll('img')].some((one) => one.complete && one.naturalWidth)"
                                  f" && [...{ROOT}.querySelectorAll('article')].map((one) => one.querySelector('img')?.getAttribute('src') ?? one.querySelector('[part=avatar]').textContent)")
        self.assertEqual(found[0:8], ["ML"] * 8)
        self.assertEqual(found[9], f"{self.app.url}/face.svg")
        # The policy forbids this one.
        self.browser.wait(f"{ROOT}.querySelectorAll('article')[8].querySelector('[part=avatar]').textContent === 'ML'")
        self.assertEqual([entry for entry in self.severe() if "pictures.example" not in entry], [])

    def test_a_sign_is_one_of_the_bells_or_an_emoji(self):
        for icon in ("build", "🚀", "nonsense", "toString", "<b>", "A" * 99, 7):
            self.server.notify("ann", title="x", data={"icon": icon})
        self.open(7)
        path = lambda at: f"{ROOT}.querySelectorAll('article')[{at}].querySelector('[part=avatar] path')?.getAttribute('d')"  # noqa: E731
        self.browser.wait(f"{path(6)} && {path(6)} !== {path(0)}")
        self.assertEqual(self.texts("[part=avatar]")[5], "🚀")
        for at in (1, 2, 3, 4):
            self.browser.wait(f"{path(at)} === {path(0)}")
        self.assertEqual(self.severe(), [])

    def test_a_long_title_has_one_line_and_a_long_body_two_until_the_item_is_opened(self):
        self.server.notify("ann", title="A long title " * 20, body="and a long body " * 100)
        self.server.notify("ann", title="Short")
        self.open(2)
        line = self.box("article:first-child [part=title]")[3]
        self.assertLess(self.box("article:last-child [part=title]")[3], line * 1.5)
        self.assertLess(self.box("article:last-child [part=body]")[3], line * 2.6)
        self.browser.run(f"{ROOT}.querySelector('article:last-child').click()")
        self.assertGreater(self.box("article:last-child [part=title]")[3], line * 3)
        self.assertGreater(self.box("article:last-child [part=body]")[3], line * 8)
        self.browser.run(f"{ROOT}.querySelector('article:last-child').click()")
        self.assertLess(self.box("article:last-child [part=title]")[3], line * 1.5)

    def test_a_question_shows_all_that_is_decided_and_a_very_long_one_offers_the_rest(self):
        title = "Approve the refund of 312.40 € for order 5001, which arrived damaged, to the card that ends in 4242?"
        body = "The customer wrote on Tuesday.\nThe parcel was opened, two of three lamps are broken.\nThe shop in Kassel checked it."
        self.server.notify("ann", title="A long question " * 40, body="and a long reason " * 400, data={"url": "/orders"}, **QUESTION)
        seq = self.server.notify("ann", title=title, body=body, **QUESTION).json["seq"]
        self.server.notify("ann", title=title, body=body * 4)
        cut = lambda at: self.browser.run(  # noqa: E731
            f"return [...{ROOT}.querySelectorAll('article')[arguments[0]].querySelectorAll('[part=title], [part=body]')].map((one) => one.scrollHeight > one.clientHeight + 1)", at)
        shown = f"[...{ROOT}.querySelectorAll('[part=show-all]')].map((one) => one.checkVisibility())"
        for width in (390, 1280):
            self.browser.size(width)
            self.open(3)
            self.browser.wait(f"{shown}.join() === 'false,true'")
            line = self.box("article:first-child [part=title]")[3]
            self.assertEqual([cut(0)[1], *cut(1), *cut(2)], [True, False, False, True, True], width)
            for part in ("title", "body"):
                self.assertLess(self.box(f"article:last-child [part={part}]")[3], line * 10)
            # It leads elsewhere, so that a click on it would not show the rest.
            self.browser.run(f"{ROOT}.querySelector('article:last-child [part=show-all]').click()")
            self.browser.wait(f"{shown}.join() === 'false,false'")
            self.assertEqual(cut(2), [False, False])
            self.assertGreater(self.box("article:last-child [part=body]")[3], line * 50)
            self.assertTrue(self.browser.run(f"return {ROOT}.querySelector('article:last-child').classList.contains('unread')"))
        # What is answered is an item as any other.
        self.browser.run(f"{ROOT}.querySelectorAll('article')[1].querySelector('[part~=action]').click()")
        self.browser.wait(f"{ROOT}.querySelector('[part=outcome]')")
        self.assertLess(self.box("article:nth-child(2) [part=title]")[3], line * 1.5)
        self.wait_for(lambda: "outcome" in self.server.get(f"/v1/users/ann/items/{seq}").json, "it is answered")
        self.assertEqual(self.severe(), [])

    def test_what_has_no_title_begins_with_the_first_line_of_its_body(self):
        self.server.notify("ann", body="First\nSecond\nThird")
        self.server.notify("ann")
        self.open(2)
        self.assertEqual(self.texts("[part=title]"), ["Notifications", "First"])
        self.assertEqual(self.texts("[part=body]"), ["Second\nThird"])

    def test_days_have_headings_and_the_times_below_them_are_of_the_clock(self):
        now = time.time()
        at = lambda days: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - days * 86_400))  # noqa: E731
        for days in (800, 30, 30, 1, 0):
            self.server.notify("ann", title=f"{days} days", occurredAt=at(days))
        self.server.notify("ann", title="5 minutes", occurredAt=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 310)))
        self.open(6)
        days = self.texts("[part=day]")
        self.assertEqual(days[0].lower(), "today")
        self.assertEqual(days[1].lower(), "yesterday")
        self.assertEqual(len(days), 4, days)
        self.assertRegex(days[3], r"20\d\d")
        times = self.texts("article time")
        self.assertEqual(times[:2], ["5m ago", "now"])
        for one in times[2:]:
            self.assertRegex(one, r"^\d\d?:\d\d")

    def test_an_item_that_woke_leaves_the_headings_in_order(self):
        old = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5 * 86_400))
        seq = self.server.notify("ann", title="Old", occurredAt=old).json["seq"]
        self.fill(2)
        self.server.call("PUT", f"/v1/users/ann/items/{seq}/snooze", {"until": "2030-01-01T00:00:00Z"})
        self.server.call("DELETE", f"/v1/users/ann/items/{seq}/snooze")
        self.open(3)
        self.assertEqual(self.articles()[0], "Old")
        self.assertEqual([one.lower() for one in self.texts("[part=day]")], ["today"])

    def test_levels_differ_by_word_sign_and_colour_and_one_action_is_the_primary_one(self):
        for level in ("passive", "active", "timeSensitive", "critical"):
            self.server.notify("ann", title=level, level=level, actions=[{"id": "y", "label": "Approve"}, {"id": "n", "label": "Reject"}])
        self.open(4)
        self.assertEqual(self.texts("[part=level]"), ["Critical", "Urgent"])
        signs = self.browser.run(f"return [...{ROOT}.querySelectorAll('[part=level] path')].map((one) => one.getAttribute('d'))")
        self.assertEqual(len(set(signs)), 2)
        self.assertNotEqual(self.style(".critical [part=level]", "backgroundColor"), self.style(".timeSensitive [part=level]", "backgroundColor"))
        self.assertEqual(len(self.texts("[part~=primary]")), 4)
        self.assertNotEqual(self.style(".act.primary", "backgroundColor"), self.style(".act:not(.primary)", "backgroundColor"))

    def test_an_answer_names_the_state_that_it_is_to_and_an_item_that_changed_is_answered_again(self):
        seq = self.server.notify("ann", title="Pay 10", actions=[{"id": "y", "label": "Approve"}]).json["seq"]
        # A service that compares: it refuses what was said to an older text, once.
        self.before("""
            window.isChanged = true;
            const real = window.fetch;
            window.fetch = (...call) => String(call[0]).endsWith("/action") && isChanged && !(isChanged = false)
                ? Promise.resolve(new Response('{"error":"changedSince","detail":"It was edited."}', { status: 422 })) : real(...call);""")
        self.open(1)
        self.browser.run(f"window.asOfs = []; const {{ client }} = {BELL}; const {{ act }} = client;"
                         "client.act = (...given) => (asOfs.push(given[3]), act.apply(client, given))")
        shown = self.server.get("/v1/users/ann/inbox").json["asOf"]
        self.server.call("PATCH", f"/v1/users/ann/items/{seq}", {"title": "Pay 1,000"})
        self.browser.run(f"{ROOT}.querySelector('[part~=action]').click()")
        self.browser.wait(f"{ROOT}.querySelector('[part=changed]')?.textContent === 'Changed'")
        self.browser.wait(f"{ROOT}.querySelector('[part=title]').textContent === 'Pay 1,000'")
        self.assertIn("answer again", self.part("[part=toast]").text)
        # The title may be newer than the page; then the answer is refused once more.
        self.browser.wait(f"{ROOT}.querySelector('[part=outcome]') || {ROOT}.querySelector('[part~=action]')?.click()")
        self.browser.wait(f"{ROOT}.querySelector('[part=outcome]') && !{ROOT}.querySelector('[part=changed]')")
        first, *_, second = self.browser.run("return asOfs")
        self.assertGreaterEqual(first, shown)
        self.assertGreater(second, shown)

    def test_the_panel_takes_the_pages_font_and_its_light_or_dark(self):
        self.fill(1)
        self.show()
        self.browser.run("""
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("body { font-family: Courier; text-transform: uppercase; color: #eee; background: #222 } traylog-bell { --tl-accent: rgb(1, 2, 3); --tl-radius: 3px }");
            document.adoptedStyleSheets = [sheet];""")
        self.open_panel()
        self.count(1)
        self.assertEqual(self.style("[part=title]", "fontFamily"), "Courier")
        self.assertEqual(self.style("[part=title]", "textTransform"), "none")
        self.assertEqual(self.style(".panel", "borderTopLeftRadius"), "3px")
        self.assertEqual(self.style("[part=mark-all]", "color"), "rgb(1, 2, 3)")
        dark = self.style(".panel", "backgroundColor")
        self.assertLess(sum(map(int, re.findall(r"\d+", dark)[:3])), 200)
        for theme, is_dark in (("light", False), ("dark", True)):
            self.browser.run(f"{BELL}.setAttribute('theme', '{theme}')")
            self.assertEqual(self.style(".panel", "backgroundColor") == dark, is_dark, theme)
        self.browser.run(f"document.adoptedStyleSheets = []; {BELL}.removeAttribute('theme'); {BELL}.close()")
        self.open_panel()
        self.assertNotEqual(self.style(".panel", "backgroundColor"), dark)


class StateTest(LooksCase):
    def label(self):
        return self.browser.run(f"return {ROOT}.querySelector('.bell').ariaLabel")

    def sign(self):
        """What the closed bell shows beside its number."""
        return self.browser.run(f"const one = {ROOT}.querySelector('[part=sign]'); return one.checkVisibility() && one.querySelector('path').getAttribute('d')")

    def test_the_closed_bell_tells_nothing_new_from_not_knowing(self):
        self.show()
        self.browser.wait(f"{BELL}.client.tray")
        signs = [self.sign()]
        self.assertFalse(signs[0])
        self.assertRegex(self.label(), "nothing new$")
        self.app.session = (401, "text/plain", "", None)
        self.show()
        self.browser.wait(f"{ROOT}.querySelector('[part=sign]').checkVisibility()")
        self.assertRegex(self.label(), "signed out$")
        signs.append(self.sign())
        self.app.session = None
        self.show(tokens="/token?user=bob")
        self.browser.wait(f"{ROOT}.querySelector('[part=sign]').checkVisibility()")
        self.assertRegex(self.label(), "no access$")
        signs.append(self.sign())
        self.app.session = (503, "text/plain", "", None)
        self.show()
        self.browser.wait(f"{ROOT}.querySelector('[part=sign]').checkVisibility()")
        self.assertRegex(self.label(), "offline$")
        signs.append(self.sign())
        self.assertEqual(len(set(signs)), 4)

    def test_a_bell_that_lost_its_server_keeps_its_number_and_says_so(self):
        self.fill(3)
        self.show()
        self.badge("3")
        self.browser.run("dispatchEvent(new Event('offline'))")
        self.browser.run("const real = fetch; window.fetch = () => Promise.reject(new TypeError())")
        self.browser.run("dispatchEvent(new Event('offline'))")
        self.browser.wait(f"{ROOT}.querySelector('[part=sign]').checkVisibility()")
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelector('.badge').textContent"), "3")
        self.assertEqual(re.findall(r"\d+", self.label()), ["3"])
        self.assertRegex(self.label(), "offline")

    def test_each_state_is_drawn_with_a_sign_and_what_to_do(self):
        def drawn(words, *, button=None):
            self.says(words)
            self.browser.wait(f"{ROOT}.querySelector('[part=state] svg')?.checkVisibility()")
            self.assertEqual(self.texts("[part=state] button"), [button] if button else [])

        self.show()
        self.open_panel()
        drawn("Nothing here yet")
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[1].click()")
        drawn("Everything is read")
        self.part("[part=search]").send_keys("zzz")
        drawn("Nothing found for “zzz”")
        self.app.session = (401, "text/plain", "", None)
        self.show()
        self.open_panel()
        drawn("sign in again", button="Sign in")
        self.app.session = None
        self.show(tokens="/token?user=bob")
        self.open_panel()
        drawn("no access", button="Try again")
        self.app.session = (503, "text/plain", "", None)
        self.show()
        self.open_panel()
        drawn("cannot be reached", button="Try again")

    def test_being_signed_out_is_an_event_once_and_another_when_somebody_asks_to_sign_in(self):
        self.app.session = (302, "text/html", "", "/sign-in")
        self.before("window.asked = []; addEventListener('traylog-signin', ({ detail, cancelable }) => asked.push([detail.isAsked, cancelable]));")
        self.show()
        self.browser.wait("asked.length")
        self.open_panel()
        time.sleep(4)
        self.assertEqual(self.browser.run("return asked"), [[False, True]])
        self.browser.wait(f"{ROOT}.querySelector('[part=sign-in]')")
        self.app.session = None
        self.fill(1)
        self.part("[part=sign-in]").click()
        self.count(1)
        self.assertEqual(self.browser.run("return asked"), [[False, True], [True, True]])
        self.assertFalse(self.sign())

    def test_a_bell_in_quiet_times_is_crossed(self):
        self.show()
        self.browser.wait(f"{BELL}.client.tray")
        path = f"{ROOT}.querySelector('.bell slot path').getAttribute('d')"
        plain = self.browser.run(f"return {path}")
        self.server.call("PUT", "/v1/users/ann/mutes/all")
        self.show()
        self.browser.wait(f"{path} !== arguments[0]", plain)
        self.browser.wait(f"{ROOT}.querySelector('.bell').ariaLabel.includes('do not disturb')")


class MarkAllTest(LooksCase):
    def mark_all(self, n):
        self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility() && {ROOT}.querySelector('[part=mark-all]').textContent === 'Mark all as read ({n})'")
        self.browser.run(f"{ROOT}.querySelector('[part=mark-all]').click()")

    def left(self):
        return [item["title"] for item in self.server.get("/v1/users/ann/inbox?unread=true&limit=100").json["items"]]

    def test_it_marks_what_the_view_shows_and_says_how_many(self):
        for number in range(3):
            self.server.notify("ann", title=f"Build {number}", category="build")
            self.server.notify("ann", title=f"Deploy {number}", category="deploy")
            self.server.notify("ann", title=f"Other {number}")
        self.open(9, attributes='tabs="Builds:build,deploy"')
        # A tab of two categories, taken back as one.
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[3].click()")
        self.mark_all(6)
        self.wait_for(lambda: self.left() == ["Other 2", "Other 1", "Other 0"], "the tab's are read")
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        self.wait_for(lambda: len(self.left()) == 9, "all are unread again")
        # A search.
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[0].click()")
        self.part("[part=search]").send_keys("1")
        self.mark_all(3)
        self.wait_for(lambda: self.left() == ["Other 2", "Deploy 2", "Build 2", "Other 0", "Deploy 0", "Build 0"], "those found are read")
        self.browser.wait(f"!{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
        self.browser.run(f"{ROOT}.querySelector('[part=undo]').click()")
        self.wait_for(lambda: len(self.left()) == 9, "all are unread again")
        self.mark_all(3)

    def test_a_search_of_more_items_than_a_page_marks_all_that_it_finds(self):
        self.fill(120)
        self.server.notify("ann", title="Another")
        self.show()
        self.open_panel()
        self.part("[part=search]").send_keys("item")
        self.mark_all(120)
        self.wait_for(lambda: self.left() == ["Another"], "those found are read")

    def test_a_thread_and_the_archive_are_marked_by_themselves(self):
        self.fill(3, thread="t")
        self.fill(2)
        seq = self.server.notify("ann", title="Archived").json["seq"]
        self.server.post("/v1/users/ann/marks", {"as": "archived", "items": [seq]})
        self.open(3, attributes="group")
        self.browser.run(f"{ROOT}.querySelector('article .more').click()")
        self.count(3)
        self.mark_all(3)
        self.wait_for(lambda: self.unread() == 2, "the thread is read")
        self.browser.run(f"{ROOT}.querySelectorAll('[role=tab]')[2].click()")
        self.mark_all(1)
        self.wait_for(lambda: self.server.get(f"/v1/users/ann/items/{seq}").json["read"], "the archived one is read")
        self.assertEqual(self.unread(), 2)


class LanguagesTest(LooksCase):
    def test_each_language_has_every_text_with_its_placeholders_and_plural_forms(self):
        names = english()
        self.assertGreater(len(names), 50)
        self.assertEqual(len(LANGUAGES), 8)
        self.fill(1)
        self.show()
        code = "const { default: texts } = await import(arguments[0]); return texts"
        own = self.browser.run(f"const {{ strings }} = {BELL}; return strings")
        holes = lambda text: sorted(re.findall(r"\{\w+\}", text))  # noqa: E731
        for language in LANGUAGES:
            texts = self.browser.run(f"return (async () => {{ {code} }})()".replace("arguments[0]", json.dumps(f"{self.app.url_of_server}/bell/v1/{language}.js")))
            self.assertEqual(set(texts), names, language)
            forms = self.browser.run("return new Intl.PluralRules(arguments[0]).resolvedOptions().pluralCategories", language)
            for name, text in texts.items():
                first = own[name] if isinstance(own[name], str) else own[name]["other"]
                if isinstance(text, dict):
                    self.assertIn("other", text)
                    self.assertLessEqual(set(text), set(forms), (language, name))
                    if len(text) < len(forms):
                        self.assertEqual(set(text), {"one", "other"}, (language, name))
                self.assertEqual(holes(text if isinstance(text, str) else text["other"]), holes(first), (language, name))

    def test_a_page_in_each_language_is_whole_in_it(self):
        self.server.notify("ann", title="Build", level="critical")
        self.server.notify("ann", title="Deploy", level="timeSensitive", actions=[{"id": "y", "label": "Yes"}])
        for language in LANGUAGES:
            with self.subTest(language):
                self.open(2, lang=language, dir="rtl" if language == "ar" else "ltr")
                texts = self.browser.run(f"return {BELL}.strings")
                said = self.said()
                for name in ("title", "inbox", "unread", "archived", "end", "critical", "timeSensitive"):
                    self.assertIn(texts[name], said, name)
                self.assertNotRegex(said, "Inbox|Archived|That is all|Mark all|Critical|Today|now\\b")
                self.browser.wait(f"{ROOT}.querySelector('[part=mark-all]').checkVisibility()")
                self.assertIn("2", self.texts("[part=mark-all]")[0])
                self.assertEqual(self.browser.run(f"const {{ lang, dir }} = {ROOT}.querySelector('.panel'); return [lang, dir]"), [language, "rtl" if language == "ar" else "ltr"])
                self.picture(f"language-{language}")
        self.assertEqual(self.severe(), [])

    def test_a_language_that_is_not_there_is_english_wholly_also_in_its_times_and_direction(self):
        self.fill(1)
        for tag, direction in (("he", "rtl"), ("sv", "ltr"), ("zh-Hant-TW", "ltr")):
            self.open(1, lang=tag, dir=direction)
            self.assertEqual(self.texts("article time"), ["now"])
            self.assertEqual(self.texts("[part=day]")[0].lower(), "today")
            self.assertEqual(self.browser.run(f"const {{ lang, dir }} = {ROOT}.querySelector('.panel'); return [lang, dir]"), ["en", "ltr"])

    def test_an_app_brings_a_language_of_its_own(self):
        self.fill(1)
        self.show(lang="he", dir="rtl")
        self.browser.run(f"{BELL}.strings = {{ lang: 'he', title: 'התראות', inbox: 'דואר נכנס' }}")
        self.open_panel()
        self.count(1)
        self.assertEqual(self.texts("[role=tab]")[0], "דואר נכנס")
        self.assertEqual(self.texts("article time"), ["עכשיו"])
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelector('.panel').dir"), "rtl")
        # One that is no tag changes nothing but the texts.
        self.browser.run(f"{BELL}.strings = {{ lang: '_', inbox: 'Mine' }}")
        self.assertEqual(self.texts("[role=tab]")[0], "Mine")

    def test_a_language_whose_file_does_not_come_is_english(self):
        self.fill(1)
        self.browser.driver.execute_cdp_cmd("Network.enable", {})
        self.browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/ja.js"]})
        self.addCleanup(lambda: self.browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []}))
        self.open(1, lang="ja")
        self.assertEqual(self.texts("[role=tab]")[0], "Inbox")
        self.assertEqual(self.texts("article time"), ["now"])


class SettingsTest(LooksCase):
    def settings(self):
        self.part("[part=settings]").click()
        self.browser.wait(f"{ROOT}.querySelector('[role=switch]')")

    def switch(self, label):
        return f"[...{ROOT}.querySelectorAll('[role=switch]')].find((one) => one.ariaLabel === {json.dumps(label)})"

    def mutes(self):
        return self.server.get("/v1/users/ann/mutes").json["mutes"]

    def test_what_is_muted_is_listed_by_what_it_is_about_and_can_be_ended(self):
        self.server.notify("ann", title="Order 4711", thread="order-4711")
        for path in ("threads/order-4711", "threads/empty", "categories/build", "categories/news", "topics/releases"):
            self.server.call("PUT", f"/v1/users/ann/mutes/{path}")
        self.server.call("PUT", "/v1/users/ann/mutes/categories/deploy", {"until": "2030-01-01T00:00:00Z"})
        self.open(1, attributes='categories="Builds:build,deploy;Mentions:mention"')
        self.settings()
        self.browser.wait(f"{ROOT}.querySelectorAll('[part=unmute]').length === 4")
        text = self.browser.run(f"return {ROOT}.querySelector('div[part=settings]').innerText")
        for word in ("Order 4711", "empty", "news", "releases", "Builds", "Mentions"):
            self.assertIn(word, text)
        for label, state in (("Do not disturb", "false"), ("Builds", "false"), ("Mentions", "true")):
            self.assertEqual(self.browser.run(f"return {self.switch(label)}.ariaChecked"), state, label)
        for left in (3, 2, 1, 0):
            self.browser.run(f"{ROOT}.querySelector('[part=unmute]').click()")
            self.browser.wait(f"{ROOT}.querySelectorAll('[part=unmute]').length === {left}")
        self.browser.run(f"{self.switch('Builds')}.click()")
        self.browser.wait(f"{self.switch('Builds')}.ariaChecked === 'true'")
        self.assertEqual(self.mutes(), [])
        self.browser.run(f"{self.switch('Mentions')}.click()")
        self.browser.wait(f"{self.switch('Mentions')}.ariaChecked === 'false'")
        self.assertEqual([mute["category"] for mute in self.mutes()], ["mention"])
        self.browser.run(f"{self.switch('Do not disturb')}.click()")
        self.browser.wait(f"{self.switch('Do not disturb')}.ariaChecked === 'true'")
        self.picture("settings")
        # Back to the list, where the bell is crossed.
        self.browser.run(f"{ROOT}.querySelector('div[part=settings] .turns').click()")
        self.browser.wait(f"{ROOT}.querySelector('article').checkVisibility() && {ROOT}.querySelector('[part=quiet]').ariaPressed === 'true'")
        self.assertEqual(self.severe(), [])

    def test_without_mutes_and_categories_it_says_so_and_works_by_keyboard(self):
        self.show()
        self.open_panel()
        self.part("[part=settings]").send_keys("\ue007")
        self.browser.wait(f"{ROOT}.querySelector('div[part=settings]').innerText.includes('Nothing is muted.')")
        self.assertEqual(self.browser.run(f"return {ROOT}.activeElement.ariaLabel"), "Back")
        self.press("\ue004", " ")
        self.browser.wait(f"{self.switch('Do not disturb')}.ariaChecked === 'true'")
        self.assertEqual(self.browser.run(f"return {ROOT}.activeElement.role"), "switch")


@unittest.skipIf(axe() is None, "needs the Python package axe-core-python")
class EverybodyTest(LooksCase):
    def test_axe_finds_nothing_in_items_states_and_settings_light_dark_and_from_right_to_left(self):
        self.before("Object.defineProperty(Notification, 'permission', { get: () => 'default' });")
        self.addCleanup(lambda: setattr(self.app, "session", None))
        for level in ("passive", "active", "timeSensitive", "critical"):
            for name in ("Maria Lopez", "Bob", "Carla C", "Dora Diaz", None):
                self.server.notify("ann", title=f"{level} {name}", body="Body", level=level, data={"name": name, "icon": "build", "url": "/x"}, actions=[{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}])
        self.server.call("PUT", "/v1/users/ann/mutes/threads/t")
        for scheme, lang in (("light", "en"), ("dark", "ar")):
            with self.subTest(scheme):
                self.app.session = None
                self.open(20, lang=lang, dir="rtl" if lang == "ar" else "ltr", attributes=f'theme="{scheme}" tabs="Builds:build" system-notifications')
                self.browser.wait(f"{ROOT}.querySelector('[part=system]')?.checkVisibility()")
                self.assertEqual(axe_findings(self.browser), [])
                self.picture(f"system-{scheme}")
                self.browser.run(f"{ROOT}.querySelector('[part=settings]').click()")
                self.browser.wait(f"{ROOT}.querySelector('[part=unmute]')")
                self.assertEqual(axe_findings(self.browser), [])
                self.assertEqual(self.browser.run(f"return [...{ROOT}.querySelectorAll('[style]')].length"), 0)
                self.app.session = (401, "text/plain", "", None)
                self.show(lang=lang, attributes=f'theme="{scheme}"')
                self.open_panel()
                self.browser.wait(f"{ROOT}.querySelector('[part=state]')")
                self.assertEqual(axe_findings(self.browser), [])

    def test_in_forced_colours_the_selected_tab_is_the_one_that_is_marked(self):
        self.addCleanup(lambda: self.browser.scheme("light"))
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "forced-colors", "value": "active"}]})
        self.fill(1, actions=[{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}])
        self.open(1)
        lines = self.browser.run(f"return [...{ROOT}.querySelectorAll('[role=tab]')].map((one) => [getComputedStyle(one).borderBottomWidth, getComputedStyle(one, '::after').borderBottomWidth])")
        self.assertEqual(lines, [["0px", "3px"], ["0px", "auto"], ["0px", "auto"]] if lines[1][1] == "auto" else [["0px", "3px"], ["0px", "0px"], ["0px", "0px"]])
        self.assertNotEqual(self.style(".act.primary", "backgroundColor"), self.style(".act:not(.primary)", "backgroundColor"))
        self.picture("forced-colours")

    def test_it_fits_a_window_at_twice_the_size(self):
        self.server.notify("ann", title="w" * 300, body="b" * 900, data={"name": "n" * 90})
        for width in (320, 640):
            self.browser.size(width, 450)
            self.open(1)
            self.assertEqual(self.browser.run(f"const {{ scrollWidth, clientWidth }} = {ROOT}.querySelector('.panel'); return [scrollWidth <= clientWidth, document.documentElement.scrollWidth <= innerWidth]"), [True, True])
            self.assertGreater(self.box("article")[3], 40)
            self.picture(f"zoom-{width}")


class PicturesTest(LooksCase):
    """Pictures for people to judge; without `TRAYLOG_PICTURES` it checks that all of them can be drawn."""

    def test_a_full_inbox_is_drawn_at_each_width_and_scheme(self):
        maria = {"name": "Maria Lopez", "image": "/face.svg", "icon": "mention", "url": "/orders"}
        for content in (
            {"title": "Welcome to the shop", "body": "Here you see what happens to your orders."},
            {"title": "Build 39 failed", "body": "error 4711 in module seventeen", "data": {"icon": "build"}},
            {"title": "Maria mentioned you", "body": "@ann could you look at the numbers of October?", "data": maria},
            {"title": "Approve the refund of 312.40 € for order 5001, which arrived damaged?", "level": "timeSensitive", "data": {"name": "Bob Ross"},
             "body": "Two of the three lamps are broken. The shop in Kassel has seen them, and sends no others before March.", **QUESTION},
            {"title": "The database is down", "body": "All writes are refused.", "level": "critical", "data": {"name": "Watchdog"}},
            {"title": "A long title " * 18, "body": "A long body " * 40},
        ):
            self.server.notify("ann", **content)
        self.app.policy = "; img-src 'self'"
        for width, scheme in ((390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")):
            self.browser.size(width)
            self.open(6, attributes=f'theme="{scheme}" tabs="Builds:build"')
            self.picture(f"full-{width}-{scheme}")
        self.assertEqual(self.severe(), [])

    def test_the_guides_pictures_are_drawn(self):
        """`Docs/guides/bell` has them: a shop's page with its own font, in which the bell stands in the header."""
        now = time.time()
        ago = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - seconds))  # noqa: E731
        contents = (
            (200_000, {"title": "Welcome to the shop", "body": "Here you see what happens to your orders."}),
            (95_000, {"title": "Invoice 2026-1107 was paid", "data": {"icon": "payment"}}),
            (90_000, {"title": "Parcel 17 is on its way", "body": "It arrives tomorrow between 9 and 12.", "data": {"icon": "truck", "url": "/orders"}}),
            (7_400, {"title": "Maria answered your question", "body": "The blue one is in stock again, shall I put one aside for you?",
                     "data": {"name": "Maria Lopez", "image": "/face.svg", "icon": "comment", "url": "/orders"}}),
            (1_300, {"title": "Approve the purchase of 3 monitors", "body": "EUR 1,290.00, by Friday", "level": "timeSensitive", "data": {"name": "Bob Ross"},
                     "actions": [{"id": "y", "label": "Approve"}, {"id": "n", "label": "Reject"}]}),
            (240, {"title": "The card of the account was refused", "body": "Orders wait until there is another one.", "level": "critical", "data": {"icon": "payment", "url": "/orders"}}),
        )
        for seconds, content in contents:
            self.server.notify("ann", occurredAt=ago(seconds), **content)
        # Three in the afternoon, four just after midnight.
        days = len({time.strftime("%F", time.localtime(now - seconds)) for seconds, _ in contents})
        seqs = [item["seq"] for item in self.server.get("/v1/users/ann/inbox").json["items"]]
        self.server.post("/v1/users/ann/marks", {"as": "read", "items": seqs[3:]})
        self.app.policy = "; img-src 'self'; style-src 'unsafe-inline'"
        self.addCleanup(lambda: self.browser.scheme("light"))
        look = ("<style>:root { color-scheme: light dark } body { margin: 0; font: 16px/1.5 Inter, 'Noto Sans', 'Noto Sans Arabic', sans-serif }"
                " header { padding: 14px 24px; border-bottom: 1px solid #8885; font-weight: 600 } main { padding: 8px 24px }"
                " traylog-bell { position: absolute; top: 6px; inset-inline-end: 16px }</style><header>Acme</header>")
        for name, width, height, scheme, lang in (("inbox", 760, 720, "light", "en"), ("phone", 390, 720, "light", "en"), ("dark", 560, 720, "dark", "en"), ("rtl", 560, 720, "light", "ar")):
            self.browser.size(width, height)
            self.browser.scheme(scheme)
            self.open(6, before=look, lang=lang, dir="rtl" if lang == "ar" else "ltr", attributes='tabs="Orders:order"' if lang == "en" else "")
            # As with the mouse, which leaves no ring.
            self.browser.run(f"{ROOT}.activeElement.blur()")
            self.assertEqual(len(self.texts("[part=day]")), days)
            self.picture(f"guide-{name}")
        self.assertEqual(self.severe(), [])

    def test_any_number_of_items_is_drawn(self):
        for count in (0, 1, 3, 120, *((12_000,) if pictures() else ())):
            user = f"u{count}"
            for start in range(0, count, 500):
                self.server.perform(*({"kind": "notify", "user": user, "title": f"Item {n}", "actor": "Maria"} for n in range(start, min(start + 500, count))))
            self.app.user = user
            self.show()
            self.badge("" if not count else "999+" if count > 999 else str(count))
            self.picture(f"closed-{count}")
            self.open_panel()
            self.browser.wait(f"{ROOT}.querySelector(arguments[0])", "article" if count else "[part=state]")
            self.picture(f"items-{count}")


if __name__ == "__main__":
    unittest.main()
