"""The commands of the documents, run as they stand: those of a page in one shell, against a server of its own."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from served import PROGRAM, Server

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAY = os.environ.get("TRAYLOG_TRAY")
TRAYLOG = os.environ.get("TRAYLOG")
# Both scripts begin with the history of this checkout.
HAS_HISTORY = subprocess.run(["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", "HEAD"], capture_output=True).returncode == 0


def blocks(page, language):
    """The fenced blocks of one language on a page, as one script."""
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M))


class GuideTests(unittest.TestCase):
    def run_page(self, page, server):
        """Runs the page's shell blocks in a directory of their own, and returns what they print."""
        path = os.pathsep.join([os.path.dirname(TRAY or ""), os.environ["PATH"]])
        environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key, "PATH": path}
        with tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", blocks(page, "sh")], env=environment, cwd=directory, capture_output=True,
                text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_page_with_commands_for_a_server_is_run_here(self):
        pages = [path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *(ROOT / "Docs").rglob("*.md")]]
        source = pathlib.Path(__file__).read_text()
        # Tools/embed runs the others.
        missing = [page for page in pages if blocks(page, "sh") and f'run_page("{page}"' not in source]
        self.assertEqual(sorted(missing), ["Docs/getting-started/embed.md", "Docs/guides/logging.md"])

    def test_the_http_guide_works(self):
        with Server() as server:
            printed = self.run_page("Docs/guides/http.md", server)
            self.assertIn('"result":"appended"', printed)
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unseen"], tray["total"]), (0, 0))
            self.assertEqual(server.get("/v1/users/bob/tray").json["unread"], 2)

    @unittest.skipUnless(importlib.util.find_spec("openapi_python_client"), "openapi-python-client is not installed")
    def test_the_http_guide_generates_a_client_that_works(self):
        with Server() as server, tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key}
            done = subprocess.run(
                [sys.executable, "-c", blocks("Docs/guides/http.md", "python")], env=environment, cwd=directory,
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout[-2_000:] + done.stderr[-2_000:])
            self.assertEqual(server.get("/v1/users/cleo/tray").json["unread"], 1)

    def test_the_readme_works(self):
        with Server() as server:
            self.assertIn('"unread":1', self.run_page("README.md", server))
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unread"], tray["total"]), (0, 1))

    def test_getting_started_with_the_service_rings_the_bell(self):
        with Server() as server:
            printed = self.run_page("Docs/getting-started/service.md", server)
            self.assertIn('data: {"user":"ann"', printed)
            self.assertIn('"unseen":2', printed)
            self.assertEqual(server.get("/v1/users/ann/tray").json["unseen"], 2)

    @unittest.skipUnless(TRAY, "TRAYLOG_TRAY does not name the program")
    def test_getting_started_with_a_device_marks_offline_and_agrees_afterwards(self):
        with Server() as server:
            printed = self.run_page("Docs/getting-started/device.md", server)
            trays = [line for line in printed.splitlines() if '"unread":0' in line and '"pending":[{' in line]
            self.assertTrue(trays, printed)
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unread"], tray["total"]), (0, 1))

    def test_a_push_token_is_registered_as_the_page_shows(self):
        with Server() as server:
            self.run_page("Docs/experimental/compatibility.md", server)
            self.assertIn("740f4707bebcf74f", server.get("/v1/users/ann/devices").body.decode())


@unittest.skipUnless(HAS_HISTORY, "the checkout has no history")
class ScriptTests(unittest.TestCase):
    """The two commands that the README begins with, on programs that are built already."""

    @unittest.skipUnless(TRAYLOG, "TRAYLOG does not name the program")
    def test_the_demo_runs_to_its_end(self):
        done = subprocess.run(
            [ROOT / "Tools/demo"], env=os.environ | {"TRAYLOG": TRAYLOG}, capture_output=True, text=True, errors="replace")
        self.assertEqual(done.returncode, 0, done.stdout[-2_000:] + done.stderr[-2_000:])
        self.assertIn("identical: ", done.stdout)

    @unittest.skipUnless(shutil.which("jq"), "jq is not installed")
    def test_serve_starts_a_server_whose_suggestions_work(self):
        serve = subprocess.Popen([ROOT / "Tools/serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=os.environ | {"TRAYLOG_SERVER": PROGRAM, "TRAYLOG_LISTEN": "127.0.0.1:0"})
        try:
            printed = []
            for line in serve.stdout:
                printed.append(line)
                if line.startswith("The server runs until"):
                    break
            else:
                self.fail("".join(printed) + serve.stderr.read())
            commands = [line.strip() for line in printed if line.startswith("  ")]
            # The live stream does not end by itself.
            commands = [line.replace("curl ", "curl -fsS ") for line in commands if "/live" not in line]
            self.assertEqual(len(commands), 5, printed)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(commands)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"unread":', done.stdout)
        finally:
            serve.terminate()
            serve.wait(timeout=60)
            serve.stdout.close()
            serve.stderr.close()

    @unittest.skipUnless(TRAY and shutil.which("tmux") and shutil.which("jq"), "no client, tmux or jq")
    def test_serve_two_shows_both_trays(self):
        serve = subprocess.Popen(
            [ROOT / "Tools/serve", "--two"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"TRAYLOG_SERVER": PROGRAM, "TRAYLOG_TRAY": TRAY, "TRAYLOG_DETACHED": "1", "TERM": "xterm-256color"})
        tmux = ["tmux", "-L", f"traylog-{serve.pid}"]
        try:
            for pane, user in (("0", "ann"), ("1", "bob")):
                text = ""
                while f"Welcome, {user}" not in text:
                    self.assertIsNone(serve.poll(), "the script ended")
                    time.sleep(0.2)
                    shown = subprocess.run([*tmux, "capture-pane", "-p", "-t", f"two:0.{pane}"], capture_output=True, text=True)
                    text = shown.stdout
        finally:
            subprocess.run([*tmux, "kill-server"], capture_output=True)
            serve.terminate()
            serve.wait(timeout=60)
