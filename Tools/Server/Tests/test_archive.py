"""A server that archives its log: files a second behind, copies elsewhere, and the same log from them when the machine is lost."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from served import Server

PROGRAM = os.environ.get("TRAYLOG") or os.path.join(os.path.dirname(os.environ["TRAYLOG_SERVER"]), "traylog")


def traylog(*arguments, statuses=(0,)):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode in statuses, done
    return done.stdout


def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class ArchiveTests(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-archive.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def head(self, directory):
        report = json.loads(traylog("verify", "--archive", directory, "--json"))
        self.assertEqual(report["findings"], [])
        return report["events"]

    def names(self, directory):
        return sorted(path.name for path in pathlib.Path(directory).glob("*.archive"))

    def test_the_log_survives_the_machine(self):
        archive = self.path("archive")
        server = Server("--archive", archive)
        self.addCleanup(shutil.rmtree, server.directory, ignore_errors=True)
        for number in range(20):
            server.notify("ann", title=str(number))
        until(lambda: self.names(archive) and self.head(archive) == 20)
        server.notify("ann", title="the last one")
        # Told to end, it archives what is there.
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.head(archive), 21)
        shutil.rmtree(os.path.join(server.directory, "store"))
        store = self.path("store")
        traylog("--store", store, "restore", archive)
        tray = json.loads(traylog("--store", store, "tray", "ann", "--json"))
        self.assertEqual((tray["unread"], tray["asOf"]), (21, 21))
        # The restored store goes on in the same archive.
        with Server("--archive", archive, directory=self.directory) as server:
            server.notify("bob", title="after")
            until(lambda: len(self.names(archive)) > 1 and self.head(archive) == 22)
        self.assertEqual(json.loads(traylog("--store", store, "verify", "--archive", archive, "--json"))["findings"], [])

    def test_copies_that_fail_are_an_alarm_and_are_made_when_that_is_over(self):
        archive, bucket, broken = self.path("archive"), self.path("bucket"), self.path("broken")
        os.mkdir(bucket)
        ship = f"test ! -e {broken} && cp '%p' '{bucket}/%f'"
        with Server("--archive", archive, "--ship", ship, "--max-archive-lag", "1s") as server:
            server.notify("ann", title="One")
            until(lambda: self.names(bucket) and self.head(bucket) == 1)
            self.assertNotIn("problems", server.get("/readyz", who=None).json)
            pathlib.Path(broken).touch()
            server.notify("ann", title="Two")
            until(lambda: "archive" in server.get("/readyz", who=None).json.get("problems", []))
            figures = server.get("/metrics").body.decode()
            self.assertIn('traylog_problem{problem="archive"} 2', figures)
            self.assertRegex(figures, r'traylog_archive_lag_events\{directory="[^"]*archive"\} 1\n')
            until(lambda: "exit status 1" in server.logged())
            self.assertEqual(self.head(archive), 2)
            os.remove(broken)
            until(lambda: self.head(bucket) == 2)
            until(lambda: "problems" not in server.get("/readyz", who=None).json)

    def test_a_killed_server_goes_on_after_what_is_archived(self):
        archive = self.path("archive")
        server = Server("--archive", archive, directory=self.directory)
        server.notify("ann", title="One")
        until(lambda: self.names(archive) and self.head(archive) == 1)
        server.notify("ann", title="Two")
        server.stop(signal.SIGKILL)
        with Server("--archive", archive, directory=self.directory) as server:
            until(lambda: self.head(archive) == 2)


if __name__ == "__main__":
    unittest.main()
