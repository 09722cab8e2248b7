"""What a terminal shows of the program's answers: each line is one line, by the emulator's own tables of widths.

Needs tmux; without it the test is skipped. TRAYLOG names the program."""

import json
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest
import uuid
from fcntl import ioctl

PROGRAM = os.environ.get("TRAYLOG")
TMUX = shutil.which("tmux")
TITLE = "日本語のタイトル 🔔 — " + "語 and more " * 20
QUERIES = (["tray", "ada"], ["inbox", "ada"], ["threads", "ada"], ["history", "ada"], ["log"], ["users"], ["audit", "ada"],
           ["show", "1"], ["diff", "ada", "--from", "0"])


def lines(text):
    found = [line.rstrip() for line in text.replace("\r", "").split("\n")]
    while found and not found[-1]:
        found.pop()
    return found


@unittest.skipUnless(PROGRAM, "TRAYLOG does not name the program")
@unittest.skipUnless(TMUX, "tmux is not installed")
class WindowTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="traylog-window.")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        cls.store = os.path.join(cls.directory, "store")
        commands = [
            {"kind": "notify", "user": "ada", "thread": "スレッド", "category": "c", "title": TITLE, "device": "phone"},
            {"kind": "notify", "user": "ada", "title": "\x1b[31mred\x07", "actor": "日本語ユーザー名"},
            {"kind": "mark", "user": "ada", "as": "read", "items": [1], "actor": TITLE[:60]},
        ]
        subprocess.run([PROGRAM, "--store", cls.store, "append", "-"], input="\n".join(map(json.dumps, commands)), text=True,
                       check=True, stdout=subprocess.DEVNULL)

    def printed(self, arguments, columns):
        """What the program writes to a terminal of so many columns."""
        near, far = pty.openpty()
        ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 200, columns, 0, 0))
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=far, env=os.environ | {"NO_COLOR": "1"})
        os.close(far)
        text = b""
        try:
            while more := os.read(near, 65536):
                text += more
        except OSError:
            pass  # Linux says so when the other side is closed.
        finally:
            os.close(near)
        self.assertEqual(process.wait(timeout=60), 0, arguments)
        return text.decode()

    def screen(self, arguments, columns):
        """What stands in a window of tmux after the same."""
        socket = f"traylog-{uuid.uuid4().hex}"
        tmux = [TMUX, "-u", "-L", socket, "-f", "/dev/null"]
        environment = os.environ | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        command = " ".join(f"'{argument}'" for argument in arguments)
        quiet = {"env": environment, "stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 120}
        try:
            subprocess.run([*tmux, "new-session", "-d", "-x", str(columns), "-y", "200",
                            f"NO_COLOR=1 {command}; '{TMUX}' -L {socket} wait-for -S shown; exec sleep 600"],
                           check=True, stdout=subprocess.DEVNULL, **quiet)
            subprocess.run([*tmux, "wait-for", "shown"], check=True, stdout=subprocess.DEVNULL, **quiet)
            return subprocess.run([*tmux, "capture-pane", "-p"], check=True, stdout=subprocess.PIPE, text=True, **quiet).stdout
        finally:
            subprocess.run([*tmux, "kill-server"], stdout=subprocess.DEVNULL, **quiet)

    def test_a_terminal_shows_each_line_as_one_line(self):
        for columns in (80, 140):
            for query in QUERIES:
                with self.subTest(columns=columns, query=query):
                    arguments = [PROGRAM, "--store", self.store, *query]
                    self.assertEqual(lines(self.screen(arguments, columns)), lines(self.printed(arguments, columns)))


if __name__ == "__main__":
    unittest.main()
