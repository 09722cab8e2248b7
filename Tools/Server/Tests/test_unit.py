"""The systemd unit and the compose file: a server that ends is started again, and a reload reads the keys themselves."""

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from served import PROGRAM, Server

FOLDER = Path(__file__).resolve().parent.parent


def settings():
    """Names and values of the unit."""
    lines = (FOLDER / "traylog-server.service").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z]\w*=", line))


class UnitTests(unittest.TestCase):
    def test_a_server_that_ends_is_started_again_however_often_it_ends(self):
        unit = settings()
        self.assertEqual(unit["Restart"], "always")
        self.assertEqual(unit["StartLimitIntervalSec"], "0")
        self.assertRegex(unit["RestartSec"], r"^\d+ms$|^[1-5]s?$")
        # Wrong options and keys do not pass by themselves; all else may.
        self.assertEqual(unit["RestartPreventExitStatus"].split(), ["64", "65"])

    def test_a_reload_reads_the_keys_file_itself(self):
        unit = settings()
        self.assertNotIn("LoadCredential", unit)
        self.assertIn("--keys /etc/traylog/keys", unit["ExecStart"])
        self.assertIn("traylog", unit["SupplementaryGroups"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_knows_every_setting(self):
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory, "traylog-server.service")
            text = (FOLDER / "traylog-server.service").read_text()
            copy.write_text(text.replace("/usr/local/bin/traylog-server", PROGRAM))
            done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
            self.assertNotRegex(done.stderr, "Unknown|Failed to parse|ignoring")

    def test_containers_start_again_with_the_machine(self):
        text = (FOLDER / "compose.yaml").read_text()
        self.assertEqual(set(re.findall(r"restart: *\"?([\w-]+)", text)), {"unless-stopped"})

    def test_a_store_that_another_writer_holds_is_served_once_it_is_free(self):
        directory = tempfile.mkdtemp(prefix="traylog-unit.")
        self.addCleanup(shutil.rmtree, directory, True)
        first = Server(directory=directory)
        threading.Timer(2, first.stop).start()
        pause = float(settings()["RestartSec"].removesuffix("ms")) / 1_000
        stopping = settings()["RestartPreventExitStatus"].split()
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            process = subprocess.Popen(
                [PROGRAM, "--store", os.path.join(directory, "store"), "--listen", "127.0.0.1:0", "--dev"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if any(line.startswith("listening") for line in process.stdout):
                process.terminate()
                process.communicate()
                return
            process.communicate()
            self.assertNotIn(str(process.returncode), stopping)
            time.sleep(pause)
        self.fail("the store was not served again")


if __name__ == "__main__":
    unittest.main()
