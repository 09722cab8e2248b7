"""A headless Firefox, driven by WebDriver BiDi, which it speaks itself: no driver of its own is needed.

Has what the tests of the bell use of `browsed.Browser`."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from browsed import Page

try:
    from websockets.sync.client import connect
except ImportError:
    connect = None

NAMES = ("firefox-esr", "firefox")
# What a page must not be told, and what would ask for addresses of its own.
PREFERENCES = {
    "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "dom.webnotifications.enabled": False, "toolkit.telemetry.enabled": False, "ui.prefersReducedMotion": 1,
}


def missing():
    """What keeps the tests from running; None when nothing does."""
    if connect is None:
        return "needs the Python package websockets"
    return None if any(map(shutil.which, NAMES)) else "needs firefox (Debian's package firefox-esr)"


class Element:
    """An element of the page, found anew at each use."""

    def __init__(self, browser, expression):
        self.browser, self.expression = browser, expression

    def get_attribute(self, name):
        return self.browser.run(f"return ({self.expression}).getAttribute(arguments[0])", name)

    @property
    def text(self):
        return self.browser.run(f"return ({self.expression}).innerText")

    def click(self):
        x, y = self.browser.run(
            f"const one = {self.expression}; one.scrollIntoView({{ block: 'nearest' }}); const box = one.getBoundingClientRect();"
            "return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)]")
        self.browser.actions("pointer", [
            {"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}])

    def clear(self):
        self.browser.run(
            f"const one = {self.expression}; one.value = ''; one.dispatchEvent(new Event('input', {{ bubbles: true }}));")

    def send_keys(self, *keys):
        self.browser.run(f"({self.expression}).focus()")
        self.browser.press(*keys)


class Firefox(Page):
    """One browser with an empty profile. Ends by its pid."""

    def __init__(self, width=1440, height=900):
        self.profile = tempfile.mkdtemp(prefix="traylog-firefox.")
        with open(f"{self.profile}/user.js", "w") as file:
            for name, value in PREFERENCES.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = subprocess.Popen(
            [next(filter(None, map(shutil.which, NAMES))), "--headless", "--no-remote", "--profile", self.profile,
             "--remote-debugging-port", "0", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        address = None
        while address is None:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError("Firefox ended before it listened")
            address = re.search(r"WebDriver BiDi listening on (ws://\S+)", line)
        # Nobody reads its later output, but its pipe must not fill.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.socket = connect(f"{address[1]}/session", max_size=None, compression=None)
        self.count, self.console = 0, []
        self.send("session.new", capabilities={"alwaysMatch": {}})
        self.send("session.subscribe", events=["log.entryAdded"])
        # Keys act only on a page that has the focus, and the first tab does not get it.
        self.new_tab()
        self.size(width, height)

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.send("browser.close")
        self.socket.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, **parameters):
        """Sends a command, and waits for its answer."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=90))
            if message["type"] == "event":
                entry = message["params"]
                if entry.get("level") in ("warn", "error"):
                    self.console.append({"level": entry["level"], "message": entry["text"]})
            elif message.get("id") == self.count:
                if message["type"] == "error":
                    raise AssertionError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]

    def open(self, address):
        self.send("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def run(self, script, *arguments):
        result = self.send(
            "script.callFunction", target={"context": self.context}, awaitPromise=True,
            functionDeclaration=f"async function (text) {{ const run = function () {{ {script} }};"
                                " return JSON.stringify(await run(...JSON.parse(text)) ?? null,"
                                " (key, value) => value instanceof Node ? true : value) }",
            arguments=[{"type": "string", "value": json.dumps(arguments)}])
        if result["type"] == "exception":
            raise AssertionError(f"{result['exceptionDetails']['text']}: {script}")
        return json.loads(result["result"]["value"])

    def element(self, expression):
        return Element(self, expression)

    def actions(self, kind, actions):
        self.send("input.performActions", context=self.context, actions=[{"type": kind, "id": kind, "actions": actions}])

    def press(self, *keys):
        self.actions("key", [{"type": f"key{way}", "value": key} for key in "".join(keys) for way in ("Down", "Up")])

    def size(self, width, height=900):
        self.send("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def offline(self, is_offline):
        """Cuts this tab off, or connects it again."""
        self.send("emulation.setNetworkConditions", contexts=[self.context], networkConditions={"type": "offline"} if is_offline else None)

    def front(self):
        """A tab that is switched to is in front."""

    def kill(self):
        """Ends the browser as a crash does."""
        self.process.kill()
        self.__exit__()

    def tab(self):
        return self.context

    def new_tab(self):
        self.switch(self.send("browsingContext.create", type="tab")["context"])
        return self.context

    def switch(self, tab):
        self.context = tab
        self.send("browsingContext.activate", context=tab)

    def close_tab(self):
        self.send("browsingContext.close", context=self.context)

    def severe(self):
        errors = [one["message"] for one in self.messages() if one["level"] == "error"]
        self.console.clear()
        return errors

    def before(self, script):
        left = [self.send("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")["script"]]

        def forget():
            while left:
                self.send("script.removePreloadScript", script=left.pop())

        return forget

    def messages(self):
        # What came meanwhile is read with an answer.
        self.send("session.status")
        # The browser asks for an icon by itself, which a strict page forbids.
        return [one for one in self.console if "/favicon.ico" not in one["message"]]


@unittest.skipIf(missing(), missing() or "")
class FirefoxCase:
    """Tests that share one Firefox: mixed into a case before its own class."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Firefox()
        cls.addClassCleanup(cls.browser.__exit__)
