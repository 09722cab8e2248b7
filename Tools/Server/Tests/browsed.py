"""A headless Chromium that looks at the console. Needs chromium, its driver, and selenium; without them tests are skipped."""

import base64
import json
import os
import shutil
import signal
import time
import unittest

try:
    from selenium import webdriver
    from selenium.common.exceptions import JavascriptException
    from selenium.webdriver.common.action_chains import ActionChains  # noqa: F401 (for the tests)
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys  # noqa: F401 (for the tests)
except ImportError:
    webdriver = ActionChains = By = Keys = JavascriptException = None

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing():
    """What keeps the tests from running; None when nothing does."""
    if webdriver is None:
        return "needs the Python package selenium"
    if not any(shutil.which(name) for name in BROWSERS):
        return "needs chromium"
    return None if shutil.which("chromedriver") else "needs chromedriver (Debian's package chromium-driver)"


class Page:
    """What all browsers do with the page that is open."""

    def __enter__(self):
        return self

    def wait(self, script, *arguments, seconds=30):
        """What the script returns, once it is true; while the page is drawn anew, an element that it names may be missing."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(f"return ({script})", *arguments)
            except JavascriptException as error:
                if not any(word in error.msg for word in ("of null", "of undefined", "is null", "is undefined")):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"this did not come true: {script}\n{self.text()[:300]}\n{self.messages()}")
            time.sleep(0.03)

    def text(self):
        return self.run("return document.body.innerText")


class Browser(Page):
    """One browser with an empty profile."""

    def __init__(self, width=1440, height=900, preferences=None):
        options = webdriver.ChromeOptions()
        options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
        for argument in (
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--force-device-scale-factor=1", f"--window-size={width},{height}"):
            options.add_argument(argument)
        if preferences:
            options.add_experimental_option("prefs", preferences)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)
        self.addresses, self.console = [], []

    def __exit__(self, *_):
        self.driver.quit()

    def size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name},
                         {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def without_scripts(self, address):
        """The HTML of a page after it was opened with scripts turned off."""
        run = self.driver.execute_cdp_cmd
        # Not the page of this address that is open, whose scripts ran.
        self.open("about:blank")
        run("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            run("Page.navigate", {"url": address})
            end = time.monotonic() + 20
            while time.monotonic() < end:
                time.sleep(0.05)
                root = run("DOM.getDocument", {})["root"]
                page = run("DOM.getOuterHTML", {"nodeId": root["nodeId"]})["outerHTML"]
                if root["documentURL"] == address and "</footer>" in page:
                    return page
            raise AssertionError(f"{address} does not come")
        finally:
            run("Emulation.setScriptExecutionDisabled", {"value": False})

    def open(self, address):
        self.driver.get(address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def element(self, expression):
        return self.run(f"return ({expression})")

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def offline(self, is_offline):
        """Cuts this tab off, or connects it again."""
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

    def front(self):
        self.driver.execute_cdp_cmd("Page.bringToFront", {})

    def kill(self):
        """Ends the browser as a crash does."""
        directory = self.driver.capabilities["chrome"]["userDataDir"]
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if f"--user-data-dir={directory}" in words and not any(word.startswith("--type=") for word in words):
                os.kill(int(name), signal.SIGKILL)
        self.__exit__()

    def tab(self):
        return self.driver.current_window_handle

    def new_tab(self):
        self.driver.switch_to.new_window("tab")
        return self.tab()

    def switch(self, tab):
        self.driver.switch_to.window(tab)

    def close_tab(self):
        self.driver.close()

    def one(self, selector):
        """The first element, once it is there and seen: scripts show some of them."""
        self.wait("document.querySelector(arguments[0])?.checkVisibility()", selector)
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def picture(self, path, is_whole=False):
        """A picture of what is seen, or of the whole page, as PNG."""
        if is_whole:
            data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"]
        else:
            data = self.driver.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def messages(self):
        """All that the console said since the browser started; what the CSP reports is there, too."""
        self.console += [entry for entry in self.driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
        return self.console

    def severe(self):
        """The errors that the console said since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def before(self, script):
        """Runs a script in each page that is opened from now on, before the page's own, until what it returns is called."""
        run = self.driver.execute_cdp_cmd
        left = [run("Page.addScriptToEvaluateOnNewDocument", {"source": script})["identifier"]]

        def forget():
            while left:
                run("Page.removeScriptToEvaluateOnNewDocument", {"identifier": left.pop()})

        return forget

    def requests(self):
        """The addresses that were asked for since the browser started."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.addresses.append(message["params"]["request"]["url"])
        return self.addresses

    def forget(self):
        """Takes the cookies away, from no page, so that none asks for more without them."""
        self.open("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})

    def sign_in(self, url, key):
        self.open(f"{url}/console/sign-in")
        self.one("#key").send_keys(key)
        self.one("form button").click()
        self.wait("document.querySelector('.side') !== null && document.readyState === 'complete'")


@unittest.skipIf(missing(), missing() or "")
class BrowserCase(unittest.TestCase):
    """Tests that share one browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)


def pictures():
    """Where pictures of pages go: a directory that TRAYLOG_PICTURES names; None without it."""
    return os.environ.get("TRAYLOG_PICTURES")
