"""traylog-tray in a terminal: what a user sees there, by tmux. Skipped where tmux is missing."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest
import uuid

from device import PROGRAM, until
from served import Server

TMUX = shutil.which("tmux")


class Window:
    """The program in a window of 80 columns and 12 lines, eight of which show items."""

    def __init__(self, server, user):
        self.directory = tempfile.mkdtemp(prefix="traylog-screen.")
        token = os.path.join(self.directory, "token")
        with open(token, "w") as file:
            file.write(server.token(user, scope="inbox:read inbox:write publish"))
        command = [PROGRAM, "--server", f"http://127.0.0.1:{server.port}", "--user", user, "--token-file", token,
                   "--directory", os.path.join(self.directory, "device")]
        self.tmux = [TMUX, "-u", "-L", f"traylog-{uuid.uuid4().hex}", "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", "80", "-y", "12", f"TZ=Asia/Tokyo exec {shlex.join(command)}")

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=os.environ | {"LC_ALL": "C.UTF-8"}).stdout

    def press(self, *keys):
        self.run("send-keys", *keys)

    def text(self):
        return self.run("capture-pane", "-p")

    def selected(self):
        return next((line[4:].split("  ")[0] for line in self.text().splitlines() if line.startswith(">")), None)

    def until(self, condition, seconds=60):
        until(condition, seconds, self.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.press("q")
        self.run("kill-server")
        shutil.rmtree(self.directory, ignore_errors=True)


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
@unittest.skipUnless(TMUX, "tmux is not installed")
class DeviceScreenTests(unittest.TestCase):
    def test_a_key_is_about_the_item_that_was_selected_whatever_comes(self):
        with Server() as server:
            for number in range(1, 4):
                server.notify("ann", title=f"item {number}")
            with Window(server, "ann") as window:
                window.until(lambda: window.selected() == "item 3")
                window.press("j")
                window.until(lambda: window.selected() == "item 2")
                server.notify("ann", title="item 4")
                window.until(lambda: "(4) unread" in window.text())
                self.assertEqual(window.selected(), "item 2")
                window.press("d")
                window.until(lambda: "(3) unread" in window.text())
                self.assertNotIn("item 2", window.text())

    def test_the_list_goes_down_to_the_oldest_item(self):
        with Server() as server:
            lines = [json.dumps({"kind": "notify", "user": "ann", "title": f"item {number}"}) for number in range(1, 251)]
            server.post("/v1/commands", "\n".join(lines).encode(), headers={"Content-Type": "application/x-ndjson"})
            with Window(server, "ann") as window:
                window.until(lambda: window.selected() == "item 250")
                for number in range(240, 0, -10):
                    window.press(*["j"] * 10)
                    window.until(lambda: window.selected() == f"item {number}")

    def test_times_are_the_users(self):
        with Server() as server:
            server.notify("ann", title="Hello")
            recorded = server.get("/v1/users/ann/inbox").json["items"][0]["recordedAt"]
            with Window(server, "ann") as window:
                window.until(lambda: window.selected() == "Hello")
                hour = (int(recorded[11:13]) + 9) % 24
                self.assertRegex(window.text(), rf"\d\d-\d\d {hour:02}:{recorded[14:16]}\b")

    def test_it_says_when_the_server_is_away_and_what_waits(self):
        with Server() as server:
            server.notify("ann", title="Hello")
            with Window(server, "ann") as window:
                window.until(lambda: "up to date" in window.text() and window.selected() == "Hello")
                server.stop(signal.SIGKILL)
                window.until(lambda: "offline" in window.text())
                window.press("r")
                window.until(lambda: "(0) unread" in window.text() and "1 waiting to be sent" in window.text())
