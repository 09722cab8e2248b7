"""Killed (-9) under 64 keyed writers that retry: no acknowledged event is lost, and none is stored twice."""

import http.client
import json
import os
import random
import shutil
import tempfile
import threading
import time
import unittest

from served import Server

KILLS = int(os.environ.get("TRAYLOG_KILLS", "3"))
SEED = int(os.environ.get("TRAYLOG_TEST_SEED", random.randrange(1 << 32)))


class KillTests(unittest.TestCase):
    def test_acknowledged_commands_are_stored_once(self):
        directory = tempfile.mkdtemp(prefix="traylog-kill.")
        self.addCleanup(shutil.rmtree, directory, True)
        rnd = random.Random(SEED)
        server = Server(directory=directory)
        state = {"server": server, "stop": False}
        acknowledged, lock = {}, threading.Lock()

        def write(writer):
            number, connection, now = 0, None, None
            while not state["stop"]:
                key = f"{writer}-{number}"
                try:
                    if connection is None or now is not state["server"]:
                        now = state["server"]
                        connection = http.client.HTTPConnection("127.0.0.1", now.port, timeout=20)
                    connection.request("POST", f"/v1/users/u{writer % 4}/notifications", json.dumps({"title": key}), {
                        "Authorization": f"Bearer {now.key}", "Content-Type": "application/json", "Idempotency-Key": key})
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                    if response.status in (200, 201):
                        with lock:
                            acknowledged[key] = answer["seq"]
                        number += 1
                except (OSError, http.client.HTTPException, ValueError):
                    if connection is not None:
                        connection.close()
                    connection = None
                    time.sleep(0.02)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(64)]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            before = len(acknowledged)
            while len(acknowledged) < before + 200:
                time.sleep(0.01)
            time.sleep(rnd.random() / 2)
            state["server"].stop(9)
            state["server"] = Server(directory=directory)
        before = len(acknowledged)
        while len(acknowledged) < before + 200:
            time.sleep(0.01)
        state["stop"] = True
        for thread in threads:
            thread.join()
        stored, offset = {}, "-1"
        with self.subTest(seed=SEED):
            while True:
                answer = state["server"].get(f"/v1/log?offset={offset}")
                for event in answer.json:
                    self.assertNotIn(event["key"], stored)
                    stored[event["key"]] = event["seq"]
                offset = answer.headers["Stream-Next-Offset"]
                if answer.headers.get("Stream-Up-To-Date") == "true":
                    break
            self.assertEqual({key: stored.get(key) for key in acknowledged}, acknowledged)
        self.assertEqual(state["server"].stop(), 0)


if __name__ == "__main__":
    unittest.main()
