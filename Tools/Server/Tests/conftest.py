"""How pytest runs the tests of the server: the classes that take longest first, and a line of JSON for each test.

`Tools/test` gives the files and the options; see `Run.python_tests` in Tools/testing.py."""

import collections
import json
import os
import pathlib
import time

import pytest

FOLDER = pathlib.Path(__file__).parent
IS_NIGHTLY = os.environ.get("TRAYLOG_TESTS") == "nightly"


def pytest_addoption(parser):
    parser.addoption("--seconds", help="a file with the seconds that classes or files took last time")
    parser.addoption("--results", help="the file that gets the results")


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly: takes long, or the right to make networks; runs in nightly length only")
    # With several workers only the process that collects their results writes them.
    if config.getoption("--results") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(config))


def name(node):
    """A test as `Tools/test server --only` takes it: FILE.CLASS.TEST."""
    return node.replace(".py", "").replace("::", ".")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly and not IS_NIGHTLY:
        items[:] = [item for item in items if item not in nightly]
        config.hook.pytest_deselected(items=nightly)
    path = config.getoption("--seconds")
    known = json.loads(pathlib.Path(path).read_text()) if path else {}
    tests = collections.Counter(scope(item) for item in items)

    def seconds(item):
        one = scope(item)
        return known.get(one) or known.get(one.split(".")[0]) or 2 * tests[one]

    # A stable order: the tests of a class stay together.
    items.sort(key=lambda item: (-seconds(item), scope(item)))


def scope(item):
    return name(item.nodeid.split("/")[-1]).rsplit(".", 1)[0]


class Results:
    """Each test with its seconds, how it ended and why. One of which a part failed has failed."""

    def __init__(self, config):
        self.path, self.found = pathlib.Path(config.getoption("--results")), {}
        self.plugins = config.pluginmanager

    def note(self, node, outcome, seconds=0.0, message=""):
        known = self.found.setdefault(node, ["passed", 0.0, ""])
        known[1] += seconds
        if outcome == "failed" or outcome == "skipped" and known[0] == "passed":
            if outcome == "failed" and known[0] != "failed":
                # It comes later than this.
                self.plugins.getplugin("terminalreporter").write_line(f"✘ {name(node)}")
            known[0], known[2] = outcome, (known[2] + "\n" + message).strip()[-4_000:]

    def pytest_runtest_logreport(self, report):
        message = ""
        if report.skipped:
            message = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
        elif report.failed:
            message = report.longreprtext
        # A part of a test takes none of its own.
        is_part = type(report).__name__ == "SubtestReport"
        self.note(report.nodeid, report.outcome, 0.0 if is_part else report.duration, message)

    def pytest_collectreport(self, report):
        if report.failed:
            self.note(report.nodeid, "failed", message=report.longreprtext)

    def pytest_sessionfinish(self):
        self.path.write_text("".join(
            json.dumps([name(node), seconds, outcome, message]) + "\n" for node, (outcome, seconds, message) in self.found.items()))
