"""A timeline from its first event to its last, as one scrolls. With TRAYLOG_TESTS=nightly it has more than 100,000 events."""

import os
import time
import unittest

from test_console_pages import PageCase

IS_LONG = os.environ.get("TRAYLOG_TESTS") == "nightly"
# A screen, and some rows of the next.
STEP = 900


class ScrollTests(PageCase):
    events = 135_000 if IS_LONG else 1_800

    def state(self):
        """The rows in the page, and whether a row stands in the middle of the window; then it goes on by a step."""
        return self.browser.run("""
            const rows = [...document.querySelectorAll('tr[data-seq]')].map((row) => Number(row.dataset.seq));
            const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr[data-seq]');
            const { scrollHeight } = document.documentElement;
            const isOver = !document.querySelector('[data-next]') && scrollY + innerHeight >= scrollHeight - 2;
            if (middle || scrollY === 0) scrollBy(0, arguments[0]);
            return [rows, Boolean(middle), isOver, document.querySelectorAll('*').length];""", STEP)

    def heap(self):
        self.browser.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return self.browser.run("return performance.memory.usedJSHeapSize / 1048576")

    def test_every_event_comes_once_without_a_gap_and_memory_stays_bounded(self):
        wanted = [line["event"]["seq"] for line in self.server.get("/v1/users/ann/audit").lines[1:]][::-1]
        self.assertGreater(len(wanted), 100_000 if IS_LONG else 1_000)
        self.open("/users/ann/timeline")
        self.browser.wait("document.querySelector('tr[data-seq]') !== null")
        start, began = self.heap(), time.monotonic()
        seen, most_rows, most_elements, waits, steps = [], 0, 0, 0, 0
        while True:
            steps += 1
            rows, is_there, is_over, elements = self.state()
            most_rows, most_elements = max(most_rows, len(rows)), max(most_elements, elements)
            seen += [seq for seq in rows if not seen or seq < seen[-1]]
            if is_over:
                break
            waits = 0 if is_there else waits + 1
            self.assertLess(waits, 1_200, "rows do not come")
            if not is_there:
                time.sleep(0.05)
        self.assertEqual(seen, wanted)
        self.assertLess(most_rows, 900, "rows far away leave the page")
        end = self.heap()
        # A place for each hundred rows that were there; the rows themselves are gone.
        self.assertLess(most_elements, 10_000 + 3 * len(wanted) / 100)
        how = f"{steps} steps in {time.monotonic() - began:.0f} s, at most {most_rows} rows and {most_elements} elements"
        self.assertLess(end - start, 8 + 4 * len(wanted) / 100_000, f"memory grows with the events that were passed: {how}")
        self.browser.run("scrollTo(0, 0)")
        self.browser.wait(f"document.querySelector('tr[data-seq=\"{wanted[0]}\"]') !== null")
        if IS_LONG:
            print(f"{len(wanted)} events, {how}, heap {start:.1f} to {end:.1f} MiB")


if __name__ == "__main__":
    unittest.main()
