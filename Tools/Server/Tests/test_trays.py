"""What users, publishers and auditors can do, called with the client that is generated from the description."""

import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import generated
from test_service import ServiceCase


class TrayCase(ServiceCase):
    def own(self, operation, *arguments, **named):
        """Asks with the user's token for what is the user's."""
        return self.server.ask(operation, self.user, *arguments, who=self.token, **named)

    def of(self, operation, *arguments, **named):
        """The same with the server key."""
        return self.server.ask(operation, self.user, *arguments, **named)

    def notify(self, **content):
        return self.of("publishing.notify", body=content).json["seq"]

    def history(self, **named):
        return self.of("audit.get_history", **named).lines


@unittest.skipUnless(generated.IS_INSTALLED, "openapi-python-client is not installed")
class ActingTests(TrayCase):
    def test_everything_that_a_user_can_do_to_a_tray(self):
        seqs = [self.notify(title=str(n), thread="t", category="c", key=f"k{n}") for n in range(6)]

        def do(operation, *arguments, **body):
            answer = self.own(f"trays.{operation}", *arguments, **({"body": body} if body else {}))
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.json["tray"], self.of("trays.get_tray").json)
            return answer.json

        self.assertEqual(do("see_tray", upTo=seqs[2])["tray"]["unseen"], 3)
        self.assertEqual(do("mark_items", **{"as": "read", "items": [seqs[0], "k1"]})["tray"]["unread"], 4)
        mark = do("mark_all", **{"as": "read", "thread": "t", "upTo": seqs[5]})
        self.assertEqual(mark["tray"]["unread"], 0)
        self.assertEqual(do("undo", event=mark["seq"])["tray"]["unread"], 4)
        self.assertEqual(do("snooze_item", "key:k5", until="2099-01-01T00:00:00Z")["tray"]["total"], 5)
        self.assertEqual(do("wake_item", str(seqs[5]))["tray"]["total"], 6)
        self.assertEqual(do("mute_thread", "t")["result"], "appended")
        self.assertEqual(do("mute_thread", "t")["result"], "unchanged")
        self.assertEqual(do("unmute_thread", "t")["result"], "appended")
        self.assertEqual(do("mute_topic", "a/b")["result"], "appended")
        self.assertEqual(self.own("trays.get_mutes").json["mutes"][0]["topic"], "a/b")
        self.assertEqual(do("unmute_topic", "a/b")["result"], "appended")
        self.assertEqual(do("mute_category", "a/b")["result"], "appended")
        self.assertEqual(self.of("trays.mark_all", body={"as": "read"}).status, 200)
        unknown = {"as": "read", "items": [10**9]}
        self.is_problem(self.own("trays.mark_items", body=unknown), 404, "unknownItem")
        self.is_problem(self.own("trays.undo", body={"event": 10**9}), 404, "unknownEvent")
        self.is_problem(self.own("trays.undo", body={"event": seqs[0]}), 422, "notUndoable")
        self.is_problem(self.own("trays.wake_item", str(seqs[0])), 422, "notSnoozed")
        self.is_problem(self.own("trays.see_tray", body={"upTo": 10**9}), 422, "upToBeyondHead")

    def test_publishers_edit_and_take_back(self):
        seq = self.notify(title="Old", body="b")
        edited = self.of("publishing.edit_item", str(seq), body={"title": "New", "body": None})
        self.assertEqual(edited.parsed.result.value, "appended")
        item = self.of("trays.get_item", str(seq)).json
        self.assertEqual((item["title"], item.get("body")), ("New", None))
        self.assertEqual(self.of("publishing.retract_item", str(seq), traylog_device="d").status, 200)
        self.is_problem(self.of("trays.get_item", str(seq)), 410, "itemGone")
        self.is_problem(self.of("publishing.edit_item", str(seq), body={"title": "x"}), 410, "itemGone")
        self.assertEqual(self.history()[-1]["device"], "d")

    def test_broadcasts_reach_those_who_are_subscribed(self):
        server, topic = self.server, "t/1"
        self.assertEqual(self.of("trays.subscribe", topic).parsed.result.value, "appended")
        answer = server.ask("publishing.broadcast", topic, body={"title": "News"})
        self.assertEqual(answer.status, 201)
        seq = answer.parsed.seq
        self.assertEqual(self.of("trays.get_subscriptions").parsed.subscriptions[0].topic, topic)
        self.assertEqual(self.of("trays.get_inbox").parsed.items[0].topic, topic)
        self.assertEqual(server.ask("publishing.edit_broadcast", seq, body={"title": "Newer"}).status, 200)
        self.assertEqual(self.of("trays.get_inbox").parsed.items[0].title, "Newer")
        self.assertEqual(self.of("trays.unsubscribe", topic).parsed.tray.total, 1)
        self.assertEqual(self.of("trays.get_subscriptions").json, {"subscriptions": []})
        self.assertEqual(server.ask("publishing.retract_broadcast", seq).status, 200)
        self.assertEqual(self.of("trays.get_tray").parsed.total, 0)

    def test_a_command_can_expect_a_revision(self):
        again = {"title": "A", "expectedRevision": 0}
        self.assertEqual(self.of("publishing.notify", body=again).status, 201)
        self.is_problem(self.of("publishing.notify", body=again), 422, "wrongRevision", revision=1)
        tray = self.own("trays.get_tray").json
        self.assertEqual(tray["revision"], 1)
        self.assertEqual(self.history()[0]["revision"], 1)
        seen = {"upTo": tray["newest"], "expectedRevision": tray["revision"]}
        self.assertEqual(self.own("trays.see_tray", body=seen).json["tray"]["revision"], 2)
        self.is_problem(self.own("trays.see_tray", body=seen), 422, "wrongRevision", revision=2)
        late = {"kind": "notify", "user": self.user, "expectedRevision": 2}
        results = self.server.ask("publishing.perform_commands", body=[late, late]).json["results"]
        self.assertEqual([result["result"] for result in results], ["appended", "refused"])
        self.assertEqual((results[1]["error"], results[1]["revision"]), ("wrongRevision", 3))
        whole = self.server.ask("publishing.perform_commands", body=[late], atomic=True)
        self.is_problem(whole, 422, "wrongRevision", revision=3, line=1)
        self.is_problem(
            self.of("publishing.notify", body={"expectedRevision": -1}), 400, "invalid", field="expectedRevision")

    def test_an_item_is_answered_once(self):
        actions = [{"id": "yes", "label": "Deploy"}, {"id": "no", "label": "Wait"}]
        seq = self.notify(title="Deploy?", key="deploy", actions=actions)
        self.notify(title="Plain")
        item = self.own("trays.get_item", str(seq)).json
        self.assertEqual((item["actions"], item.get("outcome")), (actions, None))
        self.assertEqual(self.own("trays.get_tray").parsed.awaiting, 1)
        self.assertEqual([one.seq for one in self.of("trays.get_inbox", awaiting=True).parsed.items], [seq])
        answer = {"action": "yes", "note": "now", "asOf": seq}
        first = self.own("trays.act", "key:deploy", body=answer, idempotency_key="k")
        self.assertEqual((first.status, first.json["result"]), (200, "appended"))
        self.assertEqual((first.parsed.tray.awaiting, first.parsed.tray.unread), (0, 1))
        again = self.own("trays.act", "key:deploy", body=answer, idempotency_key="k")
        self.assertEqual((again.json["result"], again.json["seq"]), ("duplicate", first.json["seq"]))
        self.assertEqual(self.of("trays.act", "key:deploy", body={"action": "yes"}).json["result"], "unchanged")
        self.is_problem(self.of("trays.act", "key:deploy", body={"action": "no"}), 422, "alreadyActed", action="yes")
        outcome = self.of("trays.get_item", str(seq)).json["outcome"]
        expected = {"action": "yes", "note": "now", "actor": self.user, "seq": first.json["seq"], "at": outcome["at"], "asOf": seq}
        self.assertEqual(outcome, expected)
        self.is_problem(self.of("trays.undo", body={"event": first.json["seq"]}), 422, "notUndoable")
        (acted,) = [event for event in self.of("feeds.get_changes").json if event["kind"] == "acted"]
        self.assertEqual((acted["item"], acted["action"], acted["note"], acted["asOf"]), (seq, "yes", "now", seq))

    def test_an_answer_is_to_what_was_on_the_screen(self):
        actions = [{"id": "yes", "label": "Pay"}, {"id": "no", "label": "Do not"}]
        seq = self.notify(title="Transfer 100 to Bob", actions=actions)
        shown = self.own("trays.get_inbox").json["asOf"]
        missing = self.own("trays.act", str(seq), body={"action": "yes"})
        self.is_problem(missing, 400, "invalid", field="asOf")
        first = self.of("publishing.edit_item", str(seq), body={"title": "Transfer 10000 to Eve"}).json["seq"]
        self.of("publishing.edit_item", str(seq), body={"title": "Transfer 10000 to Mallory"})
        late = self.own("trays.act", str(seq), body={"action": "yes", "asOf": shown})
        self.is_problem(late, 422, "changedSince", seq=first)
        ahead = self.own("trays.act", str(seq), body={"action": "yes", "asOf": shown + 1_000_000})
        self.is_problem(ahead, 422, "upToBeyondHead")
        self.assertNotIn("outcome", self.own("trays.get_item", str(seq)).json)
        shown = self.own("trays.get_inbox").json["asOf"]
        answered = self.own("trays.act", str(seq), body={"action": "no", "asOf": shown}).json["seq"]
        self.assertEqual(self.of("trays.get_item", str(seq)).json["outcome"]["asOf"], shown)
        # A program with a key of the server's need not say what it shows: its answer is to the state before it.
        other = self.notify(title="Again?", actions=actions)
        self.assertGreater(other, answered)
        self.assertEqual(self.of("trays.act", str(other), body={"action": "yes"}).status, 200)
        outcome = self.of("trays.get_item", str(other)).json["outcome"]
        self.assertEqual(outcome["asOf"], outcome["seq"] - 1)

    def test_of_two_devices_that_answer_at_once_and_repeat_it_one_counts(self):
        actions = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        for _ in range(20):
            seq = self.notify(actions=actions)

            def answer(action):
                # A device whose answer was lost sends it again under its key.
                body = {"action": action, "key": f"{seq} {action}", "asOf": seq}
                return [self.own("trays.act", str(seq), body=body) for _ in range(2)]

            with ThreadPoolExecutor(4) as pool:
                answers = dict(zip(("yes", "no"), pool.map(answer, ("yes", "no"))))
            winner = self.of("trays.get_item", str(seq)).json["outcome"]["action"]
            self.assertEqual([one.json["result"] for one in answers.pop(winner)], ["appended", "duplicate"])
            for late in answers.popitem()[1]:
                self.is_problem(late, 422, "alreadyActed", action=winner)
        self.assertEqual([event["kind"] for event in self.history()].count("acted"), 20)

    def test_quiet_times_are_begun_listed_and_ended(self):
        def quiet(until=None):
            named = {"body": {"until": until}} if until else {}
            return self.own("trays.mute_all", **named).parsed.result.value

        self.assertEqual(quiet("2099-01-01T00:00:00Z"), "appended")
        self.assertEqual(quiet("2099-01-01T01:00:00+01:00"), "unchanged")
        self.assertEqual(quiet(), "appended")
        begun = self.own("trays.get_mutes").json
        self.assertEqual(quiet("2100-01-01T00:00:00Z"), "appended")
        self.assertEqual(self.own("trays.mute_thread", "t").json["result"], "appended")
        until = {"until": "2099-01-01T00:00:00Z"}
        self.assertEqual(self.own("trays.mute_category", "c", body=until).json["result"], "appended")
        everything, category, thread = self.own("trays.get_mutes").json["mutes"]
        self.assertEqual((everything["all"], everything["until"]), (True, "2100-01-01T00:00:00.000Z"))
        self.assertEqual(everything["since"], begun["mutes"][0]["since"])
        self.assertEqual((category["category"], category["until"], thread["thread"]), ("c", "2099-01-01T00:00:00.000Z", "t"))
        self.assertNotIn("until", thread)
        self.assertEqual(self.of("trays.get_mutes", as_of=str(begun["asOf"])).json, begun)
        self.notify(title="Quiet")
        self.notify(title="Fire", level="critical")
        self.assertEqual(self.of("trays.get_tray").parsed.unread, 1)
        self.assertEqual(self.own("trays.unmute_all").json["result"], "appended")
        self.assertEqual(self.own("trays.unmute_all").json["result"], "unchanged")
        self.assertEqual(len(self.of("trays.get_mutes").parsed.mutes), 2)
        # One that is over ends by itself, and says so in the log.
        quiet("2026-01-01T00:00:00Z")
        while self.of("trays.get_mutes").json["mutes"][0].get("all"):
            time.sleep(0.05)
        self.assertEqual(self.history()[-1]["kind"], "unmuted")
        # What the client cannot say.
        for body, field in (({"until": "soon"}, "until"), ({"all": True}, "all")):
            answer = self.server.call("PUT", f"{self.path}/mutes/all", body, who=self.token)
            self.is_problem(answer, 400, "invalid", field=field)
        self.is_problem(self.server.get(f"{self.path}/mutes", who=None), 401)


@unittest.skipUnless(generated.IS_INSTALLED, "openapi-python-client is not installed")
class AskingTests(TrayCase):
    def test_scopes_decide_what_a_token_may(self):
        reader, publisher = self.server.token(self.user, scope="inbox:read"), self.server.token("the publisher", scope="publish")
        by = lambda who, operation, **named: self.server.ask(operation, self.user, who=who, **named)  # noqa: E731
        self.assertEqual(by(reader, "trays.get_inbox").status, 200)
        self.is_problem(by(reader, "trays.see_tray", body={}), 403, "missingScope")
        self.is_problem(self.own("publishing.notify", body={"title": "A"}), 403)
        self.is_problem(self.server.ask("trays.list_users", who=self.token), 403)
        self.is_problem(self.own("audit.get_history"), 403)
        self.assertEqual(by(publisher, "publishing.notify", body={"title": "A", "actor": "forged"}).status, 201)
        self.assertEqual(self.history()[0]["actor"], "the publisher")
        self.is_problem(by(publisher, "trays.get_tray"), 403)

    def test_a_search_finds_words_levels_actors_and_times(self):
        first = self.notify(title="Rechnung M\u00e4rz", actor="shop")
        second = self.notify(title="Stra\u00dfe", body="gesperrt", level="critical", category="c")
        for query, seqs in [
                ({"text": "MARZ rech"}, [first]), ({"text": "strasse"}, [second]), ({"text": "sperr"}, [second]), ({"text": "x"}, []),
                ({"actor": "shop"}, [first]), ({"actor": self.user}, [second]), ({"level": "timeSensitive"}, [second]),
                ({"level": "active"}, [second, first]), ({"since": "2020-01-01T00:00:00Z"}, [second, first]),
                ({"until": "2020-01-01T00:00:00Z"}, []),
                ({"text": "r", "level": "active", "category": ["c"], "unread": True}, [second])]:
            found = [item.seq for item in self.of("trays.get_inbox", **query).parsed.items]
            self.assertEqual(found, seqs, query)

    def test_the_answers_to_a_broadcast_are_counted_and_listed(self):
        server = self.server
        users = [f"{self.user} {name}" for name in "abc"]
        for user in users:
            server.ask("trays.subscribe", user, self.user)
        actions = [{"id": "yes", "label": "I come"}, {"id": "no", "label": "I do not"}]
        party = server.ask("publishing.broadcast", self.user, body={"title": "Party?", "actions": actions}).parsed.seq

        def audience(**named):
            return server.ask("trays.get_audience", party, **named)

        def listed(list_, **named):
            return server.client().lines("trays.get_audience", party, list_=list_, **named)

        self.assertEqual([audience().json[name] for name in ("awaiting", "outcomes")], [3, {}])
        for user, action in zip(users, ("yes", "no")):
            server.ask("trays.act", user, str(party), body={"action": action, "note": f"says {action}"})
        self.assertEqual([audience().json[name] for name in ("read", "awaiting", "outcomes")], [2, 1, {"no": 1, "yes": 1}])
        acted = [(one["user"], one["outcome"]["action"], one["outcome"]["note"]) for one in listed("acted")]
        self.assertEqual(acted, [(users[0], "yes", "says yes"), (users[1], "no", "says no")])
        self.assertEqual(listed("awaiting"), [{"user": users[2]}])
        self.assertEqual([audience(as_of=str(party)).json[name] for name in ("awaiting", "outcomes")], [3, {}])
        self.assertEqual(listed("acted", as_of=str(party)), [])

    def test_the_audience_of_a_broadcast_is_counted_and_listed(self):
        server = self.server
        users = [f"{self.user} {name}" for name in "abc"]
        for user in users:
            server.ask("trays.subscribe", user, self.user)
        notice = server.ask("publishing.broadcast", self.user, body={"title": "Notice"}).parsed.seq
        mark = server.ask("trays.mark_items", users[1], body={"as": "read", "items": [notice]}).parsed.seq

        def audience(**named):
            return server.ask("trays.get_audience", notice, **named)

        def listed(list_, **named):
            return server.client().lines("trays.get_audience", notice, list_=list_, **named)

        counts = audience().json
        self.assertEqual(
            [counts[name] for name in ("item", "recipients", "seen", "read", "archived", "deleted")], [notice, 3, 1, 1, 0, 0])
        self.assertEqual(audience(as_of=str(notice)).json["read"], 0)
        (read,) = listed("read")
        self.assertEqual((read["user"], read["read"]["seq"], read["seen"]["seq"]), (users[1], mark, mark))
        lines = listed("unread", limit=1)
        self.assertEqual(lines[0], {"user": users[0]})
        self.assertEqual(listed("unread", limit=1, cursor=lines[1]["next"]), [{"user": users[2]}])
        self.is_problem(server.ask("trays.get_audience", mark), 400, "invalid")
        self.is_problem(server.ask("trays.get_audience", notice, who=self.token), 403)

    def test_users_are_listed_by_prefix(self):
        names = sorted((f"listed {name}" for name in ("a", "b", "c", "é", "B")), key=lambda name: name.encode())
        for name in names:
            self.server.ask("publishing.notify", name, body={"title": "A"})
        found, named = [], {}
        while named is not None:
            page = self.server.ask("trays.list_users", prefix="listed ", limit=2, **named).json
            found += [tray["user"] for tray in page["users"]]
            named = {"cursor": page["next"]} if page["next"] else None
        self.assertEqual(found, names)

    def test_proofs_and_reports(self):
        server = self.server
        seqs = [self.notify(title=str(n)) for n in range(3)]
        head = server.ask("audit.get_tree_head", who=self.token).parsed
        self.assertGreaterEqual(head.tree_size, seqs[-1])
        proof = server.ask("audit.prove_event", seqs[0]).parsed
        self.assertEqual((proof.seq, proof.tree_size), (seqs[0], head.tree_size))
        self.assertEqual(server.ask("audit.prove_consistency", first=seqs[0]).parsed.second, head.tree_size)
        self.is_problem(server.ask("audit.prove_event", 999_999_999), 422)
        self.assertEqual([event["seq"] for event in self.history(limit=2)], seqs[:2])
        past = self.history(limit=1)[0]["recordedAt"]
        self.assertEqual(len(self.history(from_=past)), 3)
        self.assertEqual(self.history(from_="2999-01-01T00:00:00Z"), [])
        self.assertEqual([line["event"]["seq"] for line in self.of("audit.get_audit").lines[1:]], seqs)
        self.assertEqual(len(self.of("audit.get_difference", from_=str(seqs[0])).parsed.items), 2)


if __name__ == "__main__":
    unittest.main()
