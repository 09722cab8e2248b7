"""axe-core on every page of the console: on a phone and a wide screen, light and dark."""

import unittest

from accessible import axe, axe_findings
from test_console_pages import PageCase

WIDTHS = (390, 1280)


@unittest.skipIf(axe() is None, "needs the Python package axe-core-python")
class AxeTests(PageCase):
    events = 300

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.item = cls.server.notify(
            "ann", title="Approve?", body="A text", data={"a": 1}, thread="t", actor="erp",
            actions=[{"id": "yes", "label": "Yes"}]).json["seq"]
        cls.broadcast = cls.server.post("/v1/topics/releases/broadcasts", {"title": "5.0"}).json["seq"]

    def check(self, name, found):
        # Only colours differ in the dark.
        for rule, html in axe_findings(self.browser, *(["color-contrast"] if "dark" in name else [])):
            found.add(f"{rule}: {html[:200]} ({name})")

    def test_axe_finds_nothing_on_any_page(self):
        pages = {
            "overview": "", "users": "/users", "search": "/search?q=deploy", "tray": "/users/ann", "past": "/users/ann?asOf=100",
            "filtered": "/users/ann?thread=build&state=unread&since=2h", "wrong": "/users/ann?since=never", "nobody": "/users/nobody",
            "item": f"/users/ann/items/{self.item}", "timeline": "/users/ann/timeline", "difference": "/users/ann/difference?from=100&to=140",
            "looked": "/users/ann/looked", "log": "/log", "log-filtered": "/log?thread=build&kind=allMarked", "no-match": "/log?key=none",
            "event": "/events/3", "mark": f"/events/{self.voided}", "broadcast": f"/events/{self.broadcast}",
            "audience": f"/events/{self.broadcast}/audience", "planned": "/planned", "tree": "/tree", "operations": "/operations?erase=ann", "findings": "/findings",
            "missing": "/events/999999",
        }
        found = set()
        self.addCleanup(lambda: (self.browser.size(1440), self.browser.scheme("light")))
        for width in WIDTHS:
            self.browser.size(width, 844 if width < 600 else 900)
            for scheme in ("light", "dark"):
                self.browser.scheme(scheme)
                for name, path in pages.items():
                    self.open(path)
                    if name in ("tray", "past"):
                        self.browser.wait("document.documentElement.dataset.moments !== undefined")
                    self.check(f"{name}, {width}, {scheme}", found)
                self.open("/users/ann")
                self.browser.one(f"[data-open='{self.item}']").click()
                self.browser.wait("document.querySelector('.sheet[open]')")
                self.check(f"sheet, {width}, {scheme}", found)
        self.assertEqual(found, set(), "\n".join(sorted(found)))

    def tearDown(self):
        self.browser.messages()
        # Pages that are not there, and fields that are wrong, are answered with their status.
        self.browser.console = [entry for entry in self.browser.console if "40" not in entry["message"]]
        super().tearDown()


if __name__ == "__main__":
    unittest.main()
