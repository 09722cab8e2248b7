"""Novu's own SDK, unmodified, where it is installed (novu-py 3.19.0)."""

import datetime
import json
import tempfile
import unittest
from urllib.parse import quote

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


    def trigger(self, server, path, body, **more):
        return server.post("/compat/novu/v1/events/trigger" + path, body, **more)

    def subscribe(self, server, topic, *users):
        answer = server.post(f"/compat/novu/v2/topics/{topic}/subscriptions", {"subscriberIds": list(users)})
        self.assertEqual(answer.status, 201)

    def total(self, server, user):
        return server.get(f"/v1/users/{user}/tray").json["total"]

    def test_a_subscriber_reached_several_ways_gets_one_notification_and_the_actor_none(self):
        with Server() as server:
            self.subscribe(server, "t1", "dan", "eve")
            self.subscribe(server, "t2", "dan", "fay")
            topics = [{"type": "Topic", "topicKey": name} for name in ("t1", "t2")]
            body = {"name": "w", "to": [*topics, "dan", {"subscriberId": "dan"}, topics[0]], "actor": "eve", "transactionId": "x",
                    "payload": {"subject": "once"}}
            for _ in range(2):
                self.assertEqual(self.trigger(server, "", body).status, 201)
                self.assertEqual([self.total(server, user) for user in ("dan", "eve", "fay")], [1, 0, 1])
            # Alone a topic is one broadcast, unless that would reach the actor.
            self.trigger(server, "", {"name": "w", "to": topics[0], "payload": {"subject": "all"}})
            self.trigger(server, "", {"name": "w", "to": topics[0], "actor": {"subscriberId": "eve"}, "payload": {"subject": "own"}})
            self.assertEqual([self.total(server, user) for user in ("dan", "eve", "fay")], [3, 1, 1])
            # A user who is named is notified, as in Novu.
            self.trigger(server, "", {"name": "w", "to": ["eve"], "actor": "eve", "payload": {"subject": "named"}})
            self.assertEqual(self.total(server, "eve"), 2)
            self.trigger(server, "/broadcast", {"name": "w", "actor": "eve", "payload": {"subject": "everybody"}})
            self.assertEqual([self.total(server, user) for user in ("dan", "eve", "fay")], [4, 2, 2])

    def test_nothing_of_a_request_is_stored_when_a_part_of_it_is_refused(self):
        with Server() as server:
            fine = {"name": "w", "to": "fay", "payload": {"subject": "hello"}}
            for bad, status, field in (
                ({"name": "w", "to": "gus", "payload": {"subject": "x" * 2_000}}, 400, "events[1].payload.subject"),
                ({"name": "w", "to": ["gus", "g" * 300]}, 400, "events[1].to"),
                ({"name": "w" * 300, "to": "gus"}, 400, "events[1].name"),
                ({"name": "w", "to": {"type": "Topic", "topicKey": "\n"}}, 400, "events[1].to"),
                ({"name": "w", "to": "gus", "transactionId": 7}, 400, "events[1].transactionId"),
                ({"name": "w", "to": "gus", "payload": []}, 400, "events[1].payload"),
                ({"name": "w", "to": "gus", "actor": 5}, 400, "events[1].actor"),
                ({"name": "w", "to": "gus", "overrides": {"severity": "x"}}, 400, "events[1].overrides.severity"),
                ({"name": "w", "to": "gus", "tenant": "t"}, 422, None), ({"to": "gus"}, 400, "events[1].name"),
                ({"name": "w", "to": []}, 400, "events[1].to"), ({"name": "w", "to": "gus", "more": 1}, 400, "events[1].more"),
            ):
                answer = self.trigger(server, "/bulk", {"events": [fine, bad]})
                self.assertEqual((answer.status, answer.json.get("field")), (status, field), answer)
                self.assertEqual((self.total(server, "fay"), self.total(server, "gus")), (0, 0), bad)
            # A conflict is known to the store alone: then, too, nothing is stored.
            self.assertEqual(self.trigger(server, "", {**fine, "to": "gus", "transactionId": "k"}).status, 201)
            conflict = {**fine, "to": "gus", "transactionId": "k", "payload": {"subject": "other"}}
            self.assertEqual(self.trigger(server, "/bulk", {"events": [fine, conflict]}).json["error"], "keyConflict")
            self.assertEqual(self.total(server, "fay"), 0)
            answer = self.trigger(server, "", {**fine, "to": ["fay", "g" * 300]})
            self.assertEqual((answer.status, answer.json["field"], self.total(server, "fay")), (400, "to", 0))

    def test_a_bulk_that_is_sent_again_with_its_key_doubles_nothing(self):
        with Server() as server:
            events = {"events": [{"name": "w", "to": user, "payload": {"subject": "S"}} for user in ("fay", "fay", "gus")]}
            for key in ("k", "k", "x" * 256, "x" * 256):
                self.assertEqual(self.trigger(server, "/bulk", events, headers={"Idempotency-Key": key}).status, 201)
            self.assertEqual((self.total(server, "fay"), self.total(server, "gus")), (4, 2))

    def test_topics_know_their_subscribers_after_a_restart_and_a_compaction(self):
        with tempfile.TemporaryDirectory() as directory:
            with Server(directory=directory) as server:
                made = server.post("/compat/novu/v2/topics/news/subscriptions", {"subscriberIds": ["ann", "bob", "x" * 300]}).json
                self.assertEqual([part["subscriber"]["subscriberId"] for part in made["data"]], ["ann", "bob"])
                self.assertEqual([(error["subscriberId"], error["code"]) for error in made["errors"]], [("x" * 300, "invalid")])
                self.subscribe(server, "other", "ann")
                head = server.post("/v1/topics/news/broadcasts", {"title": "t"}).json["seq"]
                self.assertEqual(server.post("/v1/topics/empty/broadcasts", {"title": "t"}).status, 201)
                job = server.post("/v1/admin/compactions", {"before": head}).headers["Location"]
                while server.get(job).json["state"] == "running":
                    pass
                self.assertEqual(server.get(job).json["state"], "done")
            with Server(directory=directory) as server:
                topics = "/compat/novu/v2/topics"
                self.assertEqual([each["key"] for each in server.get(topics).json["data"]], ["news", "other"])
                listed = server.get(f"{topics}/news/subscriptions").json
                self.assertEqual(listed["data"], made["data"])
                one = listed["data"][1]
                self.assertEqual(server.get(f"{topics}/news/subscriptions/{quote(one['identifier'])}").json, one)
                self.assertEqual(server.get(f"{topics}/other/subscriptions/{quote(one['identifier'])}").status, 404)
                self.assertEqual(server.get("/compat/novu/v1/topics/news/subscribers/bob").status, 200)
                self.assertEqual(server.get("/compat/novu/v1/topics/other/subscribers/bob").status, 404)
                self.assertEqual(server.post(f"{topics}?failIfExists=true", {"key": "news"}).status, 422)
                self.assertEqual(server.call("DELETE", f"{topics}/news").json, {"acknowledged": True})
                self.assertEqual([each["key"] for each in server.get(topics).json["data"]], ["other"])
                self.assertEqual(server.post(f"{topics}?failIfExists=true", {"key": "news"}).status, 200)

    def test_what_concerns_all_users_of_a_large_store_is_refused_and_everything_else_works(self):
        with Server() as server:
            self.subscribe(server, "news", "ann", "bob")
            for start in range(0, 10_000, 500):
                answer = server.post("/v1/commands", [{"kind": "notify", "user": f"u{start + n}"} for n in range(500)])
                self.assertEqual(answer.status, 200)
            topic = {"type": "Topic", "topicKey": "news"}
            for answer in (
                server.get("/compat/novu/v2/topics"), server.get("/compat/novu/v2/topics/news/subscriptions"),
                server.call("DELETE", "/compat/novu/v2/topics/news"),
                self.trigger(server, "", {"name": "w", "to": topic, "actor": "ann"}),
                self.trigger(server, "", {"name": "w", "to": [topic, "carl"]}),
            ):
                self.assertEqual((answer.status, answer.json["error"]), (422, "unsupported"), answer)
                self.assertIn("10000", answer.json["detail"])
            self.assertEqual((self.total(server, "ann"), self.total(server, "carl")), (0, 0))
            for actor in ({}, {"actor": "carl"}):
                self.assertEqual(self.trigger(server, "", {"name": "w", "to": topic, **actor}).status, 201)
            self.assertEqual((self.total(server, "ann"), self.total(server, "bob")), (2, 2))
            mine = server.get("/compat/novu/v2/topics/news/subscriptions?subscriberId=ann").json["data"]
            self.assertEqual(server.get("/compat/novu/v2/subscribers/ann/subscriptions").json["data"], mine)
            self.assertEqual(len(mine), 1)


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

    def test_topics_and_their_subscriptions(self):
        with Server() as server, Novu(
            secret_key=server.key, server_url=f"http://127.0.0.1:{server.port}/compat/novu"
        ) as novu:
            self.assertEqual(novu.topics.create(create_update_topic_request_dto={"key": "news", "name": "News"}).result.key, "news")
            made = novu.topics.subscriptions.create(
                topic_key="news", create_topic_subscriptions_request_dto={"subscriptions": ["ann", "bob", "x" * 300]}).result
            self.assertEqual([part.subscriber.subscriber_id for part in made.data], ["ann", "bob"])
            self.assertEqual((made.meta.successful, made.meta.failed, made.errors[0].code), (2, 1, "invalid"))
            novu.topics.subscriptions.create(topic_key="other", create_topic_subscriptions_request_dto={"subscriber_ids": ["ann"]})
            novu.trigger(trigger_event_request_dto={
                "workflow_id": "w", "to": {"type": "Topic", "topic_key": "news"}, "payload": {"subject": "S"}})
            self.assertEqual(server.get("/v1/users/bob/inbox").json["items"][0]["topic"], "news")
            shown = novu.topics.subscriptions.list(request={"topic_key": "news", "limit": 1}).result
            self.assertEqual([part.subscriber.subscriber_id for part in shown.data], ["ann"])
            rest = novu.topics.subscriptions.list(request={"topic_key": "news", "limit": 1, "after": shown.next}).result
            self.assertEqual(([part.subscriber.subscriber_id for part in rest.data], rest.next), (["bob"], None))
            one = novu.topics.subscriptions.get_subscription(topic_key="news", identifier=shown.data[0].identifier).result
            self.assertEqual(one.identifier, shown.data[0].identifier)
            self.assertEqual([topic.key for topic in novu.topics.list(request={}).result.data], ["news", "other"])
            mine = novu.subscribers.topics.list(request={"subscriber_id": "ann"}).result
            self.assertEqual([part.topic.key for part in mine.data], ["news", "other"])
            left = novu.topics.subscriptions.delete(
                topic_key="news", delete_topic_subscriptions_request_dto={"subscriptions": [{"subscriber_id": "ann"}]}).result
            self.assertEqual((left.meta.successful, left.data[0].subscriber.subscriber_id), (1, "ann"))
            self.assertEqual([topic["topic"] for topic in server.get("/v1/users/ann/subscriptions").json["subscriptions"]], ["other"])
            server.notify("bob", title="B")
            job = server.post("/v1/admin/erasures", {"user": "bob", "confirm": "bob"}).headers["Location"]
            while server.get(job).json["state"] == "running":
                pass
            self.assertEqual(novu.topics.subscriptions.list(request={"topic_key": "news"}).result.data, [])
            self.assertTrue(novu.topics.delete(topic_key="other").result.acknowledged)
            self.assertEqual(server.get("/v1/users/ann/subscriptions").json, {"subscriptions": []})

    def test_many_at_once(self):
        with Server() as server, Novu(
            secret_key=server.key, server_url=f"http://127.0.0.1:{server.port}/compat/novu"
        ) as novu:
            novu.trigger_bulk(bulk_trigger_event_dto={"events": [
                {"workflow_id": name, "to": [f"u{n}" for n in range(100)], "payload": {"subject": name}} for name in ("a", "b")]})
            novu.trigger_broadcast(trigger_event_to_all_request_dto={"name": "c", "payload": {"subject": "all"}})
            self.assertEqual(len(server.get("/v1/users?limit=100").json["users"]), 100)
            self.assertEqual(server.get("/v1/users/u7/tray").json["total"], 3)
            notifications = novu.subscribers.notifications
            who = {"subscriber_id": "u7"}
            notifications.mark_as_seen(**who, mark_subscriber_notifications_as_seen_dto={})
            self.assertEqual(server.get("/v1/users/u7/tray").json["unseen"], 0)
            # The SDK of Python cannot say tags here; others can.
            marked = server.post("/compat/novu/v2/subscribers/u7/notifications/read", {"tags": ["a", "x"]})
            self.assertEqual((marked.status, server.get("/v1/users/u7/tray").json["unread"]), (204, 2))
            notifications.archive_all_read(**who, update_all_subscriber_notifications_dto={})
            self.assertEqual([item.subject for item in notifications.list(request=who).result.data], ["all", "b"])
            notifications.archive_all(**who, update_all_subscriber_notifications_dto={})
            self.assertEqual(len(notifications.list(request={**who, "archived": True}).result.data), 3)
            novu.trigger(trigger_event_request_dto={"workflow_id": "d", "to": "u7"})
            notifications.delete_all(**who, update_all_subscriber_notifications_dto={})
            self.assertEqual(notifications.list(request=who).result.data, [])
            filters = json.dumps([{"archived": True}, {"archived": False}, {"read": True, "archived": True}])
            self.assertEqual([part.count for part in notifications.count(**who, filters=filters).result], [3, 0, 1])
