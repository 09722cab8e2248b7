"""A cluster on this machine: real brokers, three servers.

In nightly runs it is tortured for a minute, in the order of a seed; TRAYLOG_CLUSTER_SECONDS and TRAYLOG_CLUSTER_SEED say another time
and order."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import pytest

from clustered import BROKER, SERVER, ClusterCase, machines
import torture

SECONDS = int(os.environ.get("TRAYLOG_CLUSTER_SECONDS", "60"))
SEED = int(os.environ.get("TRAYLOG_CLUSTER_SEED", "1"))


class ClusterTests(ClusterCase):
    def test_brokers_that_sync_now_and_then_are_refused(self):
        status, words = self.refusal(sync=None)
        self.assertEqual(status, 78, words)
        self.assertIn("sync_interval", words)

    def test_one_broker_is_refused_unless_it_is_asked_for(self):
        for sync, setting in ((None, "sync_interval"), ("always", "num_replicas")):
            status, words = self.refusal(brokers=1, nodes=1, sync=sync)
            self.assertEqual(status, 78, words)
            self.assertIn(setting, words)
            shutil.rmtree(self.directory)
            os.mkdir(self.directory)
        with self.cluster(brokers=1, nodes=1, options=["--allow-unsafe-log"]) as cluster:
            cluster.start()
            lines = self.lines(cluster)
            self.assertEqual(lines.notify(cluster.nodes[0], "ann", "Hello"), 1)

    def test_each_setting_of_the_stream_that_loses_events_is_named(self):
        with self.cluster() as cluster:
            cluster.start_brokers()
            script = os.path.join(os.path.dirname(machines.__file__), "stream.py")
            subprocess.run(
                [sys.executable, script, cluster.brokers[0].url, json.dumps(
                    {"name": "traylog", "subjects": ["log"], "num_replicas": 1, "max_age": 10**12, "discard": "old"})],
                check=True)
            node = cluster.nodes[0]
            node.start()
            self.assertEqual(node.process.wait(timeout=120), 78)
            for setting in ("num_replicas", "deny_delete", "discard", "max_age"):
                self.assertIn(setting, node.logged())

    def test_the_dev_mode_and_missing_options_are_refused(self):
        for more in (["--dev"], [], ["--keys", "/nowhere"]):
            done = subprocess.run(
                [SERVER, "--store", os.path.join(self.directory, "s"), "--cluster", "nats://127.0.0.1:1", "--stream", "x",
                 *(["--advertise", "http://127.0.0.1:1"] if more else ["--keys", os.devnull]), *more],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 64, done.stderr)

    def test_any_node_takes_writes_and_shows_them(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            for number, node in enumerate(cluster.nodes):
                answer, attempts = lines.write(
                    node, "/v1/users/ann/notifications", {"title": f"{number}", "key": f"k{number}"})
                # An attempt that nobody answered may have been the one that counted.
                self.assertIn(answer[0], (201,) if attempts == 1 else (200, 201), answer[2])
                for other in cluster.nodes:
                    tray = lines.call(
                        other, "GET", "/v1/users/ann/tray", headers={"Traylog-Min-Seq": answer[1]["Traylog-Seq"]})
                    self.assertEqual((tray[0], tray[2]["unread"]), (200, number + 1))
            for node in cluster.nodes:
                again, _ = lines.write(node, "/v1/users/ann/notifications", {"title": "0", "key": "k0"})
                self.assertEqual((again[0], again[2]), (200, {"result": "duplicate", "seq": 1}))
                refused, _ = lines.write(node, "/v1/users/ann/undo", {"event": 10**9})
                self.assertEqual((refused[0], refused[2]["error"]), (404, "unknownEvent"))
            cluster.wait_for_nodes()
            cluster.wait(
                "all have come equally far",
                lambda: cluster.all_say(position=cluster.nodes[0].readiness()["position"], head=3))
            self.check_without_brokers(cluster, lines)

    def check_without_brokers(self, cluster, lines):
        """Reads go on; writes are refused, to be tried again."""
        for broker in cluster.brokers:
            broker.end()
        for node in cluster.nodes:
            self.assertEqual(lines.call(node, "GET", "/v1/users/ann/tray")[2]["unread"], 3)
            answer = lines.call(node, "POST", "/v1/users/ann/notifications", {"title": "3", "key": "k3"})
            self.assertEqual(answer[0], 503, answer)
            self.assertIn("Retry-After", answer[1])
        for broker in cluster.brokers:
            broker.start()
        cluster.wait_for_nodes()
        lines.notify(cluster.nodes[0], "ann", "3")

    def test_an_erasure_ends_when_every_node_has_rewritten_and_the_stream_is_trimmed(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            owner = cluster.owner()
            for number in range(10):
                for user in ("ann", "bob"):
                    lines.notify(owner, user, f"{number}")
            job, _ = lines.write(owner, "/v1/admin/erasures", {"user": "ann", "confirm": "ann"})
            path = "/v1/admin/jobs/" + job[2]["id"]

            def totals(user):
                return {lines.call(node, "GET", f"/v1/users/{user}/tray")[2]["total"] for node in cluster.nodes}

            # A node that has read nothing yet has nothing of hers either.
            cluster.wait("every node has erased her and has his ten", lambda: (totals("ann"), totals("bob")) == ({0}, {10}))
            self.assertEqual(lines.call(owner, "GET", path)[2]["state"], "running")
            # It lasts until somebody trims, which may be longer than the node that made it.
            others = [node for node in cluster.nodes if node is not owner]
            kept = {"Traylog-Forwarded": "1"}
            cluster.wait("others know of it", lambda: lines.call(others[0], "GET", path, headers=kept)[0] == 200)
            owner.end()
            for node in others:
                job = lines.call(node, "GET", path)[2]
                self.assertEqual((job["id"], job["kind"], job["state"]), (path.rsplit("/", 1)[1], "erasures", "running"))
            self.assertEqual(lines.call(others[0], "GET", "/v1/admin/jobs/0123456789abcdef")[0], 404)
            owner.start()
            cluster.wait_for_nodes()
            backup = self.backup(lines, owner)
            end = time.monotonic() + 60
            while (job := lines.call(owner, "GET", path)[2])["state"] == "running":
                self.assertLess(time.monotonic(), end, job)
                self.trim(cluster, backup)
                time.sleep(0.5)
            self.assertEqual(job["state"], "done", job)
            self.assertEqual(job["outcome"]["seq"], 21)
            self.common_head(cluster, lines)
            cluster.wait_for_nodes()

    def test_a_new_node_begins_with_a_copy_and_the_stream_is_trimmed(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            for number in range(20):
                lines.notify(cluster.nodes[0], "ann", f"{number}")
            cluster.wait("all have it", lambda: cluster.all_say(head=20))
            backup = self.backup(lines, cluster.nodes[0])
            end = time.monotonic() + 30
            while (report := self.trim(cluster, backup))["first"] < 15:
                self.assertLess(time.monotonic(), end, report)
                time.sleep(0.5)
            # The newest message stays: every node compares its store with it.
            self.assertLessEqual(report["first"], report["last"], report)
            node = cluster.nodes[2]
            node.end()
            shutil.rmtree(node.store)
            # A copy that came halfway is begun again.
            os.makedirs(node.store + ".incoming")
            with open(os.path.join(node.store + ".incoming", "CURRENT"), "w") as file:
                file.write("half")
            # The other node may be starting, too.
            cluster.nodes[0].end()
            node.start("--seed", cluster.nodes[0].url)
            cluster.wait("it says that it waits", lambda: "cannot be reached" in node.logged(),
                         without=[cluster.nodes[0]])
            cluster.nodes[0].start()
            cluster.wait_for_nodes()
            self.common_head(cluster, lines)

    def test_a_node_that_left_is_an_ordinary_store(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            lines.notify(cluster.nodes[0], "ann", "Hello")
            cluster.wait("all have it", lambda: cluster.all_say(head=1))
            store = cluster.nodes[1].store
        from served import Server
        os.makedirs(os.path.join(self.directory, "left"))
        shutil.move(store, os.path.join(self.directory, "left", "store"))
        with Server(directory=os.path.join(self.directory, "left")) as server:
            self.assertEqual(server.get("/v1/users/ann/tray").json["unread"], 1)
            self.assertEqual(server.notify("ann", title="More").json["seq"], 2)

    @pytest.mark.nightly
    def test_a_tortured_cluster_stores_each_command_once(self):
        self.assertTrue(torture.run(SERVER, BROKER, self.directory, SEED, SECONDS))


if __name__ == "__main__":
    unittest.main()
