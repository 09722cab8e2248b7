"""A disk that is full: 507, reads go on, and appends go on once there is room. A small file system is mounted where that is allowed."""

import os
import shutil
import subprocess
import tempfile
import unittest

from served import Server

SIZE = 24 << 20


class FullDiskTests(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-full.")
        self.addCleanup(shutil.rmtree, self.directory, True)
        options = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", self.directory]
        if shutil.which("mount") is None or subprocess.run(options, capture_output=True).returncode != 0:
            self.skipTest("needs the right to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", self.directory])

    def test_a_full_disk_is_507_and_nothing_else_suffers(self):
        with Server(directory=self.directory) as server:
            first = server.notify("ann", title="A").json["seq"]
            ballast = os.path.join(self.directory, "ballast")
            with open(ballast, "wb") as file:
                room = os.statvfs(self.directory)
                file.write(b"x" * (room.f_bavail * room.f_frsize - (1 << 20)))
            stored, refused = 1, None
            for number in range(400):
                answer = server.notify("ann", title=str(number), data="x" * 60_000)
                if answer.status != 201:
                    refused = answer
                    break
                stored += 1
            self.assertIsNotNone(refused)
            self.assertEqual((refused.status, refused.headers["Content-Type"]), (507, "application/problem+json"), refused)
            self.assertEqual(refused.json["detail"], "the disk of the store is full: this was not stored, or not all of it; make room, then send it again with the same keys")
            self.assertEqual(server.get("/v1/users/ann/tray").json["total"], stored)
            self.assertEqual(server.get(f"/v1/users/ann/items/{first}").status, 200)
            self.assertEqual(server.get("/healthz", who=None).status, 200)
            os.remove(ballast)
            self.assertEqual(server.notify("ann", title="again").status, 201)
            self.assertEqual(server.get("/v1/users/ann/tray").json["total"], stored + 1)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
