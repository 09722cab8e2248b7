"""Novu's own SDK, unmodified, where it is installed (novu-py 3.19.0)."""

import datetime
import json
import unittest

from served import Server

try:
    import novu_py
    from novu_py import Novu
except ImportError:
    novu_py = None


class NovuRouteTests(unittest.TestCase):
    """The same by hand, for machines without the SDK."""

    def test_a_trigger_becomes_a_notification_and_what_is_not_there_says_so(self):
        with Server() as server:
            body = {"name": "comments", "to": ["ann", {"subscriberId": "bob"}], "transactionId": "t1",
                    "payload": {"subject": "Hi", "body": "There", "threadId": "7"}, "overrides": {"severity": "high"}}
            answer = server.post("/compat/novu/v1/events/trigger", body, who=None, headers={"Authorization": f"ApiKey {server.key}"})
            self.assertEqual((answer.status, answer.json["transactionId"]), (201, "t1"))
            self.assertEqual(server.post("/compat/novu/v1/events/trigger", body).status, 201)
            item = server.get("/v1/users/ann/inbox").json["items"]
            self.assertEqual(len(item), 1)
            self.assertEqual(
                [item[0][name] for name in ("title", "body", "thread", "category", "level", "key")],
                ["Hi", "There", "7", "comments", "timeSensitive", "t1"])
            for path, body in (("/v2/workflows", {}), ("/v1/events/trigger", {"name": "a", "to": "b", "tenant": "c"})):
                answer = server.post("/compat/novu" + path, body)
                self.assertEqual((answer.status, answer.json["error"]), (422, "unsupported"))
            filters = json.dumps([{"read": False}, {"read": True}] * 15).replace(" ", "").replace('"', "%22")
            filters = filters.replace("{", "%7B").replace("}", "%7D")
            counts = server.get(f"/compat/novu/v2/subscribers/ann/notifications/count?filters={filters}").json
            self.assertEqual([count["count"] for count in counts], [1, 0] * 15)


@unittest.skipUnless(novu_py, "novu-py is not installed")
class NovuSDKTests(unittest.TestCase):
    def test_the_sdk_works_unmodified(self):
        with Server() as server, Novu(
            secret_key=server.key, server_url=f"http://127.0.0.1:{server.port}/compat/novu"
        ) as novu:
            for number in range(12):
                novu.trigger(trigger_event_request_dto={
                    "workflow_id": "comments", "to": "ann", "transaction_id": f"t{number}",
                    "payload": {"subject": f"S{number}", "body": "B", "number": number}})
            novu.trigger_bulk(bulk_trigger_event_dto={"events": [{"workflow_id": "w", "to": {"subscriber_id": "bob"}}]})
            shown = novu.subscribers.notifications.list(request={"subscriber_id": "ann", "limit": 5}).result
            self.assertEqual([item.subject for item in shown.data], ["S11", "S10", "S9", "S8", "S7"])
            self.assertTrue(shown.has_more)
            first = shown.data[0]
            self.assertEqual((first.transaction_id, first.data["number"], first.is_read), ("t11", 11, False))
            notifications = novu.subscribers.notifications
            who = {"subscriber_id": "ann", "notification_id": first.id}
            self.assertTrue(notifications.mark_as_read(**who).result.is_read)
            self.assertFalse(notifications.mark_as_unread(**who).result.is_read)
            self.assertTrue(notifications.archive(**who).result.is_archived)
            self.assertFalse(notifications.unarchive(**who).result.is_archived)
            until = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)
            snooze = {**who, "snooze_subscriber_notification_dto": {"snooze_until": until}}
            self.assertTrue(notifications.snooze(request=snooze).result.is_snoozed)
            self.assertFalse(notifications.unsnooze(**who).result.is_snoozed)
            notifications.delete(**who)
            notifications.mark_all_as_read(subscriber_id="ann", update_all_subscriber_notifications_dto={})
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unread"], tray["total"]), (0, 11))
            count = notifications.count(subscriber_id="ann", filters='[{"read":true},{"read":false}]')
            self.assertEqual([part.count for part in count.result], [11, 0])
