"""A Python client that was generated from the description calls every route of it; no path is written here."""

import datetime
import json
import os
import tempfile
import unittest

import generated
from served import Server


@unittest.skipUnless(generated.IS_INSTALLED, "openapi-python-client is not installed")
class GeneratedClientTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.server = Server()
        cls.addClassCleanup(cls.server.__exit__)

    def call(self, name, *arguments, who="key", status=200, **named):
        """Calls an operation by its name, and returns what the client makes of the answer."""
        answer = self.server.ask(name, *arguments, who=who, **named)
        self.assertEqual(answer.status, status, (name, answer))
        return answer.parsed if answer.parsed is not None else answer.body.decode()

    def test_the_description_makes_a_client_of_every_operation(self):
        done = generated.Generated.make(self.server.get("/openapi.json", who=None).body)
        self.assertEqual(done.returncode, 0, done.stdout[-2_000:] + done.stderr[-2_000:])
        self.assertNotIn("Endpoint will not be generated", done.stdout + done.stderr)
        self.assertNotIn("Unable to parse", done.stdout + done.stderr)

    def test_the_client_calls_every_operation(self):
        self.notify_and_read()
        self.use_topics_commands_and_lists()
        self.audit_and_operate()
        self.follow()
        everything = set()
        for methods in self.server.describe().document["paths"].values():
            for operation in methods.values():
                name = "".join("_" + letter.lower() if letter.isupper() else letter for letter in operation["operationId"])
                everything.add(f"{operation['tags'][0]}.{name}")
        called = set().union(*(client.called for client in self.server.clients.values()))
        left = {name for name in everything - called if name.split(".")[0] not in ("novu", "pages", "cluster")}
        self.assertEqual(left, set())

    def follow(self):
        seq = self.call("publishing.notify", "emil", body={"title": "A"}, status=201).seq
        with self.server.client().stream("feeds.follow_tray", "emil", with_="items") as answer:
            self.assertEqual((answer.status_code, answer.headers["Content-Type"]), (200, "text/event-stream"))
            data = next(line[6:] for line in answer.iter_lines() if line.startswith("data: "))
        self.assertEqual(json.loads(data)["newest"], seq)

    def notify_and_read(self):
        made = self.call("publishing.notify", "ann", body=dict(title="Lunch?", data={"a": [1]}), status=201)
        second = self.call("publishing.notify", "ann", body=dict(title="Tea?"), status=201).seq
        self.assertEqual(made.result.value, "appended")
        token = self.call("access.make_token", body=dict(user="ann", ttl=600))
        self.assertGreater(token.expires, datetime.datetime.now(datetime.timezone.utc))
        own = token.token
        self.assertEqual(self.call("access.get_identity", who=own).user, "ann")
        tray = self.call("trays.get_tray", "me", who=own)
        self.assertEqual((tray.user, tray.unread, tray.seen_at), ("ann", 2, None))
        page = self.call("trays.get_inbox", "me", who=own, with_="tray,threads")
        self.assertEqual([item.title for item in page.items], ["Tea?", "Lunch?"])
        self.assertEqual((page.tray.unread, page.threads.threads[0].count), (2, 2))
        self.assertEqual(self.call("trays.get_threads", "ann", who=own).threads[0].newest.title, "Tea?")
        self.assertEqual(self.call("trays.get_item", "ann", str(made.seq), who=own).data, {"a": [1]})
        seen = self.call("trays.see_tray", "me", who=own, body=dict(upTo=tray.newest))
        self.assertEqual((seen.tray.unseen, seen.tray.unread), (0, 2))
        marked = self.call("trays.mark_items", "me", who=own, body={"as": "read", "items": [made.seq]})
        self.assertEqual(marked.tray.unread, 1)
        self.assertEqual(self.call("trays.undo", "me", who=own, body=dict(event=marked.seq)).tray.unread, 2)
        until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).isoformat()
        self.call("trays.snooze_item", "me", str(second), who=own, body=dict(until=until))
        self.call("trays.wake_item", "me", str(second), who=own)
        for kind, name in (("thread", "t"), ("topic", "news"), ("category", "c")):
            self.call(f"trays.mute_{kind}", "me", name, who=own)
            self.call(f"trays.unmute_{kind}", "me", name, who=own)
        self.call("trays.mute_all", "me", who=own, body=dict(until=until))
        mute = self.call("trays.get_mutes", "me", who=own).mutes[0]
        self.assertEqual((mute.all_, mute.until.isoformat()[:19]), (True, until[:19]))
        self.call("trays.unmute_all", "me", who=own)
        actions = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        asked = self.call("publishing.notify", "ann", status=201, body=dict(title="Deploy?", actions=actions)).seq
        self.assertEqual(self.call("trays.get_tray", "me", who=own).awaiting, 1)
        acted = self.call("trays.act", "me", str(asked), who=own, body=dict(action="yes", note="Go", asOf=asked))
        self.assertEqual(acted.tray.awaiting, 0)
        outcome = self.call("trays.get_item", "ann", str(asked), who=own).outcome
        self.assertEqual((outcome.action, outcome.note, outcome.actor), ("yes", "Go", "ann"))
        self.call("trays.mark_all", "me", who=own, body={"as": "read", "upTo": second})
        edited = dict(title="Coffee?")
        self.call("publishing.edit_item", "ann", str(second), body=edited)
        self.call("publishing.retract_item", "ann", str(second))
        self.assertEqual(self.call("trays.get_item", "ann", str(second), who=own, status=410).error, "itemGone")
        other = self.call("trays.get_tray", "bob", who=own, status=403)
        self.assertEqual((other.error, other.status), ("otherUser", 403))

    def use_topics_commands_and_lists(self):
        self.call("trays.subscribe", "cleo", "news")
        self.assertEqual(self.call("trays.get_subscriptions", "cleo").subscriptions[0].topic, "news")
        sent = self.call("publishing.broadcast", "news", body=dict(title="Hello"), status=201).seq
        self.call("publishing.broadcast", "later", body=dict(title="Hello", notBefore="2090-01-01T00:00:00Z"), status=201)
        self.assertIn('"topic":"later"', self.call("trays.list_scheduled"))
        audience = self.call("trays.get_audience", sent)
        self.assertEqual((audience.recipients, audience.read), (1, 0))
        self.call("publishing.edit_broadcast", sent, body=dict(title="Hello!"))
        self.call("publishing.retract_broadcast", sent)
        self.call("trays.unsubscribe", "cleo", "news")
        commands = [dict(kind="notify", user="cleo", title=str(number)) for number in range(3)]
        commands.append({"kind": "mark", "user": "cleo", "as": "read", "items": ["no such key"]})
        results = self.call("publishing.perform_commands", body=commands).results
        self.assertEqual([result.result.value for result in results], ["appended"] * 3 + ["refused"])
        self.assertEqual(results[3].error.value, "unknownItem")
        self.assertIn("cleo", [tray.user for tray in self.call("trays.list_users", limit=100).users])
        self.call("access.register_device", "cleo", "abc", status=204)
        self.assertEqual(self.call("access.list_devices", "cleo").devices[0].token, "abc")
        self.call("access.forget_device", "cleo", "abc", status=204)
        lines = [json.loads(line) for line in self.call("trays.get_snapshot", "cleo").splitlines()]
        events = self.call("feeds.get_changes", "cleo", offset=lines[0]["offset"])
        self.assertEqual(events, [])
        self.assertEqual(self.call("feeds.get_changes", "cleo")[-1].title, "2")
        self.assertEqual(self.call("feeds.get_log", user="cleo", kind="notified")[-1].kind.value, "notified")
        self.call("feeds.head_get_changes", "cleo")
        self.call("feeds.head_get_log")

    def audit_and_operate(self):
        seq = self.call("publishing.notify", "dora", body=dict(title="Proof"), status=201).seq
        head = self.call("audit.get_tree_head")
        self.assertEqual(self.call("audit.prove_event", seq).seq, seq)
        self.assertEqual(self.call("audit.prove_consistency", first=1, second=head.tree_size).second, head.tree_size)
        self.assertIn("traylog", self.call("audit.get_checkpoint"))
        self.assertEqual(json.loads(self.call("audit.get_history", "dora").splitlines()[0])["title"], "Proof")
        self.assertEqual(json.loads(self.call("audit.get_audit", "dora").splitlines()[0])["events"], 1)
        self.assertEqual(self.call("audit.get_difference", "dora", from_=str(seq - 1)).items[0].title, "Proof")
        self.call("audit.hold_user", "dora", body=dict(actor="legal"))
        held = self.call("audit.get_hold", "dora")
        self.assertEqual((held.held, held.actor), (True, "legal"))
        self.call("audit.release_user", "dora", body={})
        for name in ("audit.get_complete_history", "audit.get_dossier"):
            self.assertIn("dora", self.call(name, "dora", body=dict(purpose="request 7")))
        self.call("audit.record_read", "dora", body=dict(purpose="request 8"))
        self.assertGreater(self.call("operation.get_statistics").head, 0)
        self.assertEqual(self.call("operation.get_health").status.value, "ok")
        self.assertGreater(self.call("operation.get_readiness").head, 0)
        self.assertIn("traylog_head", self.call("operation.get_metrics"))
        self.assertEqual(self.call("operation.get_description").openapi, "3.1.0")
        bodies = {"compactions": {"keepDays": 1, "dryRun": True}, "replays": {}, "verifications": {}, "ticks": {},
                  "backups": {"dest": os.path.join(self.holder.name, "backup")}, "erasures": {"user": "dora", "confirm": "dora"}}
        for kind, members in bodies.items():
            started = self.call(f"operation.start_{kind}", body=members, status=202)
            job = self.call("operation.get_job", started.id)
            while job.state.value == "running":
                job = self.call("operation.get_job", started.id)
            self.assertEqual(job.state.value, "done", (kind, job))


if __name__ == "__main__":
    unittest.main()
