"""How fast the console is: the time to each page's first content, and of a step of the slider. Figures are printed, never
asserted. TRAYLOG_SPEED names a trace in the form of `traylog append`, gzipped; without it a small store shows that it runs."""

import gzip
import json
import os
import statistics
import time
import unittest

from browsed import BrowserCase
from consoled import console_server

TRACE = os.environ.get("TRAYLOG_SPEED")
EVENTS = 100_000 if TRACE else 2_000


class SpeedTests(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = console_server()
        cls.addClassCleanup(cls.server.__exit__)
        lines = []
        if TRACE:
            with gzip.open(TRACE, "rt") as file:
                lines += [line.rstrip("\n") for line in file]
        for index in range(EVENTS):
            command = {"kind": "notify", "user": "large", "title": f"Item {index}", "thread": f"t{index % 50}"}
            if index % 10 == 9:
                command = {"kind": "markAll", "user": "large", "as": "read", "thread": f"t{index % 50}", "device": "phone"}
            lines.append(json.dumps(command))
        for start in range(0, len(lines), 20_000):
            cls.server.post("/v1/commands", "\n".join(lines[start:start + 20_000]),
                            headers={"Content-Type": "application/x-ndjson"})
        cls.browser.sign_in(cls.server.url, cls.server.keys["operator"])

    def test_first_content_and_steps_are_measured(self):
        browser, figures = self.browser, {}
        head = self.server.get("/v1/tree-head").json["treeSize"]
        for path in ("", "/users", "/users?sort=unread", "/users/large", f"/users/large?asOf={head - EVENTS // 2}",
                     "/users/large/timeline", f"/users/large/timeline?before={head - EVENTS // 2}",
                     "/users/large/timeline?device=phone", f"/users/large/difference?from={head - 500}", "/log",
                     f"/events/{head}", "/tree", "/operations"):
            times, answers = [], []
            for _ in range(9 if TRACE else 1):
                browser.open(f"{self.server.url}/console{path}")
                browser.wait("performance.getEntriesByName('first-contentful-paint').length > 0")
                times.append(browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))
                answers.append(browser.run("return performance.getEntriesByType('navigation')[0].responseStart"))
            figures[path or "/"] = (f"first content median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms; "
                                    f"first byte median {statistics.median(answers):.0f} ms, longest {max(answers):.0f} ms")
        browser.open(f"{self.server.url}/console/users/large")
        browser.wait("document.documentElement.dataset.moments !== undefined", seconds=60)
        figures["moments"] = browser.run(
            "const [entry] = performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/moments'));"
            "return `${Math.round(entry.duration)} ms, ${entry.transferSize} bytes`")
        for name in ("step", "jump"):
            figures[name] = self.steps(name)
        figures["memory"] = browser.run("return `${Math.round(performance.memory.usedJSHeapSize / 1048576)} MiB`")
        for name, figure in figures.items():
            print(f"{name}: {figure}")

    def steps(self, name):
        """From a key or a jump of the slider until the moment is in the page."""
        times = []
        for index in range(20 if TRACE else 4):
            # A person does not press the key again at once; the neighbours come meanwhile.
            time.sleep(0.4)
            times.append(self.browser.driver.execute_async_script("""
                const done = arguments[arguments.length - 1];
                const slide = document.querySelector('#slide');
                const before = performance.now();
                const target = arguments[0] === 'step' ? Number(slide.value) - 1
                    : Math.floor((Number(slide.max) * ((arguments[1] * 7 + 3) % 20)) / 20);
                new MutationObserver((_, watch) => { watch.disconnect(); done(performance.now() - before); })
                    .observe(document.documentElement, { attributeFilter: ['data-shown'] });
                slide.value = target;
                slide.dispatchEvent(new Event('input', { bubbles: true }));""", name, index))
        return f"median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms"


if __name__ == "__main__":
    unittest.main()
