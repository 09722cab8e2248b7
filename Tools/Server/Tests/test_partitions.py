"""A cluster whose users are divided into partitions, each with a log, a store and an owner of its own."""

import http.client
import json
import os
import shutil
import subprocess
import time

import pytest

from browsed import Browser, missing
from clustered import BROKER, SERVER, ClusterCase, machines
from consoled import Visitor, form_token, text_of
from served import Answer
import torture

USERS = ["ann", "bob", "carl", "dora", "eve", "fay"]
COUNT = 2
WHERE = [machines.partition_of(user, COUNT) for user in USERS]
# The first user of each partition.
FIRST = [USERS[WHERE.index(partition)] for partition in range(COUNT)]


class NodeServer:
    """A node as the console's visitors know servers."""

    def __init__(self, node, key):
        self.node, self.url, self.key, self.keys = node, node.url, key, {"all": key}

    def call(self, method, path, body=None, headers=None, who=None):
        connection = http.client.HTTPConnection(self.node.host, self.node.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


class PartitionTests(ClusterCase):
    def read(self, lines, node, path, status=200, **headers):
        answer, _ = lines.write(node, path, method="GET", headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.assertEqual(answer[0], status, answer[2])
        return answer[2]

    def write(self, lines, node, path, body, status=(200, 201), **options):
        answer, _ = lines.write(node, path, body, **options)
        self.assertIn(answer[0], status if isinstance(status, tuple) else (status,), answer[2])
        return answer

    def test_each_request_finds_the_partitions_that_it_concerns(self):
        with self.cluster(partitions=COUNT) as cluster:
            cluster.start()
            lines = self.lines(cluster)
            self.check_commands(cluster, lines)
            self.check_lines(cluster, lines)
            self.check_broadcasts(cluster, lines)
            self.check_one_log(cluster, lines)
            self.check_novu(cluster, lines)
            self.check_console(cluster, lines)
            self.check_that_one_partition_goes_on(cluster, lines)
            self.check_that_the_number_is_fixed(cluster)
        self.check_leaving(cluster)

    def check_commands(self, cluster, lines):
        """Results stand in the order of the commands, and what is written is read on every node."""
        commands = [{"kind": "notify", "user": user, "title": "Hello", "key": "k"} for user in USERS]
        _, headers, body = self.write(lines, cluster.nodes[0], "/v1/commands", commands)
        self.assertEqual([result["partition"] for result in body["results"]], WHERE)
        self.assertEqual(
            [result["seq"] for result in body["results"]], [WHERE[:place].count(here) + 1 for place, here in enumerate(WHERE)])
        heads = {str(partition): WHERE.count(partition) for partition in range(COUNT)}
        self.assertEqual(body["heads"], heads)
        seqs = ",".join(f"{partition}:{seq}" for partition, seq in heads.items())
        self.assertEqual(headers["Traylog-Seq"], seqs)
        for node in cluster.nodes:
            trays = self.read(lines, node, "/v1/users", Traylog_Min_Seq=seqs)["users"]
            self.assertEqual([(tray["user"], tray["unread"]) for tray in trays], [(user, 1) for user in USERS])
            for user in USERS:
                self.assertEqual(self.read(lines, node, f"/v1/users/{user}/tray", Traylog_Min_Seq=seqs)["unread"], 1)
        page = self.read(lines, cluster.nodes[0], "/v1/users?limit=4")
        rest = self.read(lines, cluster.nodes[0], f"/v1/users?limit=4&cursor={page['next']}")
        self.assertEqual([tray["user"] for tray in page["users"] + rest["users"]], USERS)
        self.assertIsNone(rest["next"])
        self.assertIn("PARTITION:SEQ", self.read(lines, cluster.nodes[0], "/v1/users", 400, Traylog_Min_Seq="3")["detail"])
        # Of one partition: the same, and the head as ever.
        again = self.write(lines, cluster.nodes[1], "/v1/commands", commands[:1])[2]
        self.assertEqual(again["results"], [{"result": "duplicate", "seq": 1, "partition": WHERE[0]}])
        self.assertEqual(again["heads"], {str(WHERE[0]): again["head"]})
        # A transaction is of one log.
        refused = self.write(lines, cluster.nodes[1], "/v1/commands?atomic=true", commands, 400)[2]
        self.assertEqual((refused["field"], "0, 1" in refused["detail"]), ("atomic", True), refused)
        two = [{"kind": "notify", "user": FIRST[1], "key": f"two{number}"} for number in range(2)]
        done = self.write(lines, cluster.nodes[1], "/v1/commands?atomic=true", two)[2]
        self.assertEqual([result["partition"] for result in done["results"]], [1, 1])
        # What is refused stands in its place.
        mixed = [commands[0], {"kind": "nothing"}, {"kind": "mark", "user": "nobody", "as": "read", "items": [9]},
                 {"kind": "retract", "item": 1}, commands[1]]
        results = self.write(lines, cluster.nodes[2], "/v1/commands", mixed)[2]["results"]
        self.assertEqual(
            [result.get("error", result["result"]) for result in results],
            ["duplicate", "invalid", "unknownItem", "invalid", "duplicate"])
        self.assertIn("partition", results[3]["message"])

    def check_lines(self, cluster, lines):
        many = [{"kind": "notify", "user": USERS[number % len(USERS)], "key": f"l{number}"} for number in range(2500)]
        body = b"".join(json.dumps(command).encode() + b"\n" for command in many) + b"no JSON\n\n"
        answers = self.write(
            lines, cluster.nodes[0], "/v1/commands", body, headers={"Content-Type": "application/x-ndjson"})[2]
        summary = answers.pop()
        self.assertEqual([answer["line"] for answer in answers], list(range(1, 2502)))
        self.assertEqual([answer.get("partition") for answer in answers[:6]], WHERE)
        self.assertEqual((summary["read"], summary["refused"], answers[-1]["error"]), (2501, 1, "invalid"))
        self.assertEqual(summary["appended"] + summary["duplicates"], 2500)
        self.assertEqual(sorted(summary["heads"]), ["0", "1"])

    def check_broadcasts(self, cluster, lines):
        """One event in each partition, also when it is sent again."""
        for user in FIRST:
            self.write(lines, cluster.nodes[1], f"/v1/users/{user}/subscriptions/news", {"key": "s"}, method="PUT")
        path = "/v1/topics/news/broadcasts"
        # As if the first request had died half-way.
        half = self.write(lines, cluster.nodes[2], path + "?partition=0", {"title": "All", "key": "b"})
        self.assertEqual(half[1]["Location"], f"/v1/items/{half[2]['seq']}?partition=0")
        conflict = self.write(lines, cluster.nodes[2], path, {"title": "Another", "key": "b"}, 422)[2]
        self.assertEqual(conflict["error"], "keyConflict")
        status, headers, body = self.write(lines, cluster.nodes[2], path, {"title": "All", "key": "b"})
        self.assertEqual([part["partition"] for part in body["partitions"]], [0, 1])
        self.assertEqual((body["seq"], body["partitions"][0]["seq"]), (half[2]["seq"],) * 2)
        seqs = [part["seq"] for part in body["partitions"]]
        self.assertEqual(headers["Traylog-Seq"], f"0:{seqs[0]},1:{seqs[1]}")
        status, headers, again = self.write(lines, cluster.nodes[0], path, {"title": "All", "key": "b"})
        self.assertEqual((status, again["result"], headers["Idempotency-Replayed"]), (200, "duplicate", "true"))
        self.assertEqual([part["seq"] for part in again["partitions"]], seqs)
        several = [{"kind": "broadcast", "topic": "news", "title": "All", "key": "b"},
                   {"kind": "notify", "user": "ann", "title": "Hello", "key": "k"}]
        results = self.write(lines, cluster.nodes[0], "/v1/commands", several)[2]["results"]
        self.assertEqual(([part["seq"] for part in results[0]["partitions"]], results[1]["seq"]), (seqs, 1))
        for partition, user in enumerate(FIRST):
            wait = headers["Traylog-Seq"]
            for node in cluster.nodes:
                item = self.read(lines, node, f"/v1/users/{user}/items/{seqs[partition]}", Traylog_Min_Seq=wait)
                self.assertEqual((item["topic"], item["title"]), ("news", "All"))
            # Each event is edited by its own seq.
            edit = f"/v1/items/{seqs[partition]}"
            missing = self.write(lines, cluster.nodes[0], edit, {"title": "New"}, 400, method="PATCH")[2]
            self.assertEqual((missing["field"], "0 to 1" in missing["detail"]), ("partition", True), missing)
            edited = self.write(
                lines, cluster.nodes[0], f"{edit}?partition={partition}", {"title": "New", "key": "e"}, method="PATCH")
            item = self.read(
                lines, cluster.nodes[2], f"/v1/users/{user}/items/{seqs[partition]}",
                Traylog_Min_Seq=edited[1]["Traylog-Seq"])
            self.assertEqual(item["title"], "New")

    def check_one_log(self, cluster, lines):
        """What is about one log says which, and answers alike on all nodes."""
        node = cluster.nodes[0]
        for path in ("/v1/log", "/v1/tree-head", "/v1/checkpoint", "/v1/proofs/1", "/v1/proofs/consistency?first=1",
                     "/v1/admin/stats"):
            for wrong in ("", "partition=2", "partition=-1", "partition=x"):
                refused = self.read(lines, node, path + ("&" if "?" in path else "?") + wrong, 400)
                self.assertEqual((refused["field"], "0 to 1" in refused["detail"]), ("partition", True), refused)
        for partition, path in enumerate(cluster.paths("/v1/tree-head")):
            head = self.common_head(cluster, lines, path)
            proof = self.read(lines, node, cluster.paths("/v1/proofs/1")[partition])
            self.assertEqual((proof["treeSize"], proof["rootHash"]), (head["treeSize"], head["rootHash"]))
            self.check_elsewhere(*(
                lines.call(node, "GET", cluster.paths(path)[partition], raw=True) for path in ("/v1/proofs/1", "/v1/tree-head")),
                partition)
            log = lines.call(node, "GET", cluster.paths("/v1/log?offset=-1")[partition])
            self.assertEqual((log[1]["Traylog-Partition"], log[2][0]["seq"]), (str(partition), 1))
            tray = lines.call(node, "GET", f"/v1/users/{FIRST[partition]}/tray")
            self.assertEqual(tray[1]["Traylog-Partition"], str(partition))
            note = lines.call(node, "GET", cluster.paths("/v1/checkpoint")[partition], raw=True)[2]
            self.assertEqual(note.split(b"\n")[0], f"traylog/{partition}".encode())
            # A run is found on every node, whichever runs it.
            (_, headers, _), _ = lines.write(cluster.nodes[1], cluster.paths("/v1/admin/ticks")[partition], {})
            for other in cluster.nodes:
                self.assertEqual(self.job(lines, other, headers["Location"])["state"], "done")
        # Those that each node runs by itself.
        for runner in cluster.nodes:
            (_, headers, _), _ = lines.write(runner, "/v1/admin/replays?partition=1", {})
            for other in cluster.nodes:
                self.assertEqual(self.job(lines, other, headers["Location"])["state"], "done")
        self.read(lines, node, "/v1/admin/jobs/0000000000000000", 404)
        wrong = self.read(lines, node, f"/v1/users/{FIRST[1]}/tray?partition=0", 400)
        self.assertIn("is 1 for this user", wrong["detail"])
        operation = self.read(lines, node, "/openapi.json")["paths"]["/v1/tree-head"]["get"]
        partition = [each for each in operation["parameters"] if each["name"] == "partition"][0]
        self.assertEqual((partition["required"], partition["schema"]["maximum"]), (True, 1))
        ready = node.readiness()
        self.assertEqual([state["partition"] for state in ready["partitions"]], [0, 1])
        self.assertEqual(ready["position"], sum(state["position"] for state in ready["partitions"]))
        is_owner = "owner" in [state["role"] for state in ready["partitions"]]
        self.assertEqual(ready["role"], "owner" if is_owner else "follower")
        metrics = lines.call(node, "GET", "/metrics", raw=True)[2].decode()
        for partition in range(COUNT):
            self.assertIn(f'traylog_head{{partition="{partition}"}}', metrics)

    def check_elsewhere(self, proof, head, partition):
        """Both say whose they are, and are what a program without a store looks at."""
        paths = [os.path.join(self.directory, name) for name in ("proof.json", "head.json")]
        for path, (_, headers, body) in zip(paths, (proof, head)):
            self.assertEqual(headers["Traylog-Partition"], str(partition))
            with open(path, "wb") as file:
                file.write(body)
        subprocess.run([os.environ["TRAYLOG"], "check", paths[0], "--tree-head", paths[1]], check=True, capture_output=True)

    def check_novu(self, cluster, lines):
        """Novu's routes reach the users and topics of all partitions."""
        root = "/compat/novu"
        body = {"name": "w", "to": USERS + [{"type": "Topic", "topicKey": "news"}], "payload": {"subject": "S"}, "transactionId": "n"}
        for _ in range(2):
            self.assertEqual(self.write(lines, cluster.nodes[0], f"{root}/v1/events/trigger", body)[2]["transactionId"], "n")
        bulk = {"events": [{"name": "w", "to": [user], "transactionId": "n2"} for user in USERS]}
        self.assertEqual(len(self.write(lines, cluster.nodes[1], f"{root}/v1/events/trigger/bulk", bulk)[2]), len(USERS))
        everybody = {"name": "w", "payload": {}, "transactionId": "n3"}
        self.write(lines, cluster.nodes[2], f"{root}/v1/events/trigger/broadcast", everybody)
        for user in USERS:
            def keys():
                items = self.read(lines, cluster.nodes[0], f"/v1/users/{user}/inbox?limit=100&category=w")["items"]
                return sorted(item["key"] for item in items)
            # A user who is also subscribed is reached in two ways.
            due = ["n", "n2", "n3"]
            cluster.wait(f"{user} has each once", lambda: keys() == due)
        path = f"{root}/v2/topics/club/subscriptions"
        made = self.write(lines, cluster.nodes[0], path, {"subscriberIds": USERS[::-1]})[2]
        self.assertEqual([each["subscriber"]["subscriberId"] for each in made["data"]], USERS[::-1])
        self.assertEqual(made["meta"], {"totalCount": len(USERS), "successful": len(USERS), "failed": 0})
        for node in cluster.nodes:
            def shown():
                page = self.read(lines, node, f"{path}?limit=100")
                return [each["subscriber"]["subscriberId"] for each in page["data"]]
            cluster.wait("all are subscribed", lambda: shown() == USERS)
            topics = [each["key"] for each in self.read(lines, node, f"{root}/v2/topics")["data"]]
            self.assertEqual(topics, ["club", "news"])
        self.write(lines, cluster.nodes[1], path, {"subscriberIds": USERS[:5]}, method="DELETE")
        cluster.wait("one is left", lambda: self.read(lines, cluster.nodes[1], path)["totalCount"] == 1)
        self.write(lines, cluster.nodes[1], f"{root}/v2/topics/club", None, method="DELETE")
        cluster.wait("none is left", lambda: self.read(lines, cluster.nodes[1], path)["totalCount"] == 0)

    def check_console(self, cluster, lines):
        """Each partition has its pages; users are found in all."""
        cluster.wait_for_nodes()
        owner = cluster.owner(1)
        visitor = Visitor(NodeServer(owner, cluster.key), "all")
        self.assertEqual(visitor.get("").headers["Location"], "/console/partitions/0")
        self.assertEqual(visitor.get("/log?kind=marked").headers["Location"], "/console/partitions/0/log?kind=marked")
        for path in ("", "/users", "/log", "/tree", "/operations", "/pulse", "/events/1"):
            for partition in range(COUNT):
                page = visitor.get(f"/partitions/{partition}{path}")
                self.assertEqual(page.status, 200, path)
                self.assertNotIn(b'"/console/users', page.body)
        users = text_of(visitor.get("/partitions/1/users"))
        for user in USERS:
            self.assertIn(user, users)
        for path in (f"/users/{FIRST[0]}", f"/partitions/1/users/{FIRST[0]}"):
            self.assertEqual(visitor.get(path).headers["Location"], f"/console/partitions/0/users/{FIRST[0]}")
        self.assertEqual(visitor.get(f"/partitions/0/users/{FIRST[0]}/timeline").status, 200)
        heads = [visitor.get(f"/partitions/{partition}/data/tree-head").json for partition in range(COUNT)]
        self.assertEqual(heads, [self.read(lines, owner, path) for path in cluster.paths("/v1/tree-head")])
        token = form_token(visitor.get("/partitions/1/operations"))
        started = visitor.send("/partitions/1/operations/verifications", {"form": token})
        self.assertRegex(started.headers["Location"], r"^/console/partitions/1/operations/[0-9a-f]+$")
        run = started.headers["Location"].removeprefix("/console")
        cluster.wait("it has run", lambda: "no problems found" in text_of(visitor.get(run)))
        # What only the owner may do is said where it is not.
        other = next(node for node in cluster.nodes if node is not owner)
        elsewhere = Visitor(NodeServer(other, cluster.key), "all")
        form = {"form": form_token(elsewhere.get("/partitions/1/operations")), "user": "x", "confirm": "x"}
        refused = elsewhere.send("/partitions/1/operations/erasures", form)
        self.assertEqual((refused.status, owner.url in text_of(refused)), (421, True))
        with self.subTest("in a browser"):
            if missing():
                self.skipTest(missing())
            self.check_in_a_browser(cluster, owner)

    def check_in_a_browser(self, cluster, node):
        with Browser() as browser:
            browser.sign_in(node.url, cluster.key)
            browser.open(f"{node.url}/console/partitions/1/events/1")
            browser.one("[data-run]").click()
            browser.wait("document.querySelector('.checks .verdict')?.textContent.includes('the server shows now')")
            self.assertEqual(browser.run("return document.querySelector('.parts [aria-current]').textContent"), "1")
            browser.open(f"{node.url}/console/users/{FIRST[1]}")
            browser.wait("location.pathname === arguments[0]", f"/console/partitions/1/users/{FIRST[1]}")
            browser.one("#slide")
            self.assertEqual(browser.messages(), [])

    def check_that_one_partition_goes_on(self, cluster, lines):
        """Wherever the owner of the other one died."""
        owner = cluster.owner(0) or cluster.nodes[0]
        others = [node for node in cluster.nodes if node is not owner]
        owner.end()
        for user in FIRST:
            lines.notify(others[0], user, "After")
        owner.start()
        cluster.wait_for_nodes()

    def check_that_the_number_is_fixed(self, cluster):
        """By the directory, and by the streams."""
        node = cluster.nodes[0]
        options = node.options[2:]
        for options, words in ((node.options[2:], "--partitions 2"), (["--partitions", "3"] + node.options[2:], "not 3")):
            node.end()
            node.options = options
            node.start()
            self.assertEqual(node.process.wait(timeout=120), 78)
            self.assertIn(words, node.logged())
        shutil.move(node.store, node.store + ".kept")
        node.start()
        self.assertEqual(node.process.wait(timeout=120), 78)
        self.assertIn("the stream traylog was made with --partitions 2", node.logged())
        shutil.rmtree(node.store)
        shutil.move(node.store + ".kept", node.store)

    def check_leaving(self, cluster):
        """Each partition's directory is an ordinary store."""
        from served import Server
        for partition, user in enumerate(FIRST):
            left = os.path.join(self.directory, f"left{partition}")
            os.makedirs(left)
            shutil.move(os.path.join(cluster.nodes[1].store, str(partition)), os.path.join(left, "store"))
            subprocess.run([os.environ["TRAYLOG"], "--store", os.path.join(left, "store"), "verify"], check=True, capture_output=True)
            with Server(directory=left) as server:
                inbox = server.get(f"/v1/users/{user}/inbox?limit=1").json["items"]
                self.assertEqual(inbox[0]["title"], "After")

    def test_invalid_partition_options_are_refused_at_the_start(self):
        cluster = ["--cluster", "nats://127.0.0.1:1", "--stream", "x", "--advertise", "http://127.0.0.1:1", "--keys", os.devnull]
        for options, words in [
                (["--partitions", "2", "--dev"], "for a server with --cluster"),
                ([*cluster, "--partitions", "0"], "1 to 64"), ([*cluster, "--partitions", "65"], "1 to 64"),
                ([*cluster, "--partitions", "two"], "1 to 64")]:
            done = subprocess.run(
                [SERVER, "--store", os.path.join(self.directory, "s"), *options], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, words in done.stderr), (64, True), done.stderr)

    def test_owners_are_spread_over_the_nodes_and_handed_back(self):
        """The node whose turn it is owns, as soon as it is there and as far."""
        with self.cluster(partitions=3) as cluster:
            cluster.start_brokers()
            late = cluster.nodes[2]
            for node in cluster.nodes[:2]:
                node.start()
            # In the order of their URLs.
            order = sorted(cluster.nodes, key=lambda node: node.url)

            def owners():
                return [cluster.owner(partition) for partition in range(3)]
            lines = self.lines(cluster)
            cluster.wait("two nodes own all", lambda: None not in owners())
            for number, user in enumerate(USERS):
                lines.notify(cluster.nodes[0], user, f"{number}")
            late.start()
            cluster.wait("each owns one", lambda: owners() == order)
            for number, user in enumerate(USERS):
                lines.notify(cluster.nodes[0], user, f"again {number}")
            # It dies: others go on; it is back: it owns again.
            gone = order.index(late)
            late.end()
            cluster.wait("another node owns its partition", lambda: owners()[gone] not in (None, late), without=[late])
            late.start()
            cluster.wait("it was handed back", lambda: owners() == order)
            for number, user in enumerate(USERS):
                lines.notify(cluster.nodes[0], user, f"{number}")

    def test_a_new_node_an_erasure_and_a_trim_are_of_one_partition_each(self):
        with self.cluster(partitions=COUNT) as cluster:
            cluster.start()
            lines = self.lines(cluster)
            for number in range(10):
                for user in FIRST:
                    lines.notify(cluster.nodes[0], user, f"{number}")
            gone, other = FIRST
            (status, headers, body), _ = lines.write(
                cluster.nodes[0], "/v1/admin/erasures", {"user": gone, "confirm": gone})
            self.assertEqual(status, 202, body)
            path = headers["Location"]
            for node in cluster.nodes:
                cluster.wait("it is erased", lambda: self.read(lines, node, f"/v1/users/{gone}/tray")["total"] == 0)
                # A node may still be reading the first one's messages.
                cluster.wait("the other user's ten are there", lambda: self.read(
                    lines, node, f"/v1/users/{other}/tray")["total"] == 10)
                self.assertEqual(self.read(lines, node, path)["state"], "running")
            backups = [self.backup(lines, cluster.nodes[0], f"?partition={partition}") for partition in range(COUNT)]
            # The other partition's trim does not end it.
            self.assertEqual(self.trim(cluster, backups[1])["stream"], "traylog-1")
            self.assertEqual(self.read(lines, cluster.nodes[0], path)["state"], "running")
            end = time.monotonic() + 120
            while (job := self.read(lines, cluster.nodes[1], path))["state"] == "running":
                self.assertLess(time.monotonic(), end, job)
                self.assertEqual(self.trim(cluster, backups[0])["stream"], "traylog-0")
                time.sleep(0.5)
            self.assertEqual(job["state"], "done", job)
            node = cluster.nodes[2]
            node.end()
            shutil.rmtree(node.store)
            node.start("--seed", cluster.nodes[0].url)
            cluster.wait_for_nodes()
            for path in cluster.paths("/v1/tree-head"):
                self.common_head(cluster, lines, path)

    @pytest.mark.nightly
    def test_two_partitions_store_each_command_once(self):
        self.assertTrue(torture.run(SERVER, BROKER, self.directory, 27, 20, partitions=COUNT))
