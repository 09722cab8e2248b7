"""Killed (-9) under keyed writers that retry: no acknowledged event is lost, and none is stored twice."""

import http.client
import json
import tempfile
import threading
import time
import unittest

from served import Server


class KillTests(unittest.TestCase):
    def test_what_was_acknowledged_is_there_once(self):
        directory = tempfile.mkdtemp(prefix="traylog-kill.")
        server = Server(directory=directory)
        state = {"server": server, "stop": False}
        acknowledged, lock = {}, threading.Lock()

        def write(writer):
            number = 0
            while not state["stop"]:
                key = f"{writer}-{number}"
                try:
                    now = state["server"]
                    connection = http.client.HTTPConnection("127.0.0.1", now.port, timeout=5)
                    connection.request("POST", f"/v1/users/u{writer % 4}/notifications", json.dumps({"title": key}), {
                        "Authorization": f"Bearer {now.key}", "Content-Type": "application/json", "Idempotency-Key": key})
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                    connection.close()
                    if response.status in (200, 201):
                        with lock:
                            acknowledged[key] = answer["seq"]
                        number += 1
                except (OSError, http.client.HTTPException, ValueError):
                    time.sleep(0.02)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(16)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            time.sleep(0.8)
            state["server"].stop(9)
            state["server"] = Server(directory=directory)
        time.sleep(0.5)
        state["stop"] = True
        for thread in threads:
            thread.join()
        self.assertGreater(len(acknowledged), 50)
        stored, offset = {}, "-1"
        while True:
            answer = state["server"].get(f"/v1/log?offset={offset}")
            for event in answer.json:
                self.assertNotIn(event["key"], stored)
                stored[event["key"]] = event["seq"]
            offset = answer.headers["Stream-Next-Offset"]
            if answer.headers.get("Stream-Up-To-Date") == "true":
                break
        for key, seq in acknowledged.items():
            self.assertEqual(stored[key], seq)
        self.assertEqual(state["server"].stop(), 0)
