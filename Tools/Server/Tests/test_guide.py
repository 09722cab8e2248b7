"""The examples of the guide, run as they stand."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from served import Server

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "Docs" / "guides" / "service.md"


class GuideTests(unittest.TestCase):
    def test_the_examples_work(self):
        text = GUIDE.read_text()
        shell = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S))
        python = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
        self.assertGreater(shell.count("curl"), 8)
        with Server() as server:
            environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key}
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", shell], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"result":"appended"', done.stdout)
            subprocess.run([sys.executable, "-c", python], env=environment, check=True)
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unseen"], tray["total"]), (0, 0))
            self.assertEqual(server.get("/v1/users/bob/tray").json["unread"], 2)
