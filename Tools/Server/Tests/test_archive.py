"""A server that archives its log: files a second behind, copies elsewhere, and the same log from them when the machine is lost."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
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


def reachable(port):
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class GuideTests(unittest.TestCase):
    """The commands of the guide as they stand: with a bucket of moto, and with an SSH server of its own."""

    BLOCKS = re.findall(
        r"^```bash\n(.*?)^```$", (pathlib.Path(__file__).resolve().parents[3] / "Docs/operating/archive.md").read_text(), re.S | re.M)

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-archive.")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.environment = {
            **os.environ, "PATH": os.pathsep.join([self.path("bin"), os.path.dirname(PROGRAM), os.environ["PATH"]]),
            "TRAYLOG_STORE": self.path("trays")}
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("srv"))

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def start(self, port, *words, **more):
        process = subprocess.Popen(
            words, env={**self.environment, **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: reachable(port), 60)

    def sh(self, script):
        script = script.replace("/srv/archive", self.path("srv"))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], env=self.environment, cwd=self.directory, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def life(self, ship):
        """Events, an erasure, and what is joined, with a copy after each."""
        for number in range(3):
            self.sh(f"traylog notify ann --title {number}; traylog notify zoe --title {number}")
            self.sh(ship)
        self.sh("traylog erase zoe --yes")
        self.sh(ship)
        # Copies of what was erased go with the next run.
        self.sh(ship)

    def same(self, store):
        return self.sh(f"traylog --store {store} tree-head --json") == self.sh("traylog tree-head --json")

    @unittest.skipUnless(shutil.which("rclone") and importlib.util.find_spec("moto"), "needs rclone and moto")
    def test_a_bucket_has_the_log(self):
        port = free_port()
        self.start(port, sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
        settings = {
            "TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY_ID": "key",
            "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}
        self.environment |= {f"RCLONE_CONFIG_BUCKET_{name}": value for name, value in settings.items()}
        # Nothing of this machine's way to the outside.
        self.environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        self.environment.pop("AWS_CA_BUNDLE", None)
        self.environment["RCLONE_CONFIG"] = self.path("none")
        self.sh("rclone mkdir bucket:trays")
        self.life(self.BLOCKS[0])
        names = self.sh("rclone lsf bucket:trays").split()
        self.assertEqual(sorted(names), sorted(path.name for path in pathlib.Path(self.path("archive")).glob("*.archive")))
        # The machine is lost, and the archive with it.
        shutil.rmtree(self.path("archive"))
        self.assertIn("sound: 7 events", self.sh(self.BLOCKS[1]))
        self.assertTrue(self.same("restored"))
        self.assertNotIn("zoe", self.sh("traylog --store restored log --json"))
        # The restored store goes on in the same bucket, and an erasure there takes what came before.
        os.rename(self.path("trays"), self.path("lost"))
        os.rename(self.path("restored"), self.path("trays"))
        self.sh("traylog notify ann --title more; traylog erase ann --yes")
        for _ in range(2):
            self.sh(self.BLOCKS[0])
        self.sh("rm -rf archive")
        self.assertIn("sound: 9 events", self.sh(self.BLOCKS[1]))
        self.assertTrue(self.same("restored"))
        self.assertNotIn('"ann"', self.sh("traylog --store restored log --json"))

    @unittest.skipUnless(shutil.which("sshd") and shutil.which("scp"), "needs sshd and scp")
    def test_a_standby_machine_has_a_store_that_takes_over(self):
        port = free_port()
        for key in ("host", "own"):
            self.sh(f"ssh-keygen -q -t ed25519 -N '' -f {key}")
        self.sh("cp own.pub authorized && chmod 600 authorized && chmod 700 .")
        pathlib.Path(self.path("sshd")).write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.path('host')}\nAuthorizedKeysFile {self.path('authorized')}\n"
            f"PidFile {self.path('sshd.pid')}\nStrictModes no\nUsePAM no\nSubsystem sftp internal-sftp\n")
        pathlib.Path(self.path("config")).write_text(
            f"Host standby\nHostName 127.0.0.1\nPort {port}\nIdentityFile {self.path('own')}\nUserKnownHostsFile /dev/null\n"
            "StrictHostKeyChecking no\nLogLevel ERROR\n")
        for name in ("ssh", "scp"):
            program = pathlib.Path(self.path("bin", name))
            program.write_text(f"#!/bin/sh\nexec {shutil.which(name)} -F {self.path('config')} \"$@\"\n")
            program.chmod(0o755)
        os.makedirs("/run/sshd", exist_ok=True)
        self.start(port, shutil.which("sshd"), "-D", "-e", "-f", self.path("sshd"))
        self.life(self.BLOCKS[2])
        self.sh(self.BLOCKS[3])
        self.assertTrue(self.same("standby"))
        # Again, after more events; then it takes over.
        self.sh("traylog notify ann --title more")
        self.sh(self.BLOCKS[2])
        self.sh(self.BLOCKS[3])
        self.assertTrue(self.same("standby"))
        self.assertIn("appended as event 9", self.sh("traylog --store standby notify ann --title 'on the standby'"))


if __name__ == "__main__":
    unittest.main()
