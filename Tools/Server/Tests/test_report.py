"""The page of `traylog audit --html` in a browser: fast, for everybody, without any request."""

import glob
import json
import os
import subprocess
import tempfile
import unittest

from accessible import RULES
from browsed import BrowserCase, pictures

# The program that TRAYLOG names, or the one beside the tray for terminals.
PROGRAM = os.environ.get("TRAYLOG") or os.path.join(os.path.dirname(os.environ.get("TRAYLOG_TRAY", "")), "traylog")
EVENTS = 2_300


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs the program: TRAYLOG names it")
class ReportTests(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="traylog-report.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder, store = folder.name, os.path.join(folder.name, "store")
        lines = []
        for index in range(EVENTS):
            command = {"kind": "notify", "user": "ann", "title": f"Item {index}", "thread": f"t{index % 50}", "actor": f"a{index % 7}"}
            if index % 10 == 9:
                command = {"kind": "markAll", "user": "ann", "as": "read", "thread": f"t{index % 50}", "device": "phone"}
            lines.append(json.dumps(command))
        lines.append(json.dumps({"kind": "notify", "user": "ann", "title": "<img src=x onerror=alert(1)>" + "long-" * 60}))
        cls.run_program(store, "append", "-", given="\n".join(lines))
        cls.run_program(store, "keygen", os.path.join(cls.folder, "key"), "--name", "trays.example")
        cls.run_program(store, "audit", "ann", "--html", cls.path("proofs"), "--sign", os.path.join(cls.folder, "key"))
        cls.run_program(store, "audit", "ann", "--html", cls.path("plain"), "--no-proofs")

    @classmethod
    def run_program(cls, store, *arguments, given=None):
        subprocess.run([PROGRAM, "--store", store, *arguments], input=given, text=True, check=True, capture_output=True)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, f"{name}.html")

    def open(self, name):
        self.browser.open(f"file://{self.path(name)}")

    def tearDown(self):
        self.browser.size(1440)
        self.browser.scheme("light")

    def test_a_page_of_two_thousand_events_is_small_and_asks_for_nothing(self):
        self.open("plain")
        self.assertEqual(self.browser.run("return document.querySelectorAll('tbody tr').length"), 2_000)
        times = self.browser.run("const [entry] = performance.getEntriesByType('navigation');"
                                 "return [entry.domContentLoadedEventEnd, entry.loadEventEnd].map(Math.round)")
        print(f"a page of 2,000 events: {times[0]} ms until it can be read, {times[1]} ms in all")
        for path in glob.glob(os.path.join(self.folder, "*.html")):
            self.assertLess(os.path.getsize(path), 2_000_000, path)
            self.browser.open(f"file://{path}")
        self.assertEqual(self.browser.messages(), [])
        self.assertEqual([address for address in self.browser.requests() if not address.startswith(("file:", "about:", "data:"))], [])

    def test_it_begins_with_the_answer(self):
        commands = [
            {"kind": "mute", "category": "quiet"}, *({"kind": "notify", "title": f"{n}"} for n in range(5)), {"kind": "seeTray"},
            {"kind": "mark", "as": "read", "items": [3, 4]}, {"kind": "notify", "title": "6", "category": "quiet"},
        ]
        store = os.path.join(self.folder, "answered")
        self.run_program(store, "append", "-", given="\n".join(json.dumps({"user": "bob", **command}) for command in commands))

        def verdict(*options):
            self.run_program(store, "audit", *options, "--html", self.path("answered"))
            self.open("answered")
            return self.browser.run("return document.querySelector('.verdict')?.innerText.replace(/[\\u2066-\\u2069]/g, '')")

        self.assertEqual(verdict("bob"), "6 items came in this time, 1 of them quietly. By its end bob had seen 5 of them; 2 were marked read.")
        self.assertEqual(verdict("bob", "--to", "6"), "5 items came in this time. By its end bob had seen none of them; none were marked read.")
        self.assertEqual(verdict("bob", "--from", "4", "--to", "7"), "3 items came in this time. By its end bob had seen all of them; none were marked read.")
        self.assertEqual(verdict("bob", "--from", "7", "--to", "8"), "No item came in this time.")
        self.assertIsNone(verdict("nobody"))
        # How the items stood before the floor is unknown, also with the archive; from it on it is not.
        archive = os.path.join(self.folder, "archive")
        self.run_program(store, "mark", "bob", "deleted", "2")
        self.run_program(store, "compact", "--before", "10", "--archive", archive)
        self.run_program(store, "notify", "bob", "--title", "7")
        self.assertIsNone(verdict("bob", "--from", "1", "--archive", archive))
        self.assertEqual(verdict("bob"), "1 item came in this time. By its end bob had seen none of them; none were marked read.")

    def test_everybody_can_use_it_in_every_form(self):
        # 720 pixels are what 200 % leave of 1,440.
        for name in ("proofs", "proofs-4", "plain-2"):
            for scheme in ("light", "dark"):
                self.browser.scheme(scheme)
                for width in (390, 720, 768, 1440):
                    self.browser.size(width)
                    self.open(name)
                    # Nothing in it changes by itself, so nothing has to be announced.
                    faults = [fault for fault in self.browser.run(RULES) if "#announce" not in fault]
                    self.assertEqual(faults, [], f"{name}, {scheme}, {width}")
                    if pictures() and name == "proofs":
                        self.browser.picture(os.path.join(pictures(), f"report-{width}-{scheme}.png"))
                        self.browser.run("document.querySelector('#events').scrollIntoView()")
                        self.browser.picture(os.path.join(pictures(), f"report-{width}-{scheme}-events.png"))

    def test_the_keyboard_reaches_and_works_everything(self):
        self.open("proofs")
        wanted = self.browser.run("return document.querySelectorAll('a[href], input').length")
        reached = []
        for _ in range(wanted + 3):
            self.press("Tab", 9)
            reached.append(self.browser.run("const { activeElement: at } = document;"
                                            "return at.id || at.getAttribute('href') || at.textContent"))
        self.assertEqual(reached[0], "#events")
        self.assertIn("proofs-2.html", reached)
        # A box hides the rows of its kind.
        self.browser.run("document.querySelector('#k-notified').focus()")
        shown = "return [...document.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility()).length"
        before = self.browser.run(shown)
        self.press(" ", 32)
        self.assertLess(self.browser.run(shown), before / 5)
        # A proof opens.
        self.browser.run("document.querySelector('tr.k-allMarked summary').focus()")
        self.press("Enter", 13)
        self.assertIn("Leaf", self.browser.run("return document.querySelector('details[open]').innerText"))

    def test_only_texts_wrap_on_paper(self):
        self.open("plain")
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            # 190 mm of A4.
            self.browser.size(718)
            broken, wide = self.browser.run("""
                // The sixth column is the event in words: how much of it fits into a line is the font's.
                const cells = [...document.querySelectorAll('tbody tr')].slice(0, 400)
                    .flatMap((row) => [...row.cells].filter((cell, column) => column != 5));
                const lines = (cell) => {
                    const range = document.createRange();
                    range.selectNodeContents(cell);
                    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
                };
                return [cells.filter((cell) => lines(cell) > 1).map((cell) => cell.innerText),
                    document.documentElement.scrollWidth];""")
            self.assertEqual(broken, [])
            self.assertLessEqual(wide, 718)
        finally:
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def press(self, key, code):
        text = {"text": "\r" if key == "Enter" else key} if key != "Tab" else {}
        for kind in ("keyDown", "keyUp"):
            self.browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
                "type": kind, "key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": code,
                **(text if kind == "keyDown" else {})})


if __name__ == "__main__":
    unittest.main()
