"""What happens to devices in their lives, from outside: `traylog-tray --json` against a real server, through a broken network."""

import glob
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import test_device
from device import PROGRAM, Device, Proxy
from served import Server

CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("CLOCK_IS_OFF_BY"));
    return result;
}
"""


@unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
class DeviceLifeTests(unittest.TestCase):
    assert_equal_trays = test_device.DeviceTests.assert_equal_trays

    def settle(self, device):
        """Waits until nothing is pending; what the user has to send again is sent again."""
        for _ in range(5):
            self.assertTrue(device.wait(seconds=120))
            failed = [entry["id"] for entry in device.ask("outbox")["entries"] if entry["state"] == "failed"]
            if not failed:
                return
            for entry in failed:
                device.ask("resend", id=entry)
        self.fail(f"entries keep failing: {device.ask('outbox')}")

    def test_lanes_keep_their_order_and_do_not_wait_for_each_other(self):
        with Server() as server, Proxy(server.port, seed=5, faults=20) as proxy:
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait(seconds=120))
                device.ask("offline", on=True)
                order = ["T1", "I1", "I2", "T2", "T3", "I3"]
                sent = {}
                for title in order:
                    lane = "text" if title[0] == "T" else "media"
                    sent[device.ask("send", to="bob", lane=lane, content={"title": title})["id"]] = title
                device.ask("offline", on=False)
                self.assertTrue(device.wait(seconds=120))
                # A message that failed is sent again at the end of its lane; the others keep their order.
                failed = {sent[event["id"]] for event in device.events if event.get("state") == "failed"}
                self.settle(device)
                arrived = [item["title"] for item in reversed(server.get("/v1/users/bob/inbox?limit=100").json["items"])]
                self.assertEqual(sorted(arrived), sorted(order))
                for lane in "TI":
                    mine = [title for title in arrived if title[0] == lane and title not in failed]
                    self.assertEqual(mine, sorted(mine))

    def test_many_devices_of_one_user_agree_in_the_end(self):
        count = 50 if os.environ.get("TRAYLOG_TESTS") == "nightly" else 6
        with Server() as server, Proxy(server.port, seed=6, faults=10) as proxy:
            for index in range(12):
                server.notify("ann", title=f"n{index}", thread=f"t{index % 3}", category="c")
            devices = [Device(server, "ann", port=proxy.port) for _ in range(count)]
            try:
                for device in devices:
                    self.assertTrue(device.wait(seconds=120))
                for index, device in enumerate(devices):
                    item = index % 12 + 1
                    if index % 3 == 0:
                        device.ask("markAll", **{"as": "read", "thread": f"t{index % 2}"})
                    else:
                        device.ask("mark", **{"as": ["archived", "unread", "deleted"][index % 3], "items": [item]})
                for device in devices:
                    self.settle(device)
                proxy.faults = 0
                for device in devices:
                    self.assertTrue(device.wait(seconds=120))
                    self.assert_equal_trays(device, server, "ann")
            finally:
                for device in devices:
                    device.__exit__()

    def test_a_topic_left_and_joined_again_while_offline(self):
        with Server() as server, Proxy(server.port) as proxy:
            server.perform({"kind": "subscribe", "user": "ann", "topic": "news"},
                           {"kind": "broadcast", "topic": "news", "title": "before"})
            with Device(server, "ann", port=proxy.port) as device:
                self.assertTrue(device.wait())
                proxy.stop()
                device.until(lambda: any(event.get("status") == "offline" for event in device.events))
                server.perform({"kind": "unsubscribe", "user": "ann", "topic": "news"},
                               {"kind": "broadcast", "topic": "news", "title": "missed"},
                               {"kind": "edit", "item": 2, "title": "before, edited"},
                               {"kind": "subscribe", "user": "ann", "topic": "news"},
                               {"kind": "broadcast", "topic": "news", "title": "after"})
                device.ask("mark", **{"as": "read", "items": [2]})
                proxy.start()
                self.settle(device)
                self.assert_equal_trays(device, server, "ann")
                page = device.ask("inbox", limit=20, cursor=None, unread=False)["items"]
                self.assertEqual([(item["title"], item["read"]) for item in page], [("after", False), ("before, edited", True)])

    def test_a_clock_that_is_hours_off_decides_nothing(self):
        directory = tempfile.mkdtemp(prefix="traylog-clock.")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        library = os.path.join(directory, "clock.so")
        made = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-", "-ldl"], input=CLOCK, text=True)
        self.assertEqual(made.returncode, 0)
        for hours in (-5, 7):
            with self.subTest(hours=hours), Server() as server:
                server.notify("ann", title="n0", thread="t")
                environment = {"LD_PRELOAD": library, "CLOCK_IS_OFF_BY": str(hours * 3600)}
                with Device(server, "ann", environment=environment) as device:
                    self.assertTrue(device.wait())
                    device.ask("mark", **{"as": "read", "items": [1]})
                    device.ask("markAll", **{"as": "archived", "thread": "t"})
                    self.settle(device)
                    server.notify("ann", title="n1")
                    self.settle(device)
                    self.assert_equal_trays(device, server, "ann")
                    events = server.get("/v1/users/ann/history").lines
                    self.assertEqual([event["recordedAt"] for event in events], sorted(event["recordedAt"] for event in events))
                    # The device's claim is kept as it is: hours away from the server's time.
                    marked = next(event for event in events if event["kind"] == "marked")
                    self.assertNotEqual(marked["occurredAt"][:13], marked["recordedAt"][:13])

    def test_a_replica_with_flipped_bits_is_fetched_anew_and_marks_stay(self):
        with Server() as server, Proxy(server.port) as proxy:
            for index in range(200):
                server.notify("ann", title=f"n{index}", body="x" * 300, thread=f"t{index % 7}")
            device = Device(server, "ann", port=proxy.port)
            device.owns = False
            self.addCleanup(shutil.rmtree, device.directory, ignore_errors=True)
            self.assertTrue(device.wait())
            for damage in ("pages", "everything", "shortened"):
                with self.subTest(damage=damage):
                    proxy.stop()
                    mark = device.ask("mark", **{"as": "archived", "items": [len(damage)]})["id"]
                    device.kill()
                    for path in glob.glob(os.path.join(device.directory, "device", "data", "replica", "data-*", "data.mdb")):
                        self.harm(path, damage)
                    proxy.start()
                    device = Device(server, "ann", port=proxy.port, directory=device.directory)
                    self.settle(device)
                    self.assertEqual(device.states(mark)[-1:], ["synced"])
                    self.assert_equal_trays(device, server, "ann")
            device.__exit__()

    def test_of_a_damaged_outbox_what_can_be_read_is_listed_and_the_file_is_kept(self):
        for damage in ("head", "everything"):
            with self.subTest(damage=damage), Server() as server:
                server.notify("ann", title="n")
                with Device(server, "ann") as device:
                    self.assertTrue(device.wait())
                    device.ask("offline", on=True)
                    message = device.ask("send", to="bob", lane="text", content={"title": "Hi"})["id"]
                    device.kill()
                    data = os.path.join(device.directory, "device", "data")
                    for path in glob.glob(os.path.join(data, "outbox", "data-*", "data.mdb")):
                        self.harm(path, damage)
                    with Device(server, "ann", directory=device.directory) as other:
                        self.assertTrue(other.wait())
                        listed = [(entry["id"], entry["state"], entry["error"]) for entry in other.ask("outbox")["entries"]]
                        self.assertEqual(listed, [(message, "failed", "damaged")] if damage == "head" else [])
                        for entry, _, _ in listed:
                            other.ask("resend", id=entry)
                        self.assertTrue(other.wait())
                        self.assertEqual(len(server.get("/v1/users/bob/inbox").json["items"]), len(listed))
                        other.kill()
                    # The path is said whenever it starts, until the file is removed.
                    other = Device(server, "ann", directory=device.directory)
                    other.process.stdin.close()
                    self.assertEqual(other.process.wait(timeout=60), 0)
                    kept = os.path.join(data, "outbox.damaged-1")
                    self.assertIn(kept, other.process.stderr.read())
                    self.assertTrue(glob.glob(os.path.join(kept, "data-*", "data.mdb")))
                    other.close_pipes()

    @staticmethod
    def harm(path, damage):
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            if damage == "shortened":
                file.truncate(min(size, 9000))
            elif damage == "head":
                file.write(b"\xa5" * 8192)
            else:
                start = 8192 if damage == "pages" else 0
                file.seek(start)
                file.write(b"\xa5" * (size - start))

    def test_the_name_of_somebody_erased_begins_anew(self):
        with Server() as server:
            server.notify("ann", title="old")
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                test_device.DeviceTests.run_job(self, server, "erasures", {"user": "ann", "confirm": "ann"})
                device.ask("refresh")
                device.until(lambda: any(event.get("status") == "erased" for event in device.events))
            # A token that an app signs itself, in the second of an erasure, may be the erased person's.
            time.sleep(1)
            server.notify("ann", title="new")
            with Device(server, "ann") as newcomer:
                self.assertTrue(newcomer.wait())
                self.assertEqual([item["title"] for item in newcomer.ask("inbox", limit=20, cursor=None, unread=False)["items"]], ["new"])
                self.assert_equal_trays(newcomer, server, "ann")


if __name__ == "__main__":
    unittest.main()
