"""The dashboard for Grafana shows figures that the server has."""

import itertools
import json
import pathlib
import re
import tempfile
import time
import unittest

from served import Server

DASHBOARD = json.loads((pathlib.Path(__file__).resolve().parents[1] / "dashboard.json").read_text())


class DashboardTests(unittest.TestCase):
    def test_every_figure_and_label_of_a_panel_is_served(self):
        with tempfile.TemporaryDirectory() as archive, Server("--archive", archive) as server:
            server.notify("ann", title="A")
            deadline = time.monotonic() + 20
            while "traylog_archive_lag_seconds{" not in (text := server.get("/metrics").body.decode()):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
        served = {}
        for name, labels in re.findall(r"^(\w+)(?:\{(.*?)\})? \S+$", text, re.MULTILINE):
            served.setdefault(name, {"instance"}).update(re.findall(r'(\w+)="', labels))
        expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
        expressions += [variable["definition"] for variable in DASHBOARD["templating"]["list"] if "definition" in variable]
        self.assertGreater(len(expressions), 15)
        for expression in expressions:
            names = re.findall(r"\btraylog_\w+", expression)
            self.assertTrue(names, expression)
            for name in names:
                self.assertIn(name, served, expression)
                for labels in re.findall(r"by \((.*?)\)", expression):
                    self.assertLessEqual(set(labels.split(", ")), served[name], expression)

    def test_panels_say_what_they_show_and_stand_side_by_side(self):
        panels = DASHBOARD["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        for panel in panels:
            self.assertTrue(panel["title"] and panel["description"].endswith("."), panel["title"])
            self.assertEqual(panel["datasource"]["uid"], "${datasource}")
            self.assertLessEqual(panel["gridPos"]["x"] + panel["gridPos"]["w"], 24)
        for one, two in itertools.combinations((panel["gridPos"] for panel in panels), 2):
            beside = one["x"] + one["w"] <= two["x"] or two["x"] + two["w"] <= one["x"]
            below = one["y"] + one["h"] <= two["y"] or two["y"] + two["h"] <= one["y"]
            self.assertTrue(beside or below, (one, two))


if __name__ == "__main__":
    unittest.main()
