"""What people come to the console for, each from the overview to the answer, with a mouse, by keyboard alone, and on a phone.

Each journey prints its clicks, keys and seconds; nothing is asserted about them."""

import base64
import datetime
import glob
import os
import subprocess
import tempfile
import time
import unittest

from browsed import ActionChains, BrowserCase, Keys
from consoled import console_server
from served import FAKETIME

MARIA = "maria.hernandez@example.com"
INVOICE = "Your March invoice is ready"
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def last(weekday, hour):
    """The newest such day before today, at an hour in UTC."""
    days = (NOW.weekday() - weekday) % 7 or 7
    return (NOW - datetime.timedelta(days=days)).replace(hour=hour, minute=0, second=0)


TUESDAY, FRIDAY = last(1, 9), last(4, 10)


class Clock:
    """The clock of a server, which goes from one moment of the past to the next."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "clock")
        self.go(NOW - datetime.timedelta(days=30))
        self.environment = {
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "TRAYLOG_LISTEN": "127.0.0.1:0",
            "TRAYLOG_STORE": os.path.join(directory, "store")}

    def go(self, moment):
        seconds = (moment - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        with open(self.path + ".new", "w") as file:
            file.write(f"{seconds:+.0f}s\n")
        os.replace(self.path + ".new", self.path)


class Walk:
    """One journey, counted: with the mouse, or by keyboard alone."""

    def __init__(self, browser, name, has_mouse):
        self.browser, self.name, self.has_mouse = browser, name, has_mouse
        self.clicks = self.keys = 0
        self.began = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            done = f"{self.clicks} clicks" if self.has_mouse else f"{self.keys} keys"
            print(f"{self.name}, {'mouse' if self.has_mouse else 'keyboard'}: {done}, {time.monotonic() - self.began:.1f} s")

    def press(self, *keys):
        self.keys += len(keys)
        # To whatever has the focus: a field for files takes no keys as text.
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def type(self, selector, text):
        """Into a field, and sends the form."""
        self.reach(selector)
        self.browser.run("document.activeElement.select?.()")
        self.press(*text, Keys.ENTER)

    def reach(self, selector):
        self.browser.wait("[...document.querySelectorAll(arguments[0])].some((part) => part.checkVisibility())", selector)
        if self.has_mouse:
            self.clicks += 1
            return self.browser.one(selector).click()
        if selector == "#find":
            return self.press("/")
        for _ in range(200):
            self.press(Keys.TAB)
            if self.browser.run("return document.activeElement.matches(arguments[0])", selector):
                return None
        raise AssertionError(f"the keyboard does not reach {selector}")

    def choose(self, selector):
        """A link or a button."""
        self.reach(selector)
        if not self.has_mouse:
            self.press(Keys.ENTER)

    def option(self, selector, text):
        """Of a list, by the first letters of its name."""
        self.reach(selector)
        self.press(*text)

    def until(self, script, *arguments):
        return self.browser.wait(f"document.readyState === 'complete' && ({script})", *arguments)

    def page(self, name):
        return self.until("document.body.dataset.page === arguments[0] && document.querySelector('footer') !== null", name)

    def text(self):
        return self.browser.text()


@unittest.skipIf(FAKETIME is None, "needs libfaketime")
class JourneyTests(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.mkdtemp(prefix="traylog-journeys.")
        cls.clock = Clock(directory)
        cls.server = console_server(directory=directory, environment=cls.clock.environment)
        cls.addClassCleanup(cls.server.__exit__)
        cls.fill()
        cls.browser.sign_in(cls.server.url, cls.server.keys["operator"])

    @classmethod
    def fill(cls):
        """A month in which something happened."""
        server = cls.server
        server.perform(*({"kind": "notify", "user": f"user {number}", "title": "Welcome"} for number in range(20)))
        cls.invoice = server.notify(
            MARIA, title=INVOICE, body="It is due on 31 March.", thread="billing", category="invoices", actor="erp",
            occurredAt="2026-03-05T08:00:00Z").json["seq"]
        server.perform(*({"kind": "notify", "user": MARIA, "title": f"Build {number} is done", "thread": "build"} for number in range(40)))
        for _, happen in sorted([(TUESDAY, cls.tuesday), (FRIDAY, cls.friday)], key=lambda day: day[0]):
            happen()
        cls.clock.go(datetime.datetime.now(datetime.timezone.utc))
        server.notify(MARIA, title="Your password was changed", thread="security")

    @classmethod
    def tuesday(cls):
        server, clock = cls.server, cls.clock
        clock.go(TUESDAY - datetime.timedelta(hours=1))
        server.notify(MARIA, title="The nightly backup failed", thread="ops")
        server.post(f"/v1/users/{MARIA}/seen", {"upTo": cls.invoice, "device": "iPhone 15"})
        cls.before = server.get(f"/v1/users/{MARIA}/tray").json
        clock.go(TUESDAY + datetime.timedelta(hours=3))
        server.notify(MARIA, title="A question about your contract", thread="support")
        server.post(f"/v1/users/{MARIA}/marks", {"as": "read", "items": [cls.invoice], "device": "laptop"})

    @classmethod
    def friday(cls):
        server, clock = cls.server, cls.clock
        users = ("paul mouse", "paul keyboard")
        clock.go(FRIDAY - datetime.timedelta(hours=20))
        for user in users:
            server.perform(*({"kind": "notify", "user": user, "title": "Ticket", "thread": "tickets"} for _ in range(300)))
        clock.go(FRIDAY)
        server.perform(*({"kind": "markAll", "user": user, "as": "read", "thread": "tickets", "actor": "intern"} for user in users))

    def walks(self, name):
        for has_mouse in (True, False):
            self.browser.open(f"{self.server.url}/console")
            with self.subTest(mouse=has_mouse), Walk(self.browser, name, has_mouse) as walk:
                yield walk

    def tearDown(self):
        self.browser.size(1440, 900)

    # (a) Find "hernandez", and say whether and where she read the March invoice notice.

    def find_the_reader(self, name):
        for walk in self.walks(name):
            walk.type("#find", "hernandez")
            walk.page("search")
            walk.choose("section[aria-labelledby=users-title] li a")
            walk.page("user")
            walk.type("#f-text", "march invoice")
            walk.until("location.search.includes('text=') && document.querySelectorAll('[data-open]').length === 1")
            walk.choose("[data-open]")
            text = walk.until("document.querySelector('.sheet[open] .occasions')?.innerText")
            self.assertRegex(text, r"Seen .* on iPhone 15")
            self.assertRegex(text, r"Read .* on laptop")
            walk.press(Keys.ESCAPE)
            walk.until("document.querySelector('.sheet[open]') === null && document.activeElement.dataset.open !== undefined")

    def test_a_support_finds_who_has_read_what_and_where(self):
        self.find_the_reader("(a) did she read it")

    def test_a_support_finds_it_on_a_phone(self):
        self.browser.size(390, 844)
        self.find_the_reader("(a) did she read it, phone")

    # (b) Show last Tuesday's tray at 9:00 and what changed since, and print it.

    def go_to_tuesday(self, name):
        for walk in self.walks(name):
            walk.type("#find", MARIA)
            walk.page("search")
            walk.choose("section[aria-labelledby=users-title] li a")
            walk.page("user")
            zone = self.browser.run("return Intl.DateTimeFormat().resolvedOptions().timeZone")
            self.assertIn(zone, ("UTC", "Etc/UTC"), "the test types times in UTC")
            walk.type("#asOf", TUESDAY.strftime("%Y-%m-%d 09:00"))
            walk.until("document.querySelector('[data-now]')?.textContent.startsWith('As of')")
            text = walk.text()
            self.assertIn("The nightly backup failed", text)
            self.assertNotIn("A question about your contract", text)
            self.assertIn("Past", text)
            counts = walk.until("[...document.querySelectorAll('.counts dd')].slice(0, 3).map((cell) => cell.textContent)")
            self.assertEqual([int(count) for count in counts], [self.before[part] for part in ("unseen", "unread", "total")])
            walk.choose("[data-since]")
            walk.page("difference")
            text = walk.text()
            for words in ("A question about your contract", "Your password was changed", INVOICE):
                self.assertIn(words, text)
            paper = self.browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
            self.assertTrue(base64.b64decode(paper["data"]).startswith(b"%PDF-"))
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
            try:
                text = walk.text()
                for words in ("A question about your contract", "printed", "root", "Items that differ"):
                    self.assertIn(words, text)
            finally:
                self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_b_a_past_tray_is_shown_compared_and_printed(self):
        self.go_to_tuesday("(b) last Tuesday at nine")

    def test_b_a_past_tray_is_shown_on_a_phone(self):
        self.browser.size(390, 844)
        self.go_to_tuesday("(b) last Tuesday at nine, phone")

    # (c) Is the store healthy, when was it verified, and what is to be done about a damaged page?

    def test_c_an_operator_sees_how_the_store_is_and_what_to_do(self):
        for walk in self.walks("(c) is it healthy"):
            self.assertIn("Healthy", walk.until("document.querySelector('[data-health]')?.textContent"))
            walk.choose("nav a[href='/console/operations']")
            walk.page("operations")
            walk.choose("form[action$=verifications] button")
            walk.page("run")
            walk.until("document.body.innerText.includes('The store is sound')")
            walk.choose(".brand")
            walk.page("overview")
            self.assertRegex(walk.text(), r"Last verification\s+(just now|\d+ min ago)\s+found nothing, through event \d+")
        path = os.path.join(self.server.directory, "store", "failed-verify")
        advice = "page 17 is damaged; restore the newest backup into an empty directory, then verify it"
        try:
            with open(path, "w") as file:
                file.write(f"{int(time.time() * 1000)} 1\n{advice}\n")
            for walk in self.walks("(c) what about the damaged page"):
                self.assertIn("Needs attention", walk.until("document.querySelector('[data-health]')?.textContent"))
                walk.choose("[data-failure] a")
                walk.page("findings")
                self.assertIn(advice, walk.text())
        finally:
            os.remove(path)

    # (d) Who marked 300 items read on Friday? Undo it.

    def test_d_a_bulk_mark_is_found_and_taken_back(self):
        for walk in self.walks("(d) undo a bulk mark"):
            user = f"paul {'mouse' if walk.has_mouse else 'keyboard'}"
            walk.choose("nav a[href='/console/log']")
            walk.page("log")
            walk.option("#f-kind", "Marked all")
            walk.type("#f-since", FRIDAY.strftime("%Y-%m-%d"))
            walk.until("location.search.includes('kind=allMarked') && document.querySelectorAll('tr[data-seq]').length >= 2")
            self.assertIn("intern", walk.text())
            seq = self.browser.run("""return [...document.querySelectorAll('tr[data-seq]')]
                .find((row) => row.querySelector('td:nth-child(4)').innerText === arguments[0]).dataset.seq""", user)
            walk.choose(f"tr[data-seq='{seq}'] td.n a")
            walk.page("event")
            self.assertIn("It changed 300 items: 300 unread before, 0 after", walk.until("document.querySelector('[data-undo]')?.innerText"))
            walk.choose("[data-undo] button")
            walk.page("confirm")
            walk.choose(".grave button")
            walk.until("document.body.innerText.includes('This event no longer counts')")
            tray = self.server.get(f"/v1/users/{user.replace(' ', '%20')}/tray").json
            self.assertEqual(tray["unread"], 300)

    @staticmethod
    def saved(directory):
        """The proof and the tree head that are there in full."""
        return [path for name in ("proof", "tree-head") for path in glob.glob(f"{directory}/{name}-*") if not path.endswith(".crdownload")]

    # (e) Prove to a stranger that an event is in the log.

    def test_e_a_stranger_checks_that_an_event_is_in_the_log(self):
        program = os.environ["TRAYLOG"]
        for walk in self.walks("(e) a proof for a stranger"):
            files = tempfile.mkdtemp(prefix="traylog-files.")
            self.browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": files})
            walk.type("#find", str(self.invoice))
            walk.page("event")
            walk.choose("[data-run]")
            walk.until("document.querySelector('.verdict')?.textContent.includes('is in the tree')")
            walk.choose("[data-hand]")
            walk.until("document.body.innerText.includes('Saved: the proof')")
            end = time.monotonic() + 20
            while len(saved := self.saved(files)) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            proof, head = saved
            # A browser may hold the second file back: a click of its own saves it.
            os.remove(head)
            walk.choose("[data-verdict] button")
            while not os.path.exists(head) and time.monotonic() < end:
                time.sleep(0.05)
            checked = subprocess.run([program, "check", proof, "--tree-head", head], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            with open(proof) as file:
                text = file.read().replace('"salt":"', '"salt":"AA', 1)
            with open(proof, "w") as file:
                file.write(text)
            checked = subprocess.run([program, "check", proof, "--tree-head", head], capture_output=True, text=True)
            self.assertNotEqual(checked.returncode, 0, "a changed proof is believed")


if __name__ == "__main__":
    unittest.main()
