"""The commands of the documents, run as they stand: those of a page in one shell, against a server of its own."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from served import Server

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAY = os.environ.get("TRAYLOG_TRAY")


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
        # Tools/embed runs the commands of the other page.
        missing = [page for page in pages if blocks(page, "sh") and f'run_page("{page}"' not in source]
        self.assertEqual(missing, ["Docs/getting-started/embed.md"])

    def test_the_http_guide_works(self):
        with Server() as server:
            printed = self.run_page("Docs/guides/http.md", server)
            self.assertIn('"result":"appended"', printed)
            environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key}
            subprocess.run([sys.executable, "-c", blocks("Docs/guides/http.md", "python")], env=environment, check=True)
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unseen"], tray["total"]), (0, 0))
            self.assertEqual(server.get("/v1/users/bob/tray").json["unread"], 2)
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
