"""What is notified or broadcast for later, over HTTP and on a device."""

import html
import tempfile
import unittest

from consoled import HOSTILE, Visitor, console_server
from device import PROGRAM, Device
from served import Server
from test_keys import made

LATER, SOON = "2090-01-02T00:00:00Z", "2090-01-01T00:00:00.000Z"


def arrive(server):
    """Lets everything arrive."""
    job = server.post("/v1/admin/ticks", {"now": LATER})
    while (answer := server.get(job.headers["Location"]).json)["state"] == "running":
        pass
    return answer


class ScheduledTests(unittest.TestCase):
    def test_nobody_sees_what_is_planned_and_its_publisher_finds_and_changes_it(self):
        with Server() as server:
            item = server.notify("ann", title="Later", key="k", notBefore=SOON, expiresAt="2091-01-01T00:00:00Z").json["seq"]
            gone = server.notify("ann", title="Never", notBefore=SOON).json["seq"]
            ann = server.token("ann")
            for path in ("inbox", "inbox?view=snoozed", "inbox?text=later", "inbox?includeSilent=true"):
                self.assertEqual(server.get(f"/v1/users/ann/{path}", who=ann).json["items"], [], path)
            self.assertEqual(server.get("/v1/users/ann/tray", who=ann).json["total"], 0)
            self.assertEqual(server.get(f"/v1/users/ann/items/{item}").json["error"], "unknownItem")
            for name in (item, "k"):
                answer = server.post("/v1/users/ann/marks", {"as": "read", "items": [name]}, who=ann)
                self.assertEqual(answer.json["error"], "unknownItem")
            self.assertEqual(server.get("/v1/scheduled", who=ann).status, 403)
            self.assertEqual(server.call("PATCH", "/v1/users/ann/items/key:k", {"title": "Soon"}).status, 200)
            self.assertEqual(server.call("DELETE", f"/v1/users/ann/items/{gone}").status, 200)
            wrong = server.call("PATCH", "/v1/users/ann/items/key:k", {"notBefore": "2092-01-01T00:00:00Z"})
            self.assertEqual((wrong.status, wrong.json["error"]), (400, "invalid"))
            self.assertEqual(
                server.get("/v1/scheduled").lines, [{"seq": item, "user": "ann", "notBefore": SOON, "title": "Soon"}])
            self.assertEqual(server.get("/v1/scheduled?user=bob").lines, [])
            arrive(server)
            self.assertEqual(server.get("/v1/scheduled").lines, [])
            (shown,) = server.get("/v1/users/ann/inbox", who=ann).json["items"]
            event = server.get("/v1/users/ann/history").lines[-1]
            self.assertEqual((event["kind"], event["item"], event["itemKey"]), ("arrived", item, "k"))
            self.assertEqual((shown["seq"], shown["position"], shown["title"]), (item, event["seq"], "Soon"))
            self.assertEqual((shown["recordedAt"], shown["arrivedAt"]), (event["notifiedAt"], event["recordedAt"]))
            self.assertEqual(server.post("/v1/users/ann/marks", {"as": "read", "items": ["k"]}, who=ann).status, 200)

    def test_a_list_goes_on_where_the_page_before_ended(self):
        with Server() as server:
            seqs = [server.notify("ann", title=str(index), notBefore=SOON).json["seq"] for index in range(5)]
            found, cursor = [], ""
            while True:
                *page, last = server.get(f"/v1/scheduled?limit=2{cursor}").lines
                found += [line["seq"] for line in page]
                if "next" not in last:
                    found.append(last["seq"])
                    break
                cursor = f"&cursor={last['next']}"
            self.assertEqual(found, seqs)
            for wrong in ("x", "1.2.3", "1.99999999999999999999"):
                self.assertEqual(server.get(f"/v1/scheduled?cursor={wrong}").status, 400)

    def test_a_limited_key_lists_its_own_names_alone(self):
        key, line = made("--scope", "publish,users", "--users", "a.", "--topics", "t.")
        with tempfile.TemporaryDirectory() as holder:
            with open(f"{holder}/keys", "w") as file:
                file.write(line + "\n")
            with Server("--keys", f"{holder}/keys") as server:
                for user in ("a.1", "b.1"):
                    server.notify(user, title=user, notBefore=SOON)
                for topic in ("t.1", "x"):
                    server.post(f"/v1/topics/{topic}/broadcasts", {"title": topic, "notBefore": SOON})
                self.assertEqual([line["title"] for line in server.get("/v1/scheduled", who=key).lines], ["a.1", "t.1"])
                self.assertEqual(server.get("/v1/scheduled?user=b.1", who=key).status, 403)
                self.assertEqual(len(server.get("/v1/scheduled").lines), 4)

    def test_the_console_lists_what_is_planned(self):
        with console_server() as server:
            viewer = Visitor(server, "viewer")
            self.assertIn("Nothing is planned", viewer.get("/planned").body.decode())
            for title in HOSTILE.values():
                server.notify("ann", title=title, notBefore=SOON)
            for _ in range(50):
                server.post("/v1/topics/news/broadcasts", {"title": "To all", "notBefore": LATER})
            first = viewer.get("/planned").body.decode()
            for title in HOSTILE.values():
                shown = "".join(f"[U+{ord(sign):X}]" if sign in "\u202c\u202e\u2066" else sign for sign in title)
                self.assertIn(f"<bdi>{html.escape(shown)}</bdi>", first.replace("&#39;", "&#x27;"))
            (rest,) = [part.split('"')[0] for part in first.split('href="/console/planned?after=')[1:]]
            second = viewer.get(f"/planned?after={rest}").body.decode()
            self.assertEqual(first.count("<tr><td") + second.count("<tr><td"), 50 + len(HOSTILE))
            self.assertNotIn("planned?after", second)
            self.assertEqual(viewer.get("/planned?after=x").status, 400)
            self.assertEqual(Visitor(server).get("/planned").status, 303)

    @unittest.skipUnless(PROGRAM, "TRAYLOG_TRAY does not name the program")
    def test_a_device_shows_what_arrived_whenever_it_came_to_know_of_it(self):
        with Server() as server:
            server.call("PUT", "/v1/users/ann/subscriptions/news")
            early = server.notify("ann", title="Planned early", key="early", notBefore=SOON).json["seq"]
            news = server.post("/v1/topics/news/broadcasts", {"title": "To all", "notBefore": SOON}).json["seq"]
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                late = server.notify("ann", title="Planned late", notBefore=SOON).json["seq"]
                self.assertTrue(device.wait())
                self.assertEqual(device.ask("inbox")["items"], [])
                arrive(server)
                self.assertTrue(device.wait())
                mine = device.ask("inbox")["items"]
                self.assertEqual(mine, server.get("/v1/users/ann/inbox").json["items"])
                self.assertEqual({item["seq"] for item in mine}, {early, news, late})
                device.ask("mark", **{"as": "read", "items": [early, news]})
                self.assertTrue(device.wait())
                self.assertEqual(server.get("/v1/users/ann/tray").json["unread"], 1)
            with Device(server, "ann") as device:
                self.assertTrue(device.wait())
                self.assertEqual(device.ask("inbox")["items"], server.get("/v1/users/ann/inbox").json["items"])


if __name__ == "__main__":
    unittest.main()
