"""The client of Durable Streams, unmodified, where it is installed (durable-streams 0.1.0)."""

import threading
import unittest

from served import Server

try:
    import durable_streams
except ImportError:
    durable_streams = None


@unittest.skipUnless(durable_streams, "durable-streams is not installed")
class DurableStreamTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)
        for start in range(0, 2_500, 500):
            cls.server.perform(*({"kind": "notify", "user": "ann", "title": str(n)} for n in range(start, start + 500)))

    def read(self, path, **more):
        headers = {"Authorization": f"Bearer {self.server.key}"}
        return durable_streams.stream(f"http://127.0.0.1:{self.server.port}{path}", headers=headers, **more)

    def test_the_sdk_reads_all_pages_and_continues(self):
        with self.read("/v1/users/ann/changes") as answer:
            events = answer.read_json()
            offset = answer.offset
        self.assertEqual([event["title"] for event in events], [str(number) for number in range(2_500)])
        with self.read("/v1/users/ann/changes", offset=offset, live=False) as answer:
            self.assertEqual(answer.read_json(), [])
            self.assertTrue(answer.up_to_date)
        with self.read("/v1/log") as answer:
            self.assertGreaterEqual(len(answer.read_json()), 2_500)

    def test_the_sdk_follows_by_long_poll_and_sse(self):
        for live in ("long-poll", "sse"):
            user = f"live {live}"
            path = f"/v1/users/{user.replace(' ', '%20')}/changes"
            self.server.notify(user, title="0")
            with self.read(path, live=live) as answer:
                found = []
                for event in answer.iter_json():
                    found.append(event["title"])
                    if len(found) == 4:
                        break
                    threading.Timer(0.1, self.server.notify, (user,), {"title": str(len(found))}).start()
                self.assertEqual(found, ["0", "1", "2", "3"])

    def test_the_sdk_reports_an_invalid_offset(self):
        with self.assertRaises(durable_streams.DurableStreamError):
            with self.read("/v1/users/ann/changes", offset="nonsense", live=False) as answer:
                answer.read_json()


if __name__ == "__main__":
    unittest.main()
