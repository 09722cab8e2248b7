"""traylog-tray in a terminal: what a user sees there, by tmux (skipped where it is missing), and what is left of it."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
import uuid

from device import PROGRAM, until
from served import Server

TMUX = shutil.which("tmux")


class Window:
    """The program in a window, of 80 columns and 12 lines if nothing else is said, eight of which show items."""

    def __init__(self, server, user, columns=80, lines=12, path=""):
        self.directory = tempfile.mkdtemp(prefix="traylog-screen.")
        token = os.path.join(self.directory, "token")
        with open(token, "w") as file:
            file.write(server.token(user, scope="inbox:read inbox:write publish"))
        command = [PROGRAM, "--server", f"http://127.0.0.1:{server.port}", "--user", user, "--token-file", token,
                   "--directory", os.path.join(self.directory, "device")]
        self.tmux = [TMUX, "-u", "-L", f"traylog-{uuid.uuid4().hex}", "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", str(columns), "-y", str(lines),
                 f"TZ=Asia/Tokyo PATH={shlex.quote(path)}:$PATH exec {shlex.join(command)}")

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=os.environ | {"LC_ALL": "C.UTF-8"}).stdout

    def press(self, *keys):
        self.run("send-keys", *keys)

    def text(self):
        return self.run("capture-pane", "-p")

    def selected(self):
        return next((line[4:].split("  ")[0] for line in self.text().splitlines() if line.startswith(">")), "")

    def until(self, condition, seconds=60):
        until(condition, seconds, self.text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.press("q")
        self.run("kill-server")
        shutil.rmtree(self.directory, ignore_errors=True)


# Runs a program as a shell does, in the foreground of a terminal, and prints its process, then each status that it waits for.
SHELL = """
import fcntl, os, subprocess, sys, termios
tty = os.open(sys.argv[1], os.O_RDWR)
fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
child = subprocess.Popen(sys.argv[2:], stdin=tty, stdout=tty, stderr=subprocess.DEVNULL, process_group=0)
os.tcsetpgrp(tty, child.pid)
print(child.pid, flush=True)
status = 0x7f
while os.WIFSTOPPED(status):
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    print(status, flush=True)
"""


class Terminal:
    """The program in a pseudo-terminal, as the child of a shell."""

    def __init__(self, server, user):
        self.directory = tempfile.mkdtemp(prefix="traylog-screen.")
        token = os.path.join(self.directory, "token")
        with open(token, "w") as file:
            file.write(server.token(user, scope="inbox:read inbox:write publish"))
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(self.master)
        self.shell = subprocess.Popen(
            [sys.executable, "-c", SHELL, os.ttyname(slave), PROGRAM, "--server", f"http://127.0.0.1:{server.port}", "--user",
             user, "--token-file", token, "--directory", os.path.join(self.directory, "device")],
            stdout=subprocess.PIPE, start_new_session=True, text=True)
        os.close(slave)
        self.pid = int(self.shell.stdout.readline())
        self.shown = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while data := os.read(self.master, 65536):
                self.shown += data
        except OSError:
            pass

    def status(self):
        return int(self.shell.stdout.readline())

    def is_raw(self):
        return not termios.tcgetattr(self.master)[3] & termios.ECHO

    def until(self, condition, seconds=60):
        until(condition, seconds, lambda: self.shown[-2000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shell.poll() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.shell.wait(timeout=30)
        self.shell.stdout.close()
        os.close(self.master)
        shutil.rmtree(self.directory, ignore_errors=True)


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class DeviceTerminalTests(unittest.TestCase):
    def assert_restored(self, terminal):
        terminal.until(lambda: terminal.shown.rfind(b"\x1b[?1049l") > terminal.shown.rfind(b"\x1b[?1049h"))
        terminal.until(lambda: terminal.shown.rfind(b"\x1b[?25h") > terminal.shown.rfind(b"\x1b[?25l"))
        self.assertEqual(termios.tcgetattr(terminal.master), terminal.before)

    def test_the_terminal_is_restored_however_the_program_ends(self):
        with Server() as server:
            server.notify("ann", title="Hello")
            ends = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT,
                    signal.SIGILL, signal.SIGTRAP, signal.SIGBUS]
            for end in ends:
                with self.subTest(end=end.name), Terminal(server, "ann") as terminal:
                    terminal.until(lambda: b"Hello" in terminal.shown and terminal.is_raw())
                    os.kill(terminal.pid, end)
                    self.assertEqual(os.WTERMSIG(terminal.status()), end)
                    self.assert_restored(terminal)
            with self.subTest(end="q"), Terminal(server, "ann") as terminal:
                terminal.until(lambda: b"Hello" in terminal.shown and terminal.is_raw())
                os.write(terminal.master, b"q")
                self.assertEqual(terminal.status(), 0)
                self.assert_restored(terminal)

    def test_ctrl_z_gives_the_terminal_back_and_fg_draws_the_screen_again(self):
        with Server() as server:
            server.notify("ann", title="Hello")
            with Terminal(server, "ann") as terminal:
                terminal.until(lambda: b"Hello" in terminal.shown and terminal.is_raw())
                for _ in range(2):
                    os.write(terminal.master, b"\x1a")
                    self.assertTrue(os.WIFSTOPPED(terminal.status()))
                    self.assert_restored(terminal)
                    seen = len(terminal.shown)
                    os.kill(terminal.pid, signal.SIGCONT)
                    terminal.until(lambda: b"Hello" in terminal.shown[seen:] and terminal.is_raw())
                    self.assertIn(b"\x1b[?1049h", terminal.shown[seen:])
                os.kill(terminal.pid, signal.SIGTERM)
                self.assertEqual(os.WTERMSIG(terminal.status()), signal.SIGTERM)
                self.assert_restored(terminal)

    def test_hostile_text_cannot_act_on_the_terminal(self):
        with Server() as server:
            server.notify("ann", title="a\x1b[31mb\u202ec\x9bd", body="e\x07f")
            with Terminal(server, "ann") as terminal:
                terminal.until(lambda: "a␛[31mb<U+202E>c<U+009B>d - e␇f".encode() in terminal.shown)
                for bad in (b"\x1b[31m", "\u202e".encode(), "\x9b".encode(), b"\x07"):
                    self.assertNotIn(bad, terminal.shown)


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
                window.until(lambda: "4 unread" in window.text())
                self.assertEqual(window.selected(), "item 2")
                window.press("d")
                window.until(lambda: "3 unread" in window.text())
                self.assertNotIn("item 2", window.text())

    def test_enter_opens_an_item_and_changes_nothing(self):
        with Server() as server:
            body = "Dear Ann,\nthe invoice: " + "many words " * 40 + "the end"
            server.notify("ann", title="Invoice", body=body, thread="billing", data={"url": "https://pay.example/1", "n": 1})
            server.notify("ann", title="Second")
            with Window(server, "ann", lines=24) as window:
                window.until(lambda: window.selected() == "Second")
                window.press("Enter")
                window.until(lambda: "Esc back" in window.text())
                window.press("j")
                window.until(lambda: "the end" in " ".join(window.text().split()))
                for words in ("Invoice", "thread billing", "unread", "link: https://pay.example/1", '"n": 1', "2 unread"):
                    self.assertIn(words, window.text())
                window.press("r")
                window.until(lambda: "1 unread" in window.text() and "· read" in window.text())
                window.press("Escape")
                window.until(lambda: window.selected().startswith("Invoice"))

    def test_on_a_wide_screen_an_item_opens_beside_its_list(self):
        with Server() as server:
            server.notify("ann", title="Invoice", body="Dear Ann")
            server.notify("ann", title="The disk fills", level="timeSensitive")
            server.notify("ann", title="The disk is full", level="critical")
            with Window(server, "ann", columns=140) as window:
                window.until(lambda: window.selected().startswith("The disk is full"))
                self.assertIn(">!! The disk is full", window.text())
                self.assertIn("  ! The disk fills", window.text())
                self.assertIn("  * Invoice", window.text())
                window.press("j", "j", "Enter")
                window.until(lambda: "Dear Ann" in window.text() and "Esc back" in window.text())
                rows = window.text().splitlines()
                self.assertRegex(rows[2], r"^ !! The disk is full .*\u2502   Invoice")
                self.assertRegex(rows[4], r"^> \* Invoice - Dear Ann .*\u2502")
                window.press("Escape")
                window.until(lambda: "\u2502" not in window.text())

    def test_a_long_item_scrolls(self):
        with Server() as server:
            server.notify("ann", title="Long", body="\n".join(f"line {number}" for number in range(100)))
            with Window(server, "ann") as window:
                window.until(lambda: window.selected().startswith("Long"))
                window.press("Enter")
                window.until(lambda: "line 2" in window.text() and "line 50" not in window.text())
                window.press(*["PageDown"] * 20)
                window.until(lambda: "line 99" in window.text())
                window.press(*["PageUp"] * 20)
                window.until(lambda: "line 0" in window.text())

    def test_the_list_is_narrowed_by_text_unread_and_thread(self):
        with Server() as server:
            for number in range(6):
                server.notify("ann", title=f"item {number}", thread="even" if number % 2 == 0 else "odd")
            with Window(server, "ann", lines=16) as window:
                window.until(lambda: window.selected() == "item 5")
                window.press("?")
                window.until(lambda: "unread only" in window.text() and "find" in window.text())
                window.press("q")
                window.until(lambda: window.selected() == "item 5")
                window.press("/", "M", " ", "3")
                window.until(lambda: window.selected() == "item 3" and "item 4" not in window.text())
                window.press("Enter", "r")
                window.until(lambda: "5 unread" in window.text())
                window.press("Escape", "u")
                window.until(lambda: "unread only" in window.text() and "item 3" not in window.text() and "item 4" in window.text())
                window.press("Escape", "t")
                window.until(lambda: "3 unread of 3" in window.text() and "2 unread of 3" in window.text())
                window.press("j", "Enter")
                window.until(lambda: "thread even" in window.text() and "item 4" in window.text())
                self.assertNotIn("item 5", window.text())
                window.press("Escape")
                window.until(lambda: "item 5" in window.text())

    def test_a_question_is_answered_by_its_number(self):
        with Server() as server:
            actions = [{"id": "yes", "label": "Deploy now"}, {"id": "no", "label": "Wait"}]
            first = server.notify("ann", title="Question", actions=actions).json["seq"]
            second = server.notify("ann", title="Another", actions=actions).json["seq"]
            with Window(server, "ann", lines=16) as window:
                outcome = lambda seq: server.get(f"/v1/users/ann/items/{seq}").json.get("outcome", {}).get("action")  # noqa: E731
                window.until(lambda: window.selected() == "Another" and "1 Deploy now  2 Wait" in window.text())
                window.press("2")
                window.until(lambda: "answered: Wait" in window.text() and "1 unread" in window.text())
                until(lambda: outcome(second) == "no", 60, window.text)
                window.press("1")
                window.until(lambda: "answered already: no" in window.text())
                window.press("j", "Enter")
                window.until(lambda: "1  Deploy now" in window.text())
                window.press("1")
                window.until(lambda: ": Deploy now" in window.text() and "1  Deploy now" not in window.text())
                until(lambda: outcome(first) == "yes", 60, window.text)

    def test_a_question_that_was_edited_is_marked_after_a_refused_answer(self):
        with Server() as server:
            actions = [{"id": "yes", "label": "Pay"}, {"id": "no", "label": "Do not"}]
            seq = server.notify("ann", title="100 to Bob", actions=actions).json["seq"]
            with Window(server, "ann", lines=20, columns=100) as window:
                window.until(lambda: window.selected() == "100 to Bob" and "1 Pay  2 Do not" in window.text())
                window.press("o", "1")
                window.until(lambda: "answered: Pay" in window.text())
                server.call("PATCH", f"/v1/users/ann/items/{seq}", {"title": "10000 to Eve"})
                window.press("o")
                window.until(lambda: "not answered: it was edited" in window.text() and window.selected() == "10000 to Eve")
                window.press("Enter")
                window.until(lambda: "edited since you answered" in window.text())
                window.press("2")
                outcome = lambda: server.get(f"/v1/users/ann/items/{seq}").json.get("outcome", {}).get("action")  # noqa: E731
                until(lambda: outcome() == "no", 60, window.text)

    def test_do_not_disturb_is_a_key(self):
        with Server() as server, Window(server, "ann") as window:
            mutes = lambda: server.get("/v1/users/ann/mutes").json["mutes"]  # noqa: E731
            server.notify("ann", title="Before")
            window.until(lambda: window.selected() == "Before")
            window.press("m", "2", "h", "Enter")
            window.until(lambda: "quiet until" in window.text())
            until(lambda: mutes() and mutes()[0]["until"], 60, window.text)
            server.notify("ann", title="Meanwhile")
            window.until(lambda: "Meanwhile" in window.text() and "1 unread" in window.text())
            window.press("m")
            window.until(lambda: "quiet until" not in window.text())
            until(lambda: not mutes(), 60, window.text)
            window.press("m", "Enter")
            window.until(lambda: "quiet (m ends it)" in window.text())
            until(lambda: mutes() and "until" not in mutes()[0], 60, window.text)

    def test_an_item_is_snoozed_for_a_while_and_undo_brings_it_back(self):
        with Server() as server:
            server.notify("ann", title="Later")
            with Window(server, "ann") as window:
                window.until(lambda: window.selected() == "Later")
                window.press("z", "s", "o", "o", "n", "Enter")
                window.until(lambda: 'not snoozed: "soon" is no time' in window.text())
                window.press("z", "2", "h", "Enter")
                window.until(lambda: "nothing here" in window.text() and "snoozed until" in window.text())
                until(lambda: server.get("/v1/users/ann/inbox?view=snoozed").json["items"], 60, window.text)
                window.press("U")
                window.until(lambda: window.selected() == "Later")

    def test_a_link_is_opened_by_the_desktop_and_nothing_but_a_web_page(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            opened = os.path.join(folder, "opened")
            with open(os.path.join(folder, "xdg-open"), "w") as file:
                file.write(f'#!/bin/sh\nprintf "%s\\n" "$#:$1" >> {shlex.quote(opened)}\n')
            os.chmod(file.name, 0o755)
            server.notify("ann", title="None", data={"url": "file:///etc/passwd"}, body="javascript:alert(1)")
            server.notify("ann", title="Link", body='look (https://one.example/a?b="c;d) there', data={"url": "file:///etc/passwd"})
            with Window(server, "ann", path=folder) as window:
                window.until(lambda: window.selected().startswith("Link"))
                window.press("l")
                window.until(lambda: "opened https://one.example/a?b=" in window.text())
                window.press("j", "l")
                window.until(lambda: "this item has no link" in window.text())
                until(lambda: os.path.exists(opened), 60, window.text)
                with open(opened) as file:
                    self.assertEqual(file.read(), "1:https://one.example/a?b=\n")

    def test_wide_and_joined_characters_push_no_line_off_the_screen(self):
        texts = ["日本語のタイトルがとても長くて画面の幅をこえるかもしれませんので切ります", "한국어 제목이 아주 길어서 화면을 넘을 수 있습니다 그래서 잘립니다 정말로요",
                 "مرحبا بالعالم عنوان طويل جدا قد يتجاوز عرض الشاشة", "हिन्दी शीर्षक बहुत लंबा है क्षि और स्क्रीन से बाहर जा सकता है", "ภาษาไทยที่ยาวมากจนเกินหน้าจอ",
                 "👩‍👩‍👧‍👦👍🏽🇩🇪❤️" * 10, "e\u0301" * 200]
        for columns in (80, 140):
            with self.subTest(columns=columns), Server() as server:
                for text in texts:
                    server.notify("ann", title=text, thread=text[:40], actor=text[:40])
                server.notify("ann", title="Last")
                with Window(server, "ann", columns=columns) as window:
                    window.until(lambda: window.selected() == "Last" and "up to date" in window.text())
                    lines = window.text().splitlines()
                    self.assertTrue(lines[0].startswith(" Tray of ann  8 unread"), lines)
                    self.assertEqual([bool(line.strip()) for line in lines[2:10]], [True] * 8, lines)
                    for line in lines[2:10]:
                        self.assertRegex(line, r"\d\d-\d\d \d\d:\d\d$")
                    self.assertTrue(lines[11].startswith(" Enter open"), lines)

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

    def test_the_screen_shows_an_offline_server_and_waiting_entries(self):
        with Server() as server:
            server.notify("ann", title="Hello")
            with Window(server, "ann") as window:
                window.until(lambda: "up to date" in window.text() and window.selected() == "Hello")
                server.stop(signal.SIGKILL)
                # Why, and when it tries again.
                window.until(lambda: re.search(r"offline, trying again in \d s · .*connect", window.text()))
                window.press("o")
                window.until(lambda: "offline, as you asked" in window.text())
                window.press("o")
                window.press("r")
                window.until(lambda: "0 unread" in window.text() and "1 waiting to be sent" in window.text())
