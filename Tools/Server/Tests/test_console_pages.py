"""The console in a browser: every page in light and dark, on a phone and a wide screen; moments, timelines, keyboards."""

import html
import os
import re
import time
import unittest
from urllib.parse import unquote

from accessible import RULES
from browsed import BrowserCase, Keys, pictures
from consoled import HOSTILE, Visitor, console_server, flip, text_of

EVENTS = 1_800


def told(number):
    """Commands that make one tray worth looking at."""
    titles = ["Build 1841 failed on main", "Ada asked for a review", "The deploy to eu-west is done", "Lunch at twelve?",
              "The disk of db-3 is at 91 %", "Mia mentioned you in #release"]
    commands = [{"kind": "subscribe", "user": "ann", "topic": "releases"}]
    for index in range(number):
        if index % 9 == 4:
            commands.append({"kind": "seeTray", "user": "ann", "device": "phone"})
        elif index % 25 == 13:
            commands.append({"kind": "markAll", "user": "ann", "as": "read", "thread": "build", "device": "laptop"})
        elif index % 31 == 17:
            commands.append({"kind": "broadcast", "topic": "releases", "title": f"Version 4.{index} is out", "actor": "ci"})
        elif index % 7 == 6:
            commands.append({"kind": "notify", "user": f"user {index % 40}", "title": titles[index % 6]})
        else:
            commands.append({
                "kind": "notify", "user": "ann", "title": titles[index % 6], "thread": ["build", "review", "ops"][index % 3],
                "category": ["ci", "people"][index % 2], "actor": ["bob", "cleo"][index % 2],
                "level": "critical" if index % 40 == 0 else "active", "occurredAt": "2026-11-21T08:00:00Z",
                **({"body": "The job ended with status 1 after 12 minutes."} if index % 4 == 0 else {})})
    return commands


class PageCase(BrowserCase):
    events = EVENTS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = console_server()
        cls.addClassCleanup(cls.server.__exit__)
        commands = told(cls.events)
        for start in range(0, len(commands), 1_000):
            cls.server.perform(*commands[start:start + 1_000])
        marks = [event for event in cls.server.get("/v1/users/ann/history?limit=10000").lines
                 if event["kind"] == "allMarked"]
        cls.voided = marks[-1]["seq"]
        cls.server.post("/v1/users/ann/undo", {"event": cls.voided, "actor": "support"})
        for name in list(HOSTILE.values()):
            cls.server.notify(name[:250], title=name, body=name, thread=name[:250], actor=name[:250])
            cls.server.notify("hostile", title=name, body=name, thread=name[:250], category=name[:250], actor=name[:250])
        cls.browser.sign_in(cls.server.url, cls.server.keys["operator"])

    def open(self, path):
        self.browser.open(f"{self.server.url}/console{path}")

    def tearDown(self):
        origin = self.server.url + "/"
        outside = [address for address in self.browser.requests() if not address.startswith((origin, "data:", "blob:"))]
        self.assertEqual(outside, [], "a request left the origin")
        self.assertEqual(self.browser.messages(), [], "the console of the browser reports something")


class LookTests(PageCase):
    pages = {
        "sign-in": None, "overview": "", "users": "/users?sort=unread", "tray": "/users/ann", "past": "/users/ann?asOf=400",
        "hostile": "/users/hostile", "timeline": "/users/ann/timeline", "hostile-timeline": "/users/hostile/timeline",
        "difference": "/users/ann/difference?from=1700&to=1740", "log": "/log", "event": "/events/3", "tree": "/tree", "search": "/search?q=deploy",
        "operations": "/operations", "findings": "/findings", "planned": "/planned", "looked": "/users/hostile/looked",
        "unmatched": "/users/ann?text=nothing", "missing": "/events/999999", "nobody": "/users/nobody",
    }

    def test_pages_keep_the_rules_in_every_form(self):
        faults = {}
        for width in (390, 1440):
            self.browser.size(width, 844 if width < 600 else 900)
            # With pictures in every form; otherwise each width and each scheme once.
            for scheme in ("light", "dark") if pictures() else ("dark" if width < 600 else "light",):
                self.browser.scheme(scheme)
                for name, path in self.pages.items():
                    if path is None:
                        self.browser.forget()
                        self.open("/sign-in")
                        self.check(f"{name}, {width}, {scheme}", faults)
                        self.browser.sign_in(self.server.url, self.server.keys["operator"])
                        continue
                    self.open(path)
                    if name in ("tray", "past"):
                        self.browser.wait("document.documentElement.dataset.moments !== undefined")
                    self.check(f"{name}, {width}, {scheme}", faults)
        self.assertEqual(faults, {}, "\n".join(sorted({fault for found in faults.values() for fault in found})))

    def check(self, name, faults):
        found = self.browser.run(RULES)
        if found:
            faults[name] = found
        if pictures():
            # The images of the page are there: pictures are compared with the eye, not by the test.
            time.sleep(0.3)
            self.browser.picture(os.path.join(pictures(), name.replace(", ", "-") + ".png"))

    def tearDown(self):
        self.browser.size(1440, 900)
        # Pages that are not there say so in the console, too.
        self.browser.messages()
        self.browser.console = [entry for entry in self.browser.console if "404" not in entry["message"]]
        super().tearDown()

    def test_no_column_of_a_short_table_is_cut(self):
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
        self.server.notify("a-person-with-a-long-name@example.org", title="A reminder of what was agreed", notBefore=later)
        self.assertEqual(Visitor(self.server, "auditor").get("/users/hostile/dossier").status, 200)
        self.server.post("/v1/users/a-person-with-a-long-name@example.org/seen", {"upTo": self.server.get("/v1/users/ann/tray").json["newest"]})
        for width in (390, 721, 768, 1023, 1024, 1280):
            self.browser.size(width, 844)
            for path in ("/users?prefix=person", "/users/hostile/looked", "/planned", "/operations"):
                self.open(path)
                # The longest form of each time.
                self.browser.run("for (const time of document.querySelectorAll('main time')) time.textContent = '2026-11-27 13:02:11'")
                cells = self.browser.run("""const room = document.querySelector('table.stacked')?.closest('.panel').getBoundingClientRect();
                    return [...document.querySelectorAll('table.stacked tbody td')].filter((cell) => cell.textContent.trim())
                    .map((cell) => [cell.textContent, cell.getBoundingClientRect().right <= room.right + 1
                        && (cell.matches('.what') || cell.scrollWidth <= cell.clientWidth + 1)])""")
                if path != "/operations":
                    self.assertGreater(len(cells), 3, (path, width))
                self.assertEqual([text for text, is_whole in cells if not is_whole], [], (path, width))

    def test_no_table_of_events_is_wider_than_its_panel(self):
        for width in (1024, 1259, 1260, 1280):
            self.browser.size(width)
            for path in ("", "/log", "/users/ann/timeline", "/users/hostile/timeline", "/users/ann/difference?from=1700&to=1740"):
                self.open(path)
                self.browser.run("for (const time of document.querySelectorAll('main time')) time.textContent = '2026-11-27 13:02:11'")
                wider = self.browser.run("""return [...document.querySelectorAll('table.rows')]
                    .map((table) => table.getBoundingClientRect().right - table.closest('.panel').getBoundingClientRect().right)""")
                self.assertGreater(len(wider), 0, path)
                self.assertLessEqual(max(wider), 1, (path, width))

    def test_hostile_text_becomes_no_element(self):
        for path in ("", "/users", "/users/hostile", "/users/hostile/timeline", "/users/hostile/difference?from=0", "/log"):
            self.open(path)
            time.sleep(0.2)
            self.assertNotIn("broken", self.browser.driver.title)
            self.assertEqual(self.browser.run(
                "return document.querySelectorAll('main script, main img, main b:not(.num, [data-state-text]), main svg:not([aria-hidden])').length"), 0)
            self.assertEqual(self.browser.run(
                "return [...document.querySelectorAll('*')].filter((e) => e.getAttributeNames().some((n) => n.startsWith('on'))).length"),
                0)
            self.assertIn("<script>document.title='broken'</script>", self.browser.run("return document.body.textContent"))


class UserTests(PageCase):
    def names(self):
        return self.browser.run("return [...document.querySelectorAll('table.users tbody .name')].map((cell) => cell.innerText.trim())")

    def test_users_are_found_by_the_beginning_of_their_names(self):
        self.open("/users")
        self.browser.one("#prefix").send_keys("user 1", Keys.ENTER)
        self.browser.wait("location.search.includes('prefix=user')")
        self.browser.wait("document.querySelector('table.users') !== null && document.readyState === 'complete'")
        self.assertEqual(self.names(), sorted(name for name in (f"user {n}" for n in range(40)) if name.startswith("user 1")))

    def test_the_page_of_an_unknown_user_says_so(self):
        self.open("/users/Ann")
        self.assertIn("There is no user “Ann” in this store", self.browser.text())
        self.open("/users/ann?asOf=1")
        self.assertIn("Nothing in the inbox at this moment", self.browser.text())

    def test_the_head_of_a_column_sorts_users_by_it(self):
        trays = {tray["user"]: tray for tray in self.server.get("/v1/users?limit=100").json["users"]}
        for order in ("unread", "unseen", "total"):
            self.open("/users?prefix=a")
            self.browser.one(f".users th a[href*='sort={order}']").click()
            self.browser.wait("location.search.includes(arguments[0]) && document.querySelector('th[aria-sort=descending]')", f"sort={order}")
            self.assertIn("prefix=a", self.browser.driver.current_url)
            self.open(f"/users?sort={order}")
            figures = [trays[name][order] for name in self.names() if name in trays]
            self.assertEqual(figures[0], max(tray[order] for tray in trays.values()))
            self.assertEqual(figures, sorted(figures, reverse=True))
            self.assertGreater(len(figures), 20)
        self.browser.one(".users th a[href*='sort=name']").click()
        self.browser.wait("document.querySelector('th[aria-sort=ascending]')")
        known = [name for name in self.names() if name in trays]
        self.assertEqual(known, sorted(known))

    def test_letters_lead_to_the_names_that_begin_with_them(self):
        for name in ("Zoë", "zoe", "Ärzte", "\U0010fffd"):
            self.server.notify(name, title="Hello")
        names, after = [], None
        while True:
            page = self.server.get("/v1/users?limit=100" + (f"&cursor={after}" if after else "")).json
            names += [tray["user"] for tray in page["users"]]
            after = page.get("next")
            if after is None:
                break
        page = Visitor(self.server, "viewer").get("/users")
        nav = re.search(r'<nav class="letters".*?</nav>', page.body.decode()).group()
        letters = re.findall(r'<a href="([^"]*)"><bdi>(.*?)</bdi></a>', nav)
        first = list(dict.fromkeys(name[0] for name in sorted(names)))
        self.assertEqual([html.unescape(letter) for _, letter in letters], [letter.replace("\u202e", "[U+202E]") for letter in first])
        for address, letter in letters:
            page = text_of(Visitor(self.server, "viewer").get("/users" + html.unescape(address)))
            expected = min(name for name in names if name[0] == html.unescape(letter).replace("[U+202E]", "\u202e"))
            listed = re.search(r"Last seen\s*(.*)", page).group(1)
            self.assertTrue(listed.startswith(expected[:1].replace("\u202e", "[U+202E]")), (letter, listed[:40]))
        # Names that are looked for have no letters: they may be anywhere.
        self.assertNotIn('class="letters"', Visitor(self.server, "viewer").get("/users?prefix=o").body.decode())


class SearchTests(PageCase):
    def test_one_key_leads_to_users_events_keys_and_words(self):
        self.server.post("/v1/users/Maria.Hernandez@example.com/notifications", {"title": "Your March invoice", "key": "mail-7"})
        self.open("/tree")
        for text, wanted in (("hernandez", "Maria.Hernandez@example.com"), ("HERN", "Maria.Hernandez@example.com"),
                             ("march invoice", "Your March invoice"), ("mail-7", "Your March invoice")):
            self.browser.one("body").send_keys("/")
            self.assertEqual(self.browser.run("return document.activeElement.id"), "find")
            field = self.browser.one("#find")
            field.clear()
            field.send_keys(text, Keys.ENTER)
            self.browser.wait("location.search === arguments[0] && document.readyState === 'complete'",
                              "?q=" + text.replace(" ", "+"))
            self.assertIn(wanted, self.browser.text(), text)
            self.browser.one("h1").click()
        self.browser.one("body").send_keys("/")
        self.browser.one("#find").clear()
        self.browser.one("#find").send_keys("1,700", Keys.ENTER)
        self.browser.wait("location.pathname === '/console/events/1700'")

    def test_a_search_shows_what_the_key_may_see(self):
        viewer = Visitor(self.server, "viewer")
        text = viewer.get("/search?q=user%201").body.decode()
        self.assertIn("/console/users/user%201", text)
        self.assertNotIn("found-title", text)
        self.assertEqual(viewer.get("/search?q=3").status, 200)

    def test_all_pages_of_a_search_for_users_name_each_once(self):
        self.server.perform(*({"kind": "notify", "user": f"name {number:03} Wanted", "title": "x"} for number in range(130)))
        visitor, path, names = Visitor(self.server, "viewer"), "/users?prefix=wAnTeD", []
        while path:
            page = visitor.get(path).body.decode()
            names += re.findall(r"<bdi>(name \d+ Wanted)</bdi>", page)
            more = re.search(r'href="/console(/users\?prefix=[^"]+)">More users', page)
            path = more and more.group(1).replace("&amp;", "&")
        self.assertEqual(names, [f"name {number:03} Wanted" for number in range(130)])

    def test_the_log_and_a_timeline_are_searched_for_words(self):
        self.open("/log?text=DEPLOY")
        rows = self.browser.run("return [...document.querySelectorAll('tr[data-seq] .what')].map((cell) => cell.textContent)")
        self.assertTrue(rows and all("deploy" in row for row in rows), rows)
        self.open("/users/ann/timeline?text=lunch")
        rows = self.browser.run("return [...document.querySelectorAll('tr[data-seq] .what')].map((cell) => cell.textContent)")
        self.assertTrue(rows and all("Lunch" in row for row in rows), rows)


class MomentTests(PageCase):
    def shown(self):
        return self.browser.run("""return [...document.querySelectorAll('.counts dd')].slice(0, 3)
            .map((cell) => Number(cell.textContent.replaceAll(',', '')))""")

    def tray(self, as_of):
        tray = self.server.get(f"/v1/users/ann/tray?asOf={as_of}").json
        return [tray["unseen"], tray["unread"], tray["total"]]

    def test_arrow_keys_step_event_by_event(self):
        self.open("/users/ann")
        self.browser.wait("document.documentElement.dataset.moments !== undefined")
        steps = [line["event"]["seq"] for line in self.server.get("/v1/users/ann/audit").lines[1:]]
        self.assertEqual(self.browser.run("return Number(document.documentElement.dataset.moments)"), len(steps))
        slider = self.browser.one("#slide")
        for back in range(2, 14):
            slider.send_keys(Keys.ARROW_LEFT)
            seq = steps[-back]
            self.browser.wait(f"document.documentElement.dataset.shown === '{seq}'")
            self.assertEqual(self.shown(), self.tray(seq))
        slider.send_keys(Keys.ARROW_RIGHT)
        self.browser.wait(f"document.documentElement.dataset.shown === '{steps[-12]}'")
        slider.send_keys(Keys.HOME)
        self.browser.wait("document.documentElement.dataset.shown === '0'")
        self.assertEqual(self.shown(), [0, 0, 0])
        self.assertIn("Nothing in the inbox", self.browser.text())
        self.assertIn("asOf=0", self.browser.driver.current_url)

    def test_a_number_or_a_time_jumps_there(self):
        self.open("/users/ann")
        self.browser.one("#asOf").send_keys("700", Keys.ENTER)
        self.browser.wait("location.search.includes('asOf=700')")
        self.browser.wait("document.querySelector('[data-now]').textContent.includes('As of event 700')")
        self.assertEqual(self.shown(), self.tray(700))
        at = self.server.get("/v1/users/ann/history?from=900&limit=1").lines[0]["recordedAt"]
        self.browser.one("#asOf").clear()
        self.browser.one("#asOf").send_keys(at, Keys.ENTER)
        self.browser.wait("location.search.includes('asOf=2')")
        self.assertEqual(self.shown(), self.tray(at))
        # The time stays in the field, and in what leads on from here.
        self.assertEqual(self.field("asOf")[0], at)
        self.assertRegex(self.browser.text(), r"As of .+, event \d+")
        for selector, name in (("[data-as-of]", "value"), (".views a", "href"), (".items .open", "href")):
            there = self.browser.run("return document.querySelector(arguments[0])[arguments[1]]", selector, name)
            self.assertIn(at, unquote(there), selector)

    def field(self, name):
        return self.browser.run("""const field = document.querySelector(`[name=${arguments[0]}]`);
            return [field.value, document.querySelector(`#${arguments[0]}-error`)?.textContent ?? '']""", name)

    def test_fields_take_what_pages_and_the_command_line_take(self):
        at = self.server.get("/v1/users/ann/history?from=900&limit=1").lines[0]["recordedAt"]
        shown = self.browser.run("return new Intl.DateTimeFormat('sv', {dateStyle: 'short', timeStyle: 'medium'}).format(new Date(arguments[0]))", at)
        for text in ("1,700", "1 700", "1700", shown, "2h", "yesterday", "today"):
            self.open("/users/ann")
            self.browser.one("#asOf").send_keys(text, Keys.ENTER)
            self.browser.wait("location.search.includes('asOf=')")
            self.browser.wait("document.querySelector('[data-now]')?.textContent.startsWith('As of')")
            self.assertEqual(self.field("asOf")[1], "", text)
        self.assertIn("As of event 1700", self.text_of("/users/ann?asOf=1%2C700"))

    def text_of(self, path):
        self.open(path)
        return self.browser.text()

    def test_errors_stand_beside_their_field_and_keep_what_was_typed(self):
        for path, name, words in (
                ("/users/ann?asOf=soon", "asOf", "Must be an event number, or a time such as"),
                ("/users/ann?asOf=99999999", "asOf", "99999999"),
                ("/users/ann/timeline?since=never&actor=bob", "since", "Must be a time such as"),
                ("/log?until=10%2F11&actor=bob", "until", "Must be a time such as"),
                ("/users/ann/difference?from=abc&to=7", "from", "Must be an event number"),
                ("/users/ann/difference?from=9&to=7", "from", "must not be after"),
                ("/users/ann/difference?from=9&to=then", "to", "Must be an event number")):
            self.open(path)
            value, error = self.field(name)
            self.assertIn(words.lower(), error.lower(), path)
            self.assertTrue(value, path)
            if "actor" in path:
                self.assertEqual(self.browser.run("return document.querySelector('[name=actor]').value"), "bob")
        self.browser.messages()
        self.browser.console = []

    def test_console_pages_update_by_themselves(self):
        self.server.notify("live", title="First")
        self.open("/users/live")
        self.browser.wait("document.querySelector('[data-live]:not([hidden])') !== null")
        self.server.notify("live", title="Second")
        self.browser.wait("document.querySelector('.inbox').textContent.includes('Second')")
        self.open("")
        self.browser.wait("document.querySelector('[data-live]:not([hidden])') !== null")
        self.server.notify("live", title="Third <b>")
        self.browser.wait("document.querySelector('[data-tail] tbody').textContent.includes('Third <b>')")

    def standing(self):
        return self.browser.run("""const shown = (name) => !document.querySelector(`[data-${name}]`).hidden;
            return [shown('past'), shown('live'), shown('present')]""")

    def test_the_past_never_looks_live_and_has_a_way_back(self):
        self.open("/users/ann")
        self.browser.wait("document.documentElement.dataset.moments !== undefined")
        self.browser.wait("!document.querySelector('[data-live]').hidden")
        self.assertEqual(self.standing(), [False, True, False])
        slider = self.browser.one("#slide")
        slider.send_keys(Keys.ARROW_LEFT)
        self.browser.wait("document.documentElement.dataset.shown !== undefined")
        self.assertEqual(self.standing(), [True, False, True])
        slider.send_keys(Keys.END)
        self.browser.wait("document.querySelector('[data-now]').textContent.startsWith('Now')")
        self.assertEqual(self.standing(), [False, True, False])
        self.assertNotIn("asOf", self.browser.driver.current_url)
        slider.send_keys(Keys.ARROW_LEFT)
        self.browser.wait("document.querySelector('[data-now]').textContent.startsWith('As of')")
        self.browser.one("[data-present]").click()
        self.browser.wait("document.querySelector('[data-now]')?.textContent.startsWith('Now')")
        self.open("/users/ann?asOf=400")
        self.browser.wait("document.documentElement.dataset.moments !== undefined")
        self.assertEqual(self.standing(), [True, False, True])

    def test_a_moment_that_cannot_be_shown_says_so_and_the_thumb_goes_back(self):
        self.open("/users/ann")
        self.browser.wait("document.documentElement.dataset.moments !== undefined")
        where = "return document.querySelector('#slide').value"
        before = self.browser.run(where)
        # The server does not answer any more.
        self.browser.run("XMLHttpRequest.prototype.send = function () { this.onerror(); }")
        self.browser.run("const s = document.querySelector('#slide'); s.value = '40'; s.dispatchEvent(new Event('input'))")
        self.browser.wait("!document.querySelector('#alarm').hidden")
        self.assertIn("could not be shown: the server cannot be reached", self.browser.run("return document.querySelector('#alarm').textContent"))
        self.assertEqual(self.browser.run(where), before)
        self.assertFalse(self.standing()[0])
        self.assertIn("Now, event", self.browser.run("return document.querySelector('[data-now]').textContent"))

    def test_without_moments_there_is_no_chart(self):
        self.browser.driver.execute_cdp_cmd("Network.enable", {})
        self.browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/moments"]})
        try:
            self.open("/users/ann")
            self.browser.wait("!document.querySelector('#alarm').hidden")
            self.server.notify("ann", title="One more")
            self.browser.wait("document.querySelector('.inbox').textContent.includes('One more')")
            self.assertEqual(self.browser.run("const h = (s) => document.querySelector(s).hidden; return [h('[data-chart]'), h('[data-slider]')]"),
                             [True, True])
        finally:
            self.browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
            self.browser.messages()

    def test_a_recipient_is_not_shown_as_the_sender(self):
        answer = self.server.notify("receiver", title="No sender")
        self.open("/log?user=receiver")
        cells = self.browser.run("return [...document.querySelectorAll('tr[data-seq] td')].map((cell) => cell.textContent.trim())")
        self.assertEqual(cells[3:6], ["receiver", "No sender", ""], answer)
        self.open("/users/receiver")
        self.assertNotIn("by receiver", self.browser.text())

    def test_two_moments_are_compared(self):
        self.open("/users/ann/difference?from=1700&to=1740")
        wanted = self.server.get("/v1/users/ann/difference?from=1700&to=1740").json
        text = self.browser.text()
        for item in wanted["items"]:
            self.assertIn(str(item["seq"]), text)
        self.assertIn(f"{len(wanted['events'])}", text)

    def test_a_long_difference_shows_the_newest_of_it(self):
        wanted = self.server.get("/v1/users/ann/difference?from=0").json
        self.assertGreater(min(len(wanted["items"]), len(wanted["events"])), 200)
        page = Visitor(self.server, "auditor").get("/users/ann/difference?from=0").body.decode()
        self.assertEqual(page.count('<span class="badge">over 200</span>'), 2)
        items = re.findall(r'<tr><td class="n"><a href="/console/events/(\d+)"', page)
        self.assertEqual([int(seq) for seq in items], [item["seq"] for item in wanted["items"][:-201:-1]])
        for item in wanted["items"][-200:]:
            for seq in item["by"]:
                self.assertIn(f'<a href="/console/events/{seq}">{seq}</a>', page)
        events = re.findall(r'<tr[^>]*data-seq="(\d+)"', page)
        self.assertEqual(len(events), 200)


class PaperTests(PageCase):
    def test_paper_names_store_root_and_reader_and_has_nothing_to_press(self):
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            for path in ("", "/users/ann?asOf=400", "/users/ann/timeline", "/log", "/events/3"):
                self.open(path)
                head = self.server.get("/v1/tree-head").json
                paper = self.browser.run("return document.querySelector('.paper').innerText")
                self.assertIn(head["rootHash"], paper, path)
                self.assertRegex(paper, r"store \S+ · log of [0-9,]+ events")
                self.assertRegex(paper, r"printed .* by key [0-9a-f]+ \(operator")
                shown = self.browser.run("""return [...document.querySelectorAll('button, input, select, .side, .foot')]
                    .filter((part) => part.checkVisibility()).map((part) => part.outerHTML.slice(0, 80))""")
                self.assertEqual(shown, [], path)
            self.open("/users/ann?asOf=400")
            self.assertIn("As of event 400", self.browser.text())
            # The line is as wide as it was drawn, or smaller as a whole.
            self.browser.wait("document.documentElement.dataset.moments !== undefined")
            for width in (1440, 718):
                self.browser.size(width)
                drawn, shown = self.browser.run("""const line = document.querySelector('[data-chart]'), box = line.getBoundingClientRect();
                    return [line.width / line.height, box.width / box.height]""")
                self.assertAlmostEqual(drawn, shown, delta=0.1)
            # 190 mm of A4: rows of a table, and not the cards of a phone.
            self.browser.size(718)
            for path in ("/users/ann/timeline", "/log", "/users?sort=unread", "/users/ann/difference?from=1700&to=1740"):
                self.open(path)
                display, wide = self.browser.run("""return [getComputedStyle(document.querySelector('table.rows tbody tr')).display,
                    document.documentElement.scrollWidth]""")
                self.assertEqual(display, "table-row", path)
                self.assertLessEqual(wide, 718, path)
                self.assertNotRegex(self.browser.text(), r"just now|\d (min|h) ago", path)
            self.open("/users/ann/timeline")
            self.assertEqual(self.browser.run("""return [...document.querySelectorAll('td.kind a, td.name bdi')]
                .filter((part) => part.getClientRects().length > 1).map((part) => part.textContent)"""), [])
            # A name may take two lines, but no word of it does.
            self.browser.run("""document.querySelectorAll('td.name bdi').forEach((name, index) => name.textContent = ['yuki.tanaka', 'command line'][index % 2])""")
            self.assertEqual(self.browser.run("""return [...document.querySelectorAll('td.name bdi')].slice(0, 40).filter((name) => {
                const text = name.firstChild.data, range = document.createRange();
                return [...text.matchAll(/\\S+/g)].some(({ 0: word, index }) => {
                    range.setStart(name.firstChild, index);
                    range.setEnd(name.firstChild, index + word.length);
                    return range.getClientRects().length > 1;
                });
            }).map((name) => name.textContent)"""), [])
        finally:
            self.browser.size(1440)
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


class FailedCheckTests(BrowserCase):
    """A store whose verification found something, in every place that says how it is."""

    def test_a_failed_verification_stays_on_every_page_until_a_clean_one(self):
        with console_server() as server:
            for index in range(20):
                server.notify("ann", title=f"Item {index}")
            directory = server.directory
            path = os.path.join(directory, "store", "failed-verify")
            with open(path, "w") as file:
                file.write(f"{int(time.time() * 1000)} 2\nevent 7 is damaged; restore a backup\nuser bob differs\n")
            self.browser.sign_in(server.url, server.keys["operator"])
            for page in ("", "/users", "/users/ann", "/log", "/tree", "/operations", "/events/3"):
                self.browser.open(f"{server.url}/console{page}")
                self.assertIn("Verification found 2 problems", self.browser.text(), page)
            self.browser.open(f"{server.url}/console")
            self.assertIn("Needs attention", self.browser.text())
            self.assertNotIn("Healthy", self.browser.text())
            self.browser.one("[data-failure] a").click()
            self.browser.wait("document.body.dataset.page === 'findings'")
            self.assertIn("event 7 is damaged; restore a backup", self.browser.text())
            self.assertEqual(self.browser.run("return document.querySelector('.finding a').getAttribute('href')"), "/console/events/7")
            self.assertEqual(server.get("/readyz", who=None).json["failedChecks"][0]["findings"], 2)
            self.assertIn('traylog_check_findings{check="verify"} 2', server.get("/metrics").body.decode())
            # The overview that is open follows.
            self.browser.open(f"{server.url}/console")
            job = server.post("/v1/admin/verifications", {}).json["id"]
            while server.get(f"/v1/admin/jobs/{job}").json["state"] == "running":
                time.sleep(0.05)
            self.browser.wait("document.querySelector('[data-health]')?.textContent.includes('Healthy')")
            self.assertFalse(os.path.exists(path))
            self.assertNotIn("failedChecks", server.get("/readyz", who=None).json)
            self.assertRegex(server.get("/metrics").body.decode(), r"traylog_last_verification_seconds [1-9]")
            self.browser.open(f"{server.url}/console/operations")
            self.assertIn("no problems found", self.browser.text())


    def test_a_tray_that_cannot_be_computed_says_so_and_leaves_the_way_to_other_moments(self):
        with console_server() as server:
            for number in range(1, 6):
                server.notify("ann", title=f"Title number {number}.")
            server.owns = False
            server.stop()
            self.assertGreater(flip(os.path.join(server.directory, "store"), b"Title number 3."), 0)
            with console_server(directory=server.directory) as damaged:
                self.browser.sign_in(damaged.url, damaged.keys["operator"])
                self.browser.severe()
                self.browser.open(f"{damaged.url}/console/users/ann?asOf=4")
                self.browser.wait("document.querySelector('[data-trouble]')?.textContent.includes('event 3 is damaged')")
                self.browser.one("[data-earlier]").click()
                self.browser.wait("location.search.includes('asOf=') && !location.search.includes('asOf=4')")
                self.browser.open(f"{damaged.url}/console/users/ann?asOf=2")
                self.browser.wait("document.body.textContent.includes('Title number 2.')")
                self.browser.open(f"{damaged.url}/console/users/ann/timeline")
                self.browser.wait("document.querySelectorAll('tr[data-seq]').length === 5")
                self.browser.one(".damaged .what a:last-child").click()
                self.browser.wait("document.querySelector('[data-next-steps]')?.textContent.includes('traylog verify --store ')")
                self.assertEqual([line for line in self.browser.severe() if "Uncaught" in line or "TypeError" in line], [])


class TimelineTests(PageCase):
    def test_scrolling_reaches_the_end_and_comes_back(self):
        wanted = [line["event"]["seq"] for line in self.server.get("/v1/users/ann/audit").lines[1:]]
        self.open("/users/ann/timeline")
        self.browser.run("globalThis.scrolling = setInterval(() => scrollBy(0, 20000), 20)")
        self.browser.wait("!document.querySelector('[data-next]')")
        self.browser.wait(f"document.querySelector('tr[data-seq=\"{wanted[0]}\"]') !== null")
        self.browser.run("clearInterval(scrolling); scrollTo(0, document.documentElement.scrollHeight / 2)")
        middle = "[...document.querySelectorAll('tr[data-seq]')].some((row) => {"
        middle += " const { top } = row.getBoundingClientRect(); return top > 0 && top < innerHeight; })"
        self.browser.wait(middle)
        self.browser.run("scrollTo(0, 0)")
        self.browser.wait(f"document.querySelector('tr[data-seq=\"{wanted[-1]}\"]') !== null")
        self.assertLess(self.browser.run("return document.querySelectorAll('tr[data-seq]').length"), 900)

    def test_rows_say_the_effect_and_what_was_voided(self):
        self.open("/users/ann/timeline")
        row = self.browser.wait(f"document.querySelector('tr[data-seq=\"{self.voided}\"]')?.innerText")
        self.assertIn("voided by", row)
        self.assertIn(f"voids {self.voided}", self.browser.text())
        lines = self.server.get("/v1/users/ann/audit").lines[1:]
        for line in lines[-40:]:
            row = self.browser.wait(f"document.querySelector('tr[data-seq=\"{line['event']['seq']}\"]')?.innerText")
            self.assertIn(f"{line['before']['unread']} → {line['after']['unread']}", row)

    def test_filters_find_what_matches(self):
        for query, match in (
                ("actor=bob", lambda event: event.get("actor") == "bob"), ("device=phone", lambda event: event.get("device") == "phone"),
                ("kind=broadcast", lambda event: event["kind"] == "broadcast")):
            wanted = [line["event"]["seq"] for line in self.server.get("/v1/users/ann/audit").lines[1:] if match(line["event"])]
            self.open(f"/users/ann/timeline?{query}")
            self.browser.wait("document.querySelectorAll('tr[data-seq]').length >= arguments[0]", min(60, len(wanted)))
            rows = self.browser.run("return [...document.querySelectorAll('tr[data-seq]')].map((row) => Number(row.dataset.seq))")
            self.assertEqual(rows[:60], wanted[::-1][:60], query)


class KeyboardTests(PageCase):
    def press(self, *keys):
        for key in keys:
            self.browser.driver.switch_to.active_element.send_keys(key)

    def tab_to(self, condition):
        for _ in range(60):
            self.press(Keys.TAB)
            if self.browser.run(f"const e = document.activeElement; return ({condition})"):
                is_seen = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle !== 'none'")
                self.assertTrue(is_seen, "the focus is not seen")
                return
        self.fail(f"the keyboard does not reach {condition}")

    def test_everything_is_reached_without_a_mouse(self):
        self.browser.forget()
        self.open("/sign-in")
        self.press(self.server.keys["operator"], Keys.ENTER)
        self.browser.wait("document.body.dataset.page === 'overview'")
        self.tab_to("e.className === 'skip'")
        self.tab_to("e.textContent.trim() === 'Users'")
        self.press(Keys.ENTER)
        self.browser.wait("document.body.dataset.page === 'users'")
        self.tab_to("e.textContent.trim() === 'ann'")
        self.press(Keys.ENTER)
        self.browser.wait("document.documentElement.dataset.moments !== undefined")
        self.tab_to("e.id === 'slide'")
        self.press(Keys.ARROW_LEFT)
        self.browser.wait("document.documentElement.dataset.shown !== undefined")
        self.tab_to("e.textContent.trim().startsWith('Archived')")
        self.press(Keys.ENTER)
        self.browser.wait("location.search.includes('view=archived')")
        self.tab_to("e.textContent.trim() === 'Operations'")
        self.press(Keys.ENTER)
        self.browser.wait("document.body.dataset.page === 'operations'")
        self.tab_to("e.textContent.trim() === 'Replay'")
        self.press(Keys.ENTER)
        self.browser.wait("document.body.dataset.page === 'run' && document.body.textContent.includes('identical')")


class PlainTests(PageCase):
    def page(self, path):
        return self.browser.without_scripts(f"{self.server.url}/console{path}")

    def test_reading_works_without_scripts(self):
        for path, words in (
                ("", "Events a second"), ("/users", "/console/users/ann"), ("/users/ann?asOf=700", "As of event <b"),
                ("/users/ann/timeline", "allMarked"), ("/log", "notified"), ("/events/3", "leaf hash"), ("/tree", "root hash"),
                ("/users/ann/difference?from=1700", "Items that differ"), ("/operations", "Compaction")):
            page = self.page(path)
            self.assertIn(words, page, path)
            self.assertNotRegex(page, r'<time[^>]*title=', "a script ran")
        earlier = re.search(r'rel="prev" href="([^"]+)"', self.page("/users/ann?asOf=700")).group(1)
        self.assertRegex(earlier, r"^\?asOf=6[0-9]{2}&")
        self.assertIn("As of event", self.page("/users/ann" + earlier.replace("&amp;", "&")))
        older = re.search(r'data-next="" href="/console([^"]+)"', self.page("/users/ann/timeline")).group(1)
        self.assertIn("<tr data-seq=", self.page(older))


if __name__ == "__main__":
    unittest.main()
